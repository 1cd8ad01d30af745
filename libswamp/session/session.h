/* The client's resume machine (PROTOCOL 7) without I/O: frames, timers and lost links in; dials, frames and
 * events out. */
#ifndef SWAMP_SESSION_SESSION_H
#define SWAMP_SESSION_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include "../util/world.h"
#include "event.h"

typedef struct swamp__session swamp__session;

/* All values are set: defaults were filled in by api/. Texts are copied. */
typedef struct swamp__session_options {
    const char *url; /* where to dial; local sessions: "" */
    int has_token; /* an address is dialled only with the same or a stronger scheme, a token only over TLS or
                      to loopback */
    const char *start_type;     /* start: "workflow.run"; NULL: attach */
    const char *start_payload;  /* start: a JSON object */
    const char *run_id, *epoch; /* attach; epoch NULL or "": not checked */
    uint64_t after_seq;         /* attach */
    uint32_t max_dials, retry_min_ms, retry_first_ms, retry_max_ms, settle_ms;
    uint32_t max_elsewhere, elsewhere_give_up_ms, elsewhere_min_ms, elsewhere_max_ms,
        dial_address_after; /* 0: never */
    uint32_t history_poll_min_ms, history_poll_max_ms, history_give_up_ms, max_not_found, give_up_ms;
    uint32_t connect_timeout_ms, idle_timeout_ms, answer_timeout_ms, request_timeout_ms;
} swamp__session_options;

/* How a link ended, as far as the machine cares. */
#define SWAMP__LINK_LOST 1         /* closed, reset, refused, timed out, any other close code */
#define SWAMP__LINK_UNAUTHORIZED 2 /* HTTP 401, 403; close 4003, 1008 */
#define SWAMP__LINK_TRY_LATER 3    /* HTTP 429: retry_after_ms */

/*
 * What the machine asks of the outside. None of them calls back into the machine before it returns, but
 * deliver may say that there is no room: swamp__session_room(session, 0).
 */
typedef struct swamp__session_io {
    /* SWAMP_OK: answered by swamp__session_connected() or _link_lost(). An error: not begun, and never answered. */
    int (*dial)(void *self, const char *url);
    void (*send)(void *self, const char *text, size_t len); /* one text message; only while connected */
    void (*ping)(void *self);
    void (*hang_up)(void *self);                     /* forget dial or link; no answer follows */
    void (*pause)(void *self, int paused);           /* stop or go on reading */
    void (*deliver)(void *self, swamp_event *event); /* takes the event; never NULL */
    void *self;
} swamp__session_io;

int swamp__session_new(swamp__session **out, const swamp__session_options *options, const swamp__world *world,
                       const swamp__session_io *io); /* SWAMP_OK, SWAMP_E_NOMEM */
void swamp__session_begin(swamp__session *session);  /* the first dial */
void swamp__session_free(swamp__session *session);   /* hangs up */

void swamp__session_connected(swamp__session *session);
void swamp__session_link_lost(swamp__session *session, int how, int64_t retry_after_ms, const char *why);
void swamp__session_alive(swamp__session *session); /* any bytes or pong came */
void swamp__session_message(swamp__session *session, const char *text, size_t len);
void swamp__session_cancel(swamp__session *session, const char *reason);
/* The application's queue is full (0) or has room again (1): without room nothing is read, judged or dialled. */
void swamp__session_room(swamp__session *session, int has_room);
int swamp__session_ended(const swamp__session *session);

#endif
