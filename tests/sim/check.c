/* The truth about runs, and the store held against it. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/keys.h"
#include "../../libswamp/store/store.h"
#include "../../libswamp/wire/document.h"
#include "sim.h"

sim_run *
sim_run_find(cluster *sim, const char *id)
{
    for (size_t i = 0; i < sim->run_count; i++)
        if (strcmp(sim->runs[i].id, id) == 0)
            return &sim->runs[i];
    return NULL;
}

sim_run *
sim_run_add(cluster *sim, const char *id)
{
    if (sim_run_find(sim, id))
        sim_fail(sim, "run %s was started twice", id);
    sim_run *run = &sim->runs[sim->run_count++];
    if (sim->run_count == SIM_RUNS_MAX)
        sim->run_count--; /* the last place is used again: a test of so many runs is another one */
    snprintf(run->id, sizeof run->id, "%s", id);
    return run;
}

int
sim_recorded(cluster *sim, const char *id, char status[16], char reason[32])
{
    swamp__buf value;
    swamp__run_facts facts;
    swamp__buf_init(&value);
    int found = swamp__store_read(sim->store, swamp__key_run(id).text, 1000, &value, NULL) == SWAMP_OK;
    status[0] = reason[0] = '\0';
    if (found && swamp__run_read(value.data, value.len, &facts) == SWAMP_OK) {
        snprintf(status, 16, "%s", facts.status);
        snprintf(reason, 32, "%s", facts.interrupt_reason);
    }
    swamp__buf_free(&value);
    return found;
}

/* A final status never changes, nor does why. Called before each call to the store. */
void
sim_check_finals(cluster *sim)
{
    for (size_t i = 0; i < sim->run_count; i++) {
        sim_run *run = &sim->runs[i];
        char status[16], reason[32];
        int found = sim_recorded(sim, run->id, status, reason);
        if (!run->final[0] && found && swamp__run_status_is_final(status)) {
            snprintf(run->final, sizeof run->final, "%s", status);
            snprintf(run->final_reason, sizeof run->final_reason, "%s", reason);
            sim_note(sim, "recorded: %.13s %s %s", run->id, status, reason);
        } else if (run->final[0] &&
                   (strcmp(run->final, status) != 0 || strcmp(run->final_reason, reason) != 0)) {
            sim_fail(sim, "the final status of %s changed from '%s' (%s) to '%s' (%s)", run->id, run->final,
                     run->final_reason, found ? status : "no record", reason);
        }
    }
}

/* Death is a committed fact (PROTOCOL 5). */
void
sim_check_death(cluster *sim, const char *told, const char *instance_id)
{
    swamp__buf value;
    swamp__buf_init(&value);
    swamp__key key = swamp__key_heartbeat(instance_id);
    if (swamp__store_read(sim->store, key.text, 1000, &value, NULL) != SWAMP_ABSENT)
        sim_fail(sim, "%s: told of the death of %s, whose heartbeat is there", told, instance_id);
    swamp__buf_free(&value);
}

static int
find_leftover(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)value;
    (void)value_len;
    (void)revision;
    sim_fail(user, "left over: %s", key);
    return 0;
}

/* Heartbeats of the living only: who was killed is found out by its peers. */
static int
check_heartbeat(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)value;
    (void)value_len;
    (void)revision;
    cluster *sim = user;
    for (int i = 0; i < sim->slots; i++)
        if (sim->at[i] && strcmp(sim->at[i]->id, swamp__key_last(key)) == 0)
            return 0;
    sim_fail(sim, "left over: %s", key);
    return 0;
}

/* Also a run that no host ever had: its owner died between the admission and START. */
static int
check_record(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)revision;
    swamp__run_facts facts;
    if (swamp__run_read(value, value_len, &facts) != SWAMP_OK || !facts.is_final)
        sim_fail(user, "not final: %s", key);
    return 0;
}

struct index_found {
    cluster *sim;
    size_t count;
    char run_ids[256][64];
};

static int
note_index(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)value;
    (void)value_len;
    (void)revision;
    struct index_found *found = user;
    if (found->count < sizeof found->run_ids / sizeof found->run_ids[0])
        snprintf(found->run_ids[found->count++], 64, "%s", swamp__key_last(key));
    return 0;
}

/* Each index key leads to a record: of an admission that was taken back, both are gone. */
static void
check_index(cluster *sim, const char *prefix)
{
    struct index_found found = {.sim = sim};
    char status[16], reason[32];
    if (swamp_store_list(sim->store, prefix, NULL, 1000, SWAMP_STORE_KEYS_ONLY, 1000, note_index, &found) !=
        SWAMP_OK)
        sim_fail(sim, "the store cannot be listed");
    for (size_t i = 0; i < found.count; i++)
        if (!sim_recorded(sim, found.run_ids[i], status, reason))
            sim_fail(sim, "left over: %s%s", prefix, found.run_ids[i]);
}

static void
check_run(cluster *sim, const sim_run *run)
{
    static const char *texts[] = {"", "succeeded", "failed", "cancelled"};
    for (size_t i = 1; i < sizeof texts / sizeof texts[0]; i++)
        sim->recorded[run->final_reason[0] ? 0 : i] += strcmp(run->final, texts[i]) == 0;
    if (!run->final[0])
        sim_fail(sim, "run %s has no final status", run->id);
    else if (!run->owner->disturbed && run->host_finished && run->finish_rc == SWAMP_OK &&
             strcmp(run->final, texts[run->host_status]) != 0)
        sim_fail(sim, "run %s ended as '%s' for its host, '%s' was recorded", run->id,
                 texts[run->host_status], run->final);
    if (sim->calm && run->final_reason[0])
        sim_fail(sim, "run %s was interrupted (%s) though only links were cut", run->id, run->final_reason);
}

void
sim_check_leftovers(cluster *sim)
{
    static const char *prefixes[] = {SWAMP__KEYS_ACTIVE_RUNS, SWAMP__KEYS_INSTANCE_RUNS, "cancel-requests/"};
    sim_check_finals(sim);
    for (size_t i = 0; i < sim->run_count; i++)
        check_run(sim, &sim->runs[i]);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (swamp_store_list(sim->store, prefixes[i], NULL, 1000, SWAMP_STORE_KEYS_ONLY, 1000, find_leftover,
                             sim) != SWAMP_OK)
            sim_fail(sim, "the store cannot be listed");
    check_index(sim, "workflow-runs/");
    check_index(sim, "workflow-names/");
    if (swamp_store_list(sim->store, SWAMP__KEYS_RUNS, NULL, 1000, 0, 1000, check_record, sim) != SWAMP_OK)
        sim_fail(sim, "the store cannot be listed");
    if (swamp_store_list(sim->store, SWAMP__KEYS_HEARTBEATS, NULL, 1000, SWAMP_STORE_KEYS_ONLY, 1000,
                         check_heartbeat, sim) != SWAMP_OK)
        sim_fail(sim, "the store cannot be listed");
}
