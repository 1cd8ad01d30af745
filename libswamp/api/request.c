/* One request and its one answer, for a caller that waits: over the network, or to a server of this process. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <swamp/status.h>
#include "client.h"
#include "server.h"
#include "../session/single.h"
#include "../util/alloc.h"
#include "../wire/json.h"

/* Lives on the caller's stack while it waits; touched by the home's thread until `finished`. */
typedef struct request {
    swamp__home *home;
    swamp__channel_target target;
    swamp__single_options options;

    /* home's thread */
    swamp__lodger lodger;
    swamp__single *machine;
    swamp__channel *channel;

    pthread_mutex_t lock;
    pthread_cond_t ready;
    swamp_event *event; /* the one that was delivered */
    int rc, finished;
} request;

static void
channel_connected(void *user)
{
    swamp__single_connected(((request *)user)->machine);
}

static void
channel_lost(void *user, int how, int64_t retry_after_ms, const char *why)
{
    request *r = user;
    r->channel = NULL;
    swamp__single_link_lost(r->machine, how, retry_after_ms, why);
}

static void
channel_alive(void *user)
{
    (void)user; /* the request's own time-out is shorter than any silence */
}

static void
channel_message(void *user, const char *text, size_t len)
{
    swamp__single_message(((request *)user)->machine, text, len);
}

static int
io_dial(void *self, const char *url)
{
    request *r = self;
    swamp__dial_events events = {channel_connected, channel_lost, channel_alive, channel_message, r};
    return swamp__channel_open(&r->channel, &r->target, url, &events);
}

static void
io_send(void *self, const char *text, size_t len)
{
    request *r = self;
    if (r->channel)
        swamp__channel_send(r->channel, text, len);
}

static void
io_ping(void *self)
{
    request *r = self;
    if (r->channel)
        swamp__channel_ping(r->channel);
}

static void
io_hang_up(void *self)
{
    request *r = self;
    if (r->channel)
        swamp__channel_hang_up(r->channel);
    r->channel = NULL;
}

static void
io_pause(void *self, int paused)
{
    request *r = self;
    if (r->channel)
        swamp__channel_pause(r->channel, paused);
}

static void
finish(request *r, int rc)
{
    pthread_mutex_lock(&r->lock);
    r->rc = rc;
    r->finished = 1;
    pthread_cond_signal(&r->ready);
    pthread_mutex_unlock(&r->lock);
}

static void
io_deliver(void *self, swamp_event *event)
{
    request *r = self;
    pthread_mutex_lock(&r->lock);
    r->event = event;
    pthread_cond_signal(&r->ready);
    pthread_mutex_unlock(&r->lock);
}

static void
evicted(swamp__lodger *lodger)
{
    request *r = SWAMP__OF(lodger, request, lodger);
    swamp__single_free(r->machine);
    r->machine = NULL;
    finish(r, SWAMP_E_CLOSED);
}

static void
begin(void *arg)
{
    request *r = arg;
    swamp__session_io io = {io_dial, io_send, io_ping, io_hang_up, io_pause, io_deliver, r};
    int rc = swamp__single_new(&r->machine, &r->options, r->target.world, &io);
    r->lodger.evict = evicted;
    if (rc == SWAMP_OK && (rc = swamp__home_move_in(r->home, &r->lodger)) != SWAMP_OK) {
        swamp__single_free(r->machine);
        r->machine = NULL;
    }
    if (rc == SWAMP_OK)
        swamp__single_begin(r->machine);
    else
        finish(r, rc);
}

static void
end(void *arg)
{
    request *r = arg;
    if (r->machine) {
        swamp__home_move_out(&r->lodger);
        swamp__single_free(r->machine);
        r->machine = NULL;
    }
}

/* SWAMP_EVENT and r->event, or the error. The machine's own time-out bounds the wait. */
static int
ask(request *r)
{
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->ready, NULL);
    int rc = swamp__home_call(r->home, begin, r);
    if (rc == SWAMP_OK) {
        pthread_mutex_lock(&r->lock);
        while (!r->event && !r->finished)
            pthread_cond_wait(&r->ready, &r->lock);
        pthread_mutex_unlock(&r->lock);
        if (swamp__home_call(r->home, end, r) == SWAMP_E_CLOSED) {
            pthread_mutex_lock(&r->lock); /* the home closes: it evicts the machine, or has done so */
            while (!r->finished)
                pthread_cond_wait(&r->ready, &r->lock);
            pthread_mutex_unlock(&r->lock);
        }
        rc = r->event ? SWAMP_EVENT : r->rc;
    }
    pthread_cond_destroy(&r->ready);
    pthread_mutex_destroy(&r->lock);
    return rc;
}

static int
is_payload(const char *payload_json)
{
    swamp__json payload;
    size_t len = payload_json ? strlen(payload_json) : 0;
    if (!payload_json)
        return 1;
    return len <= SWAMP__MESSAGE_MAX &&
           swamp__json_check(payload_json, len, SWAMP__JSON_STRICT, &payload) == SWAMP_OK &&
           payload.type == SWAMP__JSON_OBJECT;
}

static int
check_question(const char *type, const char *payload_json, int timeout_ms, swamp_event **out,
               swamp__error *error)
{
    const char *why = NULL;
    if (!type || !out)
        why = "type and out must be given";
    else if (timeout_ms <= 0)
        why = "timeout_ms must be 1 or more";
    else if (!is_payload(payload_json))
        why = "the payload must be a JSON object of at most 1 MiB, without a member twice";
    if (why && error)
        swamp__error_set(error, SWAMP_E_INVALID, "the request cannot be sent: %s", why);
    return why ? SWAMP_E_INVALID : SWAMP_OK;
}

/* An answer of the server is the caller's, also an error; what happened on the way is a status. */
static int
hand_on(request *r, int rc, swamp__error *error, swamp_event **out)
{
    if (rc != SWAMP_EVENT)
        return error ? swamp__error_set(error, rc, "the request was not answered: %s", swamp_status_text(rc))
                     : rc;
    if (r->event->type == SWAMP_EVENT_ERROR && r->event->error != SWAMP_E_REFUSED &&
        r->event->error != SWAMP_E_NOT_FOUND) {
        rc = r->event->error;
        if (error)
            swamp__error_set(error, rc, "%s", r->event->message ? r->event->message : swamp_status_text(rc));
        swamp_event_free(r->event);
        return rc;
    }
    *out = r->event;
    return SWAMP_EVENT;
}

int
swamp_client_request(swamp_client *client, const char *type, const char *payload_json, int timeout_ms,
                     swamp_event **out)
{
    if (!client)
        return SWAMP_E_INVALID;
    swamp__error_clear(&client->error);
    int rc = check_question(type, payload_json, timeout_ms, out, &client->error);
    if (rc != SWAMP_OK)
        return rc;
    if (swamp__home_is_here(client->home))
        return SWAMP_E_REENTRANT;
    request r = {
        .home = client->home,
        .target = swamp__client_target(client),
        .options = {client->given.url, type, payload_json, timeout_ms, 3},
    };
    swamp__client_enter(client);
    rc = hand_on(&r, ask(&r), &client->error, out);
    swamp__client_leave(client);
    return rc;
}

int
swamp_server_request(swamp_server *server, const char *type, const char *payload_json, int timeout_ms,
                     swamp_event **out)
{
    swamp__server_door door;
    if (!server)
        return SWAMP_E_INVALID;
    int rc = check_question(type, payload_json, timeout_ms, out, NULL);
    if (rc != SWAMP_OK)
        return rc;
    if (swamp__server_reach(server, &door) != SWAMP_OK)
        return SWAMP_E_STATE;
    request r = {
        .home = door.home,
        .target = {.instance = door.instance, .world = door.world},
        .options = {"", type, payload_json, timeout_ms, 1},
    };
    rc = swamp__home_is_here(door.home) ? SWAMP_E_REENTRANT : hand_on(&r, ask(&r), NULL, out);
    swamp__home_unref(door.home);
    return rc == SWAMP_E_CLOSED ? SWAMP_E_STATE : rc;
}
