/* One outgoing WebSocket connection to one numeric address; names, retries and time-outs are the dialer's. */
#ifndef SWAMP_NET_LINE_H
#define SWAMP_NET_LINE_H

#include <stddef.h>
#include <stdint.h>
#include "loop.h"

typedef struct swamp__line swamp__line;

typedef struct swamp__line_end { /* how it ended; borrowed */
    int opened;                  /* it had been upgraded */
    int http_status;             /* of a refused upgrade; 0: none */
    int close_code;              /* from the peer; 0: none */
    int64_t retry_after_ms;
    const char *why;
} swamp__line_end;

/* Never from within a call to the line. */
typedef struct swamp__line_events {
    void (*opened)(void *user);
    void (*ended)(void *user, const swamp__line_end *end); /* once, the line is gone */
    void (*alive)(void *user);
    void (*message)(void *user, const char *text, size_t len);
    void *user;
} swamp__line_events;

typedef struct swamp__line_target { /* texts must last until the line has ended or was dropped */
    const char *address;            /* numeric */
    int port, tls;
    const char *authority; /* host[:port], as the Host header wants it; the certificate is compared with it */
    const char *literal;   /* the host when it is an IPv6 address, else NULL */
    const char *path;
    const char *token; /* NULL: none */
    size_t max_message;
} swamp__line_target;

/* NULL: failed at once, why says how; no event follows. */
swamp__line *swamp__line_open(swamp__loop *loop, const swamp__line_target *target,
                              const swamp__line_events *events, char *why, size_t cap);
void swamp__line_send(swamp__line *line, const char *text, size_t len);
void swamp__line_ping(swamp__line *line);
void swamp__line_pause(swamp__line *line, int paused);
/* No event follows. Politely: what was sent goes out, then a close frame with 1000, within a short time. */
void swamp__line_drop(swamp__line *line, int politely);

#endif
