/* A map from text to pointer; the one file that sees uthash. Not for threads. */
#ifndef SWAMP_UTIL_MAP_H
#define SWAMP_UTIL_MAP_H

#include <stddef.h>

typedef struct swamp__map swamp__map;

swamp__map *swamp__map_new(void);      /* NULL: out of memory */
void swamp__map_free(swamp__map *map); /* the values are not touched */
int swamp__map_put(swamp__map *map, const char *key,
                   void *value); /* copies the key, replaces; SWAMP_OK, SWAMP_E_NOMEM */
void *swamp__map_get(const swamp__map *map, const char *key); /* NULL: absent */
void *swamp__map_remove(swamp__map *map, const char *key);    /* the value that was there; NULL: absent */
size_t swamp__map_count(const swamp__map *map);

/* Calls fn for each entry in order of insertion until it returns non-zero; fn may remove the entry that it is
 * called with. */
void swamp__map_each(swamp__map *map, int (*fn)(const char *key, void *value, void *user), void *user);

#endif
