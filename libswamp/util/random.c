/* Random numbers of the system. */
#include "random.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>
#include "clock.h"

/*
 * Where the kernel's source is denied (an old sandbox): the library may neither exit nor hand out one number
 * twice. Good enough for ids and delays; secrets are not made here.
 */
static uint64_t
mix_clocks(void)
{
    static atomic_ullong calls;
    uint64_t mix = (uint64_t)swamp__clock_monotonic_us() ^ ((uint64_t)swamp__clock_unix_ms() << 24);

    mix ^= (uint64_t)(uintptr_t)&mix;
    mix += (atomic_fetch_add(&calls, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mix = (mix ^ (mix >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mix = (mix ^ (mix >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mix ^ (mix >> 31);
}

uint64_t
swamp__random_u64(void)
{
    uint64_t number;
    ssize_t got;

    do {
        got = getrandom(&number, sizeof(number), 0); /* up to 256 bytes come whole or not at all */
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(number) ? number : mix_clocks();
}
