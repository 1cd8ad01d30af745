/* The truth about runs, and the store held against it. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/server/inner.h"
#include "../../libswamp/store/keys.h"
#include "../../libswamp/store/store.h"
#include "../../libswamp/wire/document.h"
#include "client.h"

#define CALLS_A_SECOND 60
#define LOGS_SLACK_BYTES 4000
#define OUTBOX_BYTES (300 * 1024)

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
        sim_fail(sim, "unique: run %s was started twice", id);
    sim_run *run = &sim->runs[sim->run_count++];
    if (sim->run_count == SIM_RUNS_MAX)
        sim->run_count--; /* the last place is used again: a test of so many runs is another one */
    snprintf(run->id, sizeof run->id, "%s", id);
    return run;
}

static int
find_leftover(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)value;
    (void)value_len;
    (void)revision;
    sim_fail(user, "clean: left over: %s", key);
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
        if (sim->slot[i].at && strcmp(sim->slot[i].at->id, swamp__key_last(key)) == 0)
            return 0;
    sim_fail(sim, "clean: left over: %s", key);
    return 0;
}

/* Also a run that no host ever had: its owner died between the admission and START. */
static int
check_record(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)revision;
    swamp__run_facts facts;
    if (swamp__run_read(value, value_len, &facts) != SWAMP_OK || !facts.is_final)
        sim_fail(user, "terminal: not final: %s", key);
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
        sim_fail(sim, "sim: the store cannot be listed");
    for (size_t i = 0; i < found.count; i++)
        if (!sim_recorded(sim, found.run_ids[i], status, reason))
            sim_fail(sim, "clean: left over: %s%s", prefix, found.run_ids[i]);
}

static void
check_run(cluster *sim, const sim_run *run)
{
    static const char *texts[] = {"", "succeeded", "failed", "cancelled"};
    char final[16], reason[32];
    if (!sim_recorded(sim, run->id, final, reason) || !swamp__run_status_is_final(final)) {
        sim_fail(sim, "terminal: run %s has no final status", run->id);
        return;
    }
    for (size_t i = 1; i < sizeof texts / sizeof texts[0]; i++)
        sim->recorded[reason[0] ? 0 : i] += strcmp(final, texts[i]) == 0;
    if (!run->owner->disturbed && run->host_finished && run->finish_rc == SWAMP_OK &&
        strcmp(final, texts[run->host_status]) != 0)
        sim_fail(sim, "terminal: run %s ended as '%s' for its host, '%s' was recorded", run->id,
                 texts[run->host_status], final);
    if (sim->calm && reason[0])
        sim_fail(sim, "terminal: run %s was interrupted (%s) though only links were cut", run->id, reason);
}

static const char *const passing[] = {SWAMP__KEYS_ACTIVE_RUNS, SWAMP__KEYS_INSTANCE_RUNS, "cancel-requests/"};
#define PASSING (sizeof passing / sizeof passing[0])

static int
count_key(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key;
    (void)value;
    (void)value_len;
    (void)revision;
    ++*(int *)user;
    return 0;
}

struct standing {
    const cluster *sim;
    int found, lost; /* heartbeats of those that stand, and of others */
};

static int
is_standing(const sim_slot *slot)
{
    return slot->at && slot->at->alive && sim_instance_is_idle(slot->at);
}

static int
note_heartbeat(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)value;
    (void)value_len;
    (void)revision;
    struct standing *standing = user;
    int found = 0;
    for (int i = 0; i < standing->sim->slots; i++) {
        const sim_slot *slot = &standing->sim->slot[i];
        found |= is_standing(slot) && strcmp(slot->at->id, swamp__key_last(key)) == 0;
    }
    standing->found += found;
    standing->lost += !found;
    return 0;
}

/* Every place has its instance, with a heartbeat, and there is nothing else that passes. */
int
sim_is_clean(cluster *sim)
{
    struct standing standing = {.sim = sim};
    int count = 0;
    for (size_t i = 0; i < PASSING && !count; i++)
        (void)!swamp_store_list(sim->real, passing[i], NULL, 1, SWAMP_STORE_KEYS_ONLY, 1000, count_key,
                                &count);
    if (count)
        return 0;
    (void)!swamp_store_list(sim->real, SWAMP__KEYS_HEARTBEATS, NULL, 1000, SWAMP_STORE_KEYS_ONLY, 1000,
                            note_heartbeat, &standing);
    return standing.found == sim->slots && !standing.lost;
}

/*
 * What an instance keeps: logs within their budget (and what came since it was last looked at), and for each
 * connection no more answers than it takes to stop reading it.
 */
void
sim_check_memory(sim_instance *instance)
{
    cluster *sim = instance->of;
    const swamp__instance *core = instance->core;
    if (core->registry->touched->log_bytes > sim->all_logs_bytes + LOGS_SLACK_BYTES)
        sim_fail(sim, "bounded: %s keeps %zu bytes of events", instance->name,
                 core->registry->touched->log_bytes);
    swamp__list *conns = (swamp__list *)&core->conns;
    for (swamp__link *link = swamp__list_first(conns); link; link = swamp__list_next(conns, link)) {
        const swamp__conn *conn = SWAMP__OF(link, swamp__conn, link);
        if (conn->outbox.len > OUTBOX_BYTES || conn->ticket_count > core->options.max_requests)
            sim_fail(sim, "bounded: %s keeps %zu bytes for %zu requests of a connection", instance->name,
                     conn->outbox.len, conn->ticket_count);
    }
}

/* No instance asked its store more than a busy hour of all its tasks can explain. */
static void
check_instance(cluster *sim, const sim_instance *instance)
{
    size_t calls = instance->questions->gets + instance->questions->lists + instance->questions->commits +
                   instance->beats->gets + instance->beats->lists + instance->beats->commits;
    size_t bound = 2000 + (size_t)(sim->world->now_ms - instance->began_ms) / 1000 * CALLS_A_SECOND;
    if (calls > bound)
        sim_fail(sim, "bounded: %s asked its store %zu times", instance->name, calls);
    if (!instance->dead && instance->ended && sim_links_to(instance))
        sim_fail(sim, "bounded: %s has ended, and keeps connections", instance->name);
}

void
sim_check_leftovers(cluster *sim)
{
    for (size_t i = 0; i < sim->client_count; i++)
        sim_client_check_end(sim->clients[i]);
    for (size_t i = 0; i < sim->run_count; i++)
        check_run(sim, &sim->runs[i]);
    for (const sim_instance *instance = sim->instances; instance; instance = instance->next)
        check_instance(sim, instance);
    for (size_t i = 0; i < PASSING; i++)
        if (swamp_store_list(sim->real, passing[i], NULL, 1000, SWAMP_STORE_KEYS_ONLY, 1000, find_leftover,
                             sim) != SWAMP_OK)
            sim_fail(sim, "sim: the store cannot be listed");
    check_index(sim, "workflow-runs/");
    check_index(sim, "workflow-names/");
    if (swamp_store_list(sim->real, SWAMP__KEYS_RUNS, NULL, 1000, 0, 1000, check_record, sim) != SWAMP_OK ||
        swamp_store_list(sim->real, SWAMP__KEYS_HEARTBEATS, NULL, 1000, SWAMP_STORE_KEYS_ONLY, 1000,
                         check_heartbeat, sim) != SWAMP_OK)
        sim_fail(sim, "sim: the store cannot be listed");
}
