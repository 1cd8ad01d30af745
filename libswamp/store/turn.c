/* The lock with a deadline behind serial stores and the memory store. */
#include <assert.h>
#include <errno.h>
#include <time.h>
#include <swamp/status.h>
#include "turn.h"

int
swamp__turn_init(swamp__turn *turn)
{
    pthread_condattr_t attributes;
    int rc = SWAMP_E_NOMEM;

    if (pthread_mutex_init(&turn->lock, NULL) != 0)
        return SWAMP_E_NOMEM;
    if (pthread_condattr_init(&attributes) != 0)
        goto out;
    if (pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
        pthread_cond_init(&turn->left, &attributes) == 0)
        rc = SWAMP_OK;
    pthread_condattr_destroy(&attributes);
out:
    if (rc < 0)
        pthread_mutex_destroy(&turn->lock);
    turn->taken = 0;
    return rc;
}

void
swamp__turn_destroy(swamp__turn *turn)
{
    assert(!turn->taken);
    pthread_cond_destroy(&turn->left);
    pthread_mutex_destroy(&turn->lock);
}

int
swamp__turn_take(swamp__turn *turn, int64_t deadline_ms)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ms / 1000),
                             .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
    int waited = 0;
    int rc = SWAMP_OK;

    pthread_mutex_lock(&turn->lock);
    while (turn->taken && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&turn->left, &turn->lock, &until);
    if (turn->taken)
        rc = SWAMP_E_TIMEOUT;
    else
        turn->taken = 1;
    pthread_mutex_unlock(&turn->lock);
    return rc;
}

void
swamp__turn_leave(swamp__turn *turn)
{
    pthread_mutex_lock(&turn->lock);
    assert(turn->taken);
    turn->taken = 0;
    pthread_cond_signal(&turn->left);
    pthread_mutex_unlock(&turn->lock);
}
