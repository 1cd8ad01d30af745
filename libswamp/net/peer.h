/* One accepted connection, from accept to close: HTTP at first, a WebSocket after its upgrade. Shared by the server's files. */
#ifndef SWAMP_NET_PEER_H
#define SWAMP_NET_PEER_H

#include "../server/instance.h"
#include "../util/buf.h"
#include "../util/list.h"
#include "../wire/pieces.h"
#include "context.h"
#include "listen.h"

#define SWAMP__CLOSE_REASON_SIZE 124 /* 123 bytes fit a close frame */

typedef struct swamp__peer {
    swamp__end end;
    swamp__listener *listener;
    swamp__link link; /* of the listener's peers */
    struct lws *wsi;  /* NULL: not yet adopted, or closed: must not be touched any more */

    /* WebSocket: serve.c */
    swamp__conn *conn;     /* from the decision on the upgrade on */
    swamp__pieces message; /* what came of it so far */
    swamp__timer flush;    /* runs while closing */
    swamp__task prompt;    /* linked: has something to say at the end of this callback */
    int upgraded, paused;
    int held;       /* not read while libwebsockets keeps bytes of ours: see hold_reading() */
    int closing;    /* we shall send a close frame */
    int last_batch; /* ... and have written what was waiting before it */
    int finished;   /* a close frame was sent or received: nothing is written after it */
    int close_code;
    char close_reason[SWAMP__CLOSE_REASON_SIZE];

    /* HTTP: serve_http.c */
    void *asked; /* of swamp__http_ask() */
    int status;  /* of the answer; 0: none yet */
    const char *content_type;
    swamp__buf body;
    size_t body_bytes;
    int is_head, close_after;
} swamp__peer;

/* What the listener knows. */
swamp__instance *swamp__listener_instance(const swamp__listener *listener); /* NULL: closed */
swamp__buf *swamp__listener_scratch(swamp__listener *listener); /* one for all: used within one callback */
int swamp__listener_allows(const swamp__listener *listener,
                           struct lws *wsi); /* Host and Origin (PROTOCOL 1) */
swamp__loop *swamp__listener_loop(const swamp__listener *listener);
void swamp__listener_count(swamp__listener *listener, int by); /* a connection more, or less */

/* An accepted socket: takes it, also on failure. SWAMP_OK, SWAMP_E_NOMEM, SWAMP_E_IO. */
int swamp__peer_open(swamp__listener *listener, swamp__list *peers, int fd);
void
swamp__peer_end_idle(swamp__peer *peer); /* the listener closes: an HTTP connection without a request goes */

/* Each handles the callbacks of its phase and returns what libwebsockets wants. */
int swamp__peer_upgrade(swamp__peer *peer, struct lws *wsi); /* LWS_CALLBACK_HTTP_CONFIRM_UPGRADE */
void swamp__peer_choose_echo(swamp__peer *peer,
                             struct lws *wsi); /* LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION */
int swamp__peer_http(swamp__peer *peer, struct lws *wsi, enum lws_callback_reasons reason, size_t len);
void swamp__peer_http_gone(swamp__peer *peer);

/* The transport that the core sees; its peer is the swamp__peer. */
extern const swamp__transport swamp__peer_transport;

/* Sends a short answer at once and ends the transaction; returns 1 for the caller to return. retry_after_s 0: none. */
int swamp__peer_refuse(struct lws *wsi, int status, int retry_after_s, const char *line);
/* A header's text, "" when absent. 1, 0: too long. */
int swamp__peer_header(struct lws *wsi, enum lws_token_indexes token, char *out, int cap);

#endif
