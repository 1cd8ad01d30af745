/* Cancel requests from one instance to another, by way of the store (PROTOCOL 5). */
#include "history.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../store/keys.h"
#include "../store/record.h"
#include "../store/store.h"
#include "../util/clock.h"
#include "../util/id.h"
#include "../wire/document.h"
#include "pages.h"
#include "reading.h"

/* A run that ends, or is admitted, between two reads is looked at again; a commit whose answer is lost is
 * made again. */
#define CANCEL_TRIES 3

struct canceller {
    swamp_store *store;
    const char *me;
    const char *run_id;
    int timeout_ms;
    swamp__buf value;   /* of the last read */
    swamp__buf request; /* the record to be left */
};

/* SWAMP_OK; SWAMP_ABSENT; < 0. */
static int
read_owner(struct canceller *c, char owner[65])
{
    swamp__key key = swamp__key_active_run(c->run_id);
    swamp__active_record active;
    uint64_t revision = 0;
    int rc = swamp__store_read(c->store, key.text, c->timeout_ms, &c->value, &revision);
    if (rc != SWAMP_OK)
        return rc;
    rc = swamp__read_active(c->store, key.text, revision, c->value.data, c->value.len, &active);
    if (rc != SWAMP_OK)
        return rc;
    if (!swamp__id_is_key_segment(active.instance_id))
        return SWAMP_E_CORRUPT;
    memcpy(owner, active.instance_id, 65);
    return SWAMP_OK;
}

/* SWAMP_END and how it ended; SWAMP_ABSENT: no such run; SWAMP_CONFLICT: not final, look again; < 0. */
static int
read_end(struct canceller *c, char status[16])
{
    swamp__key key = swamp__key_run(c->run_id);
    swamp__run_facts facts;
    uint64_t revision = 0;
    int rc = swamp__store_read(c->store, key.text, c->timeout_ms, &c->value, &revision);
    if (rc != SWAMP_OK)
        return rc;
    rc = swamp__read_run(c->store, key.text, revision, c->value.data, c->value.len, &facts);
    if (rc != SWAMP_OK)
        return rc;
    if (!facts.is_final)
        return SWAMP_CONFLICT;
    memcpy(status, facts.status, 16);
    return SWAMP_END;
}

/* SWAMP_OK: left; SWAMP_CONFLICT: the run is not active any more; SWAMP_E_FENCED; < 0. */
static int
leave_request(struct canceller *c, const char *owner)
{
    swamp__key request = swamp__key_cancel_request(owner, c->run_id),
               active = swamp__key_active_run(c->run_id);
    swamp__key me = swamp__key_heartbeat(c->me ? c->me : "");
    const swamp_store_op ops[] = {
        swamp__op_check(active.text, SWAMP_STORE_PRESENT, 0),
        swamp__op_put(request.text, &c->request, SWAMP_STORE_ANY, 0),
        swamp__op_check(me.text, SWAMP_STORE_PRESENT, 0),
    };
    size_t failed = 0;
    int rc = swamp_store_commit(c->store, ops, c->me ? 3 : 2, c->timeout_ms, NULL, &failed);
    return rc == SWAMP_CONFLICT && failed == 2 ? SWAMP_E_FENCED : rc;
}

/* SWAMP_CONFLICT and SWAMP_E_UNKNOWN: try again. */
static int
try_to_cancel(struct canceller *c, char owner[65], char status[16])
{
    int rc = read_owner(c, owner);
    if (rc == SWAMP_OK)
        return leave_request(c, owner);
    return rc == SWAMP_ABSENT ? read_end(c, status) : rc;
}

int
swamp__history_cancel(swamp_store *store, const char *me, const char *run_id, const char *requested_by,
                      const char *reason, int64_t unix_ms, int timeout_ms, char owner[65], char status[16])
{
    struct canceller c = {.store = store, .me = me, .run_id = run_id, .timeout_ms = timeout_ms};
    swamp__cancel_record record = {{0}, {0}, {0}};
    owner[0] = status[0] = 0;
    if (!swamp__id_is_key_segment(run_id))
        return SWAMP_ABSENT;
    snprintf(record.requested_by, sizeof record.requested_by, "%s", requested_by);
    snprintf(record.reason, sizeof record.reason, "%s", reason);
    swamp__clock_iso(unix_ms, record.requested_at);
    swamp__buf_init(&c.value);
    swamp__buf_init(&c.request);
    swamp__cancel_write(&c.request, &record);
    int rc = swamp__buf_status(&c.request);
    if (rc == SWAMP_OK) {
        rc = SWAMP_CONFLICT;
        for (int tries = 0; tries < CANCEL_TRIES && (rc == SWAMP_CONFLICT || rc == SWAMP_E_UNKNOWN); tries++)
            rc = try_to_cancel(&c, owner, status);
    }
    swamp__buf_free(&c.value);
    swamp__buf_free(&c.request);
    return rc == SWAMP_CONFLICT ? SWAMP_E_BUSY : rc; /* a write is under way all the time */
}

struct requests {
    swamp_store *store;
    void (*found)(void *user, const char *run_id, const char *reason, const char *requested_by);
    void *user;
};

static int
take_request(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    const struct requests *requests = user;
    swamp__cancel_record record;
    /* One that cannot be read still says which run is to end: its key does. */
    (void)swamp__read_cancel(requests->store, key, revision, value, value_len, &record);
    requests->found(requests->user, swamp__key_last(key), record.reason, record.requested_by);
    return 0;
}

int
swamp__history_cancel_requests(swamp_store *store, const char *me, int timeout_ms,
                               void (*found)(void *user, const char *run_id, const char *reason,
                                             const char *requested_by),
                               void *user)
{
    struct requests requests = {store, found, user};
    swamp__key prefix = swamp__key_cancel_requests(me);
    return swamp__pages_each(store, prefix.text, NULL, 0, timeout_ms, take_request, &requests);
}
