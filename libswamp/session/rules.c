/* The resume machine as one table, to be held against PROTOCOL 7 row by row, and the loop of three lines that
 * obeys it. */
#include "machine.h"

#define DIALING SWAMP__AT_DIALING
#define STARTING SWAMP__AT_STARTING
#define ATTACHING SWAMP__AT_ATTACHING
#define STREAMING SWAMP__AT_STREAMING
#define ASKING SWAMP__AT_ASKING
#define POLLING SWAMP__AT_POLLING
#define CHECKING SWAMP__AT_CHECKING
#define WAITING SWAMP__AT_WAITING
#define ENDED SWAMP__AT_ENDED
#define IDLE SWAMP__AT_IDLE
#define GOAL SWAMP__AT_GOAL
#define SAME SWAMP__AT_SAME
#define FOLLOWING (ATTACHING | STREAMING)
#define LINKED (STARTING | ATTACHING | STREAMING | ASKING | POLLING | CHECKING)

/*
 * A pair of state and input that no row names: nothing is done (a late frame, an answer to nobody). The act
 * runs after the state became `next`; it may end the session instead ("or gives up"). No two rows name the
 * same pair.
 */
/* clang-format off */
const swamp__rule swamp__session_rules[] = {
/* in state                 on                            does                              goes to     row of PROTOCOL 7 */
/* -- the link */
{WAITING | IDLE,            SWAMP__IN_DELAY_OVER,         swamp__act_dial,                  DIALING,    "connection lost: reconnect"},
{DIALING,                   SWAMP__IN_CONNECTED,          swamp__act_greet,                 GOAL,       "a mere connection refills nothing"},
{DIALING | FOLLOWING | CHECKING | ASKING | POLLING,
                            SWAMP__IN_LOST,               swamp__act_redial,                WAITING,    "connection lost, refused or timed out, run id known; or nothing was sent yet. Or gives up"},
{STARTING,                  SWAMP__IN_LOST,               swamp__act_fail_lost,             ENDED,      "the same, before any run id is known"},
{DIALING | LINKED,          SWAMP__IN_UNAUTHORIZED,       swamp__act_fail_unauthorized,     ENDED,      "401, 403, close 1008 / 4003: stop"},
{DIALING | LINKED,          SWAMP__IN_TRY_LATER,          swamp__act_come_later,            WAITING,    "429 honours Retry-After (PROTOCOL 1). Or gives up"},
/* -- the run gets its id, or is found again */
{STARTING,                  SWAMP__IN_ACCEPTED,           swamp__act_learn_id,              STREAMING,  "run id: run.accepted, or the first event with a runId (PROTOCOL 4)"},
{ATTACHING,                 SWAMP__IN_ATTACHED,           swamp__act_resume,                STREAMING,  "run.attached: resume; both counters to zero"},
/* -- events */
{STARTING | STREAMING,      SWAMP__IN_EVENT,              swamp__act_deliver,               SAME,       "(the next event)"},
{STARTING | STREAMING,      SWAMP__IN_EVENT_SEEN,         swamp__act_drop,                  SAME,       "event with seq <= last: drop"},
{STREAMING,                 SWAMP__IN_EVENT_HOLE,         swamp__act_reattach_hole,         WAITING,    "event with seq > last + 1, no run.gap: re-attach once"},
{STREAMING,                 SWAMP__IN_EVENT_HOLE_AGAIN,   swamp__act_deliver_after_hole,    SAME,       "... if it comes again, go on, gap"},
{STARTING,                  SWAMP__IN_EVENT_HOLE,         swamp__act_deliver_after_hole,    SAME,       "... no run id: nothing to re-attach to"},
{STREAMING,                 SWAMP__IN_GAP,                swamp__act_pass_gap,              SAME,       "run.gap: go on after it"},
{FOLLOWING,                 SWAMP__IN_GARBLED,            swamp__act_reattach_garbled,      WAITING,    "cannot be decoded: once more from the same cursor"},
{ASKING | CHECKING | POLLING,
                            SWAMP__IN_GARBLED,            swamp__act_redial,                WAITING,    "... the same for an answer. Or gives up"},
{FOLLOWING,                 SWAMP__IN_GARBLED_AGAIN,      swamp__act_fail_protocol,         ENDED,      "cannot be decoded, twice at one cursor: stop"},
{STARTING,                  SWAMP__IN_GARBLED,            swamp__act_fail_protocol,         ENDED,      "... no run id: there is no second time"},
/* -- other answers to run.attach */
{ATTACHING,                 SWAMP__IN_ELSEWHERE,          swamp__act_follow_elsewhere,      WAITING,    "run.elsewhere: wait, new connection. Or gives up"},
{FOLLOWING,                 SWAMP__IN_INTERRUPTED,        swamp__act_interrupted,           ASKING,     "run.interrupted, error interrupted: poll workflow.history.get"},
{STARTING,                  SWAMP__IN_INTERRUPTED,        swamp__act_refuse,                ENDED,      "... no run id: nothing to ask for"},
{POLLING,                   SWAMP__IN_DELAY_OVER,         swamp__act_ask_history,           ASKING,     "... every 1 to 2 s"},
{ASKING,                    SWAMP__IN_NOT_FINAL,          swamp__act_poll_later,            POLLING,    "... until the status is final. Or gives up"},
{ASKING,                    SWAMP__IN_UNAVAILABLE,        swamp__act_poll_unavailable,      POLLING,    "... unavailable: no answer, uses up no time, up to give_up_ms. Or gives up"},
{ASKING,                    SWAMP__IN_FINAL,              swamp__act_finish_recorded,       ENDED,      "... then the final status"},
{FOLLOWING,                 SWAMP__IN_NOT_FOUND,          swamp__act_not_found,             CHECKING,   "not_found: ask workflow.history.get"},
{STARTING,                  SWAMP__IN_NOT_FOUND,          swamp__act_refuse,                ENDED,      "... in answer to a start: any other error code"},
{CHECKING,                  SWAMP__IN_FINAL,              swamp__act_finish_recorded,       ENDED,      "... final status known: that is the end, gap for what was not seen"},
{CHECKING,                  SWAMP__IN_NOT_FINAL,          swamp__act_look_again,            WAITING,    "... else again, 5 times in all. Or gives up"},
{STARTING | FOLLOWING | CHECKING,
                            SWAMP__IN_UNAVAILABLE,        swamp__act_come_later,            WAITING,    "unavailable, draining: retryAfterMs, up to give_up_ms; the start again. Or gives up"},
{ATTACHING,                 SWAMP__IN_EPOCH_MISMATCH,     swamp__act_start_over,            ATTACHING,  "epoch_mismatch: attach once without epoch from 0"},
{FOLLOWING | STARTING,      SWAMP__IN_EPOCH_AGAIN,        swamp__act_refuse,                ENDED,      "... once"},
{LINKED,                    SWAMP__IN_REFUSED,            swamp__act_refuse,                ENDED,      "unauthorized, any other error code: stop"},
/* -- the rest of a run's life */
{LINKED,                    SWAMP__IN_DRAIN,              swamp__act_tell_draining,         SAME,       "server.drain: stay"},
{STARTING | FOLLOWING,      SWAMP__IN_DONE,               swamp__act_finish,                ENDED,      "done: the end"},
{STREAMING,                 SWAMP__IN_DONE_SHORT,         swamp__act_reattach_hole,         WAITING,    "... events missing before it: as for a hole"},
{STREAMING,                 SWAMP__IN_DONE_SHORT_AGAIN,   swamp__act_finish_short,          ENDED,      "... the same again: gap, the end"},
/* -- the application */
{DIALING | WAITING | LINKED, SWAMP__IN_CANCEL,            swamp__act_cancel,                SAME,       "Ctrl-C sends run.cancel"},
{DIALING | WAITING | IDLE,  SWAMP__IN_CANCEL_UNSENT,      swamp__act_cancel_unsent,         ENDED,      "... nothing was started: that is the end"},
};
/* clang-format on */
const size_t swamp__session_rule_count = sizeof swamp__session_rules / sizeof swamp__session_rules[0];

const swamp__rule *
swamp__session_rule(unsigned state, int input)
{
    for (size_t i = 0; i < swamp__session_rule_count; i++)
        if (swamp__session_rules[i].input == input && (swamp__session_rules[i].states & state))
            return &swamp__session_rules[i];
    return NULL;
}

void
swamp__session_feed(swamp__session *session, int input, const swamp__news *news)
{
    const swamp__rule *rule = swamp__session_rule(session->state, input);
    if (!rule)
        return;
    /* An act that ends the session sets the state itself; ENDED in the table only says that this one always does. */
    if (rule->next != SAME && rule->next != ENDED)
        session->state = rule->next == GOAL ? session->goal : rule->next;
    rule->act(session, news);
}
