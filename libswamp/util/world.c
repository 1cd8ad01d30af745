/* What the core derives from the world that it is given. */
#include "world.h"

#include <assert.h>

int64_t
swamp__world_uniform(const swamp__world *world, int64_t low, int64_t high)
{
    uint64_t count = (uint64_t)high - (uint64_t)low + 1; /* 0: all of 64 bits */
    uint64_t number = world->random(world->self);

    assert(low <= high);
    /* The remainder's bias is count / 2^64: nothing for delays. One number a call keeps simulated seeds stable. */
    return (int64_t)((uint64_t)low + (count ? number % count : number));
}
