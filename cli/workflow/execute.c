/* One run: asks the plan what to do, starts and follows processes, tells the sink. One thread, one poll(). */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <swamp/swamp.h>
#include "command.h"
#include "events.h"
#include "execute.h"
#include "plan.h"
#include "process.h"
#include "record.h"
#include "../memory.h"

#define LAST_WORDS_MAX 200 /* bytes of the last stderr line that a step's error quotes */

/* A step whose command runs. */
typedef struct live {
    execution *of;
    process *process;
    size_t job, step;
    text last_words; /* its last line on stderr */
} live;

struct execution {
    workflow *flow;
    input_values values;
    char *run_id;
    execute_sink sink;
    pthread_t thread;
    int wake; /* eventfd */
    atomic_int done;
    pthread_mutex_t lock; /* for reason, hurry */
    char *reason;         /* not NULL: to be cancelled ... */
    int hurry;            /* ... without patience */

    /* only the thread's */
    plan *plan;
    record record;
    live **lives;
    size_t live_count;
    text event;
    int changed;   /* since the last update */
    int cancelled; /* reason was seen while something was left to do */
    int refused;   /* the sink did not take an event: end everything */
};

static int64_t
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
stop_all(execution *e)
{
    plan_stop(e->plan);
    for (size_t i = 0; i < e->live_count; i++)
        process_stop(e->lives[i]->process, now_ms());
    e->changed = 1;
}

/* Sends the event that was written into e->event. */
static void
say(execution *e)
{
    if (!e->refused && e->sink.emit(e->sink.user, e->event.bytes, e->event.len) < 0) {
        e->refused = 1; /* fenced, or out of memory there: a run that nobody can follow must not go on */
        stop_all(e);
    }
    text_clear(&e->event);
}

static const workflow_step *
step_of(const live *one)
{
    return &one->of->flow->jobs[one->job].steps[one->step];
}

static void
say_output(void *user, int stream, const char *bytes, size_t len)
{
    live *one = user;
    execution *e = one->of;
    if (stream == PROCESS_STDERR && len > 0) {
        text_clear(&one->last_words);
        text_add_bytes(&one->last_words, bytes, len > LAST_WORDS_MAX ? LAST_WORDS_MAX : len);
    }
    event_method_output(&e->event, &e->flow->jobs[one->job], step_of(one), stream == PROCESS_STDERR, bytes,
                        len);
    say(e);
}

/* ---- ends of steps ---- */

static void
end_step(execution *e, size_t job, size_t step, const char *error)
{
    const workflow_job *in = &e->flow->jobs[job];
    record_mark *mark = &e->record.steps[job][step];
    mark->ended_ms = now_ms();
    plan_step_ended(e->plan, job, step, error == NULL);
    if (error) {
        record_fail(&e->record, job, step, error);
        event_step_failed(&e->event, in, &in->steps[step], record_error(&e->record, job, step));
    } else {
        event_step(&e->event, "step_completed", in, &in->steps[step]);
    }
    say(e);
    e->changed = 1;
}

/* 1: it failed, and out says why. */
static int
describe_end(const live *one, text *out)
{
    const process_end *end = process_result(one->process);
    const workflow_step *step = step_of(one);
    if (end->stopped)
        text_add(out, one->of->refused ? "interrupted" : "cancelled");
    else if (end->timed_out)
        text_addf(out, "timed out after %lld ms", (long long)step->timeout_ms);
    else if (end->signal)
        text_addf(out, "ended by signal %d (%s)", end->signal, strsignal(end->signal));
    else if (end->exit_code < 0)
        text_add(out, "its exit code was lost");
    else if (end->exit_code > 0 && !step->ignore_exit_code)
        text_addf(out, "exit code %d", end->exit_code);
    if (out->len > 0 && one->last_words.len > 0 && !end->stopped) {
        text_add(out, ": ");
        text_add_bytes(out, one->last_words.bytes, one->last_words.len);
    }
    return out->len > 0;
}

static void
free_live(live *one)
{
    process_free(one->process);
    text_free(&one->last_words);
    free(one);
}

static void
end_live(execution *e, size_t index)
{
    live *one = e->lives[index];
    text error = {0};
    int failed = describe_end(one, &error);
    e->lives[index] = e->lives[--e->live_count];
    end_step(e, one->job, one->step, failed ? error.bytes : NULL);
    text_free(&error);
    free_live(one);
}

/* ---- doing what the plan says ---- */

static void
start_process(execution *e, live *one)
{
    const workflow_step *step = step_of(one);
    char **env = command_env(e->flow, step, &e->values, e->run_id);
    char *dir = command_dir(e->flow, step, &e->values), *error = NULL;
    process_spec spec = {step->command, dir, env, step->timeout_ms, say_output, one};
    one->process = process_start(&spec, now_ms(), &error);
    command_free_env(env);
    free(dir);
    if (one->process) {
        e->lives = memory_grow(e->lives, e->live_count + 1, sizeof(live *));
        e->lives[e->live_count++] = one;
        return;
    }
    end_step(e, one->job, one->step, error);
    free(error);
    free_live(one);
}

static void
start_step(execution *e, size_t job, size_t step)
{
    const workflow_job *in = &e->flow->jobs[job];
    e->record.steps[job][step].started_ms = now_ms();
    event_step(&e->event, "step_started", in, &in->steps[step]);
    say(e);
    event_model_resolved(&e->event, in, &in->steps[step]);
    say(e);
    event_method_executing(&e->event, in, &in->steps[step]);
    say(e);
    if (e->refused) {
        end_step(e, job, step, "interrupted"); /* it never began */
        return;
    }
    live *one = memory_new(1, sizeof(*one));
    one->of = e;
    one->job = job;
    one->step = step;
    start_process(e, one);
}

static void
do_action(execution *e, const plan_action *action)
{
    const workflow_job *job = &e->flow->jobs[action->job];
    record_mark *mark = &e->record.jobs[action->job];
    switch (action->what) {
    case PLAN_START_JOB:
        mark->started_ms = now_ms();
        event_job(&e->event, "job_started", job);
        break;
    case PLAN_START_STEP:
        start_step(e, action->job, action->step);
        return;
    case PLAN_SKIP_STEP:
        event_step_skipped(&e->event, job, &job->steps[action->step]);
        break;
    case PLAN_END_JOB:
        mark->ended_ms = now_ms();
        event_job_completed(&e->event, job, plan_job_state(e->plan, action->job) == PLAN_FAILED);
        break;
    default:
        event_job(&e->event, "job_skipped", job);
    }
    say(e);
}

static void
advance(execution *e)
{
    plan_action action;
    for (plan_next(e->plan, &action); action.what != PLAN_NOTHING; plan_next(e->plan, &action)) {
        do_action(e, &action);
        e->changed = 1;
    }
    if (!e->changed || plan_is_over(e->plan)) /* the last state goes with the finish */
        return;
    text run = {0};
    e->changed = 0;
    record_write(&e->record, e->plan, &run);
    if (!e->refused && e->sink.update(e->sink.user, run.bytes, run.len) < 0) {
        e->refused = 1;
        stop_all(e);
    }
    text_free(&run);
}

/* ---- waiting ---- */

static int
wait_ms(const execution *e)
{
    int64_t due = INT64_MAX, now = now_ms();
    for (size_t i = 0; i < e->live_count; i++)
        if (process_due_ms(e->lives[i]->process) < due)
            due = process_due_ms(e->lives[i]->process);
    if (due == INT64_MAX)
        return -1;
    return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

static void
look_for_cancel(execution *e)
{
    pthread_mutex_lock(&e->lock);
    int asked = e->reason != NULL, hurry = e->hurry;
    pthread_mutex_unlock(&e->lock);
    if (asked && !e->cancelled) {
        e->cancelled = 1;
        stop_all(e);
    }
    for (size_t i = 0; hurry && i < e->live_count; i++)
        process_kill(e->lives[i]->process, now_ms());
}

static void
wait_and_step(execution *e)
{
    struct pollfd *fds = memory_new(1 + e->live_count * PROCESS_FDS, sizeof(*fds));
    size_t count = 1;
    uint64_t woken;
    fds[0] = (struct pollfd){e->wake, POLLIN, 0};
    for (size_t i = 0; i < e->live_count; i++)
        count += process_poll(e->lives[i]->process, fds + count);
    poll(fds, count, wait_ms(e));
    free(fds);
    if (read(e->wake, &woken, sizeof(woken)) == sizeof(woken))
        look_for_cancel(e);
    for (size_t i = e->live_count; i-- > 0;)
        if (process_step(e->lives[i]->process, now_ms()))
            end_live(e, i);
}

static void
finish(execution *e)
{
    text last = {0}, run = {0};
    int status = e->cancelled                             ? SWAMP_RUN_CANCELLED
                 : e->refused || plan_has_failed(e->plan) ? SWAMP_RUN_FAILED
                                                          : SWAMP_RUN_SUCCEEDED;
    if (e->cancelled)
        event_cancelled(&last, e->reason); /* not changed any more once set */
    else
        event_completed(&last);
    record_write(&e->record, e->plan, &run);
    e->sink.finish(e->sink.user, status, last.bytes, last.len, run.bytes, run.len);
    text_free(&last);
    text_free(&run);
}

static void
execute(execution *e)
{
    event_plain(&e->event, "validating_inputs");
    say(e);
    event_plain(&e->event, "evaluating_workflow");
    say(e);
    event_started(&e->event, e->run_id, e->flow);
    say(e);
    look_for_cancel(e);
    advance(e);
    while (!plan_is_over(e->plan)) {
        wait_and_step(e);
        advance(e);
    }
    finish(e);
}

static void *
run_thread(void *user)
{
    execution *e = user;
    e->plan = plan_new(e->flow);
    record_begin(&e->record, e->flow);
    execute(e);
    record_end(&e->record);
    plan_free(e->plan);
    text_free(&e->event);
    free(e->lives);
    atomic_store(&e->done, 1);
    return NULL;
}

static void
free_parts(execution *e)
{
    workflow_unref(e->flow);
    input_values_free(&e->values);
    free(e->run_id);
    free(e->reason);
    if (e->wake >= 0)
        close(e->wake);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

execution *
execution_start(workflow *flow, input_values *values, const char *run_id, const execute_sink *sink)
{
    execution *e = memory_new(1, sizeof(*e));
    sigset_t every, before;
    e->flow = workflow_ref(flow);
    e->values = *values;
    *values = (input_values){0};
    e->run_id = memory_copy(run_id);
    e->sink = *sink;
    pthread_mutex_init(&e->lock, NULL);
    e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigfillset(&every); /* the program's signals are for its main thread */
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int failed = e->wake < 0 || pthread_create(&e->thread, NULL, run_thread, e) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return e;
    free_parts(e);
    return NULL;
}

const char *
execution_run_id(const execution *e)
{
    return e->run_id;
}

static void
ask_to_end(execution *e, const char *reason, int hurry)
{
    uint64_t one = 1;
    pthread_mutex_lock(&e->lock);
    if (!e->reason)
        e->reason = memory_copy(reason);
    e->hurry |= hurry;
    pthread_mutex_unlock(&e->lock);
    if (write(e->wake, &one, sizeof(one)) < 0)
        return; /* the counter is full: the thread has been woken already */
}

void
execution_cancel(execution *e, const char *reason)
{
    ask_to_end(e, reason, 0);
}

void
execution_kill(execution *e, const char *reason)
{
    ask_to_end(e, reason, 1);
}

int
execution_is_done(execution *e)
{
    return atomic_load(&e->done);
}

void
execution_free(execution *e)
{
    if (!e)
        return;
    pthread_join(e->thread, NULL);
    free_parts(e);
}
