/* Clearing up after the dead, retention, and cancel requests from elsewhere: blocking procedures for the store thread. */
#ifndef SWAMP_RUN_REAPER_H
#define SWAMP_RUN_REAPER_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/store.h>
#include "../util/buf.h"
#include "../util/id.h"

typedef struct swamp__reap {
    const char *me;          /* every commit checks heartbeats/{me} */
    int64_t unix_ms;         /* finishedAt of the runs ended here */
    int timeout_ms;          /* of each call */
    size_t max_runs;         /* stop after so many; `more` says that there is more to do */
    char after[512];         /* in, out: where to go on in instance-runs/; "": from the start */
    size_t ended, removed;   /* out: runs ended as interrupted; left-over keys removed */
    int more;
} swamp__reap;

/*
 * Reaping (PROTOCOL 5): list instance-runs/, then heartbeats/; for each run of an instance without a heartbeat one
 * commit. Losing a race is not an error. SWAMP_OK, or the store's error: what was done stays, call again.
 */
int swamp__reap_dead(swamp_store *store, swamp__reap *reap);

/* Remove final runs that began before older_than_unix_ms, at most max: SWAMP_OK and *removed; < 0. */
int swamp__retain(swamp_store *store, const char *me, int64_t older_than_unix_ms, size_t max, int timeout_ms, size_t *removed);

#endif
