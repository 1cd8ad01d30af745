/* Jobs and steps obey the same table:
 *
 *   state     when                                                     becomes
 *   waiting   all dependencies ended, every condition holds, cap free  running
 *   waiting   all dependencies ended, a condition does not hold        skipped
 *   waiting   plan_stop()                                              skipped
 *   running   step: plan_step_ended()                                  succeeded, failed
 *   running   job: all its steps ended                                 failed if a step failed that may not,
 * else succeeded
 */
#include <assert.h>
#include <stdlib.h>
#include "condition.h"
#include "plan.h"
#include "../memory.h"

typedef struct job_plan {
    int *steps;    /* states */
    size_t *order; /* steps by weight, then as in the file */
    size_t running;
    size_t ended;
    int failed; /* a step failed that may not */
} job_plan;

struct plan {
    const workflow *flow;
    job_plan *parts;
    int *jobs; /* states */
    size_t *order;
    size_t running;
    size_t ended;
};

#define READY_NO 0
#define READY_YES 1
#define READY_NEVER 2

/* Insertion sort: stable, and nearly every file gives no weights at all. */
static void
sort_by_weight(size_t *order, size_t count, int64_t (*weight_of)(const void *list, size_t index),
               const void *list)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = i;
        for (; k > 0 && weight_of(list, order[k - 1]) > weight_of(list, i); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static int64_t
weight_of_job(const void *list, size_t index)
{
    return ((const workflow_job *)list)[index].node.weight;
}

static int64_t
weight_of_step(const void *list, size_t index)
{
    return ((const workflow_step *)list)[index].node.weight;
}

plan *
plan_new(const workflow *flow)
{
    plan *made = memory_new(1, sizeof(*made));
    made->flow = flow;
    made->parts = memory_new(flow->job_count, sizeof(*made->parts));
    made->jobs = memory_new(flow->job_count, sizeof(*made->jobs));
    made->order = memory_new(flow->job_count, sizeof(*made->order));
    sort_by_weight(made->order, flow->job_count, weight_of_job, flow->jobs);
    for (size_t i = 0; i < flow->job_count; i++) {
        const workflow_job *job = &flow->jobs[i];
        job_plan *part = &made->parts[i];
        made->jobs[i] = PLAN_WAITING;
        part->steps = memory_new(job->step_count, sizeof(*part->steps));
        part->order = memory_new(job->step_count, sizeof(*part->order));
        sort_by_weight(part->order, job->step_count, weight_of_step, job->steps);
        for (size_t k = 0; k < job->step_count; k++)
            part->steps[k] = PLAN_WAITING;
    }
    return made;
}

void
plan_free(plan *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->flow->job_count; i++) {
        free(p->parts[i].steps);
        free(p->parts[i].order);
    }
    free(p->parts);
    free(p->jobs);
    free(p->order);
    free(p);
}

static int
readiness(const workflow_node *node, const int *states)
{
    int ready = READY_YES;
    for (size_t i = 0; i < node->need_count; i++) {
        int state = states[node->needs[i].on];
        if (state == PLAN_WAITING || state == PLAN_RUNNING)
            return READY_NO;
        if (!condition_holds(&node->needs[i].condition, state))
            ready = READY_NEVER;
    }
    return ready;
}

static int
has_room(size_t running, int64_t cap)
{
    return cap == 0 || running < (size_t)cap;
}

static int
next_in_job(plan *p, size_t index, plan_action *out)
{
    const workflow_job *job = &p->flow->jobs[index];
    job_plan *part = &p->parts[index];
    out->job = index;
    for (size_t i = 0; i < job->step_count; i++) {
        size_t step = part->order[i];
        int ready =
            part->steps[step] == PLAN_WAITING ? readiness(&job->steps[step].node, part->steps) : READY_NO;
        out->step = step;
        if (ready == READY_NEVER) {
            part->steps[step] = PLAN_SKIPPED;
            part->ended++;
            out->what = PLAN_SKIP_STEP;
            return 1;
        }
        if (ready == READY_YES && has_room(part->running, job->concurrency)) {
            part->steps[step] = PLAN_RUNNING;
            part->running++;
            out->what = PLAN_START_STEP;
            return 1;
        }
    }
    if (part->ended < job->step_count)
        return 0;
    p->jobs[index] = part->failed ? PLAN_FAILED : PLAN_SUCCEEDED;
    p->running--;
    p->ended++;
    out->step = 0;
    out->what = PLAN_END_JOB;
    return 1;
}

static void
skip_job(plan *p, size_t index)
{
    job_plan *part = &p->parts[index];
    for (size_t i = 0; i < p->flow->jobs[index].step_count; i++)
        part->steps[i] = PLAN_SKIPPED;
    part->ended = p->flow->jobs[index].step_count;
    p->jobs[index] = PLAN_SKIPPED;
    p->ended++;
}

static int
next_job(plan *p, plan_action *out)
{
    const workflow *flow = p->flow;
    for (size_t i = 0; i < flow->job_count; i++) {
        size_t index = p->order[i];
        int ready = p->jobs[index] == PLAN_WAITING ? readiness(&flow->jobs[index].node, p->jobs) : READY_NO;
        out->job = index;
        if (ready == READY_NEVER) {
            skip_job(p, index);
            out->what = PLAN_SKIP_JOB;
            return 1;
        }
        if (ready == READY_YES && has_room(p->running, flow->concurrency)) {
            p->jobs[index] = PLAN_RUNNING;
            p->running++;
            out->what = PLAN_START_JOB;
            return 1;
        }
    }
    return 0;
}

void
plan_next(plan *p, plan_action *out)
{
    *out = (plan_action){PLAN_NOTHING, 0, 0};
    for (size_t i = 0; i < p->flow->job_count; i++)
        if (p->jobs[i] == PLAN_RUNNING && next_in_job(p, i, out))
            return;
    if (!next_job(p, out))
        *out = (plan_action){PLAN_NOTHING, 0, 0};
}

void
plan_step_ended(plan *p, size_t job, size_t step, int succeeded)
{
    job_plan *part = &p->parts[job];
    assert(part->steps[step] == PLAN_RUNNING);
    part->steps[step] = succeeded ? PLAN_SUCCEEDED : PLAN_FAILED;
    part->running--;
    part->ended++;
    if (!succeeded && !p->flow->jobs[job].steps[step].allow_failure)
        part->failed = 1;
}

void
plan_stop(plan *p)
{
    for (size_t i = 0; i < p->flow->job_count; i++) {
        job_plan *part = &p->parts[i];
        if (p->jobs[i] == PLAN_WAITING)
            skip_job(p, i);
        for (size_t k = 0; k < p->flow->jobs[i].step_count; k++)
            if (part->steps[k] == PLAN_WAITING) {
                part->steps[k] = PLAN_SKIPPED;
                part->ended++;
                part->failed = 1; /* a job that was not let do all its steps did not succeed */
            }
    }
}

int
plan_job_state(const plan *p, size_t job)
{
    return p->jobs[job];
}

int
plan_step_state(const plan *p, size_t job, size_t step)
{
    return p->parts[job].steps[step];
}

int
plan_is_over(const plan *p)
{
    return p->ended == p->flow->job_count;
}

int
plan_has_failed(const plan *p)
{
    for (size_t i = 0; i < p->flow->job_count; i++)
        if (p->jobs[i] == PLAN_FAILED)
            return 1;
    return 0;
}
