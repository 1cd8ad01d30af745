/* The plan: conditions, caps, skips and final states, without any process. */
#include <stdlib.h>
#include <string.h>
#include "../../../cli/workflow/load.h"
#include "../../../cli/workflow/plan.h"
#include "tap.h"

#define TASK                                                                                                 \
    "task: {type: model_method, modelType: command/shell, modelName: m, methodName: execute, inputs: {run: " \
    "x}}"

static workflow *
load(const char *rest)
{
    text file = {0};
    workflow_faults faults = {0};
    text_addf(&file, "id: i\nname: n\n%s", rest);
    workflow *flow = workflow_load_text("plan.yaml", file.bytes, file.len, &faults);
    ck_assert_msg(flow != NULL, "%s", faults.count ? faults.lines[0] : "?");
    text_free(&file);
    return flow;
}

/* All that can be done now, as words such as "J0 S0.1 s0.2 E0 j1": start job, start step, skip step, end,
 * skip job. */
static void
add_actions(plan *p, text *out)
{
    static const char letters[] = "?JSsEj";
    plan_action action;
    for (plan_next(p, &action); action.what != PLAN_NOTHING; plan_next(p, &action)) {
        text_addf(out, "%s%c%zu", out->len ? " " : "", letters[action.what], action.job);
        if (action.what == PLAN_START_STEP || action.what == PLAN_SKIP_STEP)
            text_addf(out, ".%zu", action.step);
    }
}

static void
expect(plan *p, const char *wanted)
{
    text got = {0};
    text_add(&got, "");
    add_actions(p, &got);
    ck_assert_str_eq(got.bytes, wanted);
    text_free(&got);
}

/* Step b depends on step a, which ends as the table says. */
static const struct {
    const char *condition;
    int after_success, after_failure, after_skip; /* 1: b starts */
} conditions[] = {
    {"{type: always}", 1, 1, 1},
    {"{type: succeeded}", 1, 0, 0},
    {"{type: failed}", 0, 1, 0},
    {"{type: completed}", 1, 1, 0},
    {"{type: skipped}", 0, 0, 1},
    {"{type: not, condition: {type: succeeded}}", 0, 1, 1},
    {"{type: or, conditions: [{type: failed}, {type: skipped}]}", 0, 1, 1},
    {"{type: and, conditions: [{type: completed}, {type: not, condition: {type: failed}}]}", 1, 0, 0},
    {"{type: and, conditions: [{type: always}]}", 1, 1, 1},
};

START_TEST(conditions_hold_as_the_table_says)
{
    for (int ended = 0; ended < 3; ended++) {
        text file = {0};
        int wanted = ended == 0   ? conditions[_i].after_success
                     : ended == 1 ? conditions[_i].after_failure
                                  : conditions[_i].after_skip;
        /* a is skipped when z succeeds, and starts when z fails */
        text_addf(&file,
                  "jobs:\n- name: j\n  steps:\n  - name: z\n    allowFailure: true\n    " TASK "\n"
                  "  - name: a\n    dependsOn: [{step: z, condition: {type: failed}}]\n    " TASK "\n"
                  "  - name: b\n    dependsOn: [{step: a, condition: %s}]\n    " TASK "\n",
                  conditions[_i].condition);
        workflow *flow = load(file.bytes);
        plan *p = plan_new(flow);
        expect(p, "J0 S0.0");
        plan_step_ended(p, 0, 0, ended == 2);
        if (ended == 2) {
            expect(p, wanted ? "s0.1 S0.2" : "s0.1 s0.2 E0");
        } else {
            expect(p, "S0.1");
            plan_step_ended(p, 0, 1, ended == 0);
            expect(p, wanted ? "S0.2" : "s0.2 E0");
        }
        plan_free(p);
        workflow_unref(flow);
        text_free(&file);
    }
}
END_TEST

START_TEST(steps_and_jobs_run_in_parallel_up_to_the_cap)
{
    workflow *flow = load("concurrency: 2\njobs:\n"
                          "- name: a\n  concurrency: 2\n  steps:\n  - {name: s, " TASK
                          "}\n  - {name: t, " TASK "}\n  - {name: u, " TASK "}\n"
                          "- name: b\n  steps:\n  - {name: s, " TASK "}\n"
                          "- name: c\n  steps:\n  - {name: s, " TASK "}\n");
    plan *p = plan_new(flow);
    expect(p, "J0 S0.0 S0.1 J1 S1.0");
    plan_step_ended(p, 0, 1, 1);
    expect(p, "S0.2");
    plan_step_ended(p, 1, 0, 1);
    expect(p, "E1 J2 S2.0");
    plan_step_ended(p, 0, 0, 1);
    plan_step_ended(p, 0, 2, 1);
    plan_step_ended(p, 2, 0, 1);
    expect(p, "E0 E2");
    ck_assert(plan_is_over(p) && !plan_has_failed(p));
    plan_free(p);
    workflow_unref(flow);
}
END_TEST

START_TEST(a_lighter_step_goes_first)
{
    workflow *flow = load("jobs:\n- name: a\n  concurrency: 1\n  steps:\n  - {name: s, weight: 2, " TASK
                          "}\n  - {name: t, weight: 1, " TASK "}\n  - {name: u, weight: 1, " TASK "}\n");
    plan *p = plan_new(flow);
    expect(p, "J0 S0.1");
    plan_step_ended(p, 0, 1, 1);
    expect(p, "S0.2");
    plan_step_ended(p, 0, 2, 1);
    expect(p, "S0.0");
    plan_free(p);
    workflow_unref(flow);
}
END_TEST

START_TEST(a_failure_fails_job_and_run_unless_it_is_allowed)
{
    workflow *flow = load("jobs:\n- name: a\n  steps:\n  - {name: s, allowFailure: true, " TASK "}\n"
                          "- name: b\n  dependsOn: [{job: a}]\n  steps:\n  - {name: s, " TASK
                          "}\n  - {name: t, " TASK "}\n"
                          "- name: c\n  dependsOn: [{job: b}]\n  steps:\n  - {name: s, " TASK "}\n");
    plan *p = plan_new(flow);
    expect(p, "J0 S0.0");
    plan_step_ended(p, 0, 0, 0);
    expect(p, "E0 J1 S1.0 S1.1");
    ck_assert_int_eq(plan_job_state(p, 0), PLAN_SUCCEEDED);
    ck_assert_int_eq(plan_step_state(p, 0, 0), PLAN_FAILED);
    plan_step_ended(p, 1, 0, 0);
    expect(p, ""); /* its sibling goes on */
    plan_step_ended(p, 1, 1, 1);
    expect(p, "E1 j2");
    ck_assert(plan_is_over(p) && plan_has_failed(p));
    ck_assert_int_eq(plan_step_state(p, 2, 0), PLAN_SKIPPED);
    plan_free(p);
    workflow_unref(flow);
}
END_TEST

START_TEST(after_a_stop_nothing_starts_and_what_runs_ends)
{
    workflow *flow =
        load("jobs:\n- name: a\n  concurrency: 1\n  steps:\n  - {name: s, " TASK "}\n  - {name: t, " TASK
             "}\n- name: b\n  dependsOn: [{job: a, condition: {type: always}}]\n  steps:\n  - {name: s, " TASK
             "}\n");
    plan *p = plan_new(flow);
    expect(p, "J0 S0.0");
    plan_stop(p);
    expect(p, "");
    ck_assert(!plan_is_over(p));
    plan_step_ended(p, 0, 0, 1);
    expect(p, "E0");
    ck_assert(plan_is_over(p));
    ck_assert_int_eq(plan_job_state(p, 0), PLAN_FAILED); /* a step of it was not let run */
    ck_assert_int_eq(plan_job_state(p, 1), PLAN_SKIPPED);
    plan_free(p);
    workflow_unref(flow);
}
END_TEST

static Suite *
suite(void)
{
    Suite *all = suite_create("plan");
    TCase *cases = tcase_create("plan");
    tcase_add_loop_test(cases, conditions_hold_as_the_table_says, 0,
                        sizeof(conditions) / sizeof(conditions[0]));
    tcase_add_test(cases, steps_and_jobs_run_in_parallel_up_to_the_cap);
    tcase_add_test(cases, a_lighter_step_goes_first);
    tcase_add_test(cases, a_failure_fails_job_and_run_unless_it_is_allowed);
    tcase_add_test(cases, after_a_stop_nothing_starts_and_what_runs_ends);
    suite_add_tcase(all, cases);
    return all;
}

int
main(void)
{
    return tap_main(suite());
}
