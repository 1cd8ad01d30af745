/* Outgoing WebSocket links: names resolved on a thread of their own, one numeric address dialled at a time. */
#ifndef SWAMP_NET_DIAL_H
#define SWAMP_NET_DIAL_H

#include <stddef.h>
#include <stdint.h>
#include "loop.h"

typedef struct swamp__dialer swamp__dialer; /* of one loop */
typedef struct swamp__link_out swamp__link_out;

typedef struct swamp__dial_events {
    void (*connected)(void *user);
    /* how: SWAMP__LINK_... of session/session.h; the link is gone after this. why is borrowed. */
    void (*lost)(void *user, int how, int64_t retry_after_ms, const char *why);
    void (*alive)(void *user);                                 /* bytes or a pong came */
    void (*message)(void *user, const char *text, size_t len); /* one whole text message */
    void *user;
} swamp__dial_events;

typedef struct swamp__dial_options {
    const char *url;
    const char *token;  /* NULL: none; sent as Authorization: Bearer */
    int64_t timeout_ms; /* name, connection, TLS and upgrade together; each address has 3 s of it */
    size_t max_message; /* above: close 1009, lost */
} swamp__dial_options;

int swamp__dialer_new(swamp__dialer **out,
                      swamp__loop *loop); /* SWAMP_OK, SWAMP_E_NOMEM, SWAMP_E_IO; before the loop starts */
void swamp__dialer_free(swamp__dialer *dialer); /* after swamp__loop_stop() */

/* All below: loop's thread. `lost` is never called from within swamp__dial(). SWAMP_OK, SWAMP_E_NOMEM, SWAMP_E_INVALID. */
int swamp__dial(swamp__link_out **out, swamp__dialer *dialer, const swamp__dial_options *options,
                const swamp__dial_events *events);
void swamp__link_send(swamp__link_out *link, const char *text, size_t len); /* queued, copied */
void swamp__link_ping(swamp__link_out *link);
void swamp__link_pause(swamp__link_out *link, int paused);
void swamp__link_hang_up(swamp__link_out *link); /* close 1000; no event follows; the link is gone */

#endif
