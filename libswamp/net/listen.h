/* The listening socket: bound and accepted by ourselves, since libwebsockets' own `iface` listens on all addresses. */
#ifndef SWAMP_NET_LISTEN_H
#define SWAMP_NET_LISTEN_H

#include "../server/instance.h"
#include "loop.h"

typedef struct swamp__listener swamp__listener;

typedef struct swamp__listen_options {
    const char *host;            /* an address, or localhost */
    int port;                    /* 0: any */
    int allow_foreign;           /* 1: other than loopback is allowed */
    const char *allowed_origins; /* NULL: none besides loopback and this host */
    int max_connections;
    /* Loop's thread: closed, and the last connection is gone. May come more than once. NULL: nobody waits. */
    void (*emptied)(void *user);
    void *user;
} swamp__listen_options;

/*
 * Binds and listens, accepts nothing yet. Any thread, before swamp__loop_start(). SWAMP_OK; SWAMP_E_ADDRESS, SWAMP_E_NOMEM;
 * error[] gets one line that says what to do.
 */
int swamp__listener_new(swamp__listener **out, swamp__loop *loop, const swamp__listen_options *options,
                        char *error, size_t cap);
const char *
swamp__listener_url(const swamp__listener *listener); /* http://127.0.0.1:9090, https://[::1]:9090 */
/* Loop's thread: connections go to this instance from now on. */
void swamp__listener_open(swamp__listener *listener, swamp__instance *instance);
/* Loop's thread: accept nothing more; connections stay. */
void swamp__listener_close(swamp__listener *listener);
size_t
swamp__listener_connections(const swamp__listener *listener); /* loop's thread: still open, HTTP included */
void swamp__listener_free(swamp__listener *listener);         /* after swamp__loop_stop() */

#endif
