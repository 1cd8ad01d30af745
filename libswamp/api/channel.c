/* One WebSocket channel of a session: over the network to a URL, or to a server of this process without a port. */
#include <stdint.h>
#include <swamp/status.h>
#include "channel.h"
#include "../util/alloc.h"
#include "../util/buf.h"
#include "../wire/ws.h"

/* A message on its way to the local server. */
typedef struct letter {
    swamp__link link;
    size_t len;
    char text[];
} letter;

struct swamp__channel {
    swamp__dial_events events;
    swamp__link_out *link; /* network; NULL: local, or lost */
    /* local: the channel is its connection's transport; a 0 ms timer carries everything, so that nobody is
     * re-entered */
    const swamp__world *world;
    swamp__instance *instance;
    swamp__conn *conn;
    swamp__timer timer;
    swamp__list letters;
    swamp__buf frames;
    int told, pinged, wants_write, paused, lost, how;
    int hung_up, carrying; /* hung up from within an event: the channel is freed when the event returns */
};

/* ---- local: the other end is a connection machine of this thread ---- */

static void
carry_soon(swamp__channel *channel)
{
    if (!channel->hung_up)
        swamp__timer_set(channel->world->timers, &channel->timer, swamp__now_ms(channel->world));
}

static void
conn_wants_write(void *peer)
{
    swamp__channel *channel = peer;
    channel->wants_write = 1;
    carry_soon(channel);
}

static void
conn_closes(void *peer, int code, const char *reason)
{
    swamp__channel *channel = peer;
    (void)reason;
    channel->lost = 1;
    channel->how = code == 1008 || code == 4003 ? SWAMP__LINK_UNAUTHORIZED : SWAMP__LINK_LOST;
    carry_soon(channel);
}

static void
conn_pauses(void *peer, int paused)
{
    (void)peer; /* letters are few: a session sends one request at a time */
    (void)paused;
}

static const swamp__transport local_transport = {conn_wants_write, conn_closes, conn_pauses, NULL};

static void
free_local(swamp__channel *channel)
{
    swamp__link *link;
    while ((link = swamp__list_pop(&channel->letters)))
        swamp__free(SWAMP__OF(link, letter, link));
    swamp__conn_free(channel->conn);
    swamp__timer_destroy(channel->world->timers, &channel->timer);
    swamp__buf_free(&channel->frames);
    swamp__free(channel);
}

/* The connection's bytes are whole frames made by wire/ws.c. */
static void
hand_frames_over(swamp__channel *channel)
{
    size_t at = 0;
    while (at < channel->frames.len && !channel->hung_up) {
        const uint8_t *frame = (const uint8_t *)channel->frames.data + at;
        int opcode = frame[0] & 0x0f;
        size_t header = 2, len = frame[1] & 0x7f;
        if (len >= 126) {
            size_t bytes = len == 126 ? 2 : 8;
            for (len = 0; header < 2 + bytes; header++)
                len = len << 8 | frame[header];
        }
        at += header + len;
        if (opcode == SWAMP__WS_TEXT)
            channel->events.message(channel->events.user, (const char *)frame + header, len);
        else if (opcode == SWAMP__WS_PING)
            swamp__conn_alive(channel->conn);
    }
    swamp__buf_clear(&channel->frames);
}

static void
carry_to_server(swamp__channel *channel)
{
    swamp__link *link;
    while (!channel->lost && (link = swamp__list_pop(&channel->letters))) {
        letter *sent = SWAMP__OF(link, letter, link);
        swamp__conn_alive(channel->conn);
        swamp__conn_message(channel->conn, sent->text, sent->len, 0);
        swamp__free(sent);
    }
}

static void
carry_to_session(swamp__channel *channel)
{
    if (!channel->wants_write || channel->paused)
        return;
    channel->wants_write = 0;
    int more = swamp__conn_fill(channel->conn, &channel->frames);
    if (channel->frames.len)
        channel->events.alive(channel->events.user);
    hand_frames_over(channel);
    if (more && !channel->lost)
        conn_wants_write(channel);
}

static void
carry(swamp__timer *timer)
{
    swamp__channel *channel = SWAMP__OF(timer, swamp__channel, timer);
    channel->carrying = 1;
    if (!channel->told && !channel->lost) {
        channel->told = 1;
        channel->events.connected(channel->events.user);
    }
    if (channel->pinged && !channel->lost && !channel->hung_up) {
        channel->pinged = 0;
        channel->events.alive(channel->events.user);
    }
    if (!channel->hung_up)
        carry_to_server(channel);
    if (!channel->hung_up && channel->conn)
        carry_to_session(channel);
    if (!channel->hung_up && channel->lost) {
        channel->hung_up = 1;
        channel->events.lost(channel->events.user, channel->how, 0, "the server closed the connection");
    }
    channel->carrying = 0;
    if (channel->hung_up)
        free_local(channel);
}

static int
open_local(swamp__channel *channel, const swamp__channel_target *target)
{
    int rc = swamp__timer_init(target->world->timers, &channel->timer, carry);
    if (rc != SWAMP_OK)
        return rc;
    channel->world = target->world;
    channel->instance = target->instance;
    swamp__list_init(&channel->letters);
    swamp__buf_init(&channel->frames);
    rc = swamp__conn_new(&channel->conn, target->instance, &local_transport, channel, "local");
    if (rc != SWAMP_OK) { /* as a refused dial: told later, by the timer */
        channel->lost = 1;
        channel->how = SWAMP__LINK_LOST;
    }
    carry_soon(channel);
    return SWAMP_OK;
}

/* ---- both ---- */

static void
network_lost(void *user, int how, int64_t retry_after_ms, const char *why)
{
    swamp__channel *channel = user;
    swamp__dial_events events = channel->events;
    swamp__free(channel);
    events.lost(events.user, how, retry_after_ms, why);
}

static void
network_connected(void *user)
{
    swamp__channel *channel = user;
    channel->events.connected(channel->events.user);
}

static void
network_alive(void *user)
{
    swamp__channel *channel = user;
    channel->events.alive(channel->events.user);
}

static void
network_message(void *user, const char *text, size_t len)
{
    swamp__channel *channel = user;
    channel->events.message(channel->events.user, text, len);
}

static int
open_network(swamp__channel *channel, const swamp__channel_target *target, const char *url)
{
    swamp__dial_options options = {url, target->token, target->connect_timeout_ms, target->max_message};
    swamp__dial_events events = {network_connected, network_lost, network_alive, network_message, channel};
    return swamp__dial(&channel->link, target->dialer, &options, &events);
}

int
swamp__channel_open(swamp__channel **out, const swamp__channel_target *target, const char *url,
                    const swamp__dial_events *events)
{
    swamp__channel *channel = swamp__calloc(1, sizeof(*channel));
    if (!channel)
        return SWAMP_E_NOMEM;
    channel->events = *events;
    int rc = target->instance ? open_local(channel, target) : open_network(channel, target, url);
    if (rc != SWAMP_OK) {
        swamp__free(channel);
        return rc;
    }
    *out = channel;
    return SWAMP_OK;
}

void
swamp__channel_send(swamp__channel *channel, const char *text, size_t len)
{
    if (channel->link) {
        swamp__link_send(channel->link, text, len);
        return;
    }
    letter *sent = swamp__alloc(sizeof(*sent) + len);
    if (!sent) { /* a message cannot be lost silently: the channel ends instead */
        conn_closes(channel, 1001, NULL);
        return;
    }
    sent->len = len;
    sent->link = (swamp__link){NULL, NULL};
    for (size_t i = 0; i < len; i++)
        sent->text[i] = text[i];
    swamp__list_push(&channel->letters, &sent->link);
    carry_soon(channel);
}

void
swamp__channel_ping(swamp__channel *channel)
{
    if (channel->link) {
        swamp__link_ping(channel->link);
        return;
    }
    channel->pinged = 1; /* the same thread cannot be dead: answered soon, but not from within this call */
    carry_soon(channel);
}

void
swamp__channel_pause(swamp__channel *channel, int paused)
{
    if (channel->link) {
        swamp__link_pause(channel->link, paused);
        return;
    }
    channel->paused = paused;
    if (!paused)
        carry_soon(channel);
}

void
swamp__channel_hang_up(swamp__channel *channel)
{
    if (channel->link) {
        swamp__link_hang_up(channel->link);
        swamp__free(channel);
        return;
    }
    channel->hung_up = 1;
    if (!channel->carrying)
        free_local(channel);
}
