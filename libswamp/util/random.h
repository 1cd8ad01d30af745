/* Random numbers of the system. The core never calls this: it is given randomness. */
#ifndef SWAMP_UTIL_RANDOM_H
#define SWAMP_UTIL_RANDOM_H

#include <stdint.h>

uint64_t swamp__random_u64(void);

#endif
