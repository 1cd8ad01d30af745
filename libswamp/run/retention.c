/* Retention: final runs that are old enough leave the history, with the keys that lead to them. */
#include "reaper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../store/keys.h"
#include "../store/store.h"
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../wire/document.h"
#include "pages.h"
#include "reading.h"

struct old_run {
    char run_id[65];
    uint64_t revision;
    char workflow_id[129], workflow_name[257];
};

struct old_page {
    swamp_store *store;
    int64_t older_than_unix_ms;
    struct old_run runs[SWAMP__PAGE];
    size_t count, max;
    int enough; /* a younger one was seen: run ids are in order of time */
};

/* The first 48 bits of a UUIDv7 are its time: for a RUN that does not say when it began. */
static int64_t
time_of_id(const char *run_id)
{
    char hex[13];
    if (strlen(run_id) != SWAMP__ID_SIZE - 1)
        return INT64_MAX;
    snprintf(hex, sizeof hex, "%.8s%.4s", run_id, run_id + 9);
    char *end;
    unsigned long long unix_ms = strtoull(hex, &end, 16);
    return *end ? INT64_MAX : (int64_t)unix_ms;
}

static int
take_old_run(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct old_page *page = user;
    const char *run_id = swamp__key_last(key);
    swamp__run_facts facts;
    int64_t began, ended;
    if (!swamp__id_is_key_segment(run_id) ||
        swamp__read_run(page->store, key, revision, value, value_len, &facts) != SWAMP_OK)
        return 0; /* what cannot be understood is left alone */
    if (swamp__clock_parse_iso(facts.started_at, &began) != SWAMP_OK)
        began = time_of_id(run_id);
    if (began >= page->older_than_unix_ms) {
        page->enough = 1;
        return 1;
    }
    /* A run that took longer than the retention is not to vanish with its last event. */
    if (!facts.is_final ||
        (swamp__clock_parse_iso(facts.finished_at, &ended) == SWAMP_OK && ended >= page->older_than_unix_ms))
        return 0;
    struct old_run *run = &page->runs[page->count++];
    snprintf(run->run_id, sizeof run->run_id, "%s", run_id);
    memcpy(run->workflow_id, facts.workflow_id, sizeof run->workflow_id);
    memcpy(run->workflow_name, facts.workflow_name, sizeof run->workflow_name);
    run->revision = revision;
    return page->count == page->max || page->count == SWAMP__PAGE;
}

/* SWAMP_OK: it is gone; SWAMP_CONFLICT: somebody else touched it; SWAMP_E_FENCED; < 0. */
static int
remove_run(swamp_store *store, const char *me, const struct old_run *run, int timeout_ms)
{
    swamp__key heartbeat = swamp__key_heartbeat(me ? me : ""), key = swamp__key_run(run->run_id);
    swamp__key by_id = swamp__key_workflow_run(run->workflow_id, run->run_id);
    swamp__key by_name = swamp__key_name_run(run->workflow_name, run->run_id);
    swamp_store_op ops[4];
    size_t count = 0, failed = 0;
    ops[count++] = swamp__op_remove(key.text, SWAMP_STORE_REVISION, run->revision);
    if (run->workflow_id[0])
        ops[count++] = swamp__op_remove(by_id.text, SWAMP_STORE_ANY, 0);
    if (run->workflow_name[0])
        ops[count++] = swamp__op_remove(by_name.text, SWAMP_STORE_ANY, 0);
    size_t me_at = count;
    if (me)
        ops[count++] = swamp__op_check(heartbeat.text, SWAMP_STORE_PRESENT, 0);
    int rc = swamp_store_commit(store, ops, count, timeout_ms, NULL, &failed);
    return rc == SWAMP_CONFLICT && failed == me_at ? SWAMP_E_FENCED : rc;
}

static int
remove_page(swamp_store *store, const char *me, const struct old_page *page, int timeout_ms, size_t *removed)
{
    for (size_t i = 0; i < page->count; i++) {
        int rc = remove_run(store, me, &page->runs[i], timeout_ms);
        if (rc < 0)
            return rc;
        *removed += rc == SWAMP_OK;
    }
    return SWAMP_OK;
}

int
swamp__retain(swamp_store *store, const char *me, int64_t older_than_unix_ms, size_t max, int timeout_ms,
              size_t *removed)
{
    struct old_page *page = swamp__alloc(sizeof *page);
    size_t left = max;
    char after[SWAMP_STORE_KEY_MAX + 1] = "";
    int rc = page ? SWAMP_OK : SWAMP_E_NOMEM;
    *removed = 0;
    do {
        if (rc != SWAMP_OK || !left)
            break;
        page->store = store;
        page->older_than_unix_ms = older_than_unix_ms;
        page->count = 0;
        page->max = left;
        page->enough = 0;
        rc = swamp__pages_each(store, SWAMP__KEYS_RUNS, *after ? after : NULL, 0, timeout_ms, take_old_run,
                               page);
        if (rc == SWAMP_OK)
            rc = remove_page(store, me, page, timeout_ms, removed);
        left -= page->count;
        if (page->count)
            snprintf(after, sizeof after, "%s%s", SWAMP__KEYS_RUNS, page->runs[page->count - 1].run_id);
    } while (page->count == SWAMP__PAGE);
    swamp__free(page);
    return rc;
}
