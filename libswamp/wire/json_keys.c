/* Finds a key that occurs twice in an object: by sorting, so that no choice of keys makes it slow. */
#include "json_keys.h"

#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "json_part.h"

#define RUN_LENGTH 8 /* sorted by insertion before runs are merged */

void
swamp__json_keys_init(swamp__json_keys *keys)
{
    keys->list = keys->few;
    keys->count = 0;
    keys->max = SWAMP__JSON_FEW_KEYS;
    keys->has_escapes = 0;
    keys->compared = 0;
}

void
swamp__json_keys_free(swamp__json_keys *keys)
{
    if (keys->list != keys->few)
        swamp__free(keys->list);
    swamp__json_keys_init(keys);
}

static int
grow_list(swamp__json_keys *keys)
{
    int was_few = keys->list == keys->few;
    swamp__json_key *list = swamp__realloc(was_few ? NULL : keys->list, keys->max * 2 * sizeof(*list));

    if (!list)
        return SWAMP_E_NOMEM;
    if (was_few)
        memcpy(list, keys->few, sizeof(keys->few));
    keys->list = list;
    keys->max *= 2;
    return SWAMP_OK;
}

/* FNV-1a over code points: equal for all spellings of a text. Collisions, also sought ones, only cost a
 * comparison. */
static uint64_t
hash_text(const char *at, const char *end)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    while (at < end) {
        uint32_t character = (uint8_t)*at;

        if (character >= 0x80 || character == '\\')
            character = swamp__json_character(&at, end);
        else
            at++;
        hash = (hash ^ character) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/*
 * Of a key as it is written: its ends and its length, in a handful of steps for any key. Short keys that differ have
 * different ones; whatever others collide only costs a comparison.
 */
static uint64_t
hash_bytes(const char *at, size_t len)
{
    uint64_t first = 0, last = 0;

    if (len >= sizeof(first)) {
        memcpy(&first, at, sizeof(first));
        memcpy(&last, at + len - sizeof(last), sizeof(last));
    } else if (len >= sizeof(uint32_t)) {
        memcpy(&first, at, sizeof(uint32_t));
        memcpy(&last, at + len - sizeof(uint32_t), sizeof(uint32_t));
    } else if (len) {
        first = (uint8_t)at[0];
        last = (uint64_t)(uint8_t)at[len / 2] << 8 | (uint8_t)at[len - 1];
    }
    return (first * UINT64_C(0x9e3779b97f4a7c15)) ^ (last * UINT64_C(0xc2b2ae3d27d4eb4f)) ^ len;
}

int
swamp__json_keys_add(swamp__json_keys *keys, const char *at, const char *end, int has_escapes)
{
    swamp__json_key *key;

    if (keys->count == keys->max && grow_list(keys) < 0)
        return SWAMP_E_NOMEM;
    key = &keys->list[keys->count++];
    key->at = at;
    key->end = end;
    key->hash = hash_bytes(at, (size_t)(end - at));
    keys->has_escapes |= has_escapes;
    return SWAMP_OK;
}

static int
compare_bytes(const swamp__json_key *a, const swamp__json_key *b)
{
    size_t len_a = (size_t)(a->end - a->at), len_b = (size_t)(b->end - b->at);
    int order = memcmp(a->at, b->at, len_a < len_b ? len_a : len_b);

    return order ? order : (len_a > len_b) - (len_a < len_b);
}

static int
compare_text(const swamp__json_keys *keys, const swamp__json_key *a, const swamp__json_key *b)
{
    const char *at_a = a->at, *at_b = b->at;

    if (!keys->has_escapes)
        return compare_bytes(a, b);
    while (at_a < a->end && at_b < b->end) {
        uint32_t one = swamp__json_character(&at_a, a->end);
        uint32_t other = swamp__json_character(&at_b, b->end);

        if (one != other)
            return one < other ? -1 : 1;
    }
    return (at_a < a->end) - (at_b < b->end);
}

/* By hash, then by text: any total order in which equal texts are neighbours will do. */
static int
compare_keys(swamp__json_keys *keys, const swamp__json_key *a, const swamp__json_key *b)
{
    keys->compared++;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return compare_text(keys, a, b);
}

static void
sort_run(swamp__json_keys *keys, swamp__json_key *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        swamp__json_key key = list[i];
        size_t place = i;

        for (; place > 0 && compare_keys(keys, &list[place - 1], &key) > 0; place--)
            list[place] = list[place - 1];
        list[place] = key;
    }
}

/* Merges from[0..middle) and from[middle..count) into `to`. */
static void
merge_runs(swamp__json_keys *keys, const swamp__json_key *from, size_t middle, size_t count,
           swamp__json_key *to)
{
    size_t left = 0, right = middle;

    for (size_t i = 0; i < count; i++) {
        int take_left = right == count;

        if (!take_left && left < middle)
            take_left = compare_keys(keys, &from[left], &from[right]) <= 0;
        to[i] = take_left ? from[left++] : from[right++];
    }
}

/* Not qsort(): its worst case is the C library's choice, and it allocates past util/alloc.h. */
static int
sort_keys(swamp__json_keys *keys, swamp__json_key *list, size_t count)
{
    swamp__json_key *from = list, *to, *scratch;

    for (size_t i = 0; i < count; i += RUN_LENGTH)
        sort_run(keys, list + i, count - i < RUN_LENGTH ? count - i : RUN_LENGTH);
    scratch = swamp__alloc(count * sizeof(*scratch));
    if (!scratch)
        return SWAMP_E_NOMEM;
    to = scratch;
    for (size_t run = RUN_LENGTH; run < count; run *= 2) {
        swamp__json_key *swap = from;

        for (size_t i = 0; i < count; i += run * 2) {
            size_t rest = count - i;

            merge_runs(keys, from + i, rest < run ? rest : run, rest < run * 2 ? rest : run * 2, to + i);
        }
        from = to;
        to = swap;
    }
    if (from != list)
        memcpy(list, from, count * sizeof(*list));
    swamp__free(scratch);
    return SWAMP_OK;
}

/* Each with each: for as few keys as an event has that is less than sorting. */
static int
occurs_twice_of_few(swamp__json_keys *keys, const swamp__json_key *list, size_t count)
{
    keys->compared += count * (count - 1) / 2;
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (list[i].hash == list[k].hash && compare_text(keys, &list[i], &list[k]) == 0)
                return 1;
    return 0;
}

int
swamp__json_keys_twice(swamp__json_keys *keys, size_t first)
{
    swamp__json_key *list = keys->list + first;
    size_t count = keys->count - first;

    keys->count = first;
    if (keys->has_escapes)
        for (size_t i = 0; i < count; i++)
            list[i].hash = hash_text(list[i].at, list[i].end);
    if (count <= RUN_LENGTH)
        return occurs_twice_of_few(keys, list, count);
    if (sort_keys(keys, list, count) < 0)
        return SWAMP_E_NOMEM;
    for (size_t i = 1; i < count; i++)
        if (list[i].hash == list[i - 1].hash && compare_text(keys, &list[i], &list[i - 1]) == 0)
            return 1;
    return 0;
}
