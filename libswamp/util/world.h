/* The world as the core sees it: time, randomness, timers, log. A test can be all of it. */
#ifndef SWAMP_UTIL_WORLD_H
#define SWAMP_UTIL_WORLD_H

#include <stdint.h>
#include "log.h"
#include "timers.h"

typedef struct swamp__world {
    int64_t (*now_ms)(void *self);  /* monotonic */
    int64_t (*unix_ms)(void *self); /* wall clock: for people and for run ids only, never compared */
    uint64_t (*random)(void *self); /* 64 random bits */
    void *self;
    swamp__timers *timers; /* of the core's thread */
    const swamp__log *log;
} swamp__world;

static inline int64_t
swamp__now_ms(const swamp__world *world)
{
    return world->now_ms(world->self);
}

/* Uniform between low and high, both included. */
int64_t swamp__world_uniform(const swamp__world *world, int64_t low, int64_t high);

#endif
