/* A lock that is waited for only up to a deadline on the monotonic clock. Not recursive. */
#ifndef SWAMP_STORE_TURN_H
#define SWAMP_STORE_TURN_H

#include <pthread.h>
#include <stdint.h>

typedef struct swamp__turn {
    pthread_mutex_t lock;
    pthread_cond_t left; /* on the monotonic clock: a mutex can be timed only on the wall clock everywhere */
    int taken;
} swamp__turn;

int swamp__turn_init(swamp__turn *turn); /* SWAMP_OK, SWAMP_E_NOMEM */
void swamp__turn_destroy(swamp__turn *turn);
int swamp__turn_take(swamp__turn *turn,
                     int64_t deadline_ms); /* SWAMP_OK; SWAMP_E_TIMEOUT; tries once when past */
void swamp__turn_leave(swamp__turn *turn);

#endif
