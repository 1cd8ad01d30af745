/* A bounded queue of links between threads; the consumer waits, or is woken by a callback of its own. */
#ifndef SWAMP_UTIL_QUEUE_H
#define SWAMP_UTIL_QUEUE_H

#include <pthread.h>
#include "list.h"

typedef struct swamp__queue {
    pthread_mutex_t lock;
    pthread_cond_t ready; /* on the monotonic clock */
    swamp__list list;
    size_t count, max;
    int closed;
} swamp__queue;

int swamp__queue_init(swamp__queue *queue, size_t max); /* SWAMP_OK, SWAMP_E_NOMEM; max 0: no bound */
void swamp__queue_destroy(swamp__queue *queue);
int swamp__queue_push(swamp__queue *queue,
                      swamp__link *link); /* SWAMP_OK, SWAMP_E_BUSY (full), SWAMP_E_CLOSED */
int swamp__queue_push_front(swamp__queue *queue, swamp__link *link); /* no bound; SWAMP_OK, SWAMP_E_CLOSED */

/* The first link; NULL after timeout_ms (-1: for ever), or when closed and empty. */
swamp__link *swamp__queue_pop(swamp__queue *queue, int timeout_ms);
void swamp__queue_close(swamp__queue *queue); /* wakes all; what is in it can still be popped */
int swamp__queue_closed(swamp__queue *queue);

#endif
