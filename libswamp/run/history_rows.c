/* run.history and cluster.instances: the rows that people look at, newest first, read without reading everything. */
#include "history.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../store/keys.h"
#include "../store/record.h"
#include "../store/store.h"
#include "../util/alloc.h"
#include "../util/id.h"
#include "../util/map.h"
#include "../wire/document.h"
#include "../wire/json.h"
#include "../wire/limits.h"
#include "pages.h"
#include "reading.h"

/* What the rows are made of. The two maps are small: runs that are active, and instances. */
struct rows {
    swamp_store *store;
    const swamp__history_query *query;
    swamp__map *active;    /* run id -> swamp__active_record */
    swamp__map *instances; /* instance id -> swamp__heartbeat_record; all members empty when not readable */
    int status;
    swamp__buf *out;
    size_t count;
    char after[SWAMP_STORE_KEY_MAX + 1];
};

/* One map entry of `size` bytes that is copied: SWAMP_OK, SWAMP_E_NOMEM. */
static int
keep_copy(swamp__map *map, const char *key, const void *record, size_t size)
{
    if (swamp__map_get(map, key))
        return SWAMP_OK;
    void *copy = swamp__alloc(size);
    if (!copy)
        return SWAMP_E_NOMEM;
    memcpy(copy, record, size);
    int rc = swamp__map_put(map, key, copy);
    if (rc != SWAMP_OK)
        swamp__free(copy);
    return rc;
}

static int
keep_active(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct rows *rows = user;
    swamp__active_record active;
    rows->status = swamp__read_active(rows->store, key, revision, value, value_len, &active);
    if (rows->status != SWAMP_E_NOMEM)
        rows->status = keep_copy(rows->active, swamp__key_last(key), &active, sizeof active);
    return rows->status != SWAMP_OK;
}

static int
keep_instance(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct rows *rows = user;
    swamp__heartbeat_record heartbeat;
    rows->status = swamp__read_heartbeat(rows->store, key, revision, value, value_len, &heartbeat);
    if (rows->status != SWAMP_E_NOMEM)
        rows->status = keep_copy(rows->instances, swamp__key_last(key), &heartbeat, sizeof heartbeat);
    return rows->status != SWAMP_OK;
}

static int
free_value(const char *key, void *value, void *user)
{
    swamp__free(value);
    return 0;
}

/* "name":"text", or null where there is none. */
static void
put_text(swamp__buf *out, const char *name, const char *text)
{
    if (text && *text)
        swamp__json_put_member(out, name, text);
    else
        swamp__json_put_member_raw(out, name, "null", 4);
}

/*
 * One row (PROTOCOL 4). `facts` is NULL for a run known by its active record only. An active run whose
 * owner's heartbeat is absent is stale: its owner is dead, and nobody has reaped it yet. Wall clocks are
 * never compared.
 */
static void
put_row(struct rows *rows, const char *run_id, const swamp__run_facts *facts)
{
    static const swamp__active_record no_record;
    const swamp__active_record *active = swamp__map_get(rows->active, run_id);
    if (facts && facts->is_final)
        active = NULL; /* it ended between the two reads */
    int is_active = active != NULL;
    if (!active)
        active = &no_record;
    const swamp__heartbeat_record *owner =
        is_active ? swamp__map_get(rows->instances, active->instance_id) : NULL;
    int is_workflow = strncmp(active->run_kind, "workflow", 8) == 0;
    const char *name = facts && facts->workflow_name[0] ? facts->workflow_name
                       : is_workflow                    ? active->resource_name
                                                        : "";

    if (rows->count++)
        swamp__buf_text(rows->out, ",");
    swamp__buf_text(rows->out, "{");
    put_text(rows->out, "id", run_id);
    put_text(rows->out, "runKind", active->run_kind);
    put_text(rows->out, "modelType", NULL);
    put_text(rows->out, "methodName", NULL);
    put_text(rows->out, "workflowName", name);
    if (owner)
        swamp__json_put_member_i64(rows->out, "pid", owner->pid);
    else
        put_text(rows->out, "pid", NULL);
    put_text(rows->out, "hostname", owner ? owner->hostname : NULL);
    put_text(rows->out, "status", facts && facts->status[0] ? facts->status : "running");
    put_text(rows->out, "startedAt", facts && facts->started_at[0] ? facts->started_at : active->started_at);
    put_text(rows->out, "heartbeatAt", owner ? owner->heartbeat_at : NULL);
    if (is_active)
        swamp__json_put_member_raw(rows->out, "stale", owner ? "false" : "true", owner ? 5 : 4);
    else
        put_text(rows->out, "stale", NULL);
    put_text(rows->out, "initiatedBy",
             facts && facts->initiated_by[0] ? facts->initiated_by : active->principal);
    swamp__buf_text(rows->out, "}");
}

static int
is_full(const struct rows *rows)
{
    return rows->count >= rows->query->limit;
}

/* Active runs only: their records are all that is read. */
static int
list_active(struct rows *rows)
{
    return swamp__pages_each(rows->store, SWAMP__KEYS_ACTIVE_RUNS, NULL, SWAMP_STORE_REVERSE,
                             rows->query->timeout_ms, keep_active, rows);
}

static int
put_active_row(const char *key, void *value, void *user)
{
    struct rows *rows = user;
    const swamp__active_record *active = value;
    if (!*rows->query->workflow || strcmp(active->resource_name, rows->query->workflow) == 0)
        put_row(rows, key, NULL);
    return is_full(rows);
}

/* RUNs are up to 256 KiB: they are read as they come, and nothing but the row is kept. */
static int
put_run_row(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct rows *rows = user;
    swamp__run_facts facts;
    int rc = swamp__read_run(rows->store, key, revision, value, value_len, &facts);
    if (rc == SWAMP_OK)
        put_row(rows, swamp__key_last(key), &facts);
    else if (rc == SWAMP_E_NOMEM)
        rows->status = rc; /* and not one row less */
    return is_full(rows) || rows->status != SWAMP_OK;
}

static int
list_all(struct rows *rows)
{
    return swamp__pages_each(rows->store, SWAMP__KEYS_RUNS, NULL, SWAMP_STORE_REVERSE,
                             rows->query->timeout_ms, put_run_row, rows);
}

struct index_page {
    char keys[SWAMP__PAGE][SWAMP_STORE_KEY_MAX + 1];
    size_t count, max;
};

static int
keep_key(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct index_page *page = user;
    snprintf(page->keys[page->count++], sizeof page->keys[0], "%s", key);
    return page->count == page->max;
}

/* Runs of one workflow: the index says which, and only those are read. */
static int
read_indexed(struct rows *rows, const struct index_page *page)
{
    swamp__buf value;
    swamp__buf_init(&value);
    int rc = SWAMP_OK;
    for (size_t i = 0; i < page->count && !is_full(rows); i++) {
        const char *run_id = swamp__key_last(page->keys[i]);
        swamp__key key = swamp__key_run(run_id);
        swamp__run_facts facts;
        uint64_t revision = 0;
        rc = swamp__store_read(rows->store, key.text, rows->query->timeout_ms, &value, &revision);
        if (rc == SWAMP_OK)
            rc = swamp__read_run(rows->store, key.text, revision, value.data, value.len, &facts);
        if (rc < 0 && rc != SWAMP_E_CORRUPT)
            break;
        if (rc == SWAMP_OK && swamp__history_is_named(&facts, rows->query->workflow))
            put_row(rows, run_id, &facts);
        rc = SWAMP_OK;
    }
    swamp__buf_free(&value);
    return rc;
}

static int
list_workflow(struct rows *rows)
{
    swamp__key prefix = swamp__key_name_runs(rows->query->workflow);
    struct index_page *page = swamp__alloc(sizeof *page);
    int rc = page ? SWAMP_OK : SWAMP_E_NOMEM;
    while (rc == SWAMP_OK && !is_full(rows)) {
        size_t wanted = rows->query->limit - rows->count;
        page->count = 0;
        page->max = wanted < SWAMP__PAGE ? wanted : SWAMP__PAGE;
        rc = swamp_store_list(rows->store, prefix.text, *rows->after ? rows->after : NULL, page->max,
                              SWAMP_STORE_REVERSE | SWAMP_STORE_KEYS_ONLY, rows->query->timeout_ms, keep_key,
                              page);
        if (rc == SWAMP_OK)
            rc = read_indexed(rows, page);
        if (page->count < page->max)
            break;
        memcpy(rows->after, page->keys[page->count - 1], sizeof rows->after);
    }
    swamp__free(page);
    return rc;
}

static int
list_rows(struct rows *rows)
{
    /* Active records before runs: a run that ends in between then shows as ended, not as running without an owner. */
    int rc = list_active(rows);
    if (rc == SWAMP_OK && rows->status == SWAMP_OK)
        rc = swamp__pages_each(rows->store, SWAMP__KEYS_HEARTBEATS, NULL, 0, rows->query->timeout_ms,
                               keep_instance, rows);
    if (rc != SWAMP_OK || rows->status != SWAMP_OK)
        return rc != SWAMP_OK ? rc : rows->status;
    swamp__buf_text(rows->out, "[");
    if (rows->query->only_active)
        swamp__map_each(rows->active, put_active_row, rows);
    else
        rc = *rows->query->workflow ? list_workflow(rows) : list_all(rows);
    swamp__buf_text(rows->out, "]");
    if (rc == SWAMP_OK)
        rc = rows->status;
    return rc != SWAMP_OK ? rc : swamp__buf_status(rows->out);
}

int
swamp__history_list(swamp_store *store, const swamp__history_query *query, swamp__buf *out)
{
    swamp__history_query asked = *query;
    if (!asked.limit)
        asked.limit = SWAMP__HISTORY_LIMIT;
    struct rows rows = {.store = store, .query = &asked, .out = out};
    assert(asked.workflow);
    rows.active = swamp__map_new();
    rows.instances = swamp__map_new();
    int rc = rows.active && rows.instances ? list_rows(&rows) : SWAMP_E_NOMEM;
    if (rows.active)
        swamp__map_each(rows.active, free_value, NULL);
    if (rows.instances)
        swamp__map_each(rows.instances, free_value, NULL);
    swamp__map_free(rows.active);
    swamp__map_free(rows.instances);
    return rc;
}

struct instances {
    swamp_store *store;
    int (*stale)(void *user, const char *instance_id);
    void *user;
    swamp__buf *out;
    size_t count;
};

static int
put_instance(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct instances *instances = user;
    swamp__buf *out = instances->out;
    const char *id = swamp__key_last(key);
    swamp__heartbeat_record heartbeat;
    int rc = swamp__read_heartbeat(instances->store, key, revision, value, value_len, &heartbeat);
    if (rc == SWAMP_E_NOMEM) {
        out->failed = 1;
        return 1;
    }
    if (instances->count++)
        swamp__buf_text(out, ",");
    swamp__buf_text(out, "{");
    swamp__json_put_member(out, "instanceId", id);
    put_text(out, "hostname", heartbeat.hostname);
    if (rc == SWAMP_OK)
        swamp__json_put_member_i64(out, "pid", heartbeat.pid);
    else
        put_text(out, "pid", NULL);
    put_text(out, "startedAt", heartbeat.started_at);
    put_text(out, "lastHeartbeatAt", heartbeat.heartbeat_at);
    swamp__json_put_member(out, "status", instances->stale(instances->user, id) ? "stale" : "healthy");
    if (heartbeat.address[0])
        swamp__json_put_member(out, "address", heartbeat.address);
    swamp__json_put_member_i64(out, "activeRuns", heartbeat.active_runs);
    swamp__json_put_member_raw(out, "draining", heartbeat.draining ? "true" : "false",
                               heartbeat.draining ? 4 : 5);
    swamp__buf_text(out, "}");
    return 0;
}

int
swamp__history_instances(swamp_store *store, int timeout_ms,
                         int (*stale)(void *user, const char *instance_id), void *user, swamp__buf *out)
{
    struct instances instances = {store, stale, user, out, 0};
    swamp__buf_text(out, "[");
    int rc = swamp__pages_each(store, SWAMP__KEYS_HEARTBEATS, NULL, 0, timeout_ms, put_instance, &instances);
    swamp__buf_text(out, "]");
    return rc != SWAMP_OK ? rc : swamp__buf_status(out);
}
