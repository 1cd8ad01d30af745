/* The blocking half of membership: own beat, reading all heartbeats, removals. */
#include "heartbeat.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../store/keys.h"
#include "../store/store.h"
#include "../util/alloc.h"
#include "../util/id.h"
#include "pages.h"
#include "reading.h"

#define BEAT_TRIES 2
#define LEAVE_TRIES 3

/* What reading the own record back says about a beat whose commit did not simply succeed. */
#define BACK_WRITTEN 1 /* it is this beat */
#define BACK_EARLIER 2 /* an earlier one of our own: also one whose answer was lost and that landed late */
#define BACK_ABSENT 3
#define BACK_FOREIGN 4 /* not written by us, or not readable */

static int
read_beat_back(swamp__pulse *pulse, swamp_store *store, const char *key, uint64_t *revision, int *back)
{
    swamp__buf value;
    swamp__buf_init(&value);
    int rc = swamp__store_read(store, key, pulse->question.timeout_ms, &value, revision);
    if (rc == SWAMP_ABSENT) {
        *back = BACK_ABSENT;
        rc = SWAMP_OK;
    } else if (rc == SWAMP_OK) {
        swamp__heartbeat_record found;
        if (swamp__heartbeat_read(value.data, value.len, &found) != SWAMP_OK ||
            strcmp(found.instance_id, pulse->record.instance_id) != 0 || found.beat > pulse->record.beat)
            *back = BACK_FOREIGN;
        else
            *back = found.beat == pulse->record.beat ? BACK_WRITTEN : BACK_EARLIER;
    }
    swamp__buf_free(&value);
    return rc;
}

/*
 * One beat (PROTOCOL 5): the first one if absent, later ones on condition of the previous revision, so that a
 * removed record is never written again. After an unknown outcome or a failed condition the record itself
 * says what happened.
 *
 * An instance whose first beat was never confirmed may write it again after somebody removed it; it has no
 * run then, and nobody knows it. From the first confirmed beat on an absent record is the death of this
 * instance.
 */
static int
commit_beat(swamp__pulse *pulse, swamp_store *store)
{
    swamp__key key = swamp__key_heartbeat(pulse->record.instance_id);
    swamp__buf value;
    swamp__buf_init(&value);
    swamp__heartbeat_write(&value, &pulse->record);
    int rc = swamp__buf_status(&value);
    for (int tries = 0; rc == SWAMP_OK && tries < BEAT_TRIES; tries++) {
        int condition = pulse->revision ? SWAMP_STORE_REVISION : SWAMP_STORE_ABSENT;
        swamp_store_op op = swamp__op_put(key.text, &value, condition, pulse->revision);
        uint64_t revision = 0;
        int back = 0;
        int committed = swamp_store_commit(store, &op, 1, pulse->question.timeout_ms, &revision, NULL);
        if (committed == SWAMP_OK) {
            pulse->revision = revision;
            goto out;
        }
        if (committed != SWAMP_CONFLICT && committed != SWAMP_E_UNKNOWN) {
            rc = committed;
            goto out;
        }
        pulse->in_doubt |= committed == SWAMP_E_UNKNOWN && !pulse->revision;
        rc = read_beat_back(pulse, store, key.text, &revision, &back);
        if (rc != SWAMP_OK)
            goto out;
        if (back == BACK_FOREIGN ||
            (back == BACK_ABSENT && (pulse->revision || committed == SWAMP_CONFLICT))) {
            rc = SWAMP_E_FENCED;
            goto out;
        }
        if (back != BACK_ABSENT)
            pulse->revision = revision;
        if (back == BACK_WRITTEN)
            goto out;
    }
    if (rc == SWAMP_OK)
        rc = SWAMP_E_UNKNOWN;
out:
    swamp__buf_free(&value);
    return rc;
}

struct finding {
    swamp_store *store;
    swamp__pulse *pulse;
};

static int
note_sighting(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    const struct finding *finding = user;
    swamp__pulse *pulse = finding->pulse;
    const char *id = key + strlen(SWAMP__KEYS_HEARTBEATS);
    if (!swamp__id_is_key_segment(id))
        return 0; /* no instance has such a key */
    if (strcmp(id, pulse->record.instance_id) == 0) {
        pulse->sees_itself = 1;
        return 0;
    }
    if (pulse->count == pulse->cap) {
        size_t cap = pulse->cap ? pulse->cap * 2 : 8;
        swamp__sighting *grown = swamp__realloc(pulse->sightings, cap * sizeof *grown);
        if (!grown) {
            pulse->read_status = SWAMP_E_NOMEM;
            return 1;
        }
        pulse->sightings = grown;
        pulse->cap = cap;
    }
    swamp__sighting *sighting = &pulse->sightings[pulse->count++];
    memset(sighting, 0, sizeof *sighting);
    snprintf(sighting->instance_id, sizeof sighting->instance_id, "%s", id);
    sighting->revision = revision;
    sighting->readable =
        swamp__read_heartbeat(finding->store, key, revision, value, value_len, &sighting->record) == SWAMP_OK;
    return 0;
}

void
swamp__pulse_work(swamp__question *question, swamp_store *store)
{
    swamp__pulse *pulse = (swamp__pulse *)question;
    if (pulse->beats)
        pulse->beat_status = commit_beat(pulse, store);
    if (pulse->beats && (pulse->beat_status == SWAMP_E_FENCED || pulse->beat_status == SWAMP_E_TIMEOUT)) {
        pulse->read_status = pulse->beat_status; /* a store that hangs is not asked a second time */
    } else {
        pulse->read_status = SWAMP_OK;
        int rc = swamp__pages_each(store, SWAMP__KEYS_HEARTBEATS, NULL, 0, question->timeout_ms,
                                   note_sighting, &(struct finding){store, pulse});
        if (rc != SWAMP_OK)
            pulse->read_status = rc;
    }
    question->status = SWAMP_OK;
}

/* 1 if the key is absent, 0 if present with *revision, or the store's error. */
static int
is_gone(swamp_store *store, const char *key, int timeout_ms, uint64_t *revision)
{
    swamp__buf value;
    swamp__buf_init(&value);
    int rc = swamp__store_read(store, key, timeout_ms, &value, revision);
    swamp__buf_free(&value);
    return rc == SWAMP_ABSENT ? 1 : rc;
}

void
swamp__removal_work_dead(swamp__question *question, swamp_store *store)
{
    swamp__removal *removal = (swamp__removal *)question;
    swamp__key dead = swamp__key_heartbeat(removal->instance_id), me = swamp__key_heartbeat(removal->me);
    const swamp_store_op ops[] = {
        swamp__op_check(me.text, SWAMP_STORE_PRESENT, 0),
        swamp__op_remove(dead.text, SWAMP_STORE_REVISION, removal->revision),
    };
    size_t failed = 0;
    int rc = swamp_store_commit(store, ops, 2, question->timeout_ms, NULL, &failed);
    if (rc == SWAMP_CONFLICT && failed == 0)
        rc = SWAMP_E_FENCED;
    if (rc == SWAMP_E_UNKNOWN) {
        uint64_t revision = 0;
        if (is_gone(store, dead.text, question->timeout_ms, &revision) == 1)
            rc = SWAMP_OK; /* by this commit or another one: gone is gone */
    }
    question->status = rc;
}

void
swamp__removal_work_own(swamp__question *question, swamp_store *store)
{
    swamp__removal *removal = (swamp__removal *)question;
    swamp__key key = swamp__key_heartbeat(removal->instance_id);
    int rc = SWAMP_E_UNKNOWN;
    /* Only this instance writes the record, so that any other revision is a beat whose answer was lost. */
    for (int tries = 0; tries < LEAVE_TRIES; tries++) {
        if (removal->revision) {
            swamp_store_op op = swamp__op_remove(key.text, SWAMP_STORE_REVISION, removal->revision);
            rc = swamp_store_commit(store, &op, 1, question->timeout_ms, NULL, NULL);
            if (rc != SWAMP_CONFLICT && rc != SWAMP_E_UNKNOWN)
                break;
        }
        int gone = is_gone(store, key.text, question->timeout_ms, &removal->revision);
        if (gone != 0) {
            rc = gone < 0 ? gone : SWAMP_OK;
            break;
        }
    }
    question->status = rc == SWAMP_CONFLICT ? SWAMP_E_UNKNOWN : rc;
}
