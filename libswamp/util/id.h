/* Ids: UUIDs as lower-case text; version 7 for runs, so that key order is time order, 4 for all else. */
#ifndef SWAMP_UTIL_ID_H
#define SWAMP_UTIL_ID_H

#include <stdint.h>

#define SWAMP__ID_SIZE 37

void swamp__id_v7(char out[SWAMP__ID_SIZE], int64_t unix_ms, uint64_t random_a, uint64_t random_b);
void swamp__id_v4(char out[SWAMP__ID_SIZE], uint64_t random_a, uint64_t random_b);

/* 1 if the text may stand in a store key as one segment: 1 to 64 bytes of printable ASCII without '/'. */
int swamp__id_is_key_segment(const char *text);

#endif
