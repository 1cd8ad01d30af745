/* What a run does next, as a pure state machine: no I/O, no clock, no threads. */
#ifndef SWAMP_CLI_WORKFLOW_PLAN_H
#define SWAMP_CLI_WORKFLOW_PLAN_H

#include <stddef.h>
#include "workflow.h"

/* States of jobs and steps; the ended ones are the conditions' own numbers. */
#define PLAN_WAITING 100
#define PLAN_RUNNING 101
#define PLAN_SUCCEEDED WORKFLOW_SUCCEEDED
#define PLAN_FAILED WORKFLOW_FAILED
#define PLAN_SKIPPED WORKFLOW_SKIPPED

/* What is to be done, in this order; each is given once. */
#define PLAN_NOTHING 0 /* until a running step ends, or at the end */
#define PLAN_START_JOB 1
#define PLAN_START_STEP 2 /* then plan_step_ended() is due */
#define PLAN_SKIP_STEP 3  /* its dependencies ended otherwise than it wants */
#define PLAN_END_JOB 4    /* succeeded or failed */
#define PLAN_SKIP_JOB 5

typedef struct plan_action {
    int what;
    size_t job;
    size_t step;
} plan_action;

typedef struct plan plan;

plan *plan_new(const workflow *flow); /* borrows flow */
void plan_free(plan *p);

void plan_next(plan *p, plan_action *out);
/* An allowed failure is a failure to those that depend on the step, and none to the job. */
void plan_step_ended(plan *p, size_t job, size_t step, int succeeded);
/* Nothing more is started; what waits is skipped without an action, what runs has to end. */
void plan_stop(plan *p);

int plan_job_state(const plan *p, size_t job);
int plan_step_state(const plan *p, size_t job, size_t step);
int plan_is_over(const plan *p);
int plan_has_failed(const plan *p); /* a job failed: so did the run */

#endif
