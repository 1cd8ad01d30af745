/* What can happen in a play: a client comes, a connection breaks, an instance or a store fails, a clock is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/server/inner.h"
#include "sim.h"

static sim_instance *
pick_instance(cluster *sim)
{
    sim_instance *instance = sim->slot[sim_pick(sim, 0, sim->slots - 1)].at;
    return instance && instance->alive ? instance : NULL;
}

/* One to which nothing is being done yet: only one thing at a time heals by its timer. */
static sim_instance *
pick_idle(cluster *sim)
{
    sim_instance *instance = pick_instance(sim);
    return instance && sim_instance_is_idle(instance) ? instance : NULL;
}

/* One with runs, if there is one: where a death or a stop matters. */
static sim_instance *
pick_busy(cluster *sim)
{
    int first = (int)sim_pick(sim, 0, sim->slots - 1);
    for (int i = 0; i < sim->slots; i++) {
        sim_instance *instance = sim->slot[(first + i) % sim->slots].at;
        if (instance && instance->alive && sim_host_is_busy(instance))
            return instance;
    }
    return pick_instance(sim);
}

static int
come(cluster *sim)
{
    int number = 0; /* the same one whoever is left out of a replay */
    for (size_t i = 0; i < sim->plan_at; i++)
        number += sim->plan[i].kind == SIM_KIND_CLIENT;
    if (sim_odds(sim, 2))
        sim_client_attach(sim, number, "01900000-0000-7000-8000-000000000000"); /* which never was */
    else if (sim->run_count && sim_odds(sim, 40))
        sim_client_attach(sim, number, sim->runs[sim_pick(sim, 0, (int64_t)sim->run_count - 1)].id);
    else
        sim_client_start(sim, number);
    return 1;
}

/* Links. */

static int
cut_link(cluster *sim, sim_link *link, int how)
{
    return sim_link_cut(link, how);
}

/* Late against all other links, so that what is sent on two of them comes in another order. */
static int
delay_link(cluster *sim, sim_link *link, int how)
{
    return sim_link_delay(link, sim_pick(sim, 200, 9000));
}

static int
refuse_dials(cluster *sim)
{
    int64_t ms = sim_pick(sim, 500, 15000);
    sim->refusal = sim_odds(sim, 60) ? 1 : 2;
    sim_note(sim, "dials %s for %lld ms", sim->refusal == 1 ? "are refused" : "vanish", (long long)ms);
    swamp__timer_set(&sim->outside->timers, &sim->refusal_timer, sim->world->now_ms + ms);
    sim->dials_struck = 0;
    return 0; /* counted at the first dial */
}

static void
end_refusal(swamp__timer *timer)
{
    SWAMP__OF(timer, struct cluster, refusal_timer)->refusal = 0;
}

/* Instances. */

static int
kill_it(cluster *sim, sim_instance *instance, int how)
{
    sim_instance_kill(instance, -1);
    return 1;
}

static int
kill_at_a_store_call(cluster *sim, sim_instance *instance, int how)
{
    instance->calls_to_live = (int)sim_pick(sim, 1, 12);
    return 0; /* counted when it is killed */
}

static int
restart_it(cluster *sim, sim_instance *instance, int how)
{
    sim_instance_kill(instance, sim_pick(sim, 10, 400));
    return 1;
}

static int
pause_it(cluster *sim, sim_instance *instance, int how)
{
    sim_instance_pause(instance, sim_odds(sim, 50) ? sim_pick(sim, 500, 10000) : sim_pick(sim, 10000, 90000));
    return 1;
}

/* Who watches a silent one is itself held up, for less than its TTL: the time it slept is no silence. */
static int
stall_observer(cluster *sim)
{
    sim_instance *silent = pick_idle(sim), *observer = pick_idle(sim);
    if (silent)
        sim_instance_pause(silent, sim_pick(sim, 15000, 45000));
    if (observer && observer != silent)
        sim_instance_pause(observer, sim_pick(sim, 4000, 28000));
    return silent && observer && observer != silent;
}

/* The death that a directed fault waits for. */
static int
let_it_die(cluster *sim, sim_instance *instance, int how)
{
    if (sim_instance_is_idle(instance) && sim_odds(sim, 30))
        sim_instance_pause(instance, sim_pick(sim, 50000, 90000));
    else
        sim_instance_kill(instance, -1);
    return 1;
}

static int
drain(cluster *sim, sim_instance *instance, int longest_ms)
{
    int64_t timeout_ms = sim_odds(sim, 30) ? 0 : sim_pick(sim, 0, longest_ms);
    sim_note(sim, "%s: stop, %lld ms for its runs", instance->name, (long long)timeout_ms);
    instance->disturbed = 1;
    int was_running = instance->core->phase == SWAMP__PHASE_RUNNING;
    swamp__instance_stop(instance->core, timeout_ms);
    return was_running;
}

static int
ask_for_much(cluster *sim, sim_instance *instance, int how)
{
    int64_t ms = sim_pick(sim, 5000, 90000);
    sim_note(sim, "%s: somebody asks for much, and does not read for %lld ms", instance->name, (long long)ms);
    return sim_greedy_come(instance, ms);
}

/* Stores. */

static int
fault_its_store(cluster *sim, sim_instance *instance, int way)
{
    sim_instance_store_fault(instance, way,
                             sim_odds(sim, 70) ? sim_pick(sim, 1000, 40000) : sim_pick(sim, 40000, 120000));
    return 1;
}

/* For everybody at once, and often for longer than a TTL: nobody may be declared dead for it. */
static int
fault_every_store(cluster *sim)
{
    if (sim->outage)
        return 0;
    int64_t ms = sim_odds(sim, 50) ? sim_pick(sim, 1000, 20000) : sim_pick(sim, 20000, 90000);
    sim->outage = (int)sim_pick(sim, FAKE_ERROR, FAKE_WRITE_LOST);
    sim_note(sim, "the store is down for everybody for %lld ms", (long long)ms);
    swamp__timer_set(&sim->outside->timers, &sim->outage_timer, sim->world->now_ms + ms);
    return 1;
}

static void
end_outage(swamp__timer *timer)
{
    cluster *sim = SWAMP__OF(timer, struct cluster, outage_timer);
    sim_note(sim, "the store is back for everybody");
    sim->outage = 0;
}

/* Clocks. Wall clocks are never compared (PROTOCOL 5): hours to and fro change nothing. */

static int
turn_every_wall_clock(cluster *sim)
{
    sim->world->unix_offset_ms += sim_pick(sim, -7200000, 7200000);
    return 1;
}

static int
turn_its_wall_clock(cluster *sim, sim_instance *instance, int how)
{
    instance->node->unix_offset_ms += sim_pick(sim, -21600000, 21600000);
    sim_note(sim, "%s: its wall clock is %lld ms off", instance->name,
             (long long)instance->node->unix_offset_ms);
    return 1;
}

/* Its monotonic clock, by which it measures the silence of others, goes wrong by up to a tenth. */
static int
let_its_clock_drift(cluster *sim, sim_instance *instance, int how)
{
    int64_t rate = sim_pick(sim, 900, 1100);
    sim_note(sim, "%s: its clock goes at %lld per mille", instance->name, (long long)rate);
    fake_node_set_rate(instance->node, rate);
    return 1;
}

/* Clients. */

static sim_client *
pick_client(cluster *sim)
{
    return sim->client_count ? sim->clients[sim_pick(sim, 0, (int64_t)sim->client_count - 1)] : NULL;
}

static int
stop_reading(cluster *sim, sim_client *client)
{
    return sim_client_stop_reading(client, sim_pick(sim, 5000, 120000));
}

static int
restart_client(cluster *sim, sim_client *client)
{
    return sim_client_restart(client);
}

static int
cancel_its_run(cluster *sim, sim_client *client)
{
    return sim_client_cancel(client);
}

/* In which order, decides what a seed plays. Of the first ones some happen by themselves. */
const sim_kind sim_kinds[] = {
    [SIM_KIND_CLIENT] = {"client_comes", 0, 0, .to_all = come},
    [SIM_KIND_DEATH] = {"death_to_be_aimed_at", 0, 0, .pick = pick_busy, .to_instance = let_it_die},
    [SIM_KIND_STOP] = {"stop_to_be_aimed_at", 0, 0, .pick = pick_busy, .to_instance = drain, .how = 8000},
    [SIM_KIND_GREEDY] = {"peer_asks_for_much_unread", 0, 0, .pick = pick_instance,
                         .to_instance = ask_for_much},
    [SIM_KIND_WRONG_CLOCK] = {.name = "clock_wrong_from_the_start"},
    [SIM_KIND_DRIFTING_CLOCK] = {.name = "clock_drifts_from_the_start"},
    {"link_reset", 22, 45, .to_link = cut_link, .how = SIM_CUT_RESET},
    {"link_black_hole", 5, 10, .to_link = cut_link, .how = SIM_CUT_BOTH},
    {"link_half_open_up", 5, 10, .to_link = cut_link, .how = SIM_CUT_UP},
    {"link_half_open_down", 5, 10, .to_link = cut_link, .how = SIM_CUT_DOWN},
    [SIM_KIND_TEAR] = {"link_cut_in_mid_frame", 8, 15, .to_link = cut_link, .how = SIM_CUT_TORN},
    {"link_delayed_and_reordered", 6, 10, .to_link = delay_link},
    [SIM_KIND_REFUSAL] = {"dials_refused", 4, 0, .to_all = refuse_dials},
    {"instance_killed", 7, 0, .pick = pick_instance, .to_instance = kill_it},
    [SIM_KIND_STORE_KILL] = {"instance_killed_at_a_store_call", 7, 0, .pick = pick_instance,
                             .to_instance = kill_at_a_store_call},
    {"instance_restarted", 4, 0, .pick = pick_instance, .to_instance = restart_it},
    {"instance_paused_and_resumed", 9, 0, .pick = pick_idle, .to_instance = pause_it},
    {"observer_stalled", 4, 0, .to_all = stall_observer},
    {"instance_drained", 6, 0, .pick = pick_instance, .to_instance = drain, .how = 30000},
    {"store_error", 3, 0, .pick = pick_idle, .to_instance = fault_its_store, .how = SIM_STORE_DOWN},
    {"store_error_at_times", 3, 0, .pick = pick_idle, .to_instance = fault_its_store, .how = SIM_STORE_FAILS},
    {"store_answers_late", 3, 0, .pick = pick_idle, .to_instance = fault_its_store, .how = SIM_STORE_SLOW},
    {"store_unavailable_for_long", 3, 0, .pick = pick_idle, .to_instance = fault_its_store,
     .how = SIM_STORE_HANGS},
    {"store_writes_late", 3, 0, .pick = pick_idle, .to_instance = fault_its_store, .how = SIM_STORE_LATE},
    {"store_answer_lost_after_write", 3, 0, .pick = pick_idle, .to_instance = fault_its_store,
     .how = SIM_STORE_LOSES},
    {"store_of_all_unavailable", 4, 0, .to_all = fault_every_store},
    {"clock_of_all_wrong_by_hours", 2, 2, .to_all = turn_every_wall_clock},
    {"clock_steps_by_hours", 3, 3, .pick = pick_instance, .to_instance = turn_its_wall_clock},
    {"clock_drifts", 3, 3, .pick = pick_instance, .to_instance = let_its_clock_drift},
    {"viewer_stops_reading", 4, 0, .to_client = stop_reading},
    {"client_restarted", 10, 15, .to_client = restart_client},
    {"run_cancelled", 5, 5, .to_client = cancel_its_run},
};
const size_t sim_kind_count = sizeof sim_kinds / sizeof sim_kinds[0];

int
sim_kind_happen(cluster *sim, const sim_kind *kind)
{
    sim_link *link = kind->to_link ? sim_link_random(sim) : NULL;
    sim_client *client = kind->to_client ? pick_client(sim) : NULL;
    sim_instance *instance = kind->to_instance ? kind->pick(sim) : NULL;
    if (kind->to_all)
        return kind->to_all(sim);
    if (link)
        return kind->to_link(sim, link, kind->how);
    if (client)
        return kind->to_client(sim, client);
    return instance && kind->to_instance(sim, instance, kind->how);
}

static void
nothing_yet(swamp__timer *timer)
{
    (void)timer;
}

int
sim_faults_init(cluster *sim)
{
    swamp__timers *timers = &sim->outside->timers;
    int rc = swamp__timer_init(timers, &sim->plan_timer, nothing_yet);
    if (rc == SWAMP_OK)
        rc = swamp__timer_init(timers, &sim->outage_timer, end_outage);
    return rc == SWAMP_OK ? swamp__timer_init(timers, &sim->refusal_timer, end_refusal) : rc;
}

void
sim_faults_end(cluster *sim)
{
    sim->outage = sim->refusal = 0;
    swamp__timer_unset(&sim->outside->timers, &sim->outage_timer);
    swamp__timer_unset(&sim->outside->timers, &sim->refusal_timer);
    for (sim_instance *instance = sim->instances; instance; instance = instance->next)
        sim_instance_heal(instance);
}

void
sim_faults_destroy(cluster *sim)
{
    swamp__timer_destroy(&sim->outside->timers, &sim->plan_timer);
    swamp__timer_destroy(&sim->outside->timers, &sim->outage_timer);
    swamp__timer_destroy(&sim->outside->timers, &sim->refusal_timer);
}
