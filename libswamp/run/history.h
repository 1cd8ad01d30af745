/* Questions about runs that any instance can answer from the store: blocking procedures for the store thread. */
#ifndef SWAMP_RUN_HISTORY_H
#define SWAMP_RUN_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/store.h>
#include "../util/buf.h"
#include "../wire/document.h"

/* Characters of a part of a run id that may name it: ids of one minute share their first 10, people are shown the
 * last 8. */
#define SWAMP__HISTORY_PREFIX_MIN 13
#define SWAMP__HISTORY_SUFFIX_MIN 8

/*
 * workflow.history.get (PROTOCOL 2): exact run id, else workflow name (its latest run), else a unique prefix
 * (13 or more) or suffix (8 or more) of a run id. Appends the RUN. SWAMP_OK; SWAMP_ABSENT; SWAMP_CONFLICT:
 * ambiguous, *matches says how many; < 0: the store's error, SWAMP_E_CORRUPT.
 */
int swamp__history_get(swamp_store *store, const char *id_or_name, int timeout_ms, swamp__buf *out,
                       size_t *matches);

/* 1 if the run is one of that workflow: index keys of long names are cut, so that the RUN has the last word. */
int swamp__history_is_named(const swamp__run_facts *facts, const char *workflow_name);

typedef struct swamp__history_query {
    int only_active;
    int all; /* also runs that have ended (the default when not only_active) */
    size_t limit;
    const char *workflow; /* "": any; a name */
    int timeout_ms;
} swamp__history_query;

/* run.history: appends the rows' JSON array, newest first (PROTOCOL 4). SWAMP_OK, < 0. */
int swamp__history_list(swamp_store *store, const swamp__history_query *query, swamp__buf *out);

/* cluster.instances: appends the rows' JSON array. `stale` says by the caller's own watches which ones are
 * stale. SWAMP_OK, < 0. */
int swamp__history_instances(swamp_store *store, int timeout_ms,
                             int (*stale)(void *user, const char *instance_id), void *user, swamp__buf *out);

/*
 * run.cancel for a run of another instance: leaves a cancel request on condition that the run is active.
 * SWAMP_OK: left, owner[] says with whom; SWAMP_ABSENT: no such run; SWAMP_END: it has ended, status[] says
 * how; < 0.
 */
int swamp__history_cancel(swamp_store *store, const char *me, const char *run_id, const char *requested_by,
                          const char *reason, int64_t unix_ms, int timeout_ms, char owner[65],
                          char status[16]);

/* The owner's side: calls found() for each request in cancel-requests/{me}/. SWAMP_OK, < 0. */
int swamp__history_cancel_requests(swamp_store *store, const char *me, int timeout_ms,
                                   void (*found)(void *user, const char *run_id, const char *reason,
                                                 const char *requested_by),
                                   void *user);

#endif
