/*
 * Accepted connections. The WebSocket side: pieces become messages for the core, and what the core wants to
 * say goes out in batches of finished frames: the first at once, more of them one a writable callback. The upgrade
 * is decided in upgrade.c, HTTP answered in serve_http.c.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/utf8.h"
#include "../wire/limits.h"
#include "peer.h"
#include "taken.h"

#define CLOSE_BAD_TEXT 1007
#define CLOSE_TOO_BIG 1009
#define CLOSE_INTERNAL 1011
#define KEPT_BYTES 4096 /* a message buffer that grew larger is given back after use */

static void
kill_peer(swamp__timer *timer)
{
    swamp__peer *peer = SWAMP__OF(timer, swamp__peer, flush);

    if (peer->wsi)
        swamp__context_kill(peer->wsi);
}

/*
 * Mostly the kernel has room, and to ask for a writable callback first costs a turn of the loop and two changes of
 * what it polls for: so the first batch is tried when this callback has returned. Not
 * through TLS, which may want to read before it can write.
 */
static void
want_write(void *self)
{
    swamp__peer *peer = self;

    if (!peer->wsi || !peer->upgraded || peer->finished || swamp__link_linked(&peer->prompt.link))
        return;
    if (swamp__loop_context(peer->end.loop)->tls || peer->closing || lws_partial_buffered(peer->wsi) ||
        !swamp__loop_soon(peer->end.loop, &peer->prompt))
        lws_callback_on_writable(peer->wsi);
}

/*
 * Closing is a state, not a call: the close frame goes out in a writable callback with nothing of lws's
 * buffered, since lws drops it otherwise. Who does not take it within SWAMP__FLUSH_MS never sees it: a
 * stalled viewer reads 4001 only then.
 */
static void
begin_close(void *self, int code, const char *reason)
{
    swamp__peer *peer = self;
    const swamp__world *world = swamp__loop_world(peer->end.loop);

    if (peer->closing || peer->finished)
        return;
    peer->closing = 1;
    peer->close_code = code;
    snprintf(peer->close_reason, sizeof(peer->close_reason), "%s", reason ? reason : "");
    swamp__timer_set(world->timers, &peer->flush, swamp__now_ms(world) + SWAMP__FLUSH_MS);
    want_write(peer);
}

static void
pause_reading(void *self, int paused)
{
    swamp__peer *peer = self;

    peer->paused = paused;
    if (peer->wsi && peer->upgraded && !peer->closing)
        lws_rx_flow_control(peer->wsi, !paused && !peer->held);
}

/*
 * A peer that ends its side while lws 4.1.6 keeps bytes for it must not be read: lws would first flush them, and its
 * poll loop looks at the end of file again and again meanwhile, without ever coming back. Unread, the peer's reset
 * ends the connection at the next bytes that it is sent.
 */
static void
hold_reading(swamp__peer *peer, struct lws *wsi, int held)
{
    if (peer->held == held)
        return;
    peer->held = held;
    lws_rx_flow_control(wsi, !held && !peer->paused);
}

static uint64_t
bytes_taken(void *self)
{
    swamp__peer *peer = self;

    return peer->wsi ? swamp__taken_bytes(lws_get_socket_fd(peer->wsi)) : 0;
}

const swamp__transport swamp__peer_transport = {
    .want_write = want_write, .close = begin_close, .pause = pause_reading, .taken = bytes_taken};

static int
send_close(swamp__peer *peer, struct lws *wsi)
{
    peer->finished = 1;
    if (peer->paused)
        lws_rx_flow_control(wsi, 1); /* the answer to our close frame must come through */
    lws_close_reason(wsi, (enum lws_close_status)peer->close_code, (unsigned char *)peer->close_reason,
                     strlen(peer->close_reason));
    return -1;
}

/*
 * Frames go out RAW: built by the core, unmasked, whole, back to back. lws_write() takes all of them or
 * fails; it keeps what the kernel does not take, and calls again only when that is gone. RAW passes by lws's
 * own checks of a closing connection, hence `finished`.
 */
static int
write_batch(swamp__peer *peer, struct lws *wsi)
{
    swamp__buf *batch;
    int more;

    if (peer->finished || lws_partial_buffered(wsi))
        return 0;
    hold_reading(peer, wsi, 0);
    if (peer->closing && peer->last_batch)
        return send_close(peer, wsi);
    batch = swamp__listener_scratch(peer->listener);
    more = swamp__conn_fill(peer->conn, batch);
    if (swamp__buf_status(batch) < 0) {
        /* Out of memory for a frame: without it the stream has a hole, so the client shall come back and resume. */
        peer->closing = 1;
        peer->close_code = CLOSE_INTERNAL;
        swamp__buf_clear(batch);
    }
    peer->last_batch = peer->closing;
    if (batch->len > 0 && lws_write(wsi, (unsigned char *)batch->data, batch->len, LWS_WRITE_RAW) < 0)
        return -1;
    hold_reading(peer, wsi, lws_partial_buffered(wsi) != 0);
    if (more || peer->closing || peer->held)
        lws_callback_on_writable(wsi);
    return 0;
}

static void
write_promptly(swamp__task *task)
{
    swamp__peer *peer = SWAMP__OF(task, swamp__peer, prompt);

    if (!peer->wsi || !peer->conn)
        return;
    if (peer->closing) /* meanwhile: a close frame goes out in a writable callback only */
        lws_callback_on_writable(peer->wsi);
    else if (write_batch(peer, peer->wsi) < 0)
        swamp__context_kill(peer->wsi);
}

/*
 * PROTOCOL 1: 1007. Looked at when the message is whole, and not by lws: a control frame between two fragments that
 * part a character makes 4.1.6 close a connection whose text is fine.
 */
static void
hand_over(swamp__peer *peer, const char *text, size_t len, int binary)
{
    if (binary || swamp__utf8_is_whole(text, len))
        swamp__conn_message(peer->conn, text, len, binary);
    else
        begin_close(peer, CLOSE_BAD_TEXT, "the message is not UTF-8");
    swamp__pieces_clear(&peer->message);
}

/* Too big is refused as soon as a frame's header says so. */
static int
read_piece(swamp__peer *peer, struct lws *wsi, const char *bytes, size_t len)
{
    int binary = lws_frame_is_binary(wsi);
    swamp__piece piece = {bytes, len, lws_remaining_packet_payload(wsi), lws_is_first_fragment(wsi),
                          lws_is_final_fragment(wsi)};
    const char *text;
    size_t text_len;

    if (peer->closing || peer->finished)
        return 0;
    swamp__conn_alive(peer->conn);
    switch (swamp__pieces_add(&peer->message, &piece, &text, &text_len)) {
    case SWAMP__PIECES_WHOLE:
        hand_over(peer, text, text_len, binary);
        break;
    case SWAMP_E_TOO_BIG:
        begin_close(peer, CLOSE_TOO_BIG, "message too big");
        break;
    case SWAMP_E_NOMEM:
        begin_close(peer, CLOSE_INTERNAL, "out of memory");
        break;
    }
    return 0;
}

static int
become_websocket(swamp__peer *peer, struct lws *wsi)
{
    if (!peer->conn) /* lws never upgrades without asking, so this cannot be; the core must not be called
                        without */
        return -1;
    peer->upgraded = 1;
    if (peer->paused)
        pause_reading(peer, 1);
    lws_callback_on_writable(wsi);
    return 0;
}

/* The wsi must not be touched from here on, though lws keeps it a little longer. */
static void
forget_connection(swamp__peer *peer)
{
    swamp__conn *conn = peer->conn;

    peer->wsi = NULL;
    peer->conn = NULL;
    peer->finished = 1;
    swamp__link_remove(&peer->prompt.link);
    swamp__timer_unset(swamp__loop_world(peer->end.loop)->timers, &peer->flush);
    if (conn)
        swamp__conn_free(conn);
    swamp__peer_http_gone(peer);
}

static void
free_peer(swamp__peer *peer)
{
    forget_connection(peer);
    swamp__timer_destroy(swamp__loop_world(peer->end.loop)->timers, &peer->flush);
    swamp__pieces_free(&peer->message);
    swamp__buf_free(&peer->body);
    swamp__link_remove(&peer->link);
    swamp__listener_count(peer->listener, -1);
    swamp__free(peer);
}

static int
on_peer(swamp__end *end, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
    swamp__peer *peer = SWAMP__OF(end, swamp__peer, end);

    switch (reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return swamp__peer_upgrade(peer, wsi);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        swamp__peer_choose_echo(peer, wsi);
        return 0;
    case LWS_CALLBACK_ESTABLISHED:
        return become_websocket(peer, wsi);
    case LWS_CALLBACK_RECEIVE:
        return read_piece(peer, wsi, in, len);
    case LWS_CALLBACK_RECEIVE_PONG:
        if (peer->conn)
            swamp__conn_alive(peer->conn);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return peer->conn ? write_batch(peer, wsi) : 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        peer->finished = 1; /* lws answers the close frame itself */
        return 0;
    case LWS_CALLBACK_HTTP:
    case LWS_CALLBACK_HTTP_BODY:
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return swamp__peer_http(peer, wsi, reason, len);
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_CLOSED_HTTP:
        forget_connection(peer);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        free_peer(peer);
        return 0;
    default:
        return 0;
    }
}

void
swamp__peer_end_idle(swamp__peer *peer)
{
    if (peer->wsi && !peer->conn && !peer->asked && peer->status == 0)
        swamp__context_kill(peer->wsi);
}

int
swamp__peer_open(swamp__listener *listener, swamp__list *peers, int fd)
{
    swamp__loop *loop = swamp__listener_loop(listener);
    swamp__context *context = swamp__loop_context(loop);
    lws_adopt_desc_t description;
    swamp__peer *peer = swamp__calloc(1, sizeof(*peer));
    struct lws *wsi;

    if (!peer || swamp__timer_init(swamp__loop_world(loop)->timers, &peer->flush, kill_peer) < 0) {
        swamp__free(peer);
        close(fd);
        return SWAMP_E_NOMEM;
    }
    peer->end = (swamp__end){loop, on_peer};
    peer->listener = listener;
    peer->prompt.run = write_promptly;
    swamp__pieces_init(&peer->message, SWAMP__MESSAGE_MAX, KEPT_BYTES);
    swamp__buf_init(&peer->body);
    swamp__list_push(peers, &peer->link);
    swamp__listener_count(listener, 1);
    memset(&description, 0, sizeof(description));
    description.vh = context->vhost;
    description.type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | (context->tls ? LWS_ADOPT_ALLOW_SSL : 0);
    description.fd.sockfd = fd;
    description.opaque = &peer->end;
    wsi = lws_adopt_descriptor_vhost_via_info(&description);
    if (wsi) {
        peer->wsi = wsi;
        return SWAMP_OK;
    }
    /* Some failures end with LWS_CALLBACK_WSI_DESTROY, which has freed the peer and taken it out of the list,
     * some not. */
    if (peers->head.prev == &peer->link)
        free_peer(peer);
    return SWAMP_E_IO;
}
