/* One request, one answer: dial, ask, take the answer; a lost link is tried again within the bounds, then ERROR. */
#include "single.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../wire/answer.h"
#include "../wire/request.h"
#include "backoff.h"

#define REQUEST_ID "q1" /* one request a connection: the id need not differ */

struct swamp__single {
    char *url, *type, *payload;
    int64_t until_ms;
    int64_t timeout_ms;
    int tries, max_tries;
    int linked, ended;
    const swamp__world *world;
    swamp__session_io io;
    swamp__backoff backoff;
    swamp__timer retry_timer, end_timer;
    swamp__answer answer;
    swamp_event *event; /* made at the start, so that the end needs no memory */
    char why[200];      /* what the last lost link said */
};

static void
hang_up(swamp__single *single)
{
    if (single->linked) {
        single->linked = 0;
        single->io.hang_up(single->io.self);
    }
}

static void
end(swamp__single *single)
{
    swamp_event *event = single->event;
    single->event = NULL;
    single->ended = 1;
    swamp__timer_unset(single->world->timers, &single->retry_timer);
    swamp__timer_unset(single->world->timers, &single->end_timer);
    hang_up(single);
    single->io.deliver(single->io.self, event);
}

static void
fail(swamp__single *single, int error, const char *code, const char *message)
{
    if (single->ended)
        return;
    single->event->type = SWAMP_EVENT_ERROR;
    single->event->error = error;
    /* Without memory for the words the number still says it. */
    if (swamp__event_set(&single->event->code, code) < 0 ||
        swamp__event_set(&single->event->message,
                         message && message[0] ? message : swamp_status_text(error)) < 0)
        single->event->error = SWAMP_E_NOMEM;
    end(single);
}

static void
dial(swamp__single *single)
{
    single->tries++;
    single->linked = single->io.dial(single->io.self, single->url) == SWAMP_OK;
    if (!single->linked)
        swamp__single_link_lost(single, SWAMP__LINK_LOST, 0,
                                "could not begin to dial: not enough memory, or not an address");
}

static void
fire_retry(swamp__timer *timer)
{
    dial(SWAMP__OF(timer, swamp__single, retry_timer));
}

static void
fire_end(swamp__timer *timer)
{
    swamp__single *single = SWAMP__OF(timer, swamp__single, end_timer);
    fail(single, SWAMP_E_TIMEOUT, "timeout", single->why[0] ? single->why : "no answer in time");
}

int
swamp__single_new(swamp__single **out, const swamp__single_options *options, const swamp__world *world,
                  const swamp__session_io *io)
{
    swamp__single *single = swamp__calloc(1, sizeof *single);
    if (!single)
        return SWAMP_E_NOMEM;
    single->world = world;
    single->io = *io;
    single->timeout_ms = options->timeout_ms;
    single->max_tries = options->max_tries;
    /* A person waits for this one: half a second at first. */
    single->backoff =
        (swamp__backoff){.min_ms = 250, .first_ms = 500, .max_ms = 4000, .bound_ms = 500, .attached_ms = -1};
    single->url = swamp__strdup(options->url);
    single->type = swamp__strdup(options->type);
    single->payload = swamp__strdup(options->payload);
    single->event = swamp__event_new(SWAMP_EVENT_ERROR);
    if (!single->url || !single->type || (options->payload && !single->payload) || !single->event ||
        swamp__timer_init(world->timers, &single->retry_timer, fire_retry) < 0 ||
        swamp__timer_init(world->timers, &single->end_timer, fire_end) < 0) {
        swamp__single_free(single);
        return SWAMP_E_NOMEM;
    }
    *out = single;
    return SWAMP_OK;
}

void
swamp__single_begin(swamp__single *single)
{
    single->until_ms = swamp__now_ms(single->world) + single->timeout_ms;
    swamp__timer_set(single->world->timers, &single->end_timer, single->until_ms);
    dial(single);
}

void
swamp__single_free(swamp__single *single)
{
    if (!single)
        return;
    hang_up(single);
    swamp__timer_destroy(single->world->timers, &single->retry_timer);
    swamp__timer_destroy(single->world->timers, &single->end_timer);
    swamp_event_free(single->event);
    swamp__free(single->url);
    swamp__free(single->type);
    swamp__free(single->payload);
    swamp__free(single);
}

void
swamp__single_connected(swamp__single *single)
{
    swamp__buf out;
    if (single->ended)
        return;
    swamp__buf_init(&out);
    swamp__request_put(&out, single->type, REQUEST_ID, single->payload,
                       single->payload ? strlen(single->payload) : 0);
    if (swamp__buf_status(&out) < 0)
        fail(single, SWAMP_E_NOMEM, "out_of_memory", NULL);
    else
        single->io.send(single->io.self, out.data, out.len);
    swamp__buf_free(&out);
}

void
swamp__single_link_lost(swamp__single *single, int how, int64_t retry_after_ms, const char *why)
{
    single->linked = 0;
    if (single->ended)
        return;
    if (how == SWAMP__LINK_UNAUTHORIZED) {
        fail(single, SWAMP_E_UNAUTHORIZED, "unauthorized", why);
        return;
    }
    snprintf(single->why, sizeof single->why, "%s", why ? why : "");
    int64_t now_ms = swamp__now_ms(single->world);
    int64_t left_ms = single->until_ms - now_ms;
    int64_t own_ms = swamp__backoff_next(&single->backoff, single->world);
    int64_t delay_ms = swamp__backoff_told(single->world, own_ms, retry_after_ms, single->timeout_ms);
    if (single->tries >= single->max_tries || delay_ms >= left_ms) {
        fail(single, SWAMP_E_CONNECT, "connect_failed", why);
        return;
    }
    swamp__timer_set(single->world->timers, &single->retry_timer, now_ms + delay_ms);
}

static int
error_of(const char *code)
{
    if (strcmp(code, "unauthorized") == 0)
        return SWAMP_E_UNAUTHORIZED;
    return strcmp(code, "not_found") == 0 ? SWAMP_E_NOT_FOUND : SWAMP_E_REFUSED;
}

void
swamp__single_message(swamp__single *single, const char *text, size_t len)
{
    swamp__answer *answer = &single->answer;
    if (single->ended)
        return;
    int status = swamp__answer_read(text, len, answer);
    if (status < 0) {
        fail(single, status, status == SWAMP_E_NOMEM ? "out_of_memory" : "protocol", NULL);
        return;
    }
    int is_error = answer->type == SWAMP__ANS_ERROR;
    if (strcmp(answer->id, REQUEST_ID) != 0 && !(is_error && strcmp(answer->id, "unknown") == 0))
        return; /* server.drain, and what else is not for us */
    single->event->json = swamp__strndup(text, len);
    if (!single->event->json) {
        fail(single, SWAMP_E_NOMEM, "out_of_memory", NULL);
        return;
    }
    single->event->json_len = len;
    if (is_error) {
        single->event->retry_after_ms = answer->retry_after_ms > 0 ? (uint32_t)answer->retry_after_ms : 0;
        fail(single, error_of(answer->code), answer->code, answer->message);
        return;
    }
    single->event->type = SWAMP_EVENT_ANSWER;
    end(single);
}
