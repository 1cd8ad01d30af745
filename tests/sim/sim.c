/* One play: a cluster is put up, clients come, faults happen, everything heals, and the rules are checked. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "sim.h"

#define SETTLE_MS                                                                                            \
    1200000 /* live: longer than any limits of PROTOCOL 7 in a row, and than linger and reaping */
#define LOOK_EVERY_MS 2000
#define QUIET_MS                                                                                             \
    45000 /* more than a TTL and an interval: whom nobody beats for is found out, who beats is not */

int64_t
sim_draw(uint64_t *dice, int64_t low, int64_t high)
{
    uint64_t z = *dice += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return high > low ? low + (int64_t)(z % (uint64_t)(high - low + 1)) : low;
}

uint64_t
sim_dice(const cluster *sim, int what, uint64_t number)
{
    uint64_t dice = sim->choice.seed * 0x9e3779b97f4a7c15u + ((uint64_t)what << 56) + number;
    return (uint64_t)sim_draw(&dice, 0, INT64_MAX - 1) | 1;
}

int64_t
sim_pick(cluster *sim, int64_t low, int64_t high)
{
    return sim_draw(sim->dice, low, high);
}

int
sim_odds(cluster *sim, int percent)
{
    return sim_pick(sim, 0, 99) < percent;
}

static void add_line(cluster *sim, const char *mark, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

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
    if (!sim->choice.recording)
        return;
    va_start(args, format);
    add_line(sim, "", format, args);
    va_end(args);
}

void
sim_fail(cluster *sim, const char *format, ...)
{
    va_list args;
    if (sim->choice.recording) {
        va_start(args, format);
        add_line(sim, "BROKEN: ", format, args);
        va_end(args);
    }
    if (sim->failure[0])
        return;
    va_start(args, format);
    vsnprintf(sim->failure, sizeof sim->failure, format, args);
    va_end(args);
}

static void
put_up_again(swamp__timer *timer)
{
    sim_slot *slot = SWAMP__OF(timer, sim_slot, timer);
    if (!slot->at)
        sim_instance_new(slot->of, slot->number);
}

/* Each instance's machines, looked at whenever they may have moved. */
static void
look_at_node(void *user, fake_node *node)
{
    sim_instance *instance = node->collect_user;
    (void)user;
    if (!instance || !instance->core || instance->dead)
        return;
    sim_cover_after(instance);
    sim_check_memory(instance);
}

static cluster *
make_sim(const sim_choice *choice)
{
    cluster *sim = calloc(1, sizeof *sim);
    if (!sim)
        abort();
    sim->choice = *choice;
    swamp__buf_init(&sim->history);
    sim->own_dice = sim_dice(sim, 0, 0);
    sim->dice = &sim->own_dice;
    sim->world = fake_world_new(choice->seed);
    sim->world->shuffle = 1;
    sim->world->log.level = SWAMP_LOG_ERROR;
    sim->world->after_step = look_at_node;
    sim->outside = fake_node_new(sim->world);
    sim_records_open(sim);
    swamp__list_init(&sim->late_writes);
    for (int i = 0; i < SIM_SLOTS_MAX; i++) {
        sim->slot[i].of = sim;
        sim->slot[i].number = i;
        if (swamp__timer_init(&sim->outside->timers, &sim->slot[i].timer, put_up_again) != SWAMP_OK)
            abort();
    }
    if (sim_faults_init(sim) != SWAMP_OK)
        abort();
    sim->calm = sim_odds(sim, 20);
    sim->slots = sim_odds(sim, 60) ? (int)sim_pick(sim, 2, 4) : (int)sim_pick(sim, 1, SIM_SLOTS_MAX);
    sim->log_events = sim_odds(sim, 20) ? 10 : 100000;
    sim->max_connections = !sim->calm && sim_odds(sim, 12) ? 3 : 1000;
    sim->all_logs_bytes = sim_odds(sim, 12) ? 3000 : 1024u * 1024 * 1024;
    sim->linger_ms = sim_pick(sim, 5000, 60000);
    sim->balancer = (int)sim_pick(sim, 0, sim_balancer_kinds() - 1);
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

/* Once faults stop, everything comes to its end by itself: first for the clients, then in the store. */
static void
settle(cluster *sim)
{
    int64_t healed_ms = sim->world->now_ms;
    sim_note(sim, "everything heals");
    sim_faults_end(sim);
    fake_world_until(sim->world, SETTLE_MS, all_clients_ended, sim);
    sim->clients_ms = sim->world->now_ms - healed_ms;
    unsigned strikes;
    size_t runs;
    do { /* what the seed aims at, or a run's start, may come as late as this: it settles anew (a TTL, a linger) */
        while (!sim_is_clean(sim) && sim->world->now_ms - healed_ms < 2 * SETTLE_MS)
            fake_world_advance(sim->world, LOOK_EVERY_MS);
        sim->store_ms = sim->world->now_ms - healed_ms;
        strikes = sim->aim.strikes;
        runs = sim->run_count;
        fake_world_advance(sim->world, QUIET_MS);
    } while (strikes != sim->aim.strikes || runs != sim->run_count);
}

int
sim_play(const sim_choice *choice, cluster **out)
{
    cluster *sim = make_sim(choice);
    *out = sim;
    sim->chaos_until_ms = sim->world->now_ms + sim_pick(sim, 30000, 180000);
    sim_aim_make(sim);
    sim_plan_make(sim);
    if (choice->chaos_ms)
        sim->chaos_until_ms = sim->world->now_ms + choice->chaos_ms;
    for (int i = 0; i < sim->slots; i++)
        sim_instance_new(sim, i);
    sim_plan_begin(sim);
    fake_world_advance(sim->world, sim->chaos_until_ms - sim->world->now_ms);
    settle(sim);
    sim_check_leftovers(sim);
    return sim->failure[0] != '\0';
}

void
sim_free(cluster *sim)
{
    sim_links_close(sim);
    sim_greedy_leave(sim);
    for (size_t i = 0; i < sim->client_count; i++)
        sim_client_free(sim->clients[i]);
    sim_links_close(sim);
    for (int i = 0; i < SIM_SLOTS_MAX; i++)
        swamp__timer_unset(&sim->outside->timers, &sim->slot[i].timer);
    sim_faults_destroy(sim);
    sim_late_free(sim);
    for (int round = 0; round < 3; round++) { /* a killed one that wakes may hand out work once more */
        for (sim_instance *instance = sim->instances; instance; instance = instance->next)
            sim_instance_close(instance);
        fake_world_advance(sim->world, 0);
    }
    for (int i = 0; i < SIM_SLOTS_MAX; i++) /* only now: who ends in these rounds leaves its place */
        swamp__timer_destroy(&sim->outside->timers, &sim->slot[i].timer);
    sim_links_free(sim);
    sim_greedy_free(sim);
    while (sim->instances) {
        sim_instance *instance = sim->instances;
        sim->instances = instance->next;
        sim_instance_free(instance);
    }
    fake_world_free(sim->world);
    sim_records_close(sim);
    swamp__buf_free(&sim->history);
    free(sim);
}
