/* One WebSocket line of a session: over the network to a URL, or to a server of this process without a port.
 */
#include <stdint.h>
#include <swamp/status.h>
#include "line.h"
#include "../util/alloc.h"
#include "../util/buf.h"
#include "../wire/ws.h"

/* A message on its way to the local server. */
typedef struct letter {
    swamp__link link;
    size_t len;
    char text[];
} letter;

struct swamp__line {
    swamp__dial_events events;
    swamp__link_out *link; /* network; NULL: local, or lost */
    /* local: the line is its connection's transport; a 0 ms timer carries everything, so that nobody is
     * re-entered */
    const swamp__world *world;
    swamp__instance *instance;
    swamp__conn *conn;
    swamp__timer timer;
    swamp__list letters;
    swamp__buf frames;
    int told, pinged, wants_write, paused, lost, how;
    int hung_up, carrying; /* hung up from within an event: the line is freed when the event returns */
};

/* ---- local: the other end is a connection machine of this thread ---- */

static void
carry_soon(swamp__line *line)
{
    if (!line->hung_up)
        swamp__timer_set(line->world->timers, &line->timer, swamp__now_ms(line->world));
}

static void
conn_wants_write(void *peer)
{
    swamp__line *line = peer;
    line->wants_write = 1;
    carry_soon(line);
}

static void
conn_closes(void *peer, int code, const char *reason)
{
    swamp__line *line = peer;
    (void)reason;
    line->lost = 1;
    line->how = code == 1008 || code == 4003 ? SWAMP__LINK_UNAUTHORIZED : SWAMP__LINK_LOST;
    carry_soon(line);
}

static void
conn_pauses(void *peer, int paused)
{
    (void)peer; /* letters are few: a session sends one request at a time */
    (void)paused;
}

static const swamp__transport local_transport = {conn_wants_write, conn_closes, conn_pauses};

static void
free_local(swamp__line *line)
{
    swamp__link *link;
    while ((link = swamp__list_pop(&line->letters)))
        swamp__free(SWAMP__OF(link, letter, link));
    swamp__conn_free(line->conn);
    swamp__timer_destroy(line->world->timers, &line->timer);
    swamp__buf_free(&line->frames);
    swamp__free(line);
}

/* The connection's bytes are whole frames made by wire/ws.c. */
static void
hand_frames_over(swamp__line *line)
{
    size_t at = 0;
    while (at < line->frames.len && !line->hung_up) {
        const uint8_t *frame = (const uint8_t *)line->frames.data + at;
        int opcode = frame[0] & 0x0f;
        size_t header = 2, len = frame[1] & 0x7f;
        if (len >= 126) {
            size_t bytes = len == 126 ? 2 : 8;
            for (len = 0; header < 2 + bytes; header++)
                len = len << 8 | frame[header];
        }
        at += header + len;
        if (opcode == SWAMP__WS_TEXT)
            line->events.message(line->events.user, (const char *)frame + header, len);
        else if (opcode == SWAMP__WS_PING)
            swamp__conn_alive(line->conn);
    }
    swamp__buf_clear(&line->frames);
}

static void
carry_to_server(swamp__line *line)
{
    swamp__link *link;
    while (!line->lost && (link = swamp__list_pop(&line->letters))) {
        letter *sent = SWAMP__OF(link, letter, link);
        swamp__conn_alive(line->conn);
        swamp__conn_message(line->conn, sent->text, sent->len, 0);
        swamp__free(sent);
    }
}

static void
carry_to_session(swamp__line *line)
{
    if (!line->wants_write || line->paused)
        return;
    line->wants_write = 0;
    int more = swamp__conn_fill(line->conn, &line->frames);
    if (line->frames.len)
        line->events.alive(line->events.user);
    hand_frames_over(line);
    if (more && !line->lost)
        conn_wants_write(line);
}

static void
carry(swamp__timer *timer)
{
    swamp__line *line = SWAMP__OF(timer, swamp__line, timer);
    line->carrying = 1;
    if (!line->told && !line->lost) {
        line->told = 1;
        line->events.connected(line->events.user);
    }
    if (line->pinged && !line->lost && !line->hung_up) {
        line->pinged = 0;
        line->events.alive(line->events.user);
    }
    if (!line->hung_up)
        carry_to_server(line);
    if (!line->hung_up && line->conn)
        carry_to_session(line);
    if (!line->hung_up && line->lost) {
        line->hung_up = 1;
        line->events.lost(line->events.user, line->how, 0, "the server closed the line");
    }
    line->carrying = 0;
    if (line->hung_up)
        free_local(line);
}

static int
open_local(swamp__line *line, const swamp__line_target *target)
{
    int rc = swamp__timer_init(target->world->timers, &line->timer, carry);
    if (rc != SWAMP_OK)
        return rc;
    line->world = target->world;
    line->instance = target->instance;
    swamp__list_init(&line->letters);
    swamp__buf_init(&line->frames);
    rc = swamp__conn_new(&line->conn, target->instance, &local_transport, line, "local");
    if (rc != SWAMP_OK) { /* as a refused dial: told later, by the timer */
        line->lost = 1;
        line->how = SWAMP__LINK_LOST;
    }
    carry_soon(line);
    return SWAMP_OK;
}

/* ---- both ---- */

static void
network_lost(void *user, int how, int64_t retry_after_ms, const char *why)
{
    swamp__line *line = user;
    swamp__dial_events events = line->events;
    swamp__free(line);
    events.lost(events.user, how, retry_after_ms, why);
}

static void
network_connected(void *user)
{
    swamp__line *line = user;
    line->events.connected(line->events.user);
}

static void
network_alive(void *user)
{
    swamp__line *line = user;
    line->events.alive(line->events.user);
}

static void
network_message(void *user, const char *text, size_t len)
{
    swamp__line *line = user;
    line->events.message(line->events.user, text, len);
}

static int
open_network(swamp__line *line, const swamp__line_target *target, const char *url)
{
    swamp__dial_options options = {url, target->token, target->connect_timeout_ms, target->max_message};
    swamp__dial_events events = {network_connected, network_lost, network_alive, network_message, line};
    return swamp__dial(&line->link, target->dialer, &options, &events);
}

int
swamp__line_open(swamp__line **out, const swamp__line_target *target, const char *url,
                 const swamp__dial_events *events)
{
    swamp__line *line = swamp__calloc(1, sizeof(*line));
    if (!line)
        return SWAMP_E_NOMEM;
    line->events = *events;
    int rc = target->instance ? open_local(line, target) : open_network(line, target, url);
    if (rc != SWAMP_OK) {
        swamp__free(line);
        return rc;
    }
    *out = line;
    return SWAMP_OK;
}

void
swamp__line_send(swamp__line *line, const char *text, size_t len)
{
    if (line->link) {
        swamp__link_send(line->link, text, len);
        return;
    }
    letter *sent = swamp__alloc(sizeof(*sent) + len);
    if (!sent) { /* a message cannot be lost silently: the line ends instead */
        conn_closes(line, 1001, NULL);
        return;
    }
    sent->len = len;
    sent->link = (swamp__link){NULL, NULL};
    for (size_t i = 0; i < len; i++)
        sent->text[i] = text[i];
    swamp__list_push(&line->letters, &sent->link);
    carry_soon(line);
}

void
swamp__line_ping(swamp__line *line)
{
    if (line->link) {
        swamp__link_ping(line->link);
        return;
    }
    line->pinged = 1; /* the same thread cannot be dead: answered soon, but not from within this call */
    carry_soon(line);
}

void
swamp__line_pause(swamp__line *line, int paused)
{
    if (line->link) {
        swamp__link_pause(line->link, paused);
        return;
    }
    line->paused = paused;
    if (!paused)
        carry_soon(line);
}

void
swamp__line_hang_up(swamp__line *line)
{
    if (line->link) {
        swamp__link_hang_up(line->link);
        swamp__free(line);
        return;
    }
    line->hung_up = 1;
    if (!line->carrying)
        free_local(line);
}
