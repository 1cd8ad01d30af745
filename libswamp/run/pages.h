/* Lists that are longer than one page: walks a prefix page by page, so that no call to a store is without a bound. */
#ifndef SWAMP_RUN_PAGES_H
#define SWAMP_RUN_PAGES_H

#include <swamp/store.h>

#define SWAMP__PAGE 256 /* records a call */

/*
 * swamp_store_list() without its limit. The pages are separate reads: a record that exists all the time is
 * seen, one that comes or goes meanwhile may be. `timeout_ms` is that of each call. The sink must not call
 * the store.
 */
int swamp__pages_each(swamp_store *store, const char *prefix, const char *after, unsigned flags,
                      int timeout_ms, swamp_store_sink sink, void *user);

#endif
