/* One incarnation of an instance and its host: resolves, runs, cancels; killed, paused, cut off from its store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/keys.h"
#include "../../libswamp/util/id.h"
#include "../../libswamp/wire/json.h"
#include "sim.h"

/* A piece of work on the host's desk. */
typedef struct sim_work {
    swamp__link link;
    sim_instance *of;
    swamp_work *work;
    swamp__timer timer;
} sim_work;

/* A run that the host executes. */
typedef struct sim_job {
    swamp__link link;
    sim_instance *of;
    swamp_run *run;
    char id[64];
    uint64_t left;
    int status;
    int64_t pace_ms;
    swamp__timer timer;
} sim_job;

static void
end_job(sim_job *job, int status)
{
    cluster *sim = job->of->of;
    char last[300];
    sim_run *truth = sim_run_find(sim, job->id);
    int len = snprintf(last, sizeof last, "{\"kind\":\"%s\",\"n\":%llu,\"of\":\"%s\",\"run\":null}",
                       status == SWAMP_RUN_CANCELLED ? "cancelled" : "completed",
                       (unsigned long long)truth->emitted + 1, job->id);
    truth->host_finished = 1;
    truth->host_status = status;
    truth->finish_rc = swamp__run_finish(job->run, status, last, (size_t)len, NULL, 0);
    sim_note(sim, "%s: host finishes %.13s with %d: %s", job->of->name, job->id, status,
             swamp_status_name(truth->finish_rc));
    swamp__link_remove(&job->link);
    swamp__timer_destroy(&job->of->node->timers, &job->timer);
    free(job);
}

static void
work_on_job(swamp__timer *timer)
{
    sim_job *job = SWAMP__OF(timer, sim_job, timer);
    cluster *sim = job->of->of;
    char event[300];
    sim_run *truth = sim_run_find(sim, job->id);
    if (job->left == 0) {
        end_job(job, job->status);
        return;
    }
    int len = snprintf(event, sizeof event, "{\"kind\":\"method_output\",\"n\":%llu,\"of\":\"%s\"}",
                       (unsigned long long)truth->emitted + 1, job->id);
    int rc = swamp__run_emit(job->run, event, (size_t)len);
    if (rc != SWAMP_OK) {
        sim_note(sim, "%s: emit to %.13s: %s", job->of->name, job->id, swamp_status_name(rc));
        end_job(job, SWAMP_RUN_FAILED);
        return;
    }
    truth->emitted++;
    job->left--;
    if (sim_odds(sim, 30)) {
        len = snprintf(event, sizeof event,
                       "{\"jobs\":[{\"name\":\"all\",\"status\":\"running\",\"steps\":[]}],\"n\":%llu}",
                       (unsigned long long)truth->emitted);
        (void)swamp__run_update(job->run, event, (size_t)len);
    }
    swamp__timer_set(&job->of->node->timers, timer, sim->world->now_ms + sim_pick(sim, 0, job->pace_ms));
}

/* One request is at most one run: `unavailable` in answer to a start promises that it never starts (PROTOCOL 3). */
static void
check_start(cluster *sim, const swamp_work *work)
{
    swamp__json payload;
    int64_t client = -1;
    if (swamp__json_check(work->payload, work->payload_len, SWAMP__JSON_STRICT, &payload) != SWAMP_OK ||
        swamp__json_member_i64(payload, "client", &client) != SWAMP_OK || client < 0 ||
        client >= SIM_CLIENTS_MAX)
        sim_fail(sim, "a host got a payload that no client sent");
    else if (++sim->starts[client] > 1)
        sim_fail(sim, "the request of C%lld was started twice", (long long)client);
}

static void
begin_job(sim_instance *instance, const swamp_work *work)
{
    cluster *sim = instance->of;
    check_start(sim, work);
    sim_job *job = calloc(1, sizeof *job);
    job->of = instance;
    job->run = work->run; /* the host's reference: from START until finish */
    snprintf(job->id, sizeof job->id, "%s", work->run_id);
    job->left = (uint64_t)sim_pick(sim, 0, 60);
    job->pace_ms = sim_odds(sim, 20) ? sim_pick(sim, 5000, 20000) : sim_pick(sim, 10, 2000);
    job->status = sim_odds(sim, 75) ? SWAMP_RUN_SUCCEEDED : SWAMP_RUN_FAILED;
    if (swamp__timer_init(&instance->node->timers, &job->timer, work_on_job) != SWAMP_OK)
        abort();
    swamp__list_push(&instance->jobs, &job->link);
    sim_run *truth = sim_run_add(sim, job->id);
    truth->owner = instance;
    swamp__timer_set(&instance->node->timers, &job->timer, sim->world->now_ms + sim_pick(sim, 0, 500));
    sim_note(sim, "%s: host starts %.13s: %llu events", instance->name, job->id,
             (unsigned long long)job->left);
}

static void
cancel_job(sim_instance *instance, const char *run_id)
{
    for (swamp__link *link = swamp__list_first(&instance->jobs); link;
         link = swamp__list_next(&instance->jobs, link)) {
        sim_job *job = SWAMP__OF(link, sim_job, link);
        if (strcmp(job->id, run_id) != 0)
            continue;
        job->left = 0;
        job->status = SWAMP_RUN_CANCELLED;
        swamp__timer_set(&instance->node->timers, &job->timer,
                         instance->of->world->now_ms + sim_pick(instance->of, 0, 1000));
    }
}

static void
do_work(swamp__timer *timer)
{
    static const char resolved[] = "{\"resourceName\":\"deploy\",\"workflowId\":\"w1\"}";
    sim_work *item = SWAMP__OF(timer, sim_work, timer);
    sim_instance *instance = item->of;
    swamp_work *work = item->work;
    swamp__link_remove(&item->link);
    swamp__timer_destroy(&instance->node->timers, &item->timer);
    free(item);
    if (work->kind == SWAMP_WORK_START)
        begin_job(instance, work);
    else if (work->kind == SWAMP_WORK_CANCEL)
        cancel_job(instance, work->run_id);
    (void)swamp__work_answer(work, SWAMP_OK, work->kind == SWAMP_WORK_RESOLVE ? resolved : NULL,
                             work->kind == SWAMP_WORK_RESOLVE ? sizeof resolved - 1 : 0);
}

static void
hand_out(void *self, swamp_work *work)
{
    sim_instance *instance = self;
    sim_work *item = calloc(1, sizeof *item);
    item->of = instance;
    item->work = work;
    if (swamp__timer_init(&instance->node->timers, &item->timer, do_work) != SWAMP_OK)
        abort();
    swamp__list_push(&instance->works, &item->link);
    swamp__timer_set(&instance->node->timers, &item->timer,
                     instance->of->world->now_ms + sim_pick(instance->of, 0, 100));
}

/* do_work runs on the core's thread, outside of the core: the answer can be taken at once. */
static void
give_back(void *self, swamp_work *work)
{
    (void)self;
    swamp__work_finish(work);
}

static void
is_ready(void *user)
{
    sim_instance *instance = user;
    sim_note(instance->of, "%s: ready", instance->name);
    instance->alive = 1;
}

static void
has_ended(void *user, int status)
{
    sim_instance *instance = user;
    cluster *sim = instance->of;
    sim_note(sim, "%s: ended: %s", instance->name, swamp_status_name(status));
    if (status == SWAMP_E_FENCED && !instance->disturbed)
        sim_fail(sim, "%s: declared dead though it beat all the time", instance->name);
    instance->alive = 0;
    instance->ended = 1;
    if (sim->at[instance->slot] == instance) {
        /* As `swamp serve` does: a new handle on the same port. */
        sim->at[instance->slot] = NULL;
        swamp__timer_set(&sim->outside->timers, &sim->slot_timers[instance->slot],
                         sim->world->now_ms + sim_pick(sim, 100, 3000));
    }
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
    sim_fail(instance->of, "%s: a write of %s that nobody can fence", instance->name, call->ops[0].key);
}

/* Between two calls of one question is where a kill hurts most: the second is never made. */
static int
watch_store(void *user, const fake_call *call)
{
    sim_instance *instance = user;
    if (call->what == FAKE_COMMIT) {
        check_fencing(instance, call);
        sim_check_finals(instance->of);
    }
    if (instance->calls_to_live > 0 && --instance->calls_to_live == 0 && !instance->dead && !instance->ended)
        sim_instance_kill(instance);
    if (instance->dead)
        return FAKE_ERROR;
    if (instance->of->outage)
        return instance->of->outage;
    if (call->what == FAKE_COMMIT && instance->late_per_mille &&
        sim_pick(instance->of, 0, 999) < instance->late_per_mille) {
        sim_late_commit(instance->of, call);
        return FAKE_WRITE_LOST; /* for now */
    }
    return FAKE_FINE;
}

static fake_asker *
make_asker(sim_instance *instance)
{
    fake_asker *asker = fake_asker_new(instance->node, instance->of->store, 5000);
    asker->ask_high_ms = sim_pick(instance->of, 0, 20);
    asker->answer_high_ms = sim_pick(instance->of, 0, 20);
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
                                       .linger_ms = 60000,
                                       .idle_timeout_ms = 30000,
                                       .stall_timeout_ms = 60000,
                                       .max_runs = 100,
                                       .max_connections = 1000,
                                       .max_requests = 100,
                                       .run_log_bytes = 16u * 1024 * 1024,
                                       .run_log_events = instance->of->log_events,
                                       .all_logs_bytes = 1024u * 1024 * 1024};
    snprintf(address, 40, "ws://10.0.0.%d:9090", instance->slot);
    swamp__id_v4(options.instance_id, fake_world_random(instance->of->world),
                 fake_world_random(instance->of->world));
    return options;
}

sim_instance *
sim_instance_new(cluster *sim, int slot)
{
    static const swamp__instance_events no_events;
    sim_instance *instance = calloc(1, sizeof *instance);
    char address[40];
    unsigned count = 0;
    for (sim_instance *other = sim->instances; other; other = other->next)
        count++;
    instance->of = sim;
    instance->slot = slot;
    snprintf(instance->name, sizeof instance->name, "I%u@%d", count, slot);
    swamp__list_init(&instance->works);
    swamp__list_init(&instance->jobs);
    instance->node = fake_node_new(sim->world);
    instance->node->collect = collect;
    instance->node->collect_user = instance;
    instance->questions = make_asker(instance);
    instance->beats = make_asker(instance);
    instance->desk = (swamp__work_desk){hand_out, give_back, instance};
    swamp__instance_options options = make_options(instance, address);
    snprintf(instance->id, sizeof instance->id, "%s", options.instance_id);
    swamp__instance_events events = no_events;
    events.ready = is_ready;
    events.ended = has_ended;
    events.wake = wake;
    events.user = instance;
    if (swamp__instance_new(&instance->core, &options, &instance->node->world, &instance->questions->asker,
                            &instance->beats->asker, &instance->desk, &events) != SWAMP_OK ||
        swamp__timer_init(&sim->outside->timers, &instance->pause_timer, end_disturbance) != SWAMP_OK)
        abort();
    instance->next = sim->instances;
    sim->instances = instance;
    sim->at[slot] = instance;
    sim_note(sim, "%s: begins as %s", instance->name, options.instance_id);
    swamp__instance_start(instance->core);
    return instance;
}

/* Its memory is as good as gone: the node never turns again, and no question goes on. */
void
sim_instance_kill(sim_instance *instance)
{
    cluster *sim = instance->of;
    sim_note(sim, "%s: killed", instance->name);
    instance->disturbed = 1;
    instance->dead = 1;
    instance->alive = 0;
    instance->node->paused = 1;
    swamp__timer_unset(&sim->outside->timers, &instance->pause_timer);
    sim_links_of_dead(instance);
    sim->at[instance->slot] = NULL;
    swamp__timer_set(&sim->outside->timers, &sim->slot_timers[instance->slot],
                     sim->world->now_ms + sim_pick(sim, 500, 20000));
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

static void
set_pace(fake_asker *questions, fake_asker *beats, int64_t ask_ms, int64_t answer_ms)
{
    questions->ask_high_ms = beats->ask_high_ms = ask_ms;
    questions->answer_high_ms = beats->answer_high_ms = answer_ms;
}

void
sim_instance_store_fault(sim_instance *instance, int64_t ms)
{
    cluster *sim = instance->of;
    static const char *const ways[] = {"is down", "fails now and then", "is slow", "hangs", "writes late"};
    int way = (int)sim_pick(sim, 0, 4);
    sim_note(sim, "%s: its store %s for %lld ms", instance->name, ways[way], (long long)ms);
    instance->disturbed = 1;
    if (way == 0)
        instance->questions->down = instance->beats->down = (int)sim_pick(sim, FAKE_ERROR, FAKE_WRITE_LOST);
    else if (way == 1)
        instance->questions->fault_per_mille = instance->beats->fault_per_mille =
            (unsigned)sim_pick(sim, 50, 400);
    else if (way == 2)
        set_pace(instance->questions, instance->beats, sim_pick(sim, 1000, 8000), sim_pick(sim, 1000, 8000));
    else if (way == 3) /* for its store thread; the heartbeat has a connection of its own */
        instance->questions->ask_low_ms = instance->questions->ask_high_ms = sim_pick(sim, 10000, 120000);
    else
        instance->late_per_mille = (unsigned)sim_pick(sim, 50, 400);
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
    swamp__link *link;
    while ((link = swamp__list_pop(&instance->jobs))) {
        sim_job *job = SWAMP__OF(link, sim_job, link);
        swamp__timer_destroy(&instance->node->timers, &job->timer);
        (void)swamp__run_finish(job->run, SWAMP_RUN_FAILED, NULL, 0, NULL, 0);
        free(job);
    }
    while ((link = swamp__list_pop(&instance->works))) {
        sim_work *item = SWAMP__OF(link, sim_work, link);
        swamp__timer_destroy(&instance->node->timers, &item->timer);
        /* A START that nobody took on: answered with a failure, as the contract says. */
        (void)swamp__work_answer(item->work, SWAMP_E_REFUSED, NULL, 0);
        free(item);
    }
}

void
sim_instance_free(sim_instance *instance)
{
    swamp__timer_destroy(&instance->of->outside->timers, &instance->pause_timer);
    swamp__instance_free(instance->core);
    free(instance);
}
