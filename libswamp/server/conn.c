/* One connection: messages in, whole WebSocket frames out in turn, and the judgement whether its peer is alive. */
#include "inner.h"

#define SLOW_FILL_MS 1000 /* a peer that took bytes after such a wait was full, and has read since */
#define TURN_BYTES (16u * 1024u)

static void
set_timer(swamp__conn *conn, int64_t due_ms)
{
    swamp__timer_set(conn->instance->world->timers, &conn->timer, due_ms);
}

/* From now on the peer is judged by bytes taken: looked at four times before it is given up. */
static void
note_unsent(swamp__conn *conn, int64_t now_ms)
{
    int64_t look_ms = now_ms + conn->instance->options.stall_timeout_ms / 4;
    conn->wants = 1;
    conn->wants_since_ms = now_ms;
    if (conn->timer.due_ms > look_ms)
        set_timer(conn, look_ms);
}

/* A batch that is not yet all taken is no stall as long as bytes of it go: a large event over a thin line. */
static int
has_taken_some(swamp__conn *conn)
{
    uint64_t taken = conn->transport->taken ? conn->transport->taken(conn->peer) : 0;
    int some = taken != conn->taken;
    conn->taken = taken;
    return some;
}

void
swamp__conn_want(swamp__conn *conn)
{
    if (conn->wants || conn->closing)
        return;
    note_unsent(conn, swamp__now_ms(conn->instance->world));
    conn->transport->want_write(conn->peer);
}

void
swamp__conn_close(swamp__conn *conn, int code, const char *reason)
{
    if (conn->closing)
        return;
    conn->closing = 1;
    swamp__timer_unset(conn->instance->world->timers, &conn->timer);
    conn->transport->close(conn->peer, code, reason);
    swamp__stop_poke(conn->instance);
}

/*
 * PROTOCOL 1, liveness. With unsent bytes the peer is judged by bytes taken: none for stall_timeout, 4001.
 * Else by any sign of life: a ping at half of idle_timeout, the end at all of it.
 */
static void
judge_peer(swamp__timer *timer)
{
    swamp__conn *conn = SWAMP__OF(timer, swamp__conn, timer);
    const swamp__instance_options *options = &conn->instance->options;
    int64_t now_ms = swamp__now_ms(conn->instance->world);
    if (conn->wants && has_taken_some(conn)) {
        swamp__conn_alive(conn);
        conn->wants_since_ms = now_ms;
    }
    int64_t ping_ms = conn->alive_ms + options->idle_timeout_ms / 2;
    int64_t idle_ms = conn->alive_ms + options->idle_timeout_ms;
    if (conn->wants && now_ms - conn->wants_since_ms >= options->stall_timeout_ms) {
        swamp__conn_close(conn, 4001, "too slow; resume when you can read");
        return;
    }
    if (!conn->wants && now_ms >= idle_ms) {
        swamp__conn_close(conn, 1001, "no sign of life");
        return;
    }
    if (!conn->pinged && now_ms >= ping_ms) {
        conn->pinged = 1;
        swamp__ws_put_ping(&conn->outbox);
        swamp__conn_want(conn);
    }
    int64_t due_ms = conn->pinged ? idle_ms : ping_ms;
    if (due_ms <= now_ms) /* only by unsent bytes */
        due_ms = now_ms + options->idle_timeout_ms / 2;
    if (conn->wants && due_ms > conn->wants_since_ms + options->stall_timeout_ms)
        due_ms = conn->wants_since_ms + options->stall_timeout_ms;
    if (conn->wants && conn->transport->taken && due_ms > now_ms + options->stall_timeout_ms / 4)
        due_ms = now_ms + options->stall_timeout_ms / 4;
    set_timer(conn, due_ms);
}

static int
may_connect(const swamp__instance *instance)
{
    if (instance->phase >= SWAMP__PHASE_CLOSING || instance->fenced)
        return SWAMP_E_CLOSED;
    return instance->conn_count < instance->options.max_connections ? SWAMP_OK : SWAMP_E_BUSY;
}

int
swamp__conn_new(swamp__conn **out, swamp__instance *instance, const swamp__transport *transport, void *peer,
                const char *principal)
{
    int rc = may_connect(instance);
    if (rc != SWAMP_OK)
        return rc;
    swamp__conn *conn = swamp__calloc(1, sizeof *conn);
    if (!conn)
        return SWAMP_E_NOMEM;
    conn->instance = instance;
    conn->transport = transport;
    conn->peer = peer;
    conn->principal = swamp__strdup(principal);
    swamp__list_init(&conn->tickets);
    swamp__list_init(&conn->ready);
    swamp__buf_init(&conn->outbox);
    if (!conn->principal ||
        swamp__timer_init(instance->world->timers, &conn->timer, judge_peer) != SWAMP_OK) {
        swamp__free(conn->principal);
        swamp__free(conn);
        return SWAMP_E_NOMEM;
    }
    conn->alive_ms = swamp__now_ms(instance->world);
    set_timer(conn, conn->alive_ms + instance->options.idle_timeout_ms / 2);
    swamp__list_push(&instance->conns, &conn->link);
    instance->conn_count++;
    swamp__stop_greet(conn);
    *out = conn;
    return SWAMP_OK;
}

void
swamp__conn_free(swamp__conn *conn)
{
    if (!conn)
        return;
    swamp__instance *instance = conn->instance;
    conn->closing = 1;
    for (swamp__link *link; (link = swamp__list_first(&conn->tickets));) {
        swamp__ticket *ticket = SWAMP__OF(link, swamp__ticket, link);
        if (ticket->abandoned)
            ticket->abandoned(ticket);
        swamp__ticket_close(ticket);
    }
    swamp__link_remove(&conn->link);
    instance->conn_count--;
    swamp__timer_destroy(instance->world->timers, &conn->timer);
    swamp__buf_free(&conn->outbox);
    swamp__free(conn->principal);
    swamp__free(conn);
    swamp__stop_poke(instance);
}

void
swamp__conn_alive(swamp__conn *conn)
{
    conn->alive_ms = swamp__now_ms(conn->instance->world);
    conn->pinged = 0;
}

void
swamp__conn_message(swamp__conn *conn, const char *text, size_t len, int binary)
{
    if (conn->closing)
        return;
    swamp__conn_alive(conn);
    swamp__request_take(conn, text, len, binary);
}

/* A connection whose answer was lost to memory must not go on as if nothing had been said. */
static void
close_for_memory(swamp__conn *conn)
{
    swamp__conn_close(conn, 1001, "out of memory");
}

void
swamp__conn_put(swamp__conn *conn, const swamp__buf *text)
{
    if (conn->closing)
        return;
    if (swamp__buf_status(text) == SWAMP_OK)
        swamp__ws_put_text(&conn->outbox, text->data, text->len);
    if (swamp__buf_status(text) != SWAMP_OK || swamp__buf_status(&conn->outbox) != SWAMP_OK) {
        close_for_memory(conn);
        return;
    }
    if (!conn->paused && conn->outbox.len > SWAMP__OUTBOX_PAUSE) {
        conn->paused = 1;
        conn->transport->pause(conn->peer, 1);
    }
    swamp__conn_want(conn);
}

void
swamp__conn_error(swamp__conn *conn, const char *id, const char *code, const char *message,
                  const swamp__answer_error_extra *extra)
{
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_error(&text, id, code, message, extra);
    swamp__conn_put(conn, &text);
    swamp__buf_free(&text);
}

int
swamp__conn_drained(const swamp__conn *conn)
{
    swamp__list *tickets = (swamp__list *)&conn->tickets;
    for (swamp__link *link = swamp__list_first(tickets); link; link = swamp__list_next(tickets, link))
        if (!SWAMP__OF(link, swamp__ticket, link)
                 ->run_id) /* an attach that waits is better asked elsewhere */
            return 0;
    return !conn->outbox.len && !conn->wants && swamp__list_empty(&conn->ready);
}

/* The size of the first frame of an outbox, which holds whole unmasked frames only. */
static size_t
first_frame_bytes(const swamp__buf *outbox)
{
    const unsigned char *at = (const unsigned char *)outbox->data;
    size_t len = at[1] & 0x7f;
    if (len < 126)
        return 2 + len;
    size_t digits = len == 126 ? 2 : 8;
    len = 0;
    for (size_t i = 0; i < digits; i++)
        len = len << 8 | at[2 + i];
    return 2 + digits + len;
}

/* Moves whole frames; 1: some are left because they do not fit. */
static int
fill_from_outbox(swamp__conn *conn, swamp__buf *out, size_t base)
{
    size_t taken = 0;
    swamp__buf rest = conn->outbox;
    while (rest.len) {
        size_t frame = first_frame_bytes(&rest);
        if (out->len - base + taken && out->len - base + taken + frame > SWAMP__BATCH_BYTES)
            break;
        taken += frame;
        rest.data += frame;
        rest.len -= frame;
    }
    swamp__buf_append(out, conn->outbox.data, taken);
    swamp__buf_consume(&conn->outbox, taken);
    if (conn->paused && conn->outbox.len < SWAMP__OUTBOX_PAUSE / 2) {
        conn->paused = 0;
        conn->transport->pause(conn->peer, 0);
    }
    return conn->outbox.len > 0;
}

/* Viewers in turn, so that a busy run does not starve the others of its connection; 1: some have more. */
static int
fill_from_viewers(swamp__conn *conn, swamp__buf *out, size_t base)
{
    swamp__link *link;
    while ((link = swamp__list_first(&conn->ready))) {
        swamp__viewer *viewer = SWAMP__OF(link, swamp__viewer, ready_link);
        int alone = !swamp__list_next(&conn->ready, link);
        int found = swamp__viewer_fill(viewer, out, base, alone ? SWAMP__BATCH_BYTES : TURN_BYTES);
        if (swamp__buf_status(out) != SWAMP_OK || found == SWAMP__VIEWER_FULL)
            return 1;
        if (found == SWAMP__VIEWER_ENDED)
            continue;
        swamp__link_remove(&viewer->ready_link);
        if (found == SWAMP__VIEWER_MORE)
            swamp__list_push(&conn->ready, &viewer->ready_link);
    }
    return 0;
}

int
swamp__conn_fill(swamp__conn *conn, swamp__buf *out)
{
    if (conn->closing)
        return 0;
    size_t base = out->len;
    int64_t now_ms = swamp__now_ms(conn->instance->world);
    if (conn->wants && now_ms - conn->wants_since_ms >= SLOW_FILL_MS)
        swamp__conn_alive(conn);
    conn->wants = 0;
    int more = fill_from_outbox(conn, out, base) || fill_from_viewers(conn, out, base);
    if (swamp__buf_status(out) != SWAMP_OK) {
        out->len = base;
        close_for_memory(conn);
        return 0;
    }
    if (more) {
        note_unsent(conn, now_ms);
    } else if (conn->instance->phase >= SWAMP__PHASE_CLOSING) {
        swamp__stop_poke(conn->instance);
    }
    return more;
}
