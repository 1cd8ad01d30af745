/* What happens in a play, and when: a list that the seed alone decides, and that a replay may leave entries out of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim.h"

const char *
sim_kind_name(size_t kind)
{
    return kind < sim_kind_count ? sim_kinds[kind].name : NULL;
}

static void
add(cluster *sim, int64_t at_ms, int kind, uint64_t *dice)
{
    if (sim->plan_count == SIM_PLAN_MAX || at_ms >= sim->chaos_until_ms)
        return;
    sim_entry *entry = &sim->plan[sim->plan_count++];
    entry->at_ms = at_ms;
    entry->kind = kind;
    entry->dice = (uint64_t)sim_draw(dice, 1, INT64_MAX - 1);
}

static int
draw_kind(const cluster *sim, uint64_t *dice)
{
    int64_t total = 0;
    for (size_t i = 0; i < sim_kind_count; i++)
        total += sim->calm ? sim_kinds[i].weight_when_calm : sim_kinds[i].weight;
    int64_t n = sim_draw(dice, 0, total - 1);
    size_t kind = 0;
    for (; kind + 1 < sim_kind_count; kind++) {
        n -= sim->calm ? sim_kinds[kind].weight_when_calm : sim_kinds[kind].weight;
        if (n < 0)
            break;
    }
    return (int)kind;
}

static int
compare(const void *left, const void *right)
{
    const sim_entry *a = left, *b = right;
    return a->at_ms != b->at_ms ? (a->at_ms > b->at_ms) - (a->at_ms < b->at_ms)
                                : (a->dice > b->dice) - (a->dice < b->dice);
}

/* A death or a stop that the directed fault needs, while runs are going on. */
static void
add_occasion(cluster *sim, uint64_t *dice)
{
    int64_t now_ms = sim->world->now_ms, half_ms = (sim->chaos_until_ms - now_ms) / 2;
    if (sim_aim_wants(sim, SIM_STEP_DEATH, SIM_STEP_REAP_COMMIT))
        add(sim, now_ms + sim_draw(dice, 8000, half_ms), SIM_KIND_DEATH, dice);
    if (sim_aim_wants(sim, SIM_STEP_GRACE, SIM_STEPS))
        add(sim, now_ms + sim_draw(dice, 8000, half_ms), SIM_KIND_STOP, dice);
}

/* In few plays, by dice of its own; late enough that there is some history to ask for. */
static void
add_greedy_peer(cluster *sim)
{
    uint64_t dice = sim_dice(sim, SIM_DICE_PLAN, 1);
    if (sim_draw(&dice, 0, 99) < 15)
        add(sim, sim_draw(&dice, sim->world->now_ms + 15000, sim->chaos_until_ms), SIM_KIND_GREEDY, &dice);
}

void
sim_plan_make(cluster *sim)
{
    uint64_t dice = sim_dice(sim, SIM_DICE_PLAN, 0);
    int64_t now_ms = sim->world->now_ms;
    int clients = (int)sim_draw(&dice, 1, SIM_CLIENTS_MAX);
    int64_t gap_ms = sim_draw(&dice, 0, 1) ? 15000 : 4000;
    int64_t at_ms = now_ms + sim_draw(&dice, 50, 2000);
    for (int i = 0; i < clients; i++, at_ms += sim_draw(&dice, 100, gap_ms))
        add(sim, at_ms, SIM_KIND_CLIENT, &dice);
    add_occasion(sim, &dice);
    at_ms = now_ms + sim_draw(&dice, 1000, 10000);
    for (; at_ms < sim->chaos_until_ms && sim->plan_count < SIM_PLAN_MAX; at_ms += sim_draw(&dice, 100, 8000))
        add(sim, at_ms, draw_kind(sim, &dice), &dice);
    add_greedy_peer(sim);
    qsort(sim->plan, sim->plan_count, sizeof sim->plan[0], compare);
}

static int
is_kept(const cluster *sim, size_t i)
{
    return !sim->choice.keeps || sim->choice.keep[i];
}

static void
happen(swamp__timer *timer)
{
    cluster *sim = SWAMP__OF(timer, struct cluster, plan_timer);
    int64_t now_ms = sim->world->now_ms;
    for (; sim->plan_at < sim->plan_count && sim->plan[sim->plan_at].at_ms <= now_ms; sim->plan_at++) {
        sim_entry *entry = &sim->plan[sim->plan_at];
        uint64_t dice = entry->dice;
        if (!is_kept(sim, sim->plan_at) || now_ms >= sim->chaos_until_ms)
            continue;
        sim_note(sim, "[%zu] %s", sim->plan_at, sim_kinds[entry->kind].name);
        sim->dice = &dice;
        sim->happened[entry->kind] += (unsigned)sim_kind_happen(sim, &sim_kinds[entry->kind]);
        sim->dice = &sim->own_dice;
    }
    if (sim->plan_at < sim->plan_count)
        swamp__timer_set(&sim->outside->timers, timer, sim->plan[sim->plan_at].at_ms);
}

void
sim_plan_begin(cluster *sim)
{
    sim->plan_timer.fire = happen;
    swamp__timer_set(&sim->outside->timers, &sim->plan_timer,
                     sim->plan_count ? sim->plan[0].at_ms : sim->chaos_until_ms);
}

void
sim_plan_print(const cluster *sim, swamp__buf *out)
{
    char line[200];
    for (size_t i = 0; i < sim->plan_count; i++) {
        if (!is_kept(sim, i) || sim->plan[i].at_ms >= sim->chaos_until_ms)
            continue;
        snprintf(line, sizeof line, "  [%zu] at %.3f s: %s\n", i,
                 (double)(sim->plan[i].at_ms - 1000000) / 1000.0, sim_kinds[sim->plan[i].kind].name);
        swamp__buf_text(out, line);
    }
}
