/* What the application is told: every event carries the run id, and the place that stands once it was taken. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "machine.h"

static void
end_session(swamp__session *session)
{
    swamp__session_hang_up(session);
    swamp__timer_unset(session->world->timers, &session->delay_timer);
    session->delay_over = 0;
    session->cancel_wanted = 0;
    session->state = SWAMP__AT_ENDED;
}

void
swamp__session_no_memory(swamp__session *session)
{
    if (session->state == SWAMP__AT_ENDED)
        return;
    swamp_event *event = session->reserve;
    session->reserve = NULL;
    event->cursor_seq = session->place.last;
    end_session(session);
    session->io.deliver(session->io.self, event);
}

static swamp_event *
make_event(const swamp__session *session, const swamp__told *told)
{
    swamp_event *event = swamp__event_new(told->type);
    if (!event)
        return NULL;
    event->error = told->error;
    event->success = told->success;
    event->attempt = told->attempt;
    event->retry_after_ms = told->retry_after_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)told->retry_after_ms;
    event->seq = told->seq;
    event->from_seq = told->from_seq;
    event->to_seq = told->to_seq;
    event->cursor_seq = session->place.last;
    event->bytes = sizeof *event + told->json_len;

    struct {
        char **member;
        const char *text;
    } texts[] = {
        {&event->run_id, session->place.run_id},
        {&event->epoch, session->place.epoch},
        {&event->kind, told->kind},
        {&event->instance_id, told->instance_id},
        {&event->address, told->address},
        {&event->reason, told->reason},
        {&event->status, told->status},
        {&event->code, told->code},
        {&event->message, told->message},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (swamp__event_set(texts[i].member, texts[i].text) < 0)
            goto fail;
    if (told->json) {
        event->json = swamp__strndup(told->json, told->json_len);
        if (!event->json)
            goto fail;
        event->json_len = told->json_len;
    }
    return event;

fail:
    swamp_event_free(event);
    return NULL;
}

void
swamp__session_tell(swamp__session *session, const swamp__told *told)
{
    if (session->state == SWAMP__AT_ENDED)
        return;
    swamp_event *event = make_event(session, told);
    if (!event) {
        swamp__session_no_memory(session);
        return;
    }
    if (told->type >= SWAMP_EVENT_DONE)
        end_session(session);
    session->io.deliver(session->io.self, event);
}

void
swamp__session_tell_gap(swamp__session *session, uint64_t from, uint64_t to, const char *reason)
{
    swamp__session_tell(
        session, &(swamp__told){.type = SWAMP_EVENT_GAP, .from_seq = from, .to_seq = to, .reason = reason});
}

void
swamp__session_fail(swamp__session *session, int error, const char *code, const char *message)
{
    swamp__session_tell(
        session, &(swamp__told){.type = SWAMP_EVENT_ERROR,
                                .error = error,
                                .code = code,
                                .message = message && message[0] ? message : swamp_status_text(error)});
}

/* PROTOCOL 7, `done`: success is the status and a complete view; what was reported as a gap counts as seen. */
void
swamp__session_done(swamp__session *session, const char *status, const char *reason, const char *json,
                    size_t len)
{
    int success = strcmp(status, "succeeded") == 0 && !swamp__place_short(&session->place);
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_DONE,
                                                .status = status,
                                                .reason = reason,
                                                .success = success,
                                                .json = json,
                                                .json_len = len});
}
