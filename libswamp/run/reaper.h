/* Clearing up after the dead, retention, and cancel requests from elsewhere: blocking procedures for the
 * store thread. */
#ifndef SWAMP_RUN_REAPER_H
#define SWAMP_RUN_REAPER_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/store.h>
#include "../util/buf.h"
#include "../util/id.h"

#define SWAMP__REAPED_NAMED 5

typedef struct swamp__reap {
    const char *me;  /* every commit checks heartbeats/{me}; NULL: an observer, which has none */
    int64_t unix_ms; /* finishedAt of the runs ended here */
    int timeout_ms;  /* of each call */
    size_t max_runs; /* stop after so many; `more` says that there is more to do */
    char after
        [512]; /* in, out: the key to go on after, in whichever of the places below; "": from the start */
    size_t ended, removed;                   /* out: runs ended as interrupted; left-over keys removed */
    char ended_ids[SWAMP__REAPED_NAMED][65]; /* out: of the first ones that were ended */
    int more;
} swamp__reap;

/*
 * Reaping (PROTOCOL 5): list instance-runs/, then heartbeats/; for each run of an instance without a
 * heartbeat one commit. Then active-runs/ in the same way, for runs that no key in instance-runs/ leads to,
 * and cancel-requests/, for requests that nothing else leads to. Losing a race is not an error. SWAMP_OK;
 * SWAMP_E_FENCED: `me` was declared dead; or the store's error: what was done stays, call again.
 */
int swamp__reap_dead(swamp_store *store, swamp__reap *reap);

/*
 * Remove final runs that began and ended before older_than_unix_ms, oldest first, at most max: SWAMP_OK and
 * *removed; SWAMP_E_FENCED; < 0. `me` as in swamp__reap.
 */
int swamp__retain(swamp_store *store, const char *me, int64_t older_than_unix_ms, size_t max, int timeout_ms,
                  size_t *removed);

#endif
