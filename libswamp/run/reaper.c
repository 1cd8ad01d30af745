/* Reaping: what the runs of dead instances have left in the store is brought to its end (PROTOCOL 5). */
#include "reaper.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../store/keys.h"
#include "../store/record.h"
#include "../store/store.h"
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../util/map.h"
#include "../wire/document.h"
#include "pages.h"
#include "reading.h"

/* A run that may have to be reaped. */
struct suspect {
    char instance_id[65];
    char run_id[65];
    char key[SWAMP_STORE_KEY_MAX + 1]; /* where it was found */
    int was_admitted;                  /* the key is one that the instance itself wrote with its admission */
};

struct page {
    struct suspect suspects[SWAMP__PAGE];
    size_t count; /* suspects */
    size_t keys;  /* keys seen, understood or not */
    char last[SWAMP_STORE_KEY_MAX + 1];
};

/*
 * Three places lead to what a dead instance left behind; the first leads to all of it but in a damaged store.
 * A request was written by somebody else: it proves nothing about its run.
 */
struct place {
    const char *prefix;
    unsigned flags;
    int was_admitted;
    int (*name)(swamp_store *store, struct suspect *suspect, const char *key, const void *value, size_t len,
                uint64_t revision); /* SWAMP_OK, else: not understood */
};

static int
name_by_key(swamp_store *store, struct suspect *suspect, const char *key, const void *value, size_t len,
            uint64_t revision)
{
    return swamp__key_middle(key, suspect->instance_id, sizeof suspect->instance_id);
}

static int
name_by_record(swamp_store *store, struct suspect *suspect, const char *key, const void *value, size_t len,
               uint64_t revision)
{
    swamp__active_record active;
    int rc = swamp__read_active(store, key, revision, value, len, &active);
    memcpy(suspect->instance_id, active.instance_id, sizeof suspect->instance_id);
    return rc;
}

static const struct place places[] = {
    {SWAMP__KEYS_INSTANCE_RUNS, SWAMP_STORE_KEYS_ONLY, 1, name_by_key},
    {SWAMP__KEYS_ACTIVE_RUNS, 0, 1, name_by_record},
    {SWAMP__KEYS_CANCEL_REQUESTS, SWAMP_STORE_KEYS_ONLY, 0, name_by_key},
};
#define PLACES (sizeof places / sizeof places[0])

/* One run while it is reaped. */
struct reading {
    swamp__buf active, run, final;
    uint64_t active_revision, run_revision;
    int active_status, run_status; /* SWAMP_OK, SWAMP_ABSENT */
    int active_readable, run_readable;
    swamp__active_record active_record;
    swamp__run_facts facts;
};

static int
read_run(swamp_store *store, const struct suspect *suspect, int timeout_ms, struct reading *reading)
{
    swamp__key active = swamp__key_active_run(suspect->run_id), run = swamp__key_run(suspect->run_id);
    reading->active_status =
        swamp__store_read(store, active.text, timeout_ms, &reading->active, &reading->active_revision);
    if (reading->active_status < 0)
        return reading->active_status;
    reading->run_status =
        swamp__store_read(store, run.text, timeout_ms, &reading->run, &reading->run_revision);
    if (reading->run_status < 0)
        return reading->run_status;
    int active_rc = SWAMP_ABSENT, run_rc = SWAMP_ABSENT;
    if (reading->active_status == SWAMP_OK)
        active_rc = swamp__read_active(store, active.text, reading->active_revision, reading->active.data,
                                       reading->active.len, &reading->active_record);
    if (reading->run_status == SWAMP_OK)
        run_rc = swamp__read_run(store, run.text, reading->run_revision, reading->run.data, reading->run.len,
                                 &reading->facts);
    if (active_rc == SWAMP_E_NOMEM || run_rc == SWAMP_E_NOMEM)
        return SWAMP_E_NOMEM; /* nobody has said that it cannot be read */
    reading->active_readable = active_rc == SWAMP_OK;
    reading->run_readable = run_rc == SWAMP_OK;
    return SWAMP_OK;
}

/*
 * Is it provably a run of the dead instance? The active record says so; where that cannot be read, the key
 * under which the dead instance admitted it does (a run id is used once), unless the RUN names somebody else.
 */
static int
is_of_the_dead(const struct reading *reading, const struct suspect *suspect)
{
    if (reading->active_readable)
        return strcmp(reading->active_record.instance_id, suspect->instance_id) == 0;
    if (reading->run_readable && reading->facts.instance_id[0])
        return strcmp(reading->facts.instance_id, suspect->instance_id) == 0;
    return reading->active_status == SWAMP_OK && suspect->was_admitted;
}

/* The least that is a RUN, from the active record: where the record of the run itself is missing or not readable. */
static int
build_least_run(const struct reading *reading, const struct suspect *suspect, int64_t unix_ms,
                swamp__buf *out)
{
    const swamp__active_record *active = &reading->active_record; /* all empty when not readable */
    int64_t started_at;
    if (swamp__clock_parse_iso(active->started_at, &started_at) != SWAMP_OK)
        started_at = unix_ms;
    const swamp__run_owned owned = {
        .id = suspect->run_id,
        .status = "failed",
        .instance_id = suspect->instance_id,
        .interrupt_reason = "instance_dead",
        .initiated_by = active->principal[0] ? active->principal : NULL,
        .resource_name = active->resource_name[0] ? active->resource_name : NULL,
        .started_at_unix_ms = started_at,
        .finished_at_unix_ms = unix_ms,
    };
    return swamp__run_build(out, &owned, NULL, 0, SWAMP_STORE_VALUE_MAX);
}

static int
build_final_run(struct reading *reading, const struct suspect *suspect, int64_t unix_ms)
{
    if (reading->run_readable && strcmp(reading->facts.id, suspect->run_id) == 0) {
        int rc = swamp__run_end_for_dead(&reading->final, reading->run.data, reading->run.len, "failed",
                                         "instance_dead", unix_ms, SWAMP_STORE_VALUE_MAX);
        if (rc != SWAMP_E_CORRUPT)
            return rc;
        swamp__buf_clear(&reading->final);
    }
    return build_least_run(reading, suspect, unix_ms, &reading->final);
}

/* Does this run still have to be ended? One that is final stays as it is: a final status never changes. */
static int
must_end(const struct reading *reading)
{
    if (reading->run_readable && reading->facts.is_final)
        return 0;
    /* Not final and not active cannot be, but such a run would be answered with `unavailable` for ever. */
    return reading->active_status == SWAMP_OK || reading->run_readable;
}

static void
note_ended(swamp__reap *reap, const char *run_id)
{
    if (reap->ended < SWAMP__REAPED_NAMED)
        snprintf(reap->ended_ids[reap->ended], sizeof reap->ended_ids[0], "%s", run_id);
    reap->ended++;
}

/* The one commit of a run (PROTOCOL 5, Reaping). */
static int
commit_end(swamp_store *store, swamp__reap *reap, const struct suspect *suspect, struct reading *reading)
{
    swamp__key heartbeat = swamp__key_heartbeat(suspect->instance_id);
    swamp__key me = swamp__key_heartbeat(reap->me ? reap->me : "");
    swamp__key active = swamp__key_active_run(suspect->run_id), run = swamp__key_run(suspect->run_id);
    swamp__key of_instance = swamp__key_instance_run(suspect->instance_id, suspect->run_id);
    swamp__key cancel = swamp__key_cancel_request(suspect->instance_id, suspect->run_id);
    swamp_store_op ops[6];
    size_t count = 0, failed = 0, me_at = SIZE_MAX;
    int ends = is_of_the_dead(reading, suspect) && must_end(reading);

    ops[count++] = swamp__op_check(heartbeat.text, SWAMP_STORE_ABSENT, 0);
    if (reap->me) {
        me_at = count;
        ops[count++] = swamp__op_check(me.text, SWAMP_STORE_PRESENT, 0);
    }
    if (is_of_the_dead(reading, suspect))
        ops[count++] = reading->active_status == SWAMP_OK
                           ? swamp__op_remove(active.text, SWAMP_STORE_REVISION, reading->active_revision)
                           : swamp__op_check(active.text, SWAMP_STORE_ABSENT, 0);
    if (ends) {
        int rc = build_final_run(reading, suspect, reap->unix_ms);
        if (rc != SWAMP_OK)
            return rc;
        ops[count++] =
            reading->run_status == SWAMP_OK
                ? swamp__op_put(run.text, &reading->final, SWAMP_STORE_REVISION, reading->run_revision)
                : swamp__op_put(run.text, &reading->final, SWAMP_STORE_ABSENT, 0);
    }
    ops[count++] = swamp__op_remove(of_instance.text, SWAMP_STORE_ANY, 0);
    ops[count++] = swamp__op_remove(cancel.text, SWAMP_STORE_ANY, 0);

    int rc = swamp_store_commit(store, ops, count, reap->timeout_ms, NULL, &failed);
    if (rc == SWAMP_CONFLICT && failed == me_at)
        return SWAMP_E_FENCED;
    if (rc == SWAMP_OK && ends)
        note_ended(reap, suspect->run_id);
    else if (rc == SWAMP_OK)
        reap->removed++;
    return rc == SWAMP_CONFLICT ? SWAMP_OK : rc; /* another instance was faster */
}

static int
reap_run(swamp_store *store, swamp__reap *reap, const struct suspect *suspect)
{
    struct reading reading = {0};
    swamp__buf_init(&reading.active);
    swamp__buf_init(&reading.run);
    swamp__buf_init(&reading.final);
    int rc = read_run(store, suspect, reap->timeout_ms, &reading);
    if (rc == SWAMP_OK)
        rc = commit_end(store, reap, suspect, &reading);
    swamp__buf_free(&reading.active);
    swamp__buf_free(&reading.run);
    swamp__buf_free(&reading.final);
    return rc;
}

struct page_sink {
    swamp_store *store;
    struct page *page;
    const struct place *place;
};

static int
take_suspect(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct page_sink *sink = user;
    struct page *page = sink->page;
    struct suspect *suspect = &page->suspects[page->count];
    const char *run_id = swamp__key_last(key);
    page->keys++;
    snprintf(page->last, sizeof page->last, "%s", key);
    if (sink->place->name(sink->store, suspect, key, value, value_len, revision) != SWAMP_OK ||
        !swamp__id_is_key_segment(suspect->instance_id) || !swamp__id_is_key_segment(run_id))
        return 0; /* what cannot be understood is left alone */
    snprintf(suspect->run_id, sizeof suspect->run_id, "%s", run_id);
    snprintf(suspect->key, sizeof suspect->key, "%s", key);
    suspect->was_admitted = sink->place->was_admitted;
    page->count++;
    return 0;
}

struct living {
    swamp__map *map;
    int status;
};

static int
take_living(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct living *living = user;
    living->status = swamp__map_put(living->map, swamp__key_last(key), living);
    return living->status != SWAMP_OK;
}

/*
 * Runs first, heartbeats after them: the order is what makes this safe to act on. An instance writes its
 * heartbeat before its first run, so that a run that was listed had a heartbeat by then; if that is missing
 * from the later list, it is gone for good. The other way round, an instance that starts between the two
 * lists would look dead. (The commit checks the absence once more; the order saves the living from being
 * tried at all.)
 */
static int
read_page(swamp_store *store, const swamp__reap *reap, const struct place *place, struct page *page,
          struct living *living)
{
    struct page_sink sink = {store, page, place};
    page->count = page->keys = 0;
    int rc = swamp_store_list(store, place->prefix, *reap->after ? reap->after : NULL, SWAMP__PAGE,
                              place->flags, reap->timeout_ms, take_suspect, &sink);
    if (rc == SWAMP_OK && page->count)
        rc = swamp__pages_each(store, SWAMP__KEYS_HEARTBEATS, NULL, SWAMP_STORE_KEYS_ONLY, reap->timeout_ms,
                               take_living, living);
    return rc == SWAMP_OK ? living->status : rc;
}

/* SWAMP_OK: the page was dealt with, or max_runs was reached: then `more` is set. */
static int
reap_page(swamp_store *store, swamp__reap *reap, const struct page *page, const struct living *living,
          size_t *tried)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct suspect *suspect = &page->suspects[i];
        if (!swamp__map_get(living->map, suspect->instance_id)) {
            if (*tried == reap->max_runs) {
                reap->more = 1;
                return SWAMP_OK;
            }
            ++*tried;
            int rc = reap_run(store, reap, suspect);
            if (rc != SWAMP_OK)
                return rc;
        }
        snprintf(reap->after, sizeof reap->after, "%s", suspect->key);
    }
    if (page->keys)
        snprintf(reap->after, sizeof reap->after, "%s", page->last);
    return SWAMP_OK;
}

static int
reap_place(swamp_store *store, swamp__reap *reap, const struct place *place, struct page *page, size_t *tried)
{
    do {
        struct living living = {swamp__map_new(), SWAMP_OK};
        if (!living.map)
            return SWAMP_E_NOMEM;
        int rc = read_page(store, reap, place, page, &living);
        if (rc == SWAMP_OK)
            rc = reap_page(store, reap, page, &living, tried);
        swamp__map_free(living.map);
        if (rc != SWAMP_OK)
            return rc;
    } while (page->keys == SWAMP__PAGE && !reap->more);
    return SWAMP_OK;
}

int
swamp__reap_dead(swamp_store *store, swamp__reap *reap)
{
    struct page *page = swamp__alloc(sizeof *page);
    size_t tried = 0, first = 0;
    int rc = page ? SWAMP_OK : SWAMP_E_NOMEM;
    reap->ended = reap->removed = 0;
    reap->more = 0;
    for (size_t i = 1; i < PLACES; i++) /* where the last call stopped */
        if (strncmp(reap->after, places[i].prefix, strlen(places[i].prefix)) == 0)
            first = i;
    for (size_t i = first; rc == SWAMP_OK && i < PLACES && !reap->more; i++) {
        if (i > first)
            reap->after[0] = 0;
        rc = reap_place(store, reap, &places[i], page, &tried);
    }
    if (rc == SWAMP_OK && !reap->more)
        reap->after[0] = 0;
    swamp__free(page);
    return rc;
}
