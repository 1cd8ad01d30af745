/* One incarnation of an instance: put up, killed, paused, cut off from its store, healed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/keys.h"
#include "../../libswamp/util/id.h"
#include "sim.h"

/* Less than the two time-outs of a question: who found its keys absent looks again after those. */
#define LATE_MAX_MS 9000
#define LISTEN_ANYWAY_MS 5000

static int64_t
pick(const sim_instance *instance, int64_t low, int64_t high)
{
    uint64_t random = fake_node_random(instance->node);
    return high > low ? low + (int64_t)(random % (uint64_t)(high - low + 1)) : low;
}

/* As `swamp serve` or who watches over it does: a new one on the same port. */
static void
leave_place(sim_instance *instance, int64_t back_ms)
{
    sim_slot *slot = &instance->of->slot[instance->slot];
    if (slot->at != instance)
        return;
    slot->at = NULL;
    swamp__timer_set(&instance->of->outside->timers, &slot->timer, instance->of->world->now_ms + back_ms);
}

static void
is_ready(void *user)
{
    sim_instance *instance = user;
    sim_note(instance->of, "%s: ready", instance->name);
    instance->alive = 1;
}

static void
listen_anyway(swamp__timer *timer)
{
    sim_instance *instance = SWAMP__OF(timer, sim_instance, listen_timer);
    if (!instance->ended)
        instance->alive = 1;
}

static void
has_ended(void *user, int status)
{
    sim_instance *instance = user;
    cluster *sim = instance->of;
    sim_note(sim, "%s: ended: %s", instance->name, swamp_status_name(status));
    if (status == SWAMP_E_FENCED && !instance->disturbed)
        sim_fail(sim, "live: %s was declared dead though it beat all the time", instance->name);
    instance->alive = 0;
    instance->ended = 1;
    leave_place(instance, pick(instance, 100, 3000));
}

static void
end_disturbance(swamp__timer *timer)
{
    sim_instance_heal(SWAMP__OF(timer, sim_instance, pause_timer));
}

/* PROTOCOL 5: every write stands or falls with the own heartbeat; a beat's condition is on the record itself. */
static void
check_fencing(const sim_instance *instance, const fake_call *call)
{
    swamp__key own = swamp__key_heartbeat(instance->id);
    for (size_t i = 0; i < call->count; i++)
        if (strcmp(call->ops[i].key, own.text) == 0 && call->ops[i].condition != SWAMP_STORE_ANY)
            return;
    sim_fail(instance->of, "fenced: %s: a write of %s that nobody can fence", instance->name,
             call->ops[0].key);
}

/* Between two calls of one question is where a kill hurts most: the second is never made. */
static int
watch_store(void *user, const fake_call *call)
{
    sim_instance *instance = user;
    cluster *sim = instance->of;
    sim->writer = instance;
    if (call->what == FAKE_COMMIT)
        check_fencing(instance, call);
    if (instance->calls_to_live > 0 && --instance->calls_to_live == 0 && !instance->dead &&
        !instance->ended) {
        sim->happened[SIM_KIND_STORE_KILL]++;
        sim_instance_kill(instance, -1);
    }
    if (instance->dead)
        return FAKE_ERROR;
    int fault = sim_step_at_store(instance, call);
    if (fault != FAKE_FINE)
        return fault;
    if (sim->outage)
        return sim->outage;
    if (call->what == FAKE_COMMIT && instance->late_per_mille &&
        pick(instance, 0, 999) < instance->late_per_mille) {
        sim_late_commit(sim, call, pick(instance, 1, LATE_MAX_MS));
        return FAKE_WRITE_LOST; /* for now */
    }
    return FAKE_FINE;
}

static fake_asker *
make_asker(sim_instance *instance)
{
    fake_asker *asker = fake_asker_new(instance->node, instance->of->store, 5000);
    asker->ask_high_ms = pick(instance, 0, 20);
    asker->answer_high_ms = pick(instance, 0, 20);
    asker->watch = watch_store;
    asker->watch_user = instance;
    return asker;
}

static void
collect(void *user)
{
    swamp__instance_collect(((sim_instance *)user)->core);
}

static void
wake(void *user)
{
    fake_node_wake(((sim_instance *)user)->node);
}

static swamp__instance_options
make_options(sim_instance *instance, char address[40])
{
    swamp__instance_options options = {.hostname = instance->name,
                                       .address = address,
                                       .version = "0",
                                       .git_sha = "0",
                                       .pid = 1,
                                       .heartbeat_interval_ms = 10000,
                                       .stale_ttl_ms = 30000,
                                       .reconciliation_interval_ms = 30000,
                                       .drain_grace_ms = 5000,
                                       .linger_ms = instance->of->linger_ms,
                                       .idle_timeout_ms = 30000,
                                       .stall_timeout_ms = 60000,
                                       .max_runs = 100,
                                       .max_connections = instance->of->max_connections,
                                       .max_requests = 100,
                                       .run_log_bytes = 16u * 1024 * 1024,
                                       .run_log_events = instance->of->log_events,
                                       .all_logs_bytes = instance->of->all_logs_bytes};
    snprintf(address, 40, "ws://10.0.0.%d:9090", instance->slot);
    swamp__id_v4(options.instance_id, fake_node_random(instance->node), fake_node_random(instance->node));
    return options;
}

static void
make_core(sim_instance *instance)
{
    static const swamp__instance_events no_events;
    char address[40];
    swamp__instance_options options = make_options(instance, address);
    snprintf(instance->id, sizeof instance->id, "%s", options.instance_id);
    swamp__instance_events events = no_events;
    events.ready = is_ready;
    events.ended = has_ended;
    events.wake = wake;
    events.user = instance;
    if (swamp__instance_new(&instance->core, &options, &instance->node->world, &instance->questions->asker,
                            &instance->beats->asker, &instance->desk, &events) != SWAMP_OK)
        abort();
}

/* Of some machines the clock was never right. */
static void
set_clock(sim_instance *instance)
{
    unsigned *happened = instance->of->happened;
    if (pick(instance, 0, 9) == 0) {
        instance->node->unix_offset_ms = pick(instance, -21600000, 21600000);
        happened[SIM_KIND_WRONG_CLOCK]++;
    }
    if (pick(instance, 0, 9) == 0) {
        fake_node_set_rate(instance->node, pick(instance, 900, 1100));
        happened[SIM_KIND_DRIFTING_CLOCK]++;
    }
}

sim_instance *
sim_instance_new(cluster *sim, int slot)
{
    sim_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        abort();
    unsigned number = sim->slot[slot].incarnations++;
    instance->of = sim;
    instance->slot = slot;
    instance->began_ms = sim->world->now_ms;
    snprintf(instance->name, sizeof instance->name, "I%d.%u", slot, number);
    sim_host_init(instance);
    instance->node = fake_node_new(sim->world);
    instance->node->random_state = sim_dice(sim, SIM_DICE_NODE, (uint64_t)slot << 16 | number);
    instance->node->collect = collect;
    instance->node->collect_user = instance;
    set_clock(instance);
    instance->questions = make_asker(instance);
    instance->beats = make_asker(instance);
    make_core(instance);
    if (swamp__timer_init(&sim->outside->timers, &instance->pause_timer, end_disturbance) != SWAMP_OK)
        abort();
    if (swamp__timer_init(&instance->node->timers, &instance->listen_timer, listen_anyway) != SWAMP_OK)
        abort();
    swamp__timer_set(&instance->node->timers, &instance->listen_timer,
                     fake_node_now(instance->node) + LISTEN_ANYWAY_MS);
    instance->next = sim->instances;
    sim->instances = instance;
    sim->slot[slot].at = instance;
    sim_note(sim, "%s: begins as %s", instance->name, instance->id);
    swamp__instance_start(instance->core);
    return instance;
}

sim_instance *
sim_instance_find(cluster *sim, const char *id)
{
    sim_instance *instance = sim->instances;
    while (instance && strcmp(instance->id, id) != 0)
        instance = instance->next;
    return instance;
}

/* Its memory is as good as gone: the node never turns again, and no question goes on. */
void
sim_instance_kill(sim_instance *instance, int64_t back_ms)
{
    cluster *sim = instance->of;
    sim_note(sim, "%s: killed", instance->name);
    instance->disturbed = 1;
    instance->dead = 1;
    instance->alive = 0;
    instance->node->paused = 1;
    swamp__timer_unset(&sim->outside->timers, &instance->pause_timer);
    sim_links_of_dead(instance);
    leave_place(instance, back_ms >= 0 ? back_ms : pick(instance, 500, 20000));
}

void
sim_instance_pause(sim_instance *instance, int64_t ms)
{
    sim_note(instance->of, "%s: paused for %lld ms", instance->name, (long long)ms);
    instance->disturbed = 1;
    instance->node->paused = 1;
    swamp__timer_set(&instance->of->outside->timers, &instance->pause_timer,
                     instance->of->world->now_ms + ms);
}

int
sim_instance_is_idle(const sim_instance *instance)
{
    return !swamp__timer_is_set(&instance->pause_timer);
}

static void
set_pace(fake_asker *questions, fake_asker *beats, int64_t ask_ms, int64_t answer_ms)
{
    questions->ask_high_ms = beats->ask_high_ms = ask_ms;
    questions->answer_high_ms = beats->answer_high_ms = answer_ms;
}

void
sim_instance_store_fault(sim_instance *instance, int way, int64_t ms)
{
    static const char *const ways[] = {"is down", "fails now and then", "is slow",
                                       "hangs",   "writes late",        "loses answers"};
    cluster *sim = instance->of;
    fake_asker *questions = instance->questions, *beats = instance->beats;
    sim_note(sim, "%s: its store %s for %lld ms", instance->name, ways[way], (long long)ms);
    instance->disturbed = 1;
    switch (way) {
    case SIM_STORE_DOWN:
        questions->down = beats->down = (int)pick(instance, FAKE_ERROR, FAKE_TIMEOUT);
        break;
    case SIM_STORE_FAILS:
        questions->fault_per_mille = beats->fault_per_mille = (unsigned)pick(instance, 50, 400);
        break;
    case SIM_STORE_SLOW:
        set_pace(questions, beats, pick(instance, 1000, 8000), pick(instance, 1000, 8000));
        break;
    case SIM_STORE_HANGS: /* for its store thread; the heartbeat has a connection of its own */
        questions->ask_low_ms = questions->ask_high_ms = pick(instance, 10000, 120000);
        break;
    case SIM_STORE_LATE:
        instance->late_per_mille = (unsigned)pick(instance, 50, 400);
        break;
    default:
        questions->down = beats->down = (int)pick(instance, FAKE_ANSWER_LOST, FAKE_WRITE_LOST);
    }
    instance->faulty = 1;
    swamp__timer_set(&sim->outside->timers, &instance->pause_timer, sim->world->now_ms + ms);
}

void
sim_instance_heal(sim_instance *instance)
{
    if (instance->dead)
        return;
    if (instance->node->paused || instance->faulty)
        sim_note(instance->of, "%s: healed", instance->name);
    swamp__timer_unset(&instance->of->outside->timers, &instance->pause_timer);
    instance->calls_to_live = 0;
    instance->node->paused = 0;
    instance->questions->down = instance->beats->down = 0;
    instance->questions->fault_per_mille = instance->beats->fault_per_mille = 0;
    instance->late_per_mille = 0;
    instance->questions->ask_low_ms = 0;
    if (instance->faulty)
        set_pace(instance->questions, instance->beats, 20, 20);
    instance->faulty = 0;
}

void
sim_instance_close(sim_instance *instance)
{
    instance->node->paused = 0;
    fake_asker_close(instance->questions);
    fake_asker_close(instance->beats);
    sim_host_close(instance);
}

void
sim_instance_free(sim_instance *instance)
{
    swamp__timer_destroy(&instance->node->timers, &instance->listen_timer);
    swamp__timer_destroy(&instance->of->outside->timers, &instance->pause_timer);
    swamp__instance_free(instance->core);
    free(instance);
}
