/* A loop's thread with the sessions that live on it: how other threads reach it, and how all of them learn of
 * its end. */
#ifndef SWAMP_API_HOME_H
#define SWAMP_API_HOME_H

#include <pthread.h>
#include "../net/loop.h"

/* Somebody who lives on the loop's thread; told once, there, that the home closes. */
typedef struct swamp__lodger {
    swamp__link link;
    void (*evict)(struct swamp__lodger *lodger); /* loop's thread; has left the list already */
} swamp__lodger;

/* Counted: the client or server that owns the loop, and each session, so that they may be freed in any order. */
typedef struct swamp__home {
    pthread_mutex_t lock;
    swamp__loop *loop;   /* NULL: closed */
    swamp__list lodgers; /* loop's thread */
    int closing;         /* loop's thread: nobody moves in any more */
    int refs;
} swamp__home;

swamp__home *swamp__home_new(swamp__loop *loop); /* NULL: out of memory */
swamp__home *swamp__home_ref(swamp__home *home);
void swamp__home_unref(swamp__home *home);

/* Any thread: SWAMP_OK, or SWAMP_E_CLOSED: the task was not taken. */
int swamp__home_post(swamp__home *home, swamp__task *task);
/* Any thread but the loop's: runs fn(arg) on the loop's thread and waits for it. SWAMP_OK, SWAMP_E_CLOSED. */
int swamp__home_call(swamp__home *home, void (*fn)(void *arg), void *arg);

int swamp__home_is_here(swamp__home *home); /* 1 on the loop's thread */

/* Loop's thread: SWAMP_OK, SWAMP_E_CLOSED. */
int swamp__home_move_in(swamp__home *home, swamp__lodger *lodger);
void swamp__home_move_out(swamp__lodger *lodger);

/* Not the loop's thread, before the loop is stopped: evicts all; posts are refused from then on. */
void swamp__home_close(swamp__home *home);

#endif
