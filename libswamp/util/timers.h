/* Timers of one thread: a heap of due times and callbacks. Owns no clock: whoever runs it says what time it is. */
#ifndef SWAMP_UTIL_TIMERS_H
#define SWAMP_UTIL_TIMERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct swamp__timer {
    int64_t due_ms;
    void (*fire)(struct swamp__timer *timer);
    size_t place;   /* in the heap, from 1; 0: not set */
    uint64_t order; /* among equal due times the one set first fires first */
    int inited;
} swamp__timer;

typedef struct swamp__timers {
    swamp__timer **heap;
    size_t count, cap;
    size_t inited;      /* timers that may be set at once: the heap has room for them */
    uint64_t sets;      /* so far; gives the order */
    int64_t running_ms; /* the time of the run that goes on; INT64_MIN: none */
} swamp__timers;

void swamp__timers_init(swamp__timers *timers);
void swamp__timers_free(swamp__timers *timers); /* the timers themselves are not touched */

/* Room for one more timer is made when it is initialised, so that setting one cannot fail. */
int swamp__timer_init(swamp__timers *timers, swamp__timer *timer,
                      void (*fire)(swamp__timer *)); /* SWAMP_OK, SWAMP_E_NOMEM */
void swamp__timer_destroy(swamp__timers *timers,
                          swamp__timer *timer); /* also unsets it; fine on a zeroed timer */
void swamp__timer_set(swamp__timers *timers, swamp__timer *timer, int64_t due_ms); /* also moves it */
void swamp__timer_unset(swamp__timers *timers, swamp__timer *timer);
int swamp__timer_is_set(const swamp__timer *timer);

int64_t swamp__timers_next(const swamp__timers *timers); /* due time of the first; INT64_MAX: none */
/*
 * Fires all that are due, each unset before, in order of due time, then of setting. A timer that a callback
 * sets to a time already reached fires one millisecond later, in another run: no timer can hold the thread by
 * setting itself.
 */
void swamp__timers_run(swamp__timers *timers, int64_t now_ms);

#endif
