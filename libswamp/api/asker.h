/* A thread that may block on the store: takes questions from the core, answers them on the loop's thread. */
#ifndef SWAMP_API_ASKER_H
#define SWAMP_API_ASKER_H

#include <pthread.h>
#include <swamp/store.h>
#include "../net/loop.h"
#include "../store/question.h"
#include "../util/queue.h"

/* A server has two: the store thread, and the heartbeat thread, so that a long query does not make it look dead. */
typedef struct swamp__asker_thread {
    swamp__asker asker; /* what the core is given */
    swamp_store *store; /* borrowed; NULL: no store is configured */
    swamp__loop *loop;
    swamp__queue waiting;
    pthread_mutex_t lock; /* of answered */
    swamp__list answered;
    pthread_t thread;
    int running;
} swamp__asker_thread;

/* store NULL: asker.timeout_ms is 0 and nothing may be asked. SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__asker_init(swamp__asker_thread *asker, swamp_store *store, swamp__loop *loop, int timeout_ms);
int swamp__asker_start(swamp__asker_thread *asker); /* SWAMP_OK, SWAMP_E_IO */
/* Loop's thread, at each wake-up: hand the answers to whoever asked. Returns how many there were. */
size_t swamp__asker_collect(swamp__asker_thread *asker);
/* What waits is answered with SWAMP_E_CLOSED, as is all that comes later; joins. Collect once more afterwards. */
void swamp__asker_close(swamp__asker_thread *asker);
void swamp__asker_destroy(swamp__asker_thread *asker);

#endif
