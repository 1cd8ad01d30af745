/* Which runs the host's threads have touched, until the core looks at them, and how large all logs are: any thread. */
#ifndef SWAMP_RUN_TOUCHED_H
#define SWAMP_RUN_TOUCHED_H

#include <pthread.h>
#include <stddef.h>
#include "../util/list.h"

/* What runs share with each other and with their registry, and what outlives both: counted by all of them. */
typedef struct swamp__touched {
    size_t log_bytes; /* atomic: of all logs, also of runs that only a viewer or the host still holds */
    int refs;         /* atomic */
    /* under lock */
    pthread_mutex_t lock;
    swamp__list links;        /* in order, each once */
    void (*wake)(void *user); /* any thread; at most once until the core takes the list */
    void *wake_user;
    int closed;
} swamp__touched;

swamp__touched *swamp__touched_new(void (*wake)(void *user), void *user); /* NULL: out of memory */
swamp__touched *swamp__touched_ref(swamp__touched *touched);
void swamp__touched_unref(swamp__touched *touched); /* NULL is fine */
/* No wake after this returns, and nothing is put any more. */
void swamp__touched_close(swamp__touched *touched);

int swamp__touched_put(swamp__touched *touched, swamp__link *link); /* 1; 0: it is there already, or closed */
swamp__link *swamp__touched_take(swamp__touched *touched);          /* the first; NULL: none */

void swamp__touched_count(swamp__touched *touched,
                          size_t more_log_bytes); /* less: the difference, wrapped around */

#endif
