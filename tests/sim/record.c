/* The store as everybody has it, watched from inside: whatever was written is held against the rules at once. */
/*
 * fenced: nothing is written by an instance whose heartbeat is gone, and no heartbeat comes back.
 * terminal: a final status never changes, nor does why, nor does the record go.
 * live: nobody's heartbeat is removed by another that cannot have watched it for a TTL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/keys.h"
#include "../../libswamp/store/store.h"
#include "../../libswamp/wire/document.h"
#include "sim.h"

#define SILENT_MS 27000 /* a TTL of 30 s on the fastest clock, which goes at 1.1 */

static sim_record *
find_record(cluster *sim, const char *id)
{
    for (size_t i = 0; i < sim->record_count; i++)
        if (strcmp(sim->records[i].id, id) == 0)
            return &sim->records[i];
    return NULL;
}

static sim_record *
make_record(cluster *sim, const char *id)
{
    sim_record *record = find_record(sim, id);
    if (record)
        return record;
    if (sim->record_count == sim->starts_sent)
        sim_fail(sim, "bounded: more runs were recorded than clients have asked for");
    if (sim->record_count == SIM_RECORDS_MAX) {
        sim_fail(sim, "sim: more runs were recorded than there is room for");
        return &sim->records[SIM_RECORDS_MAX - 1];
    }
    record = &sim->records[sim->record_count++];
    snprintf(record->id, sizeof record->id, "%s", id);
    return record;
}

int
sim_recorded(cluster *sim, const char *id, char status[16], char reason[32])
{
    const sim_record *record = find_record(sim, id);
    int found = record && record->present;
    snprintf(status, 16, "%s", found ? record->status : "");
    snprintf(reason, 32, "%s", found ? record->reason : "");
    return found;
}

static void
note_run(cluster *sim, const char *id, const swamp_store_op *op)
{
    sim_record *record = make_record(sim, id), was = *record;
    swamp__run_facts facts = {0};
    record->present = op->action == SWAMP_STORE_PUT;
    if (record->present && swamp__run_read(op->value, op->value_len, &facts) != SWAMP_OK)
        sim_fail(sim, "sim: a record of %s that cannot be read", id);
    snprintf(record->status, sizeof record->status, "%s", facts.status);
    snprintf(record->reason, sizeof record->reason, "%s", facts.interrupt_reason);
    record->is_final = record->present && facts.is_final;
    if (was.is_final && (strcmp(was.status, record->status) != 0 || strcmp(was.reason, record->reason) != 0))
        sim_fail(sim, "terminal: the final status of %s changed from '%s' (%s) to '%s' (%s)", id, was.status,
                 was.reason, record->present ? record->status : "no record", record->reason);
    else if (record->is_final && !was.is_final)
        sim_note(sim, "recorded: %.13s %s %s", id, record->status, record->reason);
}

static void
note_heartbeat(cluster *sim, const char *id, const swamp_store_op *op)
{
    sim_instance *instance = sim_instance_find(sim, id);
    int64_t now_ms = sim->world->now_ms;
    if (!instance) {
        sim_fail(sim, "sim: a heartbeat of nobody: %s", id);
    } else if (op->action == SWAMP_STORE_PUT) {
        if (instance->gone)
            sim_fail(sim, "fenced: %s beats again after its heartbeat was removed", instance->name);
        instance->beat_ms = now_ms;
    } else if (op->action == SWAMP_STORE_REMOVE && instance->beat_ms && !instance->gone) {
        instance->gone = 1;
        sim_note(sim, "the heartbeat of %s is removed by %s", instance->name, sim->writer->name);
        if (sim->writer != instance && now_ms - instance->beat_ms < SILENT_MS)
            sim_fail(sim, "live: %s was declared dead %lld ms after its last heartbeat", instance->name,
                     (long long)(now_ms - instance->beat_ms));
    }
}

static int
commit_watched(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
               size_t *failed)
{
    cluster *sim = self;
    int was_gone = sim->writer->gone;
    int rc = swamp_store_commit(sim->real, ops, count, timeout_ms, revision, failed);
    if (rc != SWAMP_OK)
        return rc;
    /* Who has never joined has no runs: its first heartbeat may be written again (docs/DIFFERENCES.md). */
    if (was_gone && !sim->writer->joined)
        sim->writer->gone = 0;
    else if (was_gone)
        sim_fail(sim, "fenced: a write of %s was taken after its death: %s", sim->writer->name, ops[0].key);
    for (size_t i = 0; i < count; i++) {
        if (ops[i].action == SWAMP_STORE_CHECK)
            continue;
        if (strncmp(ops[i].key, SWAMP__KEYS_RUNS, strlen(SWAMP__KEYS_RUNS)) == 0)
            note_run(sim, swamp__key_last(ops[i].key), &ops[i]);
        else if (strncmp(ops[i].key, SWAMP__KEYS_HEARTBEATS, strlen(SWAMP__KEYS_HEARTBEATS)) == 0)
            note_heartbeat(sim, swamp__key_last(ops[i].key), &ops[i]);
    }
    return rc;
}

static int
get_watched(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    return swamp_store_get(((cluster *)self)->real, key, timeout_ms, sink, user);
}

static int
list_watched(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
             swamp_store_sink sink, void *user)
{
    return swamp_store_list(((cluster *)self)->real, prefix, after, limit, flags, timeout_ms, sink, user);
}

static void
destroy_watched(void *self)
{
    (void)self;
}

void
sim_records_open(cluster *sim)
{
    const swamp_store_vtable watched = {.size = sizeof watched,
                                        .destroy = destroy_watched,
                                        .get = get_watched,
                                        .list = list_watched,
                                        .commit = commit_watched};
    if (swamp_store_memory_open(&sim->real) != SWAMP_OK ||
        swamp_store_custom(&sim->store, &watched, sim) != SWAMP_OK)
        abort();
}

void
sim_records_close(cluster *sim)
{
    swamp_store_free(sim->store);
    swamp_store_free(sim->real);
}

/* Death is a committed fact (PROTOCOL 5). */
void
sim_check_death(cluster *sim, const char *told, const char *instance_id)
{
    const sim_instance *instance = sim_instance_find(sim, instance_id);
    if (!instance || !instance->gone)
        sim_fail(sim, "terminal: %s: told of the death of %s, whose heartbeat is there", told, instance_id);
}
