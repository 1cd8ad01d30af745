/*
 * An outgoing connection as libwebsockets sees it. Its end is told from LWS_CALLBACK_WSI_DESTROY alone: an
 * upgrade that is never answered gives neither CLIENT_CONNECTION_ERROR nor CLIENT_CLOSED.
 */
#include "line.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../wire/limits.h"
#include "../wire/pieces.h"
#include "context.h"
#include "tls.h"

#define WHY_SIZE 256
#define HEADER_SIZE 64
#define HANG_UP_MS 2000  /* for a polite end */
#define KEPT_BYTES 65536 /* a message buffer that grew larger is given back after use */
#define CLOSE_NORMAL 1000
#define CLOSE_TOO_BIG 1009
#define RETRY_AFTER_MAX_S 3600

typedef struct outgoing {
    swamp__link link;
    int is_ping;
    size_t len;
    unsigned char bytes[]; /* LWS_PRE of them come before the text: lws writes its header there */
} outgoing;

struct swamp__line {
    swamp__end end;
    struct lws *wsi; /* NULL: not yet there, or closed */
    swamp__line_events events;
    int orphan; /* nobody listens any more */
    const char *token, *literal;
    int opening;   /* inside swamp__line_open() */
    int destroyed; /* ... and it has ended there */
    int opened, paused;
    int held;       /* not read while libwebsockets keeps bytes of ours */
    int closing;    /* a close frame follows what is queued */
    int finished;   /* a close frame was sent or received: nothing is written after it */
    int close_code; /* ours */
    swamp__list outbox;
    swamp__pieces message;
    swamp__timer flush;
    swamp__line_end how;
    char why[WHY_SIZE];
};

static void
kill_line(swamp__line *line)
{
    if (line->wsi)
        swamp__context_kill(line->wsi);
}

static void
on_flush_over(swamp__timer *timer)
{
    kill_line(SWAMP__OF(timer, swamp__line, flush));
}

static void
begin_close(swamp__line *line, int code)
{
    const swamp__world *world = swamp__loop_world(line->end.loop);

    if (line->closing || line->finished)
        return;
    line->closing = 1;
    line->close_code = code;
    swamp__timer_set(world->timers, &line->flush, swamp__now_ms(world) + HANG_UP_MS);
    lws_callback_on_writable(line->wsi);
}

static void
free_line(swamp__line *line)
{
    swamp__link *link;

    while ((link = swamp__list_pop(&line->outbox)))
        swamp__free(SWAMP__OF(link, outgoing, link));
    swamp__timer_destroy(swamp__loop_world(line->end.loop)->timers, &line->flush);
    swamp__pieces_free(&line->message);
    swamp__free(line);
}

/* The token never travels to another host: redirects are not followed (swamp__line_open). */
static int
add_token(swamp__line *line, struct lws *wsi, unsigned char **at, size_t room)
{
    char value[SWAMP__TOKEN_MAX + sizeof("Bearer ")];
    int len;

    if (line->orphan)
        return -1;
    if (!line->token)
        return 0;
    len = snprintf(value, sizeof(value), "Bearer %s", line->token);
    if ((size_t)len >= sizeof(value) ||
        lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, (unsigned char *)value, len, at,
                                     *at + room)) {
        snprintf(line->why, sizeof(line->why), "the token does not fit into the request");
        return -1;
    }
    return 0;
}

/* Seconds only: a date would need the wall clock, which is never compared. */
static int64_t
retry_after_ms(struct lws *wsi)
{
    char text[HEADER_SIZE];
    long seconds;

    if (lws_hdr_copy(wsi, text, sizeof(text), WSI_TOKEN_HTTP_RETRY_AFTER) <= 0 ||
        !isdigit((unsigned char)text[0]))
        return 0;
    seconds = strtol(text, NULL, 10);
    return (seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds) * 1000;
}

/* Only here can the answer to a refused upgrade be read. What lws says of the reason may be stale: ours come
 * first. */
static void
note_refusal(swamp__line *line, struct lws *wsi, const char *reason, size_t len)
{
    line->how.http_status = (int)lws_http_client_http_response(wsi);
    if (line->how.http_status == 101)
        line->how.http_status = 0;
    if (line->how.http_status != 0) {
        line->how.retry_after_ms = retry_after_ms(wsi);
        snprintf(line->why, sizeof(line->why), "the server answered HTTP %d", line->how.http_status);
    } else if (!line->why[0] && reason && len > 0) {
        snprintf(line->why, sizeof(line->why), "%.*s", (int)strnlen(reason, len), reason);
    }
}

static int
open_line(swamp__line *line, struct lws *wsi)
{
    if (line->orphan) /* given up while lws was busy with it, which has made it forget that */
        return -1;
    line->opened = line->how.opened = 1;
    line->wsi = wsi;
    line->why[0] = '\0';
    if (line->paused)
        lws_rx_flow_control(wsi, 0);
    if (!swamp__list_empty(&line->outbox) || line->closing)
        lws_callback_on_writable(wsi);
    line->events.opened(line->events.user);
    return 0;
}

/* The same trap as in serve.c: a server that goes while lws keeps bytes for it would never let the loop go on. */
static void
hold_reading(swamp__line *line, struct lws *wsi, int held)
{
    if (line->held == held)
        return;
    line->held = held;
    lws_rx_flow_control(wsi, !held && !line->paused);
}

static int
write_next(swamp__line *line, struct lws *wsi)
{
    swamp__link *link;
    int rc = 0;

    if (line->finished || lws_partial_buffered(wsi))
        return 0;
    hold_reading(line, wsi, 0);
    link = swamp__list_pop(&line->outbox);
    if (link) {
        outgoing *out = SWAMP__OF(link, outgoing, link);

        rc = lws_write(wsi, out->bytes + LWS_PRE, out->len, out->is_ping ? LWS_WRITE_PING : LWS_WRITE_TEXT);
        swamp__free(out);
        if (rc < 0)
            return -1;
        hold_reading(line, wsi, lws_partial_buffered(wsi) != 0);
        if (!swamp__list_empty(&line->outbox) || line->closing || line->held)
            lws_callback_on_writable(wsi);
        return 0;
    }
    if (!line->closing)
        return 0;
    line->finished = 1;
    if (line->paused)
        lws_rx_flow_control(wsi, 1); /* for the answer to our close frame */
    lws_close_reason(wsi, (enum lws_close_status)line->close_code, NULL, 0);
    return -1;
}

/* 1: the message is whole. */
static int
gather(swamp__line *line, const swamp__piece *piece, const char **text, size_t *len)
{
    int rc = swamp__pieces_add(&line->message, piece, text, len);

    if (rc == SWAMP_E_TOO_BIG) {
        snprintf(line->why, sizeof(line->why), "the server sent a message of more than %zu bytes",
                 line->message.max);
        begin_close(line, CLOSE_TOO_BIG);
    } else if (rc == SWAMP_E_NOMEM) {
        snprintf(line->why, sizeof(line->why), "out of memory");
        kill_line(line);
    }
    return rc == SWAMP__PIECES_WHOLE;
}

static int
read_piece(swamp__line *line, struct lws *wsi, const char *bytes, size_t len)
{
    int binary = lws_frame_is_binary(wsi);
    swamp__piece piece = {bytes, len, lws_remaining_packet_payload(wsi), lws_is_first_fragment(wsi),
                          lws_is_final_fragment(wsi)};
    const char *text;
    size_t text_len;

    if (line->orphan || line->closing || line->finished)
        return 0;
    line->events.alive(line->events.user);
    if (line->orphan || !gather(line, &piece, &text, &text_len))
        return 0;
    if (!binary) /* PROTOCOL 1: text frames; others mean nothing */
        line->events.message(line->events.user, text, text_len);
    swamp__pieces_clear(&line->message);
    return 0;
}

static int
note_close(swamp__line *line, const unsigned char *code, size_t len)
{
    line->finished = 1; /* lws answers the close frame itself */
    if (len >= 2) {
        line->how.close_code = code[0] << 8 | code[1];
        snprintf(line->why, sizeof(line->why), "the server closed the connection with code %d",
                 line->how.close_code);
    }
    return 0;
}

static int
end_line(swamp__line *line)
{
    swamp__line_events events = line->events;
    int tell = !line->orphan && swamp__loop_is_running(line->end.loop);
    swamp__line_end how = line->how;
    char why[WHY_SIZE];

    line->wsi = NULL;
    if (line->opening) {
        line->destroyed = 1; /* swamp__line_open() tells */
        return 0;
    }
    if (!line->why[0])
        snprintf(line->why, sizeof(line->why), "%s",
                 line->opened ? "the connection was cut" : "no connection");
    memcpy(why, line->why, sizeof(why));
    how.why = why;
    free_line(line);
    if (tell)
        events.ended(events.user, &how);
    return 0;
}

static int
on_line(swamp__end *end, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
    swamp__line *line = SWAMP__OF(end, swamp__line, end);

    switch (reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return add_token(line, wsi, in, len);
    case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
        return swamp__tls_judge(in, (int)len, line->orphan ? NULL : line->literal, line->why,
                                sizeof(line->why));
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        note_refusal(line, wsi, in, len);
        return 0;
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        return open_line(line, wsi);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return line->opened ? write_next(line, wsi) : 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return read_piece(line, wsi, in, len);
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
        if (!line->orphan)
            line->events.alive(line->events.user);
        return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return note_close(line, in, len);
    case LWS_CALLBACK_CLIENT_CLOSED:
        line->wsi = NULL;
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        return end_line(line);
    default:
        return 0;
    }
}

static struct lws *
connect_line(swamp__line *line, const swamp__line_target *target)
{
    swamp__context *context = swamp__loop_context(line->end.loop);
    struct lws_client_connect_info info;

    if (target->tls)
        swamp__context_trust_system(context);
    memset(&info, 0, sizeof(info));
    info.context = context->lws;
    info.vhost = context->vhost;
    info.address = target->address;
    info.port = target->port;
    info.ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (target->tls ? LCCSCF_USE_SSL : 0);
    info.path = target->path;
    info.host = target->authority;
    info.alpn = "http/1.1";
    info.opaque_user_data = &line->end;
    return lws_client_connect_via_info(&info);
}

swamp__line *
swamp__line_open(swamp__loop *loop, const swamp__line_target *target, const swamp__line_events *events,
                 char *why, size_t cap)
{
    swamp__line *line = swamp__calloc(1, sizeof(*line));
    struct lws *wsi;

    snprintf(why, cap, "out of memory");
    if (!line)
        return NULL;
    line->end = (swamp__end){loop, on_line};
    line->events = *events;
    line->token = target->token;
    line->literal = target->literal;
    swamp__list_init(&line->outbox);
    swamp__pieces_init(&line->message, target->max_message, KEPT_BYTES);
    if (swamp__timer_init(swamp__loop_world(loop)->timers, &line->flush, on_flush_over) < 0) {
        swamp__free(line);
        return NULL;
    }
    line->opening = 1;
    wsi = connect_line(line, target);
    line->opening = 0;
    /* Some failures end with LWS_CALLBACK_WSI_DESTROY before the call returns, some only with NULL. */
    if (!wsi || line->destroyed) {
        snprintf(why, cap, "%s", line->why[0] ? line->why : "the connection was refused");
        free_line(line);
        return NULL;
    }
    line->wsi = wsi;
    return line;
}

static void
queue_message(swamp__line *line, const char *text, size_t len, int is_ping)
{
    outgoing *out;

    if (line->closing || line->finished)
        return;
    out = swamp__alloc(sizeof(*out) + LWS_PRE + len);
    if (!out) {
        snprintf(line->why, sizeof(line->why), "out of memory");
        kill_line(line);
        return;
    }
    memset(&out->link, 0, sizeof(out->link));
    out->is_ping = is_ping;
    out->len = len;
    memcpy(out->bytes + LWS_PRE, text, len);
    swamp__list_push(&line->outbox, &out->link);
    if (line->wsi && line->opened)
        lws_callback_on_writable(line->wsi);
}

void
swamp__line_send(swamp__line *line, const char *text, size_t len)
{
    queue_message(line, text, len, 0);
}

void
swamp__line_ping(swamp__line *line)
{
    queue_message(line, "s", 1, 1); /* never empty: an empty pong may reach nobody */
}

void
swamp__line_pause(swamp__line *line, int paused)
{
    line->paused = paused;
    if (line->wsi && line->opened && !line->closing)
        lws_rx_flow_control(line->wsi, !paused && !line->held);
}

void
swamp__line_drop(swamp__line *line, int politely)
{
    line->orphan = 1;
    if (!line->wsi)
        return; /* lws has yet to say its last word, and the line goes then */
    if (politely && line->opened && !line->finished)
        begin_close(line, CLOSE_NORMAL);
    else
        kill_line(line);
}
