/* The runs of one instance: by id, with caps, and those that the host's threads have touched. */
#ifndef SWAMP_RUN_REGISTRY_H
#define SWAMP_RUN_REGISTRY_H

#include <stddef.h>
#include <stdint.h>
#include "../util/map.h"
#include "../util/world.h"
#include "run.h"
#include "touched.h"

/* Core's thread. */
typedef struct swamp__registry {
    swamp__map *runs;          /* id -> swamp_run */
    size_t unfinished;         /* runs that count against max_runs: ADMITTED, RUNNING, FINISHING */
    const swamp__world *world; /* whose timers the runs use; NULL: no run was ever added */
    swamp__touched *touched;
    size_t log_bytes_each, log_events_each; /* limits of one log */
} swamp__registry;

swamp__registry *swamp__registry_new(size_t log_bytes, size_t log_events, void (*wake)(void *), void *user);
/* No wake after this returns; emit on a run that the host still holds gives SWAMP_E_CLOSED. NULL is fine. */
void swamp__registry_free(swamp__registry *registry);

typedef struct swamp__run_new {
    const char *kind, *request_type, *principal, *payload;
    size_t payload_len;
    const char *run_id; /* from swamp__id_v7 */
} swamp__run_new;

/* Makes a run in state ADMITTED and registers it: SWAMP_OK, SWAMP_E_NOMEM. *out is borrowed from the registry. */
int swamp__registry_add(swamp__registry *registry, const swamp__world *world, const swamp__run_new *facts,
                        swamp_run **out);
swamp_run *swamp__registry_find(swamp__registry *registry, const char *run_id); /* borrowed; NULL: not here */
void swamp__registry_remove(swamp__registry *registry, swamp_run *run);
size_t swamp__registry_count_principal(swamp__registry *registry,
                                       const char *principal); /* unfinished ones */

/* Keeps `unfinished` right. */
void swamp__registry_set_state(swamp__registry *registry, swamp_run *run, int state);

/* The first run that was touched, with a reference for the caller; NULL: none. */
swamp_run *swamp__registry_take(swamp__registry *registry);

/* Keep all logs within max_bytes: finished runs go first, oldest first (evict is called for each), then the
 * largest log loses its oldest. */
void swamp__registry_fit(swamp__registry *registry, size_t max_bytes,
                         void (*evict)(void *user, swamp_run *run), void *user);

#endif
