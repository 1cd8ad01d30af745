/* The small control-plane records (PROTOCOL 5): members are added by later versions, so reading takes what it
 * knows. */
#include "record.h"

#include <string.h>
#include <swamp/status.h>
#include "../wire/fields.h"
#include "../wire/json.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Durations of a record that somebody else wrote: bounded, so that sums and multiples of them cannot overflow. */
#define DURATION_MAX_MS (7 * 24 * 3600 * (int64_t)1000)

static const swamp__field heartbeat_fields[] = {
    SWAMP__FIELD("instanceId", SWAMP__FIELD_ID, swamp__heartbeat_record, instance_id),
    SWAMP__FIELD("hostname", SWAMP__FIELD_TEXT, swamp__heartbeat_record, hostname),
    SWAMP__FIELD("pid", SWAMP__FIELD_NUMBER, swamp__heartbeat_record, pid),
    SWAMP__FIELD("startedAt", SWAMP__FIELD_TEXT, swamp__heartbeat_record, started_at),
    SWAMP__FIELD("heartbeatAt", SWAMP__FIELD_TEXT, swamp__heartbeat_record, heartbeat_at),
    SWAMP__FIELD("address", SWAMP__FIELD_ID, swamp__heartbeat_record, address),
    SWAMP__FIELD("beat", SWAMP__FIELD_NUMBER, swamp__heartbeat_record, beat),
    SWAMP__FIELD("intervalMs", SWAMP__FIELD_NUMBER, swamp__heartbeat_record, interval_ms),
    SWAMP__FIELD("staleTtlMs", SWAMP__FIELD_NUMBER, swamp__heartbeat_record, stale_ttl_ms),
    SWAMP__FIELD("activeRuns", SWAMP__FIELD_NUMBER, swamp__heartbeat_record, active_runs),
    SWAMP__FIELD("draining", SWAMP__FIELD_FLAG, swamp__heartbeat_record, draining),
    SWAMP__FIELD("local", SWAMP__FIELD_FLAG, swamp__heartbeat_record, local),
};

static const swamp__field active_fields[] = {
    SWAMP__FIELD("instanceId", SWAMP__FIELD_ID, swamp__active_record, instance_id),
    SWAMP__FIELD("resourceName", SWAMP__FIELD_TEXT, swamp__active_record, resource_name),
    SWAMP__FIELD("runKind", SWAMP__FIELD_ID, swamp__active_record, run_kind),
    SWAMP__FIELD("startedAt", SWAMP__FIELD_TEXT, swamp__active_record, started_at),
    SWAMP__FIELD("principal", SWAMP__FIELD_ID, swamp__active_record, principal),
};

static const swamp__field cancel_fields[] = {
    SWAMP__FIELD("requestedBy", SWAMP__FIELD_TEXT, swamp__cancel_record, requested_by),
    SWAMP__FIELD("reason", SWAMP__FIELD_TEXT, swamp__cancel_record, reason),
    SWAMP__FIELD("requestedAt", SWAMP__FIELD_TEXT, swamp__cancel_record, requested_at),
};

/* Liveness goes by revision, so a record that cannot be read is no disaster: it is SWAMP_E_CORRUPT, all
 * members empty. Out of memory is not the record's fault. */
static int
read_record(const char *json, size_t len, const swamp__field *fields, size_t count, void *out)
{
    swamp__json object;
    int rc = swamp__json_check(json, len, 0, &object);
    if (rc == SWAMP_E_NOMEM)
        return rc;
    if (rc != SWAMP_OK || object.type != SWAMP__JSON_OBJECT)
        return SWAMP_E_CORRUPT;
    swamp__fields_read(object, fields, count, out);
    return SWAMP_OK;
}

static int64_t
bounded(int64_t value, int64_t max)
{
    return value < 0 ? 0 : value > max ? max : value;
}

void
swamp__heartbeat_write(swamp__buf *out, const swamp__heartbeat_record *record)
{
    swamp__buf_text(out, "{");
    swamp__json_put_member(out, "instanceId", record->instance_id);
    swamp__json_put_member(out, "hostname", record->hostname);
    swamp__json_put_member_i64(out, "pid", record->pid);
    swamp__json_put_member(out, "startedAt", record->started_at);
    swamp__json_put_member(out, "heartbeatAt", record->heartbeat_at);
    if (record->address[0])
        swamp__json_put_member(out, "address", record->address);
    swamp__json_put_member_i64(out, "beat", record->beat);
    swamp__json_put_member_i64(out, "intervalMs", record->interval_ms);
    swamp__json_put_member_i64(out, "staleTtlMs", record->stale_ttl_ms);
    swamp__json_put_member_i64(out, "activeRuns", record->active_runs);
    if (record->draining)
        swamp__json_put_member_raw(out, "draining", "true", 4);
    if (record->local)
        swamp__json_put_member_raw(out, "local", "true", 4);
    swamp__buf_text(out, "}");
}

int
swamp__heartbeat_read(const char *json, size_t len, swamp__heartbeat_record *out)
{
    memset(out, 0, sizeof(*out));
    int rc = read_record(json, len, heartbeat_fields, COUNT(heartbeat_fields), out);
    out->interval_ms = bounded(out->interval_ms, DURATION_MAX_MS);
    out->stale_ttl_ms = bounded(out->stale_ttl_ms, DURATION_MAX_MS);
    out->active_runs = bounded(out->active_runs, INT32_MAX);
    return rc;
}

void
swamp__active_write(swamp__buf *out, const swamp__active_record *record)
{
    swamp__buf_text(out, "{");
    swamp__json_put_member(out, "instanceId", record->instance_id);
    swamp__json_put_member(out, "resourceName", record->resource_name);
    swamp__json_put_member(out, "runKind", record->run_kind);
    swamp__json_put_member(out, "startedAt", record->started_at);
    swamp__json_put_member(out, "principal", record->principal);
    swamp__buf_text(out, "}");
}

int
swamp__active_read(const char *json, size_t len, swamp__active_record *out)
{
    memset(out, 0, sizeof(*out));
    int rc = read_record(json, len, active_fields, COUNT(active_fields), out);
    /* Without its owner an active run cannot be attached to, moved or reaped. */
    return rc == SWAMP_OK && !out->instance_id[0] ? SWAMP_E_CORRUPT : rc;
}

void
swamp__cancel_write(swamp__buf *out, const swamp__cancel_record *record)
{
    swamp__buf_text(out, "{");
    swamp__json_put_member(out, "requestedBy", record->requested_by);
    swamp__json_put_member(out, "reason", record->reason);
    swamp__json_put_member(out, "requestedAt", record->requested_at);
    swamp__buf_text(out, "}");
}

int
swamp__cancel_read(const char *json, size_t len, swamp__cancel_record *out)
{
    memset(out, 0, sizeof(*out));
    return read_record(json, len, cancel_fields, COUNT(cancel_fields), out);
}
