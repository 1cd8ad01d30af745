/* One link at a time: the dial, what is sent on it, its liveness (PROTOCOL 1), and the wait before the next one. */
#include <stdio.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../wire/request.h"
#include "machine.h"

void
swamp__session_hang_up(swamp__session *session)
{
    swamp__timers *timers = session->world->timers;
    swamp__timer_unset(timers, &session->answer_timer);
    swamp__timer_unset(timers, &session->life_timer);
    swamp__timer_unset(timers, &session->cancel_timer);
    session->answer_timeout_ms = 0;
    session->request_id[0] = '\0';
    session->cancel_id[0] = '\0'; /* a cancel that was not answered is sent again on the next link */
    if (session->link != SWAMP__LINK_NONE) {
        session->link = SWAMP__LINK_NONE;
        session->io.hang_up(session->io.self);
    }
}

void
swamp__session_wait(swamp__session *session, int64_t delay_ms)
{
    swamp__session_hang_up(session);
    if (session->state == SWAMP__AT_ENDED)
        return;
    session->delay_over = 0;
    swamp__timer_set(session->world->timers, &session->delay_timer, swamp__now_ms(session->world) + delay_ms);
}

const char *
swamp__session_new_id(swamp__session *session, char id[24])
{
    snprintf(id, 24, "s%llu", (unsigned long long)++session->requests);
    return id;
}

void
swamp__session_send_out(swamp__session *session)
{
    if (swamp__buf_status(&session->out) < 0)
        swamp__session_no_memory(session);
    else if (session->link == SWAMP__LINK_UP)
        session->io.send(session->io.self, session->out.data, session->out.len);
    swamp__buf_free(&session->out); /* a start may be a megabyte: not kept for the session's life */
}

void
swamp__session_expect(swamp__session *session, uint32_t timeout_ms)
{
    session->answer_timeout_ms = timeout_ms;
    if (timeout_ms == 0 || session->state == SWAMP__AT_ENDED)
        swamp__timer_unset(session->world->timers, &session->answer_timer);
    else if (!session->no_room)
        swamp__timer_set(session->world->timers, &session->answer_timer,
                         swamp__now_ms(session->world) + timeout_ms);
}

/* Any real answer, also an unwelcome one: somebody is there, so the dials count from zero again. */
void
swamp__session_answered(swamp__session *session)
{
    session->dials = 0;
    session->unavailable_since_ms = -1;
    swamp__session_expect(session, 0);
}

void
swamp__session_send_attach(swamp__session *session)
{
    const swamp__place *place = &session->place;
    swamp__request_put_attach(&session->out, swamp__session_new_id(session, session->request_id),
                              place->run_id, place->epoch[0] ? place->epoch : NULL, place->last);
    swamp__session_send_out(session);
    swamp__session_expect(session, session->options.answer_timeout_ms);
}

void
swamp__session_send_history(swamp__session *session)
{
    swamp__request_put_history_get(&session->out, swamp__session_new_id(session, session->request_id),
                                   session->place.run_id);
    swamp__session_send_out(session);
    swamp__session_expect(session, session->options.request_timeout_ms);
}

static void
send_start(swamp__session *session)
{
    const char *payload = session->options.start_payload;
    size_t len = 0;
    while (payload[len])
        len++;
    swamp__request_put(&session->out, session->options.start_type,
                       swamp__session_new_id(session, session->request_id), payload, len);
    swamp__session_send_out(session);
    swamp__session_expect(session, session->options.answer_timeout_ms);
}

void
swamp__act_dial(swamp__session *session, const swamp__news *news)
{
    (void)news;
    char *address = session->dial_url;
    session->dial_url = NULL; /* one dial only: if it fails, the next one goes to the URL */
    session->dials++;
    session->link = SWAMP__LINK_DIALING;
    swamp__timer_set(session->world->timers, &session->answer_timer,
                     swamp__now_ms(session->world) + session->options.connect_timeout_ms);
    if (session->io.dial(session->io.self, address ? address : session->options.url) != SWAMP_OK) {
        session->link = SWAMP__LINK_NONE; /* lost, but not from within this act */
        swamp__timer_set(session->world->timers, &session->answer_timer, swamp__now_ms(session->world));
    }
    swamp__free(address);
}

static void
watch_life(swamp__session *session)
{
    session->alive_ms = swamp__now_ms(session->world);
    session->pinged = 0;
    swamp__timer_set(session->world->timers, &session->life_timer,
                     session->alive_ms + session->options.idle_timeout_ms / 2);
}

void
swamp__act_greet(swamp__session *session, const swamp__news *news)
{
    (void)news;
    session->link = SWAMP__LINK_UP;
    session->ever_connected = 1;
    swamp__timer_unset(session->world->timers, &session->answer_timer);
    if (session->no_room)
        session->io.pause(session->io.self, 1);
    else
        watch_life(session);
    if (session->state == SWAMP__AT_STARTING) {
        send_start(session);
    } else if (session->state == SWAMP__AT_ATTACHING) {
        swamp__session_send_attach(session);
    } else {
        session->history_answered_ms =
            swamp__now_ms(session->world); /* without a link no time for polling runs */
        swamp__session_send_history(session);
    }
    swamp__session_send_cancel(session);
}

static void
lose_link(swamp__session *session, const char *why)
{
    swamp__session_hang_up(session);
    swamp__session_feed(session, SWAMP__IN_LOST, &(swamp__news){.why = why});
}

static void
fire_answer(swamp__timer *timer)
{
    swamp__session *session = SWAMP__OF(timer, swamp__session, answer_timer);
    static const char *const why[] = {[SWAMP__LINK_NONE] =
                                          "could not begin to dial: not enough memory, or not an address",
                                      [SWAMP__LINK_DIALING] = "no connection in time",
                                      [SWAMP__LINK_UP] = "no answer in time"};
    lose_link(session, why[session->link]);
}

/* PROTOCOL 1: ping after half the time without a sign of life, give up after all of it. */
static void
fire_life(swamp__timer *timer)
{
    swamp__session *session = SWAMP__OF(timer, swamp__session, life_timer);
    int64_t idle_ms = session->options.idle_timeout_ms;
    int64_t silent_ms = swamp__now_ms(session->world) - session->alive_ms;
    if (silent_ms >= idle_ms) {
        lose_link(session, "the server gives no sign of life");
        return;
    }
    if (silent_ms >= idle_ms / 2 && !session->pinged) {
        session->pinged = 1;
        session->io.ping(session->io.self);
    }
    swamp__timer_set(session->world->timers, timer,
                     session->alive_ms + (session->pinged ? idle_ms : idle_ms / 2));
}

static void
fire_delay(swamp__timer *timer)
{
    swamp__session *session = SWAMP__OF(timer, swamp__session, delay_timer);
    if (session->no_room)
        session->delay_over = 1; /* PROTOCOL 1: does not reconnect until there is room */
    else
        swamp__session_feed(session, SWAMP__IN_DELAY_OVER, &(swamp__news){.why = ""});
}

int
swamp__session_timers(swamp__session *session)
{
    struct {
        swamp__timer *timer;
        void (*fire)(swamp__timer *);
    } all[] = {{&session->delay_timer, fire_delay},
               {&session->answer_timer, fire_answer},
               {&session->life_timer, fire_life},
               {&session->cancel_timer, swamp__session_resend_cancel}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (swamp__timer_init(session->world->timers, all[i].timer, all[i].fire) < 0)
            return SWAMP_E_NOMEM;
    return SWAMP_OK;
}

static void
stop_reading(swamp__session *session)
{
    session->no_room_ms = swamp__now_ms(session->world);
    if (session->link != SWAMP__LINK_UP)
        return;
    session->io.pause(session->io.self, 1);
    swamp__timer_unset(session->world->timers, &session->life_timer);
    swamp__timer_unset(session->world->timers, &session->answer_timer);
}

/* The time that the application took is nobody's silence and nobody's delay: every limit is moved by it. */
static void
go_on_reading(swamp__session *session)
{
    int64_t rested_ms = swamp__now_ms(session->world) - session->no_room_ms;
    session->history_until_ms += rested_ms;
    session->history_bound_ms += rested_ms;
    session->elsewhere_since_ms += rested_ms;
    if (session->unavailable_since_ms >= 0)
        session->unavailable_since_ms += rested_ms;
    if (session->link == SWAMP__LINK_UP) {
        session->io.pause(session->io.self, 0);
        watch_life(session);
        swamp__session_expect(session, session->answer_timeout_ms);
    }
    if (session->delay_over) {
        session->delay_over = 0;
        swamp__session_feed(session, SWAMP__IN_DELAY_OVER, &(swamp__news){.why = ""});
    }
}

void
swamp__session_room(swamp__session *session, int has_room)
{
    if (session->state == SWAMP__AT_ENDED || session->no_room == !has_room)
        return;
    session->no_room = !has_room;
    if (session->no_room)
        stop_reading(session);
    else
        go_on_reading(session);
}
