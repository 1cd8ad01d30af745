/* The application's cancel: asked on every link until a server has taken it (PROTOCOL 7, Ctrl-C). */
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../wire/request.h"
#include "machine.h"

void
swamp__session_cancel(swamp__session *session, const char *reason)
{
    if (session->state == SWAMP__AT_ENDED || session->cancel_wanted)
        return;
    session->cancel_wanted = 1;
    swamp__free(session->cancel_reason);
    session->cancel_reason = swamp__strdup(reason); /* no memory: without a reason */
    int unsent = session->goal == SWAMP__AT_STARTING && session->state != SWAMP__AT_STARTING;
    swamp__session_feed(session, unsent ? SWAMP__IN_CANCEL_UNSENT : SWAMP__IN_CANCEL,
                        &(swamp__news){.why = ""});
}

void
swamp__act_cancel(swamp__session *session, const swamp__news *news)
{
    (void)news;
    swamp__session_send_cancel(session);
}

void
swamp__act_cancel_unsent(swamp__session *session, const swamp__news *news)
{
    (void)news;
    swamp__session_fail(session, SWAMP_E_CLOSED, "cancelled", "cancelled before the run was started");
}

/* Also beside a run.attach that is not answered yet: any instance takes run.cancel. */
void
swamp__session_send_cancel(swamp__session *session)
{
    if (!session->cancel_wanted || session->cancel_id[0] || session->link != SWAMP__LINK_UP ||
        !session->place.run_id[0])
        return;
    swamp__request_put_run_cancel(&session->out, swamp__session_new_id(session, session->cancel_id),
                                  session->place.run_id, session->cancel_reason);
    swamp__session_send_out(session);
}

static int
comes_later(const char *code)
{
    return strcmp(code, "unavailable") == 0 || strcmp(code, "draining") == 0 ||
           strcmp(code, "too_many_requests") == 0;
}

/* A server that does not know run.cancel says invalid_request: it gets `cancel`, whose id may be a run id. */
static void
cancel_the_old_way(swamp__session *session)
{
    session->cancel_wanted = 0;
    swamp__request_put(&session->out, "cancel", session->place.run_id, NULL, 0);
    swamp__session_send_out(session);
}

int
swamp__session_cancel_answer(swamp__session *session, const swamp__answer *answer)
{
    if (!session->cancel_id[0] || strcmp(answer->id, session->cancel_id) != 0)
        return 0;
    session->cancel_id[0] = '\0';
    if (answer->type != SWAMP__ANS_ERROR) {
        session->cancel_wanted = 0;
    } else if (strcmp(answer->code, "invalid_request") == 0) {
        cancel_the_old_way(session);
    } else if (comes_later(answer->code)) {
        int64_t own_ms = swamp__world_uniform(session->world, session->options.retry_min_ms,
                                              session->options.retry_first_ms);
        int64_t delay_ms =
            swamp__backoff_told(session->world, own_ms, answer->retry_after_ms, session->options.give_up_ms);
        swamp__timer_set(session->world->timers, &session->cancel_timer,
                         swamp__now_ms(session->world) + delay_ms);
    } else {
        session->cancel_wanted = 0; /* refused, or the run is gone: the stream will tell */
    }
    return 1;
}

void
swamp__session_resend_cancel(swamp__timer *timer)
{
    swamp__session_send_cancel(SWAMP__OF(timer, swamp__session, cancel_timer));
}
