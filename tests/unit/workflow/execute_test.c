/* One run against a sink: the order of events (PROTOCOL 4), progress, cancel, fence. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <swamp/swamp.h>
#include "../../../cli/memory.h"
#include "../../../cli/workflow/execute.h"
#include "../../../cli/workflow/load.h"
#include "gone.h"
#include "tap.h"

#define STEP(name, more, command)                                                                            \
    "  - name: " name "\n" more                                                                              \
    "    task: {type: model_method, modelType: command/shell, modelName: m-" name                            \
    ", methodName: execute, inputs: {run: '" command "'}}\n"

typedef struct told {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    text events; /* one a line */
    text last;
    text run;      /* given with the finish */
    text progress; /* the last update */
    int status;    /* 0: not finished */
    int finishes;
    const char *fence_at; /* an event that holds this is refused as fenced; NULL: none */
} told;

static int
take_event(void *user, const char *json_text, size_t len)
{
    told *t = user;
    pthread_mutex_lock(&t->lock);
    json *event = json_read(json_text, len, NULL, NULL);
    ck_assert_ptr_nonnull(event);
    json_free(event);
    int fenced = t->fence_at && strstr(json_text, t->fence_at);
    text_addf(&t->events, "%.*s\n", (int)len, json_text);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return fenced ? SWAMP_E_FENCED : SWAMP_OK;
}

static int
take_progress(void *user, const char *json_text, size_t len)
{
    told *t = user;
    json *run = json_read(json_text, len, NULL, NULL);
    ck_assert_ptr_nonnull(run);
    json_free(run);
    text_clear(&t->progress);
    text_add_bytes(&t->progress, json_text, len);
    return SWAMP_OK;
}

static int
take_finish(void *user, int status, const char *last, size_t last_len, const char *run, size_t run_len)
{
    told *t = user;
    pthread_mutex_lock(&t->lock);
    text_add_bytes(&t->last, last, last_len);
    text_add_bytes(&t->run, run, run_len);
    t->status = status;
    t->finishes++;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return SWAMP_OK;
}

static execution *
begin(told *t, const char *jobs)
{
    text file = {0};
    workflow_faults faults = {0};
    execute_sink sink = {take_event, take_progress, take_finish, t};
    input_values values = {0};
    char *error = NULL;
    text_addf(&file, "id: flow-id\nname: flow\ninputs: {who: {default: nobody}}\njobs:\n%s", jobs);
    workflow *flow = workflow_load_text("flow.yaml", file.bytes, file.len, &faults);
    ck_assert_msg(flow != NULL, "%s", faults.count ? faults.lines[0] : "?");
    ck_assert(inputs_check(flow, NULL, &values, &error));
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    execution *e = execution_start(flow, &values, "run-id", &sink);
    ck_assert_ptr_nonnull(e);
    workflow_unref(flow);
    text_free(&file);
    return e;
}

static void
wait_for(told *t, const char *words)
{
    pthread_mutex_lock(&t->lock);
    while (!t->events.bytes || !strstr(t->events.bytes, words))
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static void
end(told *t, execution *e)
{
    execution_free(e);
    ck_assert_int_eq(t->finishes, 1);
}

static void
forget(told *t)
{
    text_free(&t->events);
    text_free(&t->last);
    text_free(&t->run);
    text_free(&t->progress);
}

/* The kinds, with job, step, status and line where there are some. */
static char *
kinds_of(const told *t)
{
    text out = {0};
    text_add(&out, "");
    for (const char *at = t->events.bytes, *end_of; *at; at = end_of + 1) {
        end_of = strchr(at, '\n');
        json *event = json_read(at, (size_t)(end_of - at), NULL, NULL);
        static const char *const keys[] = {"jobId", "stepId", "status", "line", "error", "reason"};
        text_addf(&out, "%s%s", out.len ? "\n" : "", json_get_string(event, "kind"));
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            if (json_get_string(event, keys[i]))
                text_addf(&out, " %s", json_get_string(event, keys[i]));
        json_free(event);
    }
    return text_take(&out);
}

START_TEST(events_come_in_the_order_of_the_protocol)
{
    told t = {0};
    execution *e = begin(
        &t, "- name: j\n  steps:\n" STEP("a", "", "echo ${{ inputs.who }}")
                STEP("b", "    dependsOn: [{step: a}]\n", "echo oops >&2; exit 2")
                    STEP("c", "    dependsOn: [{step: b}]\n",
                         "true") "- name: k\n  dependsOn: [{job: j}]\n  steps:\n" STEP("d", "", "true"));
    end(&t, e);
    char *kinds = kinds_of(&t);
    ck_assert_str_eq(
        kinds, "validating_inputs\nevaluating_workflow\nstarted\njob_started j\nstep_started j a\n"
               "model_resolved j a\nmethod_executing j a\nmethod_output j a nobody\nstep_completed j a\n"
               "step_started j b\nmodel_resolved j b\nmethod_executing j b\nmethod_output j b oops\n"
               "step_failed j b exit code 2: oops\nstep_skipped j c dependency\njob_completed j failed\n"
               "job_skipped k");
    ck_assert_int_eq(t.status, SWAMP_RUN_FAILED);
    ck_assert_str_eq(t.last.bytes, "{\"kind\":\"completed\",\"run\":null}");
    ck_assert_ptr_nonnull(strstr(t.events.bytes,
                                 "{\"kind\":\"started\",\"runId\":\"run-id\",\"workflowName\":\"flow\","
                                 "\"jobs\":[{\"id\":\"j\",\"stepCount\":3,\"dependsOn\":[]},"
                                 "{\"id\":\"k\",\"stepCount\":1,\"dependsOn\":[\"j\"]}]}\n"));
    ck_assert_ptr_nonnull(strstr(
        t.events.bytes, "{\"kind\":\"model_resolved\",\"jobId\":\"j\",\"stepId\":\"a\",\"modelName\":\"m-a\","
                        "\"modelType\":\"command/shell\",\"modelId\":\"m-a\",\"methodName\":\"execute\"}\n"));
    ck_assert_ptr_nonnull(strstr(
        t.events.bytes, "{\"kind\":\"method_output\",\"jobId\":\"j\",\"stepId\":\"b\",\"modelName\":\"m-b\","
                        "\"methodName\":\"execute\",\"stream\":\"stderr\",\"line\":\"oops\"}\n"));
    free(kinds);
    forget(&t);
}
END_TEST

START_TEST(the_record_has_every_job_and_step)
{
    told t = {0};
    execution *e = begin(&t, "- name: j\n  steps:\n" STEP("a", "    allowFailure: true\n", "exit 1")
                                 STEP("b", "    dependsOn: [{step: a}]\n", "true"));
    end(&t, e);
    json *run = json_read(t.run.bytes, t.run.len, NULL, NULL);
    const json *job = json_get(run, "jobs")->first, *step = json_get(job, "steps")->first;
    ck_assert_int_eq(t.status, SWAMP_RUN_SUCCEEDED);
    ck_assert_str_eq(json_get_string(run, "workflowId"), "flow-id");
    ck_assert_str_eq(json_get_string(run, "workflowName"), "flow");
    ck_assert_str_eq(json_get_string(job, "status"), "succeeded");
    ck_assert_ptr_nonnull(json_get(job, "duration"));
    ck_assert_str_eq(json_get_string(step, "status"), "failed");
    ck_assert_str_eq(json_get_string(step, "error"), "exit code 1");
    ck_assert(json_get_true(step, "allowedFailure"));
    ck_assert_str_eq(json_get_string(step->next, "status"), "skipped");
    ck_assert_ptr_null(json_get(step->next, "duration"));
    ck_assert_ptr_nonnull(strstr(t.progress.bytes, "\"status\":\"running\""));
    json_free(run);
    forget(&t);
}
END_TEST

START_TEST(steps_without_dependencies_run_side_by_side)
{
    /* each waits for the other's file: one after the other they would both time out */
    char dir[] = "/tmp/flow-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    setenv("MEET", dir, 1);
    told t = {0};
    execution *e =
        begin(&t, "- name: j\n  steps:\n" STEP("a", "",
                                               ": >$MEET/a; while [ ! -e $MEET/b ]; do sleep 0.05; "
                                               "done") "- name: k\n  steps:\n" STEP("b", "",
                                                                                    ": >$MEET/b; while "
                                                                                    "[ ! -e $MEET/a ]; "
                                                                                    "do sleep 0.05; "
                                                                                    "done"));
    end(&t, e);
    ck_assert_int_eq(t.status, SWAMP_RUN_SUCCEEDED);
    text clean = {0};
    text_addf(&clean, "rm -r %s", dir);
    ck_assert_int_eq(system(clean.bytes), 0);
    text_free(&clean);
    forget(&t);
}
END_TEST

static int
number_in(const char *events)
{
    const char *at = strstr(events, "\"line\":\"pid ");
    return at ? atoi(at + 12) : 0;
}

#define SLOW                                                                                                 \
    "- name: j\n  steps:\n" STEP("a", "", "sleep 300 & echo pid $!; wait")                                   \
        STEP("b", "    dependsOn: [{step: a}]\n", "true")

START_TEST(a_cancel_ends_commands_and_run)
{
    told t = {0};
    execution *e = begin(&t, SLOW);
    wait_for(&t, "pid ");
    execution_cancel(e, "enough");
    execution_cancel(e, "a second time");
    end(&t, e);
    ck_assert_int_eq(t.status, SWAMP_RUN_CANCELLED);
    ck_assert_str_eq(t.last.bytes, "{\"kind\":\"cancelled\",\"run\":null,\"reason\":\"enough\"}");
    ck_assert_ptr_nonnull(strstr(t.events.bytes, "step_failed"));
    ck_assert_ptr_null(strstr(t.events.bytes, "\"stepId\":\"b\""));
    ck_assert(process_is_gone(number_in(t.events.bytes)));
    ck_assert_ptr_nonnull(strstr(t.run.bytes, "{\"name\":\"b\",\"status\":\"skipped\"}"));
    forget(&t);
}
END_TEST

START_TEST(a_cancel_before_the_first_step_starts_nothing)
{
    /* the run may be quicker: then it has started its step, and ends it; never both a start and no end */
    told t = {0};
    execution *e = begin(&t, SLOW);
    execution_cancel(e, "");
    end(&t, e);
    ck_assert_int_eq(t.status, SWAMP_RUN_CANCELLED);
    ck_assert_str_eq(t.last.bytes, "{\"kind\":\"cancelled\",\"run\":null}");
    ck_assert_int_eq(strstr(t.events.bytes, "step_started") != NULL,
                     strstr(t.events.bytes, "step_failed") != NULL);
    forget(&t);
}
END_TEST

static const char *const fences[] = {"validating_inputs", "job_started", "step_started", "method_executing",
                                     "pid "};

START_TEST(a_fence_at_any_event_ends_everything_and_says_nothing_more)
{
    told t = {.fence_at = fences[_i]};
    execution *e = begin(&t, SLOW);
    end(&t, e);
    ck_assert_int_eq(t.status, SWAMP_RUN_FAILED);
    const char *refused = strstr(t.events.bytes, fences[_i]);
    ck_assert_ptr_nonnull(refused);
    ck_assert_str_eq(strchr(refused, '\n'), "\n");
    if (number_in(t.events.bytes))
        ck_assert(process_is_gone(number_in(t.events.bytes)));
    forget(&t);
}
END_TEST

START_TEST(timeout_and_exit_code_rules)
{
    told t = {0};
    execution *e = begin(&t, "- name: j\n  steps:\n"
                             "  - name: a\n    task: {type: model_method, modelType: command/shell, "
                             "modelName: m, methodName: execute, "
                             "inputs: {run: sleep 300, timeout: 100}}\n"
                             "  - name: b\n    task: {type: model_method, modelType: command/shell, "
                             "modelName: m, methodName: execute, "
                             "inputs: {run: exit 9, ignoreExitCode: true}}\n"
                             "  - name: c\n    task: {type: model_method, modelType: command/shell, "
                             "modelName: m, methodName: execute, "
                             "inputs: {run: 'true', workingDir: '/no/${{ inputs.who }}'}}\n");
    end(&t, e);
    ck_assert_ptr_nonnull(strstr(t.events.bytes, "\"stepId\":\"a\",\"error\":\"timed out after 100 ms\""));
    ck_assert_ptr_nonnull(
        strstr(t.events.bytes, "{\"kind\":\"step_completed\",\"jobId\":\"j\",\"stepId\":\"b\"}"));
    ck_assert_ptr_nonnull(strstr(t.events.bytes, "\"stepId\":\"c\",\"error\":\"cannot work in the directory "
                                                 "'/no/nobody': No such file or directory\""));
    forget(&t);
}
END_TEST

START_TEST(variables_reach_the_command)
{
    told t = {0};
    setenv("SWAMP_INPUT_7", "of another run", 1);
    execution *e = begin(
        &t, "- name: j\n  steps:\n  - name: a\n    task: {type: model_method, modelType: command/shell, "
            "modelName: m, methodName: execute, inputs: {run: 'echo \"$SWAMP_RUN_ID/$X/"
            "${SWAMP_INPUT_7-none}\"', env: {X: 'to ${{ inputs.who }}'}}}\n");
    end(&t, e);
    ck_assert_ptr_nonnull(strstr(t.events.bytes, "\"line\":\"run-id/to nobody/none\""));
    forget(&t);
}
END_TEST

static Suite *
suite(void)
{
    Suite *all = suite_create("execute");
    TCase *cases = tcase_create("execute");
    tcase_set_timeout(cases, 30);
    tcase_add_test(cases, events_come_in_the_order_of_the_protocol);
    tcase_add_test(cases, the_record_has_every_job_and_step);
    tcase_add_test(cases, steps_without_dependencies_run_side_by_side);
    tcase_add_test(cases, a_cancel_ends_commands_and_run);
    tcase_add_test(cases, a_cancel_before_the_first_step_starts_nothing);
    tcase_add_loop_test(cases, a_fence_at_any_event_ends_everything_and_says_nothing_more, 0, 5);
    tcase_add_test(cases, timeout_and_exit_code_rules);
    tcase_add_test(cases, variables_reach_the_command);
    suite_add_tcase(all, cases);
    return all;
}

int
main(void)
{
    return tap_main(suite());
}
