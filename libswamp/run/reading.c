/* Readers of records that tell of what they could not read. */
#include "reading.h"

#include <swamp/status.h>
#include "../store/store.h"
#include "../wire/json.h"

/* Gives rc. Out of memory says nothing about the record. */
static int
judge(swamp_store *store, const char *key, uint64_t revision, int rc, int is_whole)
{
    if (rc == SWAMP_E_CORRUPT || (rc == SWAMP_OK && !is_whole))
        swamp__unreadable_note(swamp__store_unreadable(store), key, revision);
    return rc;
}

int
swamp__read_heartbeat(swamp_store *store, const char *key, uint64_t revision, const char *json, size_t len,
                      swamp__heartbeat_record *out)
{
    int rc = swamp__heartbeat_read(json, len, out);
    (void)
        revision; /* a new one with each beat: an instance of another version would fill log and table by living */
    return judge(store, key, 0, rc, out->instance_id[0] && out->interval_ms && out->stale_ttl_ms);
}

int
swamp__read_active(swamp_store *store, const char *key, uint64_t revision, const char *json, size_t len,
                   swamp__active_record *out)
{
    return judge(store, key, revision, swamp__active_read(json, len, out), 1);
}

int
swamp__read_cancel(swamp_store *store, const char *key, uint64_t revision, const char *json, size_t len,
                   swamp__cancel_record *out)
{
    return judge(store, key, revision, swamp__cancel_read(json, len, out), 1);
}

int
swamp__read_run(swamp_store *store, const char *key, uint64_t revision, const char *json, size_t len,
                swamp__run_facts *out)
{
    int rc = swamp__run_read(json, len, out);
    return judge(store, key, revision, rc, out->id[0] && swamp__run_status_is_known(out->status));
}

int
swamp__read_run_for_client(swamp_store *store, const char *key, uint64_t revision, const char *json,
                           size_t len, swamp__run_facts *out)
{
    swamp__json run;
    int rc = swamp__read_run(store, key, revision, json, len, out);
    if (rc != SWAMP_OK)
        return rc;
    rc = swamp__json_check(json, len, SWAMP__JSON_STRICT, &run);
    return judge(store, key, revision, rc == SWAMP_OK || rc == SWAMP_E_NOMEM ? rc : SWAMP_E_CORRUPT, 1);
}
