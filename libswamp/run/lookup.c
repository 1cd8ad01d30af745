/* Where does a run live? The reads of PROTOCOL 6.3 to 6.6. */
#include "lookup.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../store/keys.h"
#include "../store/store.h"
#include "../util/id.h"
#include "reading.h"

struct reader {
    swamp_store *store;
    const char *run_id;
    int timeout_ms;
    swamp__buf value; /* of the last read */
    uint64_t revision;
    swamp__lookup *out;
};

/* SWAMP_OK, SWAMP_ABSENT, < 0. */
static int
read_key(struct reader *reader, swamp__key key)
{
    reader->out->reads++;
    return swamp__store_read(reader->store, key.text, reader->timeout_ms, &reader->value, &reader->revision);
}

/* The owner's heartbeat: with it the caller's watch decides whether the owner is beating. */
static int
read_heartbeat(struct reader *reader)
{
    swamp__lookup *out = reader->out;
    swamp__key key = swamp__key_heartbeat(out->owner);
    int rc = read_key(reader, key);
    if (rc != SWAMP_OK)
        return rc;
    swamp__heartbeat_record record;
    rc = swamp__read_heartbeat(reader->store, key.text, reader->revision, reader->value.data,
                               reader->value.len, &record);
    if (rc == SWAMP_E_NOMEM)
        return rc;
    out->local = record.local; /* 0 where it cannot be read */
    out->heartbeat_revision = reader->revision;
    swamp__buf_append(&out->heartbeat, reader->value.data, reader->value.len);
    return swamp__buf_status(&out->heartbeat);
}

/* 6.4, first line: does a living owner still keep the events of this final run? SWAMP_OK, SWAMP_ABSENT, < 0. */
static int
read_keeper(struct reader *reader)
{
    swamp__lookup *out = reader->out;
    if (!swamp__id_is_key_segment(out->run.instance_id))
        return SWAMP_ABSENT; /* a record of another version */
    snprintf(out->owner, sizeof out->owner, "%s", out->run.instance_id);
    int rc = read_key(reader, swamp__key_instance_run(out->owner, reader->run_id));
    return rc == SWAMP_OK ? read_heartbeat(reader) : rc;
}

/* 6.4: there is no active record. `owner_gone`: the owner's heartbeat was seen to be absent, and it never
 * comes back. */
static int
look_at_history(struct reader *reader, int owner_gone)
{
    swamp__lookup *out = reader->out;
    swamp__key key = swamp__key_run(reader->run_id);
    int rc = read_key(reader, key);
    if (rc == SWAMP_ABSENT)
        return SWAMP__FOUND_NOTHING;
    if (rc == SWAMP_OK)
        rc = swamp__read_run(reader->store, key.text, reader->revision, reader->value.data, reader->value.len,
                             &out->run);
    out->unreadable = rc == SWAMP_E_CORRUPT;
    if (rc != SWAMP_OK)
        return SWAMP__FOUND_FAILED;
    if (!out->run.is_final)
        return SWAMP__FOUND_UNDER_WAY;
    rc = owner_gone && strcmp(out->owner, out->run.instance_id) == 0 ? SWAMP_ABSENT : read_keeper(reader);
    if (rc == SWAMP_OK)
        return SWAMP__FOUND_KEPT;
    if (rc != SWAMP_ABSENT)
        return SWAMP__FOUND_FAILED;
    return out->run.interrupt_reason[0] ? SWAMP__FOUND_INTERRUPTED : SWAMP__FOUND_NOTHING;
}

/* SWAMP_OK, and the owner's name; SWAMP_ABSENT; < 0, also of a record that cannot be read. */
static int
read_active(struct reader *reader)
{
    swamp__active_record active;
    swamp__key key = swamp__key_active_run(reader->run_id);
    int rc = read_key(reader, key);
    if (rc != SWAMP_OK)
        return rc;
    rc = swamp__read_active(reader->store, key.text, reader->revision, reader->value.data, reader->value.len,
                            &active);
    if (rc == SWAMP_E_NOMEM)
        return rc;
    if (rc != SWAMP_OK || !swamp__id_is_key_segment(active.instance_id)) {
        reader->out->unreadable = 1;
        return SWAMP_E_CORRUPT;
    }
    snprintf(reader->out->owner, sizeof reader->out->owner, "%s", active.instance_id);
    return SWAMP_OK;
}

static int
look(struct reader *reader)
{
    int rc = read_active(reader);
    if (rc == SWAMP_ABSENT)
        return look_at_history(reader, 0);
    if (rc != SWAMP_OK)
        return SWAMP__FOUND_FAILED;
    rc = read_heartbeat(reader);
    if (rc == SWAMP_OK)
        return SWAMP__FOUND_ACTIVE;
    if (rc != SWAMP_ABSENT)
        return SWAMP__FOUND_FAILED;
    /* 6.6: an owner that stopped cleanly between the two reads wrote the final record before its heartbeat went. */
    rc = read_active(reader);
    if (rc == SWAMP_ABSENT)
        return look_at_history(reader, 1);
    return rc == SWAMP_OK ? SWAMP__FOUND_ORPHAN : SWAMP__FOUND_FAILED;
}

void
swamp__lookup_run(swamp_store *store, const char *run_id, int timeout_ms, swamp__lookup *out)
{
    struct reader reader = {.store = store, .run_id = run_id, .timeout_ms = timeout_ms, .out = out};
    memset(out, 0, sizeof *out);
    swamp__buf_init(&out->heartbeat);
    if (!swamp__id_is_key_segment(run_id)) {
        out->found = SWAMP__FOUND_NOTHING; /* no run has such an id: the store is not asked */
        return;
    }
    swamp__buf_init(&reader.value);
    out->found = look(&reader);
    swamp__buf_free(&reader.value);
}

void
swamp__lookup_free(swamp__lookup *lookup)
{
    swamp__buf_free(&lookup->heartbeat);
}
