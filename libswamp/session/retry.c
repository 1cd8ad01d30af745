/* Actions for links that fail and servers that refuse: dial again within the limits, come later, or stop
 * (PROTOCOL 7). */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "machine.h"

/* max_dials in a row without any answer; a run that was interrupted is asked after until its time is over, too. */
static int
is_given_up(const swamp__session *session)
{
    if (session->goal == SWAMP__AT_ASKING && swamp__now_ms(session->world) < session->history_until_ms)
        return 0;
    return session->dials >= session->options.max_dials;
}

static void
give_up_dialling(swamp__session *session, const char *why)
{
    char line[256];
    if (session->goal == SWAMP__AT_ASKING) {
        swamp__session_fail(session, SWAMP_E_GAVE_UP, "not_recorded", "final status not recorded");
        return;
    }
    snprintf(line, sizeof line, "given up after %u dials in a row without an answer: %s",
             (unsigned)session->dials, why[0] ? why : "connection lost");
    if (session->ever_connected)
        swamp__session_fail(session, SWAMP_E_GAVE_UP, "gave_up", line);
    else
        swamp__session_fail(session, SWAMP_E_CONNECT, "connect_failed", line);
}

void
swamp__act_redial(swamp__session *session, const swamp__news *news)
{
    swamp__backoff_lost(&session->backoff, swamp__now_ms(session->world));
    if (is_given_up(session)) {
        give_up_dialling(session, news->why);
        return;
    }
    int64_t delay_ms = swamp__backoff_next(&session->backoff, session->world);
    swamp__session_wait(session, delay_ms);
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_RECONNECTING,
                                                .reason = "connection_lost",
                                                .message = news->why[0] ? news->why : "connection lost",
                                                .retry_after_ms = delay_ms,
                                                .attempt = session->dials + 1});
}

/* Nothing is tried again: the run may or may not exist, and a second start would be a second run. */
void
swamp__act_fail_lost(swamp__session *session, const swamp__news *news)
{
    (void)news;
    swamp__session_fail(session, SWAMP_E_LOST, "connection_lost",
                        "connection lost before the run was accepted");
}

void
swamp__act_fail_unauthorized(swamp__session *session, const swamp__news *news)
{
    swamp__session_fail(session, SWAMP_E_UNAUTHORIZED, "unauthorized", news->why);
}

void
swamp__act_fail_protocol(swamp__session *session, const swamp__news *news)
{
    (void)news;
    swamp__session_fail(session, SWAMP_E_PROTOCOL, "protocol",
                        "the server sent a frame that cannot be decoded");
}

void
swamp__act_refuse(swamp__session *session, const swamp__news *news)
{
    const swamp__answer *answer = news->answer;
    const char *code = answer->type == SWAMP__ANS_ERROR ? answer->code : "interrupted";
    int error = strcmp(code, "unauthorized") == 0 ? SWAMP_E_UNAUTHORIZED
                : strcmp(code, "not_found") == 0  ? SWAMP_E_NOT_FOUND
                                                  : SWAMP_E_REFUSED;
    swamp__session_fail(session, error, code, answer->message);
}

/*
 * unavailable, draining, 429: somebody answered, so the dials do not count; time does. In answer to a start
 * these codes promise that the run will never start (PROTOCOL 3): the goal is still STARTING, and the start
 * is sent again - but not for somebody who has asked for its end meanwhile.
 */
void
swamp__act_come_later(swamp__session *session, const swamp__news *news)
{
    int64_t now_ms = swamp__now_ms(session->world);
    int64_t since_ms = session->unavailable_since_ms >= 0 ? session->unavailable_since_ms : now_ms;
    const char *code = news->answer ? news->answer->code : "unavailable";
    const char *line = news->answer ? news->answer->message : news->why;
    if (session->cancel_wanted && session->goal == SWAMP__AT_STARTING) {
        swamp__act_cancel_unsent(session, news);
        return;
    }
    swamp__session_answered(session);
    session->unavailable_since_ms = since_ms;
    if (now_ms - since_ms >= (int64_t)session->options.give_up_ms) {
        int error = session->goal == SWAMP__AT_STARTING ? SWAMP_E_REFUSED : SWAMP_E_GAVE_UP;
        swamp__session_fail(session, error, code, line);
        return;
    }
    swamp__backoff_lost(&session->backoff, now_ms);
    int64_t own_ms = swamp__backoff_next(&session->backoff, session->world);
    int64_t delay_ms =
        swamp__backoff_told(session->world, own_ms, news->retry_after_ms, session->options.give_up_ms);
    swamp__session_wait(session, delay_ms);
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_RECONNECTING,
                                                .reason = code,
                                                .message = line,
                                                .retry_after_ms = delay_ms,
                                                .attempt = 1});
}
