/* A map from text to pointer over uthash, which keeps its entries in order of insertion. */
#include "map.h"

#include <string.h>
#include <swamp/status.h>
#include "alloc.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) swamp__alloc(size)
#define uthash_free(block, size) swamp__free(block)
#define uthash_nonfatal_oom(entry) ((entry)->lost = 1)
#include <uthash.h>

typedef struct map_entry {
    void *value;
    int lost; /* uthash had no memory for it */
    UT_hash_handle hh;
    char key[];
} map_entry;

struct swamp__map {
    map_entry *entries;
};

static map_entry *
find_entry(const swamp__map *map, const char *key, size_t len)
{
    map_entry *entry;

    HASH_FIND(hh, map->entries, key, len, entry);
    return entry;
}

swamp__map *
swamp__map_new(void)
{
    return swamp__calloc(1, sizeof(swamp__map));
}

void
swamp__map_free(swamp__map *map)
{
    map_entry *entry, *next;

    if (!map)
        return;
    HASH_ITER(hh, map->entries, entry, next)
    {
        HASH_DEL(map->entries, entry);
        swamp__free(entry);
    }
    swamp__free(map);
}

int
swamp__map_put(swamp__map *map, const char *key, void *value)
{
    size_t len = strlen(key);
    map_entry *entry = find_entry(map, key, len);

    if (entry) {
        entry->value = value;
        return SWAMP_OK;
    }
    entry = swamp__calloc(1, sizeof(*entry) + len + 1);
    if (!entry)
        return SWAMP_E_NOMEM;
    memcpy(entry->key, key, len + 1);
    entry->value = value;
    HASH_ADD_KEYPTR(hh, map->entries, entry->key, len, entry);
    if (entry->lost) {
        swamp__free(entry);
        return SWAMP_E_NOMEM;
    }
    return SWAMP_OK;
}

void *
swamp__map_get(const swamp__map *map, const char *key)
{
    map_entry *entry = find_entry(map, key, strlen(key));

    return entry ? entry->value : NULL;
}

void *
swamp__map_remove(swamp__map *map, const char *key)
{
    map_entry *entry = find_entry(map, key, strlen(key));
    void *value;

    if (!entry)
        return NULL;
    value = entry->value;
    HASH_DEL(map->entries, entry);
    swamp__free(entry);
    return value;
}

size_t
swamp__map_count(const swamp__map *map)
{
    return HASH_COUNT(map->entries);
}

void
swamp__map_each(swamp__map *map, int (*fn)(const char *key, void *value, void *user), void *user)
{
    map_entry *entry, *next;

    HASH_ITER(hh, map->entries, entry, next)
    {
        if (fn(entry->key, entry->value, user))
            return;
    }
}
