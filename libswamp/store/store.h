/* Checked calls into a store: arguments, sizes and answers of a vtable are held against its contract here, once. */
#ifndef SWAMP_STORE_STORE_H
#define SWAMP_STORE_STORE_H

#include <swamp/store.h>
#include "../util/buf.h"
#include "unreadable.h"

swamp_store *swamp__store_ref(swamp_store *store); /* one more reference; returns store */
swamp__unreadable *
swamp__store_unreadable(swamp_store *store); /* borrowed: what was met in it and could not be read */

/*
 * Reads one value into `value` (cleared first). SWAMP_OK; SWAMP_ABSENT; < 0. *revision may be NULL.
 * The public swamp_store_get/list/commit are the other checked calls.
 */
int swamp__store_read(swamp_store *store, const char *key, int timeout_ms, swamp__buf *value,
                      uint64_t *revision);

/* Makers of operations, so that batches read like the tables of PROTOCOL 5. */
swamp_store_op swamp__op_put(const char *key, const swamp__buf *value, int condition, uint64_t revision);
swamp_store_op swamp__op_put_empty(const char *key); /* {} under any condition */
swamp_store_op swamp__op_remove(const char *key, int condition, uint64_t revision);
swamp_store_op swamp__op_check(const char *key, int condition, uint64_t revision);

#endif
