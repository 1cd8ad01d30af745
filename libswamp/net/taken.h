/* How much of what was sent has a TCP peer taken? What liveness judges a slow reader by (PROTOCOL 1). */
#ifndef SWAMP_NET_TAKEN_H
#define SWAMP_NET_TAKEN_H

#include <stdint.h>

/* Bytes that the peer has acknowledged since the connection began; 0 where the system does not say. */
uint64_t swamp__taken_bytes(int fd);

#endif
