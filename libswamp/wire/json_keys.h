/* The keys of the objects that a checker is in, kept to find one that occurs twice. */
#ifndef SWAMP_WIRE_JSON_KEYS_H
#define SWAMP_WIRE_JSON_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define SWAMP__JSON_FEW_KEYS 32

typedef struct swamp__json_key {
    const char *at, *end; /* between the quotes */
    uint64_t hash;        /* equal for equal texts, once swamp__json_keys_twice() has seen to the escapes */
} swamp__json_key;

typedef struct swamp__json_keys {
    swamp__json_key few[SWAMP__JSON_FEW_KEYS]; /* events have no more: emit then allocates nothing */
    swamp__json_key *list;
    size_t count, max;
    int has_escapes;   /* a key so far is not written as it is meant */
    uint64_t compared; /* comparisons so far: tests hold it against n log n */
} swamp__json_keys;

void swamp__json_keys_init(swamp__json_keys *keys);
void swamp__json_keys_free(swamp__json_keys *keys);
/* SWAMP_OK, SWAMP_E_NOMEM */
int swamp__json_keys_add(swamp__json_keys *keys, const char *at, const char *end, int has_escapes);

/* Drops the keys from `first` on; 1 if one of them occurred twice, however it was written; 0; SWAMP_E_NOMEM. */
int swamp__json_keys_twice(swamp__json_keys *keys, size_t first);

#endif
