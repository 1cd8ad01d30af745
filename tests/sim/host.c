/* The host of an instance: resolves names, runs what is started, ends what is cancelled, as a program would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/json.h"
#include "sim.h"

#define STUBBORN_PERCENT 12 /* of the runs do not listen to a cancel */

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
    int status, stubborn;
    int64_t pace_ms;
    swamp__timer timer;
} sim_job;

/* From the dice of the instance, in the time of its clock. */
static int64_t
pick(const sim_instance *instance, int64_t low, int64_t high)
{
    uint64_t random = fake_node_random(instance->node);
    return high > low ? low + (int64_t)(random % (uint64_t)(high - low + 1)) : low;
}

static int
odds(const sim_instance *instance, int percent)
{
    return pick(instance, 0, 99) < percent;
}

static void
set_timer(sim_instance *instance, swamp__timer *timer, int64_t ms)
{
    swamp__timer_set(&instance->node->timers, timer, fake_node_now(instance->node) + ms);
}

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
    sim_instance *instance = job->of;
    swamp__link_remove(&job->link);
    swamp__timer_destroy(&instance->node->timers, &job->timer);
    free(job);
    sim_step(instance, SIM_STEP_FINISH);
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
    if (odds(job->of, 30)) {
        len = snprintf(event, sizeof event,
                       "{\"jobs\":[{\"name\":\"all\",\"status\":\"running\",\"steps\":[]}],\"n\":%llu}",
                       (unsigned long long)truth->emitted);
        (void)swamp__run_update(job->run, event, (size_t)len);
    }
    set_timer(job->of, timer, pick(job->of, 0, job->pace_ms));
    sim_step(job->of, truth->emitted == 1 ? SIM_STEP_FIRST_EVENT : SIM_STEP_ANY_EVENT);
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
        sim_fail(sim, "sim: a host got a payload that no client sent");
    else if (++sim->starts[client] > 1)
        sim_fail(sim, "unique: the request of C%lld was started twice", (long long)client);
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
    job->left = (uint64_t)pick(instance, 0, 60);
    job->pace_ms = odds(instance, 20) ? pick(instance, 5000, 20000) : pick(instance, 10, 2000);
    job->status = odds(instance, 75) ? SWAMP_RUN_SUCCEEDED : SWAMP_RUN_FAILED;
    job->stubborn =
        odds(instance, sim_aim_wants(sim, SIM_STEP_ENDING, SIM_STEP_ENDING) ? 80 : STUBBORN_PERCENT);
    if (sim_aim_wants(sim, SIM_STEP_GRACE, SIM_STEPS)) /* long enough to be there when the stop comes */
        job->left += 40;
    if (swamp__timer_init(&instance->node->timers, &job->timer, work_on_job) != SWAMP_OK)
        abort();
    swamp__list_push(&instance->jobs, &job->link);
    sim_run *truth = sim_run_add(sim, job->id);
    truth->owner = instance;
    set_timer(instance, &job->timer, pick(instance, 0, 500));
    sim_note(sim, "%s: host starts %.13s: %llu events", instance->name, job->id,
             (unsigned long long)job->left);
}

static void
cancel_job(sim_instance *instance, const char *run_id)
{
    for (swamp__link *link = swamp__list_first(&instance->jobs); link;
         link = swamp__list_next(&instance->jobs, link)) {
        sim_job *job = SWAMP__OF(link, sim_job, link);
        if (strcmp(job->id, run_id) != 0 || job->stubborn)
            continue;
        job->left = 0;
        job->status = SWAMP_RUN_CANCELLED;
        set_timer(instance, &job->timer, pick(instance, 0, 1000));
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
    set_timer(instance, &item->timer, pick(instance, 0, 100));
    if (work->kind == SWAMP_WORK_RESOLVE)
        sim_step(instance, SIM_STEP_START);
}

/* do_work runs on the core's thread, outside of the core: the answer can be taken at once. */
static void
give_back(void *self, swamp_work *work)
{
    (void)self;
    swamp__work_finish(work);
}

void
sim_host_init(sim_instance *instance)
{
    swamp__list_init(&instance->works);
    swamp__list_init(&instance->jobs);
    instance->desk = (swamp__work_desk){hand_out, give_back, instance};
}

int
sim_host_is_busy(const sim_instance *instance)
{
    return !swamp__list_empty(&instance->jobs);
}

void
sim_host_close(sim_instance *instance)
{
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
