/* The libwebsockets context behind a loop, and how its callbacks find their owners; shared by the files of net/ only. */
#ifndef SWAMP_NET_CONTEXT_H
#define SWAMP_NET_CONTEXT_H

#include <libwebsockets.h>
#include "loop.h"

#define SWAMP__SUBPROTOCOL_SIZE 64
#define SWAMP__HTTP_EXTRA 64 /* sockets above max_connections, so that /ready and 429 can still be answered */
#define SWAMP__FLUSH_MS 5000 /* a connection that is being closed may go on writing this long */

/*
 * Whoever owns a connection or descriptor of the context: its callbacks come here, whatever the protocol. The pointer is
 * the wsi's opaque user data, and must stay valid until LWS_CALLBACK_WSI_DESTROY, which comes last.
 */
typedef struct swamp__end swamp__end;
struct swamp__end {
    swamp__loop *loop;
    /* Returns what libwebsockets wants of a callback; `in` is the user argument where a certificate is verified. */
    int (*event)(swamp__end *end, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len);
};

typedef struct swamp__context {
    struct lws_context *lws;
    struct lws_vhost *vhost;
    int tls;           /* a server certificate was given */
    int trusts_system; /* a client that was given no CA */
    /* OpenSSL's, of a client that trusts whom the system trusts, until those are loaded; else NULL. */
    void *untrusting;
    /* The name of the second protocol: filled at each upgrade, since lws echoes it (upgrade.c). */
    char subprotocol[SWAMP__SUBPROTOCOL_SIZE];
    struct lws_protocols protocols[3];
} swamp__context;

/* event_loop: libev's, NULL: poll. SWAMP_OK, SWAMP_E_TLS, SWAMP_E_UNSUPPORTED (no such event loop), SWAMP_E_IO. */
int swamp__context_init(swamp__context *context, const swamp__loop_options *options, void *event_loop,
                        const char **why);
void swamp__context_destroy(swamp__context *context); /* closes what is still open; fine when zeroed */

/*
 * Before TLS is dialled: loads the system's CA certificates, unless the client was given one of its own. Once, and not
 * sooner: it takes longer than everything else that a client does, and most speak to loopback without TLS.
 */
void swamp__context_trust_system(swamp__context *context);

/* Takes the descriptor, also on failure; the end gets LWS_CALLBACK_RAW_RX_FILE when it is readable. NULL: failed. */
struct lws *swamp__context_adopt_file(swamp__context *context, int fd, swamp__end *end);
void
swamp__context_kill(struct lws *wsi); /* not at once: in the loop's next turn, without a word to the peer */

/* What a loop offers to the folder. */
swamp__context *swamp__loop_context(swamp__loop *loop);
const swamp__loop_options *swamp__loop_settings(const swamp__loop *loop);
int swamp__loop_is_running(const swamp__loop *loop); /* 0 once the thread has ended */
#define SWAMP__SOON_MAX 1024 /* as many writes take some 6 ms, and meanwhile nobody else has a turn */
/* Loop's thread: runs the task when the callback that is under way has returned, unless it is unlinked before. 1; 0: not
 * taken, this callback has had SWAMP__SOON_MAX of them. */
int swamp__loop_soon(swamp__loop *loop, swamp__task *task);
void swamp__loop_turned(swamp__loop *loop); /* after each callback: runs these; timers may have been set */

#endif
