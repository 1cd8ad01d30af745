/* RUN documents (PROTOCOL 4): read, built out of parts, ended for the dead; the jobs are run_jobs.c's. */
#include "document.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/clock.h"
#include "../util/utf8.h"
#include "fields.h"
#include "run_jobs.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A name that is longer is cut once everything else was dropped and the document is still too big. */
#define NAME_MAX_BYTES 256

/* The members that have a place of their own, in the order of RUN. */
enum place {
    ID,
    WORKFLOW_ID,
    WORKFLOW_NAME,
    STATUS,
    JOBS,
    DURATION,
    INITIATED_BY,
    STARTED_AT,
    FINISHED_AT,
    INSTANCE_ID,
    INTERRUPT_REASON,
    PLACES
};

static const char *const names[PLACES] = {"id",         "workflowId", "workflowName",   "status",
                                          "jobs",       "duration",   "initiatedBy",    "startedAt",
                                          "finishedAt", "instanceId", "interruptReason"};

/* A RUN before it is written: for each place a text of ours, or else bytes that somebody gave. */
struct parts {
    const char *text[PLACES];
    swamp__json given[PLACES];
    int64_t duration_ms; /* negative: absent */
    int ending;          /* what was running in the jobs has failed */
    swamp__json all;     /* the object that the other members are taken from */
};

/* From the fullest document to the barest: DESIGN 5. */
enum size { FULL, SHORT_ERRORS, NO_SUCCEEDED_STEPS, BARE_JOBS, NO_JOBS, NO_OTHERS, SIZES };

static const int jobs_forms[SIZES] = {
    [FULL] = SWAMP__JOBS_FULL,
    [SHORT_ERRORS] = SWAMP__JOBS_SHORT_ERRORS,
    [NO_SUCCEEDED_STEPS] = SWAMP__JOBS_NO_SUCCEEDED_STEPS,
    [BARE_JOBS] = SWAMP__JOBS_BARE,
    [NO_JOBS] = SWAMP__JOBS_NONE,
    [NO_OTHERS] = SWAMP__JOBS_NONE,
};

int
swamp__run_status_is_final(const char *status)
{
    return strcmp(status, "succeeded") == 0 || strcmp(status, "failed") == 0 ||
           strcmp(status, "cancelled") == 0;
}

int
swamp__run_status_is_known(const char *status)
{
    return strcmp(status, "pending") == 0 || strcmp(status, "running") == 0 ||
           strcmp(status, "suspended") == 0 || swamp__run_status_is_final(status);
}

/* PLACES: the member has no place of its own. */
static enum place
place_of(swamp__json key)
{
    int place = 0;
    while (place < PLACES && !swamp__json_equals(key, names[place]))
        place++;
    return (enum place)place;
}

static void
take_given(swamp__json object, struct parts *parts)
{
    swamp__json_iter iter;
    swamp__json key, value;

    parts->all = object;
    if (object.type != SWAMP__JSON_OBJECT)
        return;
    swamp__json_enter(object, &iter);
    while (swamp__json_next_member(&iter, &key, &value)) {
        enum place place = place_of(key);
        if (place != PLACES)
            parts->given[place] = value;
    }
}

static void
put_text(swamp__buf *out, enum place place, const struct parts *parts, enum size size)
{
    const char *text = parts->text[place];
    char cut[NAME_MAX_BYTES + 1];

    if (size < NO_OTHERS) {
        if (text)
            swamp__json_put_member(out, names[place], text);
        else if (parts->given[place].type)
            swamp__json_put_member_raw(out, names[place], parts->given[place].at, parts->given[place].len);
        return;
    }
    if (text) {
        size_t len = swamp__utf8_cut(text, strlen(text), NAME_MAX_BYTES);
        memcpy(cut, text, len);
        cut[len] = 0;
    } else if (parts->given[place].type == SWAMP__JSON_STRING) {
        swamp__fields_cut(parts->given[place], cut, sizeof(cut));
    } else {
        return;
    }
    swamp__json_put_member(out, names[place], cut);
}

static void
put_others(swamp__buf *out, swamp__json object)
{
    swamp__json_iter iter;
    swamp__json key, value;

    if (object.type != SWAMP__JSON_OBJECT)
        return;
    swamp__json_enter(object, &iter);
    while (swamp__json_next_member(&iter, &key, &value)) {
        if (place_of(key) != PLACES)
            continue;
        /* Bytes as they were given: a number that no double can hold survives. */
        swamp__buf_text(out, ",");
        swamp__buf_append(out, key.at, key.len);
        swamp__buf_text(out, ":");
        swamp__buf_append(out, value.at, value.len);
    }
}

static int
put_run(swamp__buf *out, const struct parts *parts, enum size size)
{
    swamp__buf_text(out, "{");
    for (int place = 0; place < PLACES; place++) {
        if (place == JOBS) {
            swamp__buf_text(out, ",\"jobs\":");
            int rc = swamp__run_jobs_write(out, parts->given[JOBS], jobs_forms[size], parts->ending);
            if (rc != SWAMP_OK)
                return rc;
        } else if (place == DURATION) {
            if (parts->duration_ms >= 0)
                swamp__json_put_member_i64(out, names[DURATION], parts->duration_ms);
        } else {
            put_text(out, (enum place)place, parts, size);
        }
    }
    if (size < NO_OTHERS)
        put_others(out, parts->all);
    swamp__buf_text(out, "}");
    return swamp__buf_status(out);
}

/* Appends the fullest document that fits. */
static int
put_fitting(swamp__buf *out, const struct parts *parts, size_t max)
{
    swamp__buf run;
    int rc = SWAMP_OK, fits = 0;

    swamp__buf_init(&run);
    for (int size = FULL; size < SIZES && !fits && rc == SWAMP_OK; size++) {
        swamp__buf_clear(&run);
        rc = put_run(&run, parts, (enum size)size);
        fits = run.len <= max;
    }
    if (rc == SWAMP_OK && !fits)
        rc = SWAMP_E_TOO_BIG;
    if (rc == SWAMP_OK) {
        swamp__buf_append(out, run.data, run.len);
        rc = swamp__buf_status(out);
    }
    swamp__buf_free(&run);
    return rc;
}

int
swamp__run_build(swamp__buf *out, const swamp__run_owned *owned, const char *host_json, size_t host_len,
                 size_t max)
{
    char started_at[SWAMP__ISO_SIZE], finished_at[SWAMP__ISO_SIZE];
    struct parts parts = {.duration_ms = -1};
    swamp__json host = {0};

    assert(owned->id && owned->status);
    if (host_json) {
        int rc = swamp__json_check(host_json, host_len, 0, &host);
        if (rc == SWAMP_E_NOMEM)
            return rc;
        if (rc != SWAMP_OK || host.type != SWAMP__JSON_OBJECT)
            return SWAMP_E_INVALID;
    }

    /* PROTOCOL 4: id, status, times, instanceId, interruptReason are ours, whatever the host says. */
    static const unsigned char hosts[PLACES] = {
        [WORKFLOW_ID] = 1, [WORKFLOW_NAME] = 1, [JOBS] = 1, [INITIATED_BY] = 1};
    take_given(host, &parts);
    for (int place = 0; place < PLACES; place++)
        if (!hosts[place] || (place != JOBS && parts.given[place].type != SWAMP__JSON_STRING))
            parts.given[place] = (swamp__json){0};

    parts.text[ID] = owned->id;
    if (!parts.given[WORKFLOW_ID].type)
        parts.text[WORKFLOW_ID] = owned->workflow_id;
    if (!parts.given[WORKFLOW_NAME].type)
        parts.text[WORKFLOW_NAME] = owned->resource_name;
    parts.text[STATUS] = owned->status;
    parts.text[INITIATED_BY] = owned->initiated_by;
    swamp__clock_iso(owned->started_at_unix_ms, started_at);
    parts.text[STARTED_AT] = started_at;
    if (owned->finished_at_unix_ms) {
        swamp__clock_iso(owned->finished_at_unix_ms, finished_at);
        parts.text[FINISHED_AT] = finished_at;
        /* A wall clock that was set back in between gives no duration, rather than a wrong one. */
        parts.duration_ms = owned->finished_at_unix_ms - owned->started_at_unix_ms;
    }
    parts.text[INSTANCE_ID] = owned->instance_id;
    parts.text[INTERRUPT_REASON] = owned->interrupt_reason;
    return put_fitting(out, &parts, max);
}

static const swamp__field facts_fields[] = {
    SWAMP__FIELD("id", SWAMP__FIELD_ID, swamp__run_facts, id),
    SWAMP__FIELD("status", SWAMP__FIELD_ID, swamp__run_facts, status),
    SWAMP__FIELD("instanceId", SWAMP__FIELD_ID, swamp__run_facts, instance_id),
    SWAMP__FIELD("interruptReason", SWAMP__FIELD_TEXT, swamp__run_facts, interrupt_reason),
    SWAMP__FIELD("workflowId", SWAMP__FIELD_ID, swamp__run_facts, workflow_id),
    SWAMP__FIELD("workflowName", SWAMP__FIELD_TEXT, swamp__run_facts, workflow_name),
    SWAMP__FIELD("initiatedBy", SWAMP__FIELD_ID, swamp__run_facts, initiated_by),
    SWAMP__FIELD("startedAt", SWAMP__FIELD_ID, swamp__run_facts, started_at),
    SWAMP__FIELD("finishedAt", SWAMP__FIELD_ID, swamp__run_facts, finished_at),
};

static int
check_record(const char *json, size_t len, swamp__json *out)
{
    int rc = swamp__json_check(json, len, 0, out);
    if (rc == SWAMP_E_NOMEM)
        return rc;
    return rc == SWAMP_OK && out->type == SWAMP__JSON_OBJECT ? SWAMP_OK : SWAMP_E_CORRUPT;
}

int
swamp__run_read(const char *json, size_t len, swamp__run_facts *out)
{
    swamp__json run;

    memset(out, 0, sizeof(*out));
    int rc = check_record(json, len, &run);
    if (rc != SWAMP_OK)
        return rc;
    swamp__fields_read(run, facts_fields, COUNT(facts_fields), out);
    out->is_final = swamp__run_status_is_final(out->status);
    return SWAMP_OK;
}

int
swamp__run_end_for_dead(swamp__buf *out, const char *json, size_t len, const char *status, const char *reason,
                        int64_t finished_at_unix_ms, size_t max)
{
    char started_at[SWAMP__ISO_SIZE], finished_at[SWAMP__ISO_SIZE];
    struct parts parts = {.duration_ms = -1, .ending = 1};
    int64_t started_at_unix_ms;
    swamp__json run;

    int rc = check_record(json, len, &run);
    if (rc != SWAMP_OK)
        return rc;
    take_given(run, &parts);
    if (swamp__json_copy(parts.given[STARTED_AT], started_at, sizeof(started_at)) == SWAMP_OK &&
        swamp__clock_parse_iso(started_at, &started_at_unix_ms) == SWAMP_OK)
        parts.duration_ms = finished_at_unix_ms - started_at_unix_ms;
    swamp__clock_iso(finished_at_unix_ms, finished_at);
    parts.text[STATUS] = status;
    parts.text[INTERRUPT_REASON] = reason;
    parts.text[FINISHED_AT] = finished_at;
    return put_fitting(out, &parts, max);
}
