/* The outside of the resume machine: made, begun, fed by the transport, freed. What it does is in rules.c. */
#include "session.h"

#include <swamp/status.h>
#include "../util/alloc.h"
#include "machine.h"

static int
copy_options(swamp__session *session, const swamp__session_options *options)
{
    swamp__session_options *mine = &session->options;
    *mine = *options;
    mine->run_id = mine->epoch = NULL; /* the place holds them */
    mine->url = swamp__strdup(options->url);
    mine->start_type = swamp__strdup(options->start_type);
    mine->start_payload = swamp__strdup(options->start_payload ? options->start_payload : "{}");
    if (!mine->url || !mine->start_payload || (options->start_type && !mine->start_type))
        return SWAMP_E_NOMEM;
    return SWAMP_OK;
}

static swamp_event *
make_reserve(void)
{
    swamp_event *event = swamp__event_new(SWAMP_EVENT_ERROR);
    if (!event)
        return NULL;
    event->error = SWAMP_E_NOMEM;
    event->bytes = sizeof *event;
    if (swamp__event_set(&event->code, "out_of_memory") == SWAMP_OK &&
        swamp__event_set(&event->message, swamp_status_text(SWAMP_E_NOMEM)) == SWAMP_OK)
        return event;
    swamp_event_free(event);
    return NULL;
}

int
swamp__session_new(swamp__session **out, const swamp__session_options *options, const swamp__world *world,
                   const swamp__session_io *io)
{
    swamp__session *session = swamp__calloc(1, sizeof *session);
    if (!session)
        return SWAMP_E_NOMEM;
    session->world = world;
    session->io = *io;
    session->state = SWAMP__AT_IDLE;
    session->goal = options->start_type ? SWAMP__AT_STARTING : SWAMP__AT_ATTACHING;
    session->unavailable_since_ms = -1;
    session->backoff = (swamp__backoff){.min_ms = options->retry_min_ms,
                                        .first_ms = options->retry_first_ms,
                                        .max_ms = options->retry_max_ms,
                                        .settle_ms = options->settle_ms,
                                        .bound_ms = options->retry_first_ms,
                                        .attached_ms = -1};
    swamp__buf_init(&session->out);
    if (options->start_type)
        swamp__place_init(&session->place, NULL, NULL, 0);
    else
        swamp__place_init(&session->place, options->run_id, options->epoch, options->after_seq);
    session->reserve = make_reserve();
    if (copy_options(session, options) < 0 || !session->reserve || swamp__session_timers(session) < 0) {
        swamp__session_free(session);
        return SWAMP_E_NOMEM;
    }
    *out = session;
    return SWAMP_OK;
}

void
swamp__session_free(swamp__session *session)
{
    if (!session)
        return;
    if (session->link != SWAMP__LINK_NONE)
        session->io.hang_up(session->io.self);
    swamp__timers *timers = session->world->timers;
    swamp__timer_destroy(timers, &session->delay_timer);
    swamp__timer_destroy(timers, &session->answer_timer);
    swamp__timer_destroy(timers, &session->life_timer);
    swamp__timer_destroy(timers, &session->cancel_timer);
    swamp__free((char *)session->options.url);
    swamp__free((char *)session->options.start_type);
    swamp__free((char *)session->options.start_payload);
    swamp__free(session->dial_url);
    swamp__free(session->cancel_reason);
    swamp__place_free(&session->place);
    swamp__buf_free(&session->out);
    swamp_event_free(session->reserve);
    swamp__free(session);
}

void
swamp__session_begin(swamp__session *session)
{
    swamp__session_feed(session, SWAMP__IN_DELAY_OVER, &(swamp__news){.why = ""});
}

void
swamp__session_connected(swamp__session *session)
{
    swamp__session_feed(session, SWAMP__IN_CONNECTED, &(swamp__news){.why = ""});
}

void
swamp__session_link_lost(swamp__session *session, int how, int64_t retry_after_ms, const char *why)
{
    int input = how == SWAMP__LINK_UNAUTHORIZED ? SWAMP__IN_UNAUTHORIZED
                : how == SWAMP__LINK_TRY_LATER  ? SWAMP__IN_TRY_LATER
                                                : SWAMP__IN_LOST;
    session->link = SWAMP__LINK_NONE; /* it is gone: nothing is left to hang up */
    swamp__session_hang_up(session);
    swamp__session_feed(session, input,
                        &(swamp__news){.why = why ? why : "", .retry_after_ms = retry_after_ms});
}

void
swamp__session_alive(swamp__session *session)
{
    session->alive_ms = swamp__now_ms(session->world);
    session->pinged = 0;
}

void
swamp__session_message(swamp__session *session, const char *text, size_t len)
{
    if (session->link != SWAMP__LINK_UP)
        return;
    swamp__session_alive(session);
    swamp__session_read(session, text, len);
}

int
swamp__session_ended(const swamp__session *session)
{
    return session->state == SWAMP__AT_ENDED;
}
