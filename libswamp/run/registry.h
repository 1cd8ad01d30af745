/* The runs of one instance: by id, with caps, and the list of those that the host's threads have touched. */
#ifndef SWAMP_RUN_REGISTRY_H
#define SWAMP_RUN_REGISTRY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "../util/map.h"
#include "../util/world.h"
#include "run.h"

struct swamp__registry {
    swamp__map *runs;  /* id -> swamp_run, core's thread */
    size_t unfinished; /* runs that count against max_runs: ADMITTED, RUNNING, FINISHING */
    size_t log_bytes;  /* atomic: of all logs, also of runs that only a viewer or the host still holds */
    const swamp__world *world; /* whose timers the runs use; NULL: no run was ever added */
    pthread_mutex_t lock;      /* of dirty and wake */
    swamp__list dirty;
    void (*wake)(void *user); /* any thread; at most once until the core takes the list; NULL after close */
    void *wake_user;
    int closed;                             /* under lock: nothing is put on the list any more */
    size_t log_bytes_each, log_events_each; /* limits of one log */
    int refs;                               /* atomic: the instance and each run */
};

swamp__registry *swamp__registry_new(size_t log_bytes, size_t log_events, void (*wake)(void *), void *user);
/* No wake after this returns; the map is emptied; emit on a run that the host still holds gives SWAMP_E_CLOSED. */
void swamp__registry_close(swamp__registry *registry);
void swamp__registry_unref(swamp__registry *registry);

typedef struct swamp__run_new {
    const char *kind, *request_type, *principal, *payload;
    size_t payload_len;
    const char *run_id; /* from swamp__id_v7 */
} swamp__run_new;

/* Makes a run in state ADMITTED and registers it: SWAMP_OK, SWAMP_E_NOMEM. *out is borrowed from the registry. */
int swamp__registry_add(swamp__registry *registry, const swamp__world *world, const swamp__run_new *facts,
                        swamp_run **out);
int swamp__run_set_resource(swamp_run *run, const char *resource_name,
                            const char *workflow_id);                           /* SWAMP_OK, SWAMP_E_NOMEM */
swamp_run *swamp__registry_find(swamp__registry *registry, const char *run_id); /* borrowed; NULL: not here */
void swamp__registry_remove(swamp__registry *registry, swamp_run *run);
size_t swamp__registry_count_principal(swamp__registry *registry,
                                       const char *principal); /* unfinished ones */

/* Core's thread: keeps `unfinished` right. */
void swamp__registry_set_state(swamp__registry *registry, swamp_run *run, int state);

/* Any thread: put the run on the dirty list once and wake the core. */
void swamp__registry_touch(swamp__registry *registry, swamp_run *run);
/* Core's thread: take the first dirty run, with a reference for the caller; NULL: none. */
swamp_run *swamp__registry_take(swamp__registry *registry);

/* Keep all logs within max_bytes: finished runs go first, oldest first (evict is called for each), then the
 * largest log loses its oldest. */
void swamp__registry_fit(swamp__registry *registry, size_t max_bytes,
                         void (*evict)(void *user, swamp_run *run), void *user);

#endif
