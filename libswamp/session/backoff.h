/* How long to wait before a dial: random below a bound that doubles (PROTOCOL 7). */
#ifndef SWAMP_SESSION_BACKOFF_H
#define SWAMP_SESSION_BACKOFF_H

#include <stdint.h>
#include "../util/world.h"

typedef struct swamp__backoff {
    int64_t min_ms, first_ms, max_ms; /* set by the owner */
    int64_t settle_ms;
    int64_t bound_ms;    /* of the next delay */
    int64_t attached_ms; /* since when; -1: not attached */
} swamp__backoff;

void swamp__backoff_reset(swamp__backoff *backoff); /* an event was delivered */
void swamp__backoff_attached(swamp__backoff *backoff, int64_t now_ms);
void swamp__backoff_lost(swamp__backoff *backoff, int64_t now_ms); /* attached for settle_ms: falls back */
int64_t swamp__backoff_next(swamp__backoff *backoff, const swamp__world *world);
/* The peer named a time: at least that, spread by a quarter, so that a thousand clients do not come at one moment. */
int64_t swamp__backoff_told(const swamp__world *world, int64_t own_ms, int64_t told_ms, int64_t most_ms);

#endif
