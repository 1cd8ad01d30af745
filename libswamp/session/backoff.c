/* The delays between dials: uniform between a minimum and a bound that doubles, with a strict rule for
 * falling back. */
#include "backoff.h"

void
swamp__backoff_reset(swamp__backoff *backoff)
{
    backoff->bound_ms = backoff->first_ms;
}

void
swamp__backoff_attached(swamp__backoff *backoff, int64_t now_ms)
{
    backoff->attached_ms = now_ms;
}

/*
 * PROTOCOL 7: a mere connection, or a mere run.attached, refills nothing. Else a server that accepts and
 * closes would hold all its clients at the shortest delay.
 */
void
swamp__backoff_lost(swamp__backoff *backoff, int64_t now_ms)
{
    if (backoff->attached_ms >= 0 && now_ms - backoff->attached_ms >= backoff->settle_ms)
        swamp__backoff_reset(backoff);
    backoff->attached_ms = -1;
}

int64_t
swamp__backoff_next(swamp__backoff *backoff, const swamp__world *world)
{
    int64_t low = backoff->min_ms < backoff->bound_ms ? backoff->min_ms : backoff->bound_ms;
    int64_t delay_ms = swamp__world_uniform(world, low, backoff->bound_ms);
    backoff->bound_ms *= 2;
    if (backoff->bound_ms > backoff->max_ms)
        backoff->bound_ms = backoff->max_ms;
    return delay_ms;
}

int64_t
swamp__backoff_told(const swamp__world *world, int64_t own_ms, int64_t told_ms, int64_t most_ms)
{
    if (told_ms <= 0)
        return own_ms;
    if (told_ms > most_ms)
        told_ms = most_ms;
    int64_t delay_ms = told_ms + swamp__world_uniform(world, 0, told_ms / 4);
    return delay_ms > own_ms ? delay_ms : own_ms;
}
