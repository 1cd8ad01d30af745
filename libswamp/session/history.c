/* The final status by way of the history: after an interruption, and for a run that is not found (PROTOCOL 7). */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "machine.h"

void
swamp__act_interrupted(swamp__session *session, const swamp__news *news)
{
    const swamp__answer *answer = news->answer;
    int64_t wait_ms =
        answer->stale_ttl_ms >= 0 ? 2 * answer->stale_ttl_ms : session->options.history_give_up_ms;
    swamp__session_answered(session);
    session->goal = SWAMP__AT_ASKING;
    session->history_left_ms = wait_ms;
    session->history_answered_ms = swamp__now_ms(session->world);
    session->history_until_ms = session->history_answered_ms + wait_ms;
    session->history_bound_ms = session->history_answered_ms + session->options.give_up_ms;
    /*
     * Servers of the existing tool (no staleTtlMs) do not record why: what they told is kept. Of all others
     * the record is the truth: the last commit of an owner that was declared dead may have been done after
     * all.
     */
    int records_why = answer->type == SWAMP__ANS_ERROR || answer->stale_ttl_ms >= 0;
    snprintf(session->interrupt_reason, sizeof session->interrupt_reason, "%s",
             records_why ? "" : answer->reason);
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_INTERRUPTED,
                                                .reason = answer->reason,
                                                .instance_id = answer->instance_id});
    swamp__session_send_history(session);
}

void
swamp__act_ask_history(swamp__session *session, const swamp__news *news)
{
    (void)news;
    swamp__session_send_history(session);
}

/* The next poll, or the end when `left_ms` is over. */
static void
poll_again(swamp__session *session, int64_t left_ms, int64_t retry_after_ms)
{
    const swamp__session_options *options = &session->options;
    int64_t now_ms = swamp__now_ms(session->world);
    swamp__session_answered(session);
    session->history_answered_ms = now_ms;
    if (left_ms <= 0) {
        swamp__session_fail(session, SWAMP_E_GAVE_UP, "not_recorded", "final status not recorded");
        return;
    }
    int64_t own_ms =
        swamp__world_uniform(session->world, options->history_poll_min_ms, options->history_poll_max_ms);
    int64_t delay_ms = swamp__backoff_told(session->world, own_ms, retry_after_ms, left_ms);
    swamp__timer_set(session->world->timers, &session->delay_timer, now_ms + delay_ms);
}

/*
 * Not final yet. No more than the usual pause since the last answer counts: while the client was cut off, or asked an
 * instance that was stopped, nobody could be asked, and the reaper may have been slow for the same reason.
 */
void
swamp__act_poll_later(swamp__session *session, const swamp__news *news)
{
    int64_t spent_ms = swamp__now_ms(session->world) - session->history_answered_ms;
    if (spent_ms > (int64_t)session->options.history_poll_max_ms)
        spent_ms = session->options.history_poll_max_ms;
    session->history_left_ms -= spent_ms;
    poll_again(session, session->history_left_ms, news->retry_after_ms);
}

/* While the store is away nobody can record or read an end: that time is not the reaper's (PROTOCOL 7, `unavailable`). */
void
swamp__act_poll_unavailable(swamp__session *session, const swamp__news *news)
{
    poll_again(session, session->history_bound_ms - swamp__now_ms(session->world), news->retry_after_ms);
}

/*
 * What was not seen is reported. A run that ended by itself had a last event; when that was not seen, the
 * number of the missing ones is known only as far as run.attached told it: to_seq 0 means up to the end.
 */
static void
report_unseen(swamp__session *session, int ended_by_itself)
{
    swamp__place *place = &session->place;
    uint64_t from = place->last + 1;
    if (place->terminal_seen && !swamp__place_short(place))
        return;
    if (!ended_by_itself && !swamp__place_short(place))
        return;
    uint64_t to = ended_by_itself ? 0 : place->head;
    swamp__place_advance(place, place->head);
    swamp__session_tell_gap(session, from, to, "lost");
}

void
swamp__act_finish_recorded(swamp__session *session, const swamp__news *news)
{
    const swamp__answer *answer = news->answer;
    const char *reason = answer->interrupt_reason;
    /* Servers of the existing tool do not record why; a run that succeeded all the same was not interrupted. */
    if (!reason[0] && strcmp(answer->run_status, "succeeded") != 0)
        reason = session->interrupt_reason;
    report_unseen(session, !reason[0]);
    swamp__session_done(session, answer->run_status, reason, answer->data.at, answer->data.len);
}

void
swamp__act_not_found(swamp__session *session, const swamp__news *news)
{
    (void)news;
    swamp__session_answered(session);
    session->goal = SWAMP__AT_CHECKING;
    session->not_founds++;
    swamp__session_send_history(session);
}

/* Again from run.attach, on a new link: the balancer may hit the instance that has the run. */
void
swamp__act_look_again(swamp__session *session, const swamp__news *news)
{
    (void)news;
    const swamp__session_options *options = &session->options;
    swamp__session_answered(session);
    session->goal = SWAMP__AT_ATTACHING;
    if (session->not_founds >= options->max_not_found) {
        swamp__session_fail(session, SWAMP_E_NOT_FOUND, "not_found", "run not found");
        return;
    }
    swamp__session_wait(session, swamp__world_uniform(session->world, options->history_poll_min_ms,
                                                      options->history_poll_max_ms));
}
