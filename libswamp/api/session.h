/* The public session handle's inside, shared by the files of api/ that serve it. */
#ifndef SWAMP_API_SESSION_H
#define SWAMP_API_SESSION_H

#include <pthread.h>
#include <stdint.h>
#include <swamp/client.h>
#include "home.h"
#include "channel.h"
#include "../session/session.h"
#include "../wire/cursor.h"

/* Counted: the application's handle, and the machine's side while it lives in its home. */
struct swamp_session {
    swamp__home *home;
    swamp__channel_target target;
    swamp__session_options options; /* texts are owned */
    uint64_t queue_bytes;

    /* home's thread */
    swamp__lodger lodger;
    swamp__session *machine;
    swamp__channel *channel;

    /* any thread, under lock */
    pthread_mutex_t lock;
    pthread_cond_t ready; /* on the monotonic clock */
    swamp__list queue;
    uint64_t queued; /* bytes */
    int full;        /* the machine was told that there is no room */
    int closed;      /* what _next() gives once the queue is empty: the home is gone, or no memory to begin */
    int refs;
    swamp__task room_task, leave_task; /* part of the session: these calls cannot fail for want of memory */
    int room_posted;
    int fd; /* eventfd: readable while next() has something */

    /* the application's thread */
    int ended; /* the last event was taken */
    int dispatching, free_asked;
    swamp__cursor place; /* behind the last event taken; under lock, for cursor() from any thread */
};

void swamp__session_handle_ref(swamp_session *session);
void swamp__session_handle_unref(swamp_session *session); /* frees at the last one */
void swamp__session_handle_ready(
    swamp_session *session); /* under the lock: descriptor and waiters follow the queue */

/* The application's thread asks, the home's thread does. SWAMP_OK; SWAMP_E_NOMEM, SWAMP_E_CLOSED. */
int swamp__session_handle_begin(swamp_session *session);
int swamp__session_handle_cancel(swamp_session *session, const char *reason);
void swamp__session_handle_room(swamp_session *session);  /* there is room in the queue again */
void swamp__session_handle_leave(swamp_session *session); /* the application is gone */

#endif
