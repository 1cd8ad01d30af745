/* One seed: a cluster is put up, clients come, faults happen, everything heals, and the rules are checked. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/store.h"
#include "sim.h"

#define SETTLE_MS 900000 /* longer than any limit of PROTOCOL 7, linger and reconciliation included */

int64_t
sim_pick(cluster *sim, int64_t low, int64_t high)
{
    return high > low ? low + (int64_t)(fake_world_random(sim->world) % (uint64_t)(high - low + 1)) : low;
}

int
sim_odds(cluster *sim, int percent)
{
    return sim_pick(sim, 0, 99) < percent;
}

static void
add_line(cluster *sim, const char *mark, const char *format, va_list args)
{
    char line[1200];
    int at = snprintf(line, sizeof line, "%10.3f %s", (double)(sim->world->now_ms - 1000000) / 1000.0, mark);
    vsnprintf(line + at, sizeof line - (size_t)at, format, args);
    swamp__buf_text(&sim->history, line);
    swamp__buf_text(&sim->history, "\n");
}

void
sim_note(cluster *sim, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(sim, "", format, args);
    va_end(args);
}

void
sim_fail(cluster *sim, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(sim, "BROKEN: ", format, args);
    va_end(args);
    if (sim->failure[0])
        return;
    va_start(args, format);
    vsnprintf(sim->failure, sizeof sim->failure, format, args);
    va_end(args);
}

/* Faults. */

static sim_instance *
pick_instance(cluster *sim)
{
    sim_instance *instance = sim->at[sim_pick(sim, 0, sim->slots - 1)];
    return instance && instance->alive ? instance : NULL;
}

static void
cut_a_link(cluster *sim)
{
    sim_link *link = sim_link_random(sim);
    if (link)
        sim_link_cut(link,
                     sim_odds(sim, 60) ? SIM_CUT_RESET : (int)sim_pick(sim, SIM_CUT_BOTH, SIM_CUT_DOWN));
}

static void
kill_one(cluster *sim)
{
    sim_instance *instance = pick_instance(sim);
    if (instance)
        sim_instance_kill(instance);
}

static void
kill_at_a_store_call(cluster *sim)
{
    sim_instance *instance = pick_instance(sim);
    if (instance)
        instance->calls_to_live = (int)sim_pick(sim, 1, 12);
}

static void
pause_one(cluster *sim)
{
    sim_instance *instance = pick_instance(sim);
    if (instance && !swamp__timer_is_set(&instance->pause_timer))
        sim_instance_pause(instance,
                           sim_odds(sim, 50) ? sim_pick(sim, 500, 10000) : sim_pick(sim, 10000, 90000));
}

static void
fault_a_store(cluster *sim)
{
    sim_instance *instance = pick_instance(sim);
    if (instance && !swamp__timer_is_set(&instance->pause_timer))
        sim_instance_store_fault(instance, sim_pick(sim, 1000, 40000));
}

/* For everybody at once, and often for longer than a TTL: nobody may be declared dead for it. */
static void
fault_every_store(cluster *sim)
{
    if (sim->outage)
        return;
    int64_t ms = sim_odds(sim, 50) ? sim_pick(sim, 1000, 20000) : sim_pick(sim, 20000, 90000);
    sim->outage = (int)sim_pick(sim, FAKE_ERROR, FAKE_WRITE_LOST);
    sim_note(sim, "the store is down for everybody for %lld ms", (long long)ms);
    swamp__timer_set(&sim->outside->timers, &sim->outage_timer, sim->world->now_ms + ms);
}

static void
end_outage(swamp__timer *timer)
{
    cluster *sim = SWAMP__OF(timer, struct cluster, outage_timer);
    sim_note(sim, "the store is back for everybody");
    sim->outage = 0;
}

/* Wall clocks are never compared (PROTOCOL 5): hours to and fro change nothing. */
static void
turn_the_wall_clock(cluster *sim)
{
    int64_t ms = sim_pick(sim, -7200000, 7200000);
    sim_note(sim, "the wall clock jumps by %lld ms", (long long)ms);
    sim->world->unix_offset_ms += ms;
}

static void
stop_one(cluster *sim)
{
    sim_instance *instance = pick_instance(sim);
    if (!instance)
        return;
    sim_note(sim, "%s: stop", instance->name);
    instance->disturbed = 1;
    swamp__instance_stop(instance->core, sim_pick(sim, 0, 30000));
}

static void
restart_a_client(cluster *sim)
{
    if (sim->client_count)
        sim_client_restart(sim->clients[sim_pick(sim, 0, (int64_t)sim->client_count - 1)]);
}

static void
cancel_a_run(cluster *sim)
{
    if (sim->client_count)
        sim_client_cancel(sim->clients[sim_pick(sim, 0, (int64_t)sim->client_count - 1)]);
}

static const struct {
    void (*happen)(cluster *sim);
    int weight, weight_when_calm;
    const char *name;
} faults[] = {
    {cut_a_link, 40, 80, "link_cut"},
    {kill_one, 8, 0, "instance_killed"},
    {kill_at_a_store_call, 8, 0, "instance_killed_at_a_store_call"},
    {pause_one, 12, 0, "instance_paused"},
    {fault_a_store, 12, 0, "store_of_one_instance"},
    {stop_one, 5, 0, "instance_stopped"},
    {restart_a_client, 12, 15, "client_restarted"},
    {cancel_a_run, 5, 5, "run_cancelled"},
    {fault_every_store, 4, 0, "store_of_all"},
    {turn_the_wall_clock, 3, 3, "wall_clock_turned"},
};

const char *
sim_fault_name(size_t kind)
{
    return kind < sizeof faults / sizeof faults[0] ? faults[kind].name : NULL;
}

static void
let_a_fault_happen(swamp__timer *timer)
{
    cluster *sim = SWAMP__OF(timer, struct cluster, fault_timer);
    int64_t total = 0;
    if (sim->world->now_ms >= sim->chaos_until_ms)
        return;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        total += sim->calm ? faults[i].weight_when_calm : faults[i].weight;
    int64_t n = sim_pick(sim, 0, total - 1);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        int weight = sim->calm ? faults[i].weight_when_calm : faults[i].weight;
        if (n < weight) {
            sim->faults[i]++;
            faults[i].happen(sim);
            break;
        }
        n -= weight;
    }
    swamp__timer_set(&sim->outside->timers, timer, sim->world->now_ms + sim_pick(sim, 100, 8000));
}

static void
let_a_client_come(swamp__timer *timer)
{
    cluster *sim = SWAMP__OF(timer, struct cluster, arrival_timer);
    if (sim->client_count >= SIM_CLIENTS_MAX || sim->world->now_ms >= sim->chaos_until_ms)
        return;
    if (sim->run_count && sim_odds(sim, 40))
        sim_client_attach(sim, sim->runs[sim_pick(sim, 0, (int64_t)sim->run_count - 1)].id);
    else
        sim_client_start(sim);
    swamp__timer_set(&sim->outside->timers, timer, sim->world->now_ms + sim_pick(sim, 100, 15000));
}

static void
put_up_again(swamp__timer *timer, int slot)
{
    cluster *sim = SWAMP__OF(timer - slot, struct cluster, slot_timers);
    if (!sim->at[slot])
        sim_instance_new(sim, slot);
}

static void
put_up_0(swamp__timer *timer)
{
    put_up_again(timer, 0);
}

static void
put_up_1(swamp__timer *timer)
{
    put_up_again(timer, 1);
}

static void
put_up_2(swamp__timer *timer)
{
    put_up_again(timer, 2);
}

static void
put_up_3(swamp__timer *timer)
{
    put_up_again(timer, 3);
}

/* The course of a simulation. */

static cluster *
make_sim(uint64_t seed)
{
    static void (*const put_up[SIM_SLOTS_MAX])(swamp__timer *) = {put_up_0, put_up_1, put_up_2, put_up_3};
    cluster *sim = calloc(1, sizeof *sim);
    sim->seed = seed;
    swamp__buf_init(&sim->history);
    sim->world = fake_world_new(seed);
    sim->world->shuffle = 1;
    sim->outside = fake_node_new(sim->world);
    swamp__timers *timers = &sim->outside->timers;
    int rc = swamp_store_memory_open(&sim->store);
    for (int i = 0; i < SIM_SLOTS_MAX && rc == SWAMP_OK; i++)
        rc = swamp__timer_init(timers, &sim->slot_timers[i], put_up[i]);
    swamp__list_init(&sim->late_writes);
    if (rc != SWAMP_OK || swamp__timer_init(timers, &sim->fault_timer, let_a_fault_happen) != SWAMP_OK ||
        swamp__timer_init(timers, &sim->outage_timer, end_outage) != SWAMP_OK ||
        swamp__timer_init(timers, &sim->arrival_timer, let_a_client_come) != SWAMP_OK)
        abort();
    sim->calm = sim_odds(sim, 25);
    sim->slots = (int)sim_pick(sim, 2, SIM_SLOTS_MAX);
    sim->log_events = sim_odds(sim, 20) ? 10 : 100000;
    return sim;
}

static int
all_clients_ended(void *user)
{
    const cluster *sim = user;
    for (size_t i = 0; i < sim->client_count; i++)
        if (!sim_client_has_ended(sim->clients[i]))
            return 0;
    return 1;
}

static void
heal_all(cluster *sim)
{
    sim_note(sim, "everything heals");
    sim->outage = 0;
    swamp__timer_unset(&sim->outside->timers, &sim->outage_timer);
    for (sim_instance *instance = sim->instances; instance; instance = instance->next)
        sim_instance_heal(instance);
}

int
sim_play(uint64_t seed, cluster **out)
{
    cluster *sim = make_sim(seed);
    *out = sim;
    for (int i = 0; i < sim->slots; i++)
        sim_instance_new(sim, i);
    sim->chaos_until_ms = sim->world->now_ms + sim_pick(sim, 30000, 180000);
    swamp__timer_set(&sim->outside->timers, &sim->arrival_timer,
                     sim->world->now_ms + sim_pick(sim, 50, 2000));
    swamp__timer_set(&sim->outside->timers, &sim->fault_timer,
                     sim->world->now_ms + sim_pick(sim, 1000, 10000));
    fake_world_advance(sim->world, sim->chaos_until_ms - sim->world->now_ms);
    heal_all(sim);
    fake_world_until(sim->world, SETTLE_MS, all_clients_ended, sim);
    for (size_t i = 0; i < sim->client_count; i++)
        sim_client_check_end(sim->clients[i]);
    fake_world_advance(sim->world, SETTLE_MS); /* runs that nobody watches, linger, reconciliation */
    sim_check_leftovers(sim);
    return sim->failure[0] != '\0';
}

void
sim_free(cluster *sim)
{
    sim_links_close(sim);
    for (size_t i = 0; i < sim->client_count; i++)
        sim_client_free(sim->clients[i]);
    sim_links_close(sim);
    for (int i = 0; i < SIM_SLOTS_MAX; i++)
        swamp__timer_destroy(&sim->outside->timers, &sim->slot_timers[i]);
    swamp__timer_destroy(&sim->outside->timers, &sim->fault_timer);
    swamp__timer_destroy(&sim->outside->timers, &sim->outage_timer);
    sim_late_free(sim);
    swamp__timer_destroy(&sim->outside->timers, &sim->arrival_timer);
    for (int round = 0; round < 3; round++) { /* a killed one that wakes may hand out work once more */
        for (sim_instance *instance = sim->instances; instance; instance = instance->next)
            sim_instance_close(instance);
        fake_world_advance(sim->world, 0);
    }
    sim_links_free(sim);
    while (sim->instances) {
        sim_instance *instance = sim->instances;
        sim->instances = instance->next;
        sim_instance_free(instance);
    }
    fake_world_free(sim->world);
    swamp_store_free(sim->store);
    swamp__buf_free(&sim->history);
    free(sim);
}
