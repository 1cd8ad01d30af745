/* Where the core lays out work for the host, and where any thread takes and answers it; outlives the server
 * if need be. */
#ifndef SWAMP_API_DESK_H
#define SWAMP_API_DESK_H

#include <pthread.h>
#include <swamp/server.h>
#include "../net/loop.h"
#include "../server/work.h"

/* Counted: the server, and each piece of work that the host holds. */
typedef struct swamp__desk {
    swamp__work_desk face; /* what the core is given */
    pthread_mutex_t lock;
    pthread_cond_t laid_out; /* on the monotonic clock */
    swamp__list cancels;     /* DESIGN 3: a CANCEL never queues behind a blocking START */
    swamp__list others;
    swamp__list returned; /* answered, not yet seen by the core */
    swamp__loop *loop;    /* NULL after swamp__desk_close() */
    int closed;
    int refs;
} swamp__desk;

swamp__desk *swamp__desk_new(swamp__loop *loop); /* NULL: out of memory */
swamp__desk *swamp__desk_ref(swamp__desk *desk);
void swamp__desk_unref(swamp__desk *desk);
/* Which queue: both for swamp_server_next(); the executor's threads take one each. */
#define SWAMP__DESK_CANCELS 1
#define SWAMP__DESK_OTHERS 2
int swamp__desk_next(swamp__desk *desk, int which, int timeout_ms,
                     swamp_work **out); /* SWAMP_WORK, SWAMP_OK, SWAMP_END */
size_t
swamp__desk_collect(swamp__desk *desk);  /* loop's thread: let the core have the answers; returns how many */
void swamp__desk_end(swamp__desk *desk); /* swamp_server_next() gives SWAMP_END from now on */
void swamp__desk_close(
    swamp__desk *desk); /* after the loop ended: late answers are dropped; drops the server's reference */

#endif
