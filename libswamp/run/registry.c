/* The runs of one instance: by id, with caps, and the list of those that the host's threads have touched. */
#include "registry.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/clock.h"

swamp__registry *
swamp__registry_new(size_t log_bytes, size_t log_events, void (*wake)(void *), void *user)
{
    swamp__registry *registry = swamp__calloc(1, sizeof(*registry));
    if (!registry)
        return NULL;
    registry->runs = swamp__map_new();
    registry->touched = swamp__touched_new(wake, user);
    registry->log_bytes_each = log_bytes;
    registry->log_events_each = log_events;
    if (registry->runs && registry->touched)
        return registry;
    swamp__map_free(registry->runs);
    swamp__touched_unref(registry->touched);
    swamp__free(registry);
    return NULL;
}

static int
close_run(const char *key, void *value, void *user)
{
    swamp_run *run = value;
    (void)key;
    pthread_mutex_lock(&run->lock);
    if (!run->closed)
        run->closed = SWAMP_E_CLOSED;
    pthread_mutex_unlock(&run->lock);
    swamp__registry_remove(user, run);
    return 0;
}

void
swamp__registry_free(swamp__registry *registry)
{
    if (!registry)
        return;
    swamp__touched_close(registry->touched);
    for (swamp_run *run; (run = swamp__registry_take(registry));)
        swamp__run_unref(run);
    swamp__map_each(registry->runs, close_run, registry);
    swamp__map_free(registry->runs);
    swamp__touched_unref(registry->touched);
    swamp__free(registry);
}

/* Runs come and go. */

static int
fill_run(swamp_run *run, const swamp__registry *registry, const swamp__world *world,
         const swamp__run_new *facts)
{
    snprintf(run->id, sizeof(run->id), "%s", facts->run_id);
    snprintf(run->kind, sizeof(run->kind), "%s", facts->kind);
    /* cppcheck-suppress duplicateAssignExpression ; each call gives another number */
    uint64_t a = world->random(world->self);
    uint64_t b = world->random(world->self); /* after the other, for every compiler */
    swamp__id_v4(run->epoch, a, b);
    run->started_at_unix_ms = world->unix_ms(world->self);
    swamp__clock_iso(run->started_at_unix_ms, run->started_at);

    run->principal = swamp__strdup(facts->principal);
    run->request_type = swamp__strdup(facts->request_type);
    run->payload = swamp__strndup(facts->payload, facts->payload_len);
    run->payload_len = facts->payload_len;
    run->log = swamp__event_log_new(registry->log_bytes_each, registry->log_events_each);
    if (!run->principal || !run->request_type || !run->payload || !run->log)
        return SWAMP_E_NOMEM;
    int rc = swamp__timer_init(world->timers, &run->timer, NULL); /* life.c says what they do */
    if (rc == SWAMP_OK)
        rc = swamp__timer_init(world->timers, &run->duration_timer, NULL);
    return rc;
}

static int
is_unfinished(int state)
{
    return state == SWAMP__RUN_ADMITTED || state == SWAMP__RUN_RUNNING || state == SWAMP__RUN_FINISHING;
}

void
swamp__registry_set_state(swamp__registry *registry, swamp_run *run, int state)
{
    registry->unfinished += (size_t)is_unfinished(state);
    registry->unfinished -= (size_t)is_unfinished(run->state);
    run->state = state;
}

int
swamp__registry_add(swamp__registry *registry, const swamp__world *world, const swamp__run_new *facts,
                    swamp_run **out)
{
    swamp_run *run = swamp__calloc(1, sizeof(*run));
    if (!run)
        return SWAMP_E_NOMEM;
    run->refs = 1; /* the registry's */
    run->touched = swamp__touched_ref(registry->touched);
    registry->world = world;
    pthread_mutex_init(&run->lock, NULL);
    swamp__list_init(&run->viewers);

    int rc = fill_run(run, registry, world, facts);
    if (rc == SWAMP_OK)
        rc = swamp__map_put(registry->runs, run->id, run);
    if (rc != SWAMP_OK) {
        swamp__timer_destroy(world->timers, &run->timer);
        swamp__timer_destroy(world->timers, &run->duration_timer);
        swamp__run_unref(run);
        return rc;
    }
    swamp__registry_set_state(registry, run, SWAMP__RUN_ADMITTED);
    *out = run;
    return SWAMP_OK;
}

swamp_run *
swamp__registry_find(swamp__registry *registry, const char *run_id)
{
    return swamp__map_get(registry->runs, run_id);
}

void
swamp__registry_remove(swamp__registry *registry, swamp_run *run)
{
    assert(run->state != SWAMP__RUN_GONE);
    swamp__map_remove(registry->runs, run->id);
    swamp__registry_set_state(registry, run, SWAMP__RUN_GONE);
    swamp__timer_destroy(registry->world->timers, &run->timer);
    swamp__timer_destroy(registry->world->timers, &run->duration_timer);
    swamp__run_unref(run);
}

typedef struct principal_count {
    const char *principal;
    size_t count;
} principal_count;

static int
count_one(const char *key, void *value, void *user)
{
    const swamp_run *run = value;
    principal_count *count = user;
    (void)key;
    count->count += is_unfinished(run->state) && strcmp(run->principal, count->principal) == 0;
    return 0;
}

size_t
swamp__registry_count_principal(swamp__registry *registry, const char *principal)
{
    principal_count count = {principal, 0};
    swamp__map_each(registry->runs, count_one, &count);
    return count.count;
}

swamp_run *
swamp__registry_take(swamp__registry *registry)
{
    swamp__link *link = swamp__touched_take(registry->touched);
    if (!link)
        return NULL;
    swamp_run *run = SWAMP__OF(link, swamp_run, touched_link);
    /* From here on emit touches again; what it wrote before, this visit will see. */
    pthread_mutex_lock(&run->lock);
    run->dirty = 0;
    pthread_mutex_unlock(&run->lock);
    return run;
}

/* The budget of all logs. */

static size_t
evict_bytes(swamp_run *run, size_t bytes)
{
    pthread_mutex_lock(&run->lock);
    size_t given_back = swamp__event_log_evict(run->log, bytes);
    pthread_mutex_unlock(&run->lock);
    swamp__touched_count(run->touched, -given_back);
    return given_back;
}

typedef struct log_fit {
    swamp__registry *registry;
    size_t max_bytes;
    void (*evict)(void *user, swamp_run *run);
    void *user;
    swamp_run *largest;
    size_t largest_bytes;
} log_fit;

static size_t
bytes_over(const log_fit *fit)
{
    size_t bytes = __atomic_load_n(&fit->registry->touched->log_bytes, __ATOMIC_RELAXED);
    return bytes > fit->max_bytes ? bytes - fit->max_bytes : 0;
}

static int
evict_finished(const char *key, void *value, void *user)
{
    swamp_run *run = value;
    const log_fit *fit = user;
    (void)key;
    if (!bytes_over(fit))
        return 1;
    if (run->state == SWAMP__RUN_FINISHED && evict_bytes(run, SIZE_MAX))
        fit->evict(fit->user, run);
    return 0;
}

static int
find_largest(const char *key, void *value, void *user)
{
    swamp_run *run = value;
    log_fit *fit = user;
    (void)key;
    pthread_mutex_lock(&run->lock);
    size_t bytes = swamp__event_log_bytes(run->log);
    pthread_mutex_unlock(&run->lock);
    if (bytes > fit->largest_bytes) {
        fit->largest = run;
        fit->largest_bytes = bytes;
    }
    return 0;
}

void
swamp__registry_fit(swamp__registry *registry, size_t max_bytes, void (*evict)(void *user, swamp_run *run),
                    void *user)
{
    log_fit fit = {registry, max_bytes, evict, user, NULL, 0};
    if (!bytes_over(&fit))
        return;
    swamp__map_each(registry->runs, evict_finished, &fit); /* in order of admission: the oldest first */

    /* A little more than asked, so that the search is not made again for every event. */
    for (size_t over; (over = bytes_over(&fit));) {
        fit.largest = NULL;
        fit.largest_bytes = 0;
        swamp__map_each(registry->runs, find_largest, &fit);
        if (!fit.largest || !evict_bytes(fit.largest, over + max_bytes / 1024))
            return;
    }
}
