/* The table of exit codes, row by row. */
#include <swamp/swamp.h>
#include "../../../cli/outcome.h"
#include "tap.h"

static const struct {
    const char *status, *reason, *error_code;
    int cancelled_here, code;
} ends[] = {
    {"succeeded", "", "", 0, 0},
    {"succeeded", "", "", 1, 0}, /* Ctrl-C came too late: the run's own code */
    {"failed", "", "", 0, 1},
    {"failed", "", "", 1, 1},
    {"cancelled", "", "", 0, 1}, /* by somebody else */
    {"cancelled", "", "", 1, 130},
    {"failed", "instance_dead", "", 0, 3},
    {"cancelled", "instance_shutdown", "", 0, 3},
    {"cancelled", "instance_shutdown", "", 1, 3},
    {"failed", "instance_fenced", "", 0, 3},
    {"", "", "", 0, 3}, /* the final status could not be had */
    {"", "", "workflow_not_found", 0, 5},
    {"", "", "validation_failed", 0, 2},
    {"failed", "", "workflow_execution_failed", 0, 1},
};

START_TEST(ends_of_runs)
{
    ck_assert_int_eq(
        outcome_of_end(ends[_i].status, ends[_i].reason, ends[_i].error_code, ends[_i].cancelled_here),
        ends[_i].code);
}
END_TEST

static const struct {
    const char *code;
    int status, has_run, outcome;
} errors[] = {
    {"not_found", SWAMP_E_NOT_FOUND, 0, 5},
    {"not_found", SWAMP_E_NOT_FOUND, 1, 5},
    {"unauthorized", SWAMP_E_UNAUTHORIZED, 0, 6},
    {"global_cap", SWAMP_E_REFUSED, 0, 7},
    {"principal_cap", SWAMP_E_REFUSED, 0, 7},
    {"too_many_requests", SWAMP_E_REFUSED, 0, 7},
    {"draining", SWAMP_E_REFUSED, 0, 7},
    {"unavailable", SWAMP_E_REFUSED, 0, 7},
    {"unavailable", SWAMP_E_REFUSED, 1, 3}, /* it was started: how it ended could not be had */
    {"connection_lost", SWAMP_E_LOST, 0, 4},
    {"connect_failed", SWAMP_E_CONNECT, 0, 4},
    {"gave_up", SWAMP_E_GAVE_UP, 1, 4}, /* still elsewhere, or the connection not had again */
    {"not_recorded", SWAMP_E_GAVE_UP, 1, 3},
    {"interrupted", SWAMP_E_REFUSED, 0, 3},
    {"seq_out_of_range", SWAMP_E_REFUSED, 1, 2},
    {"invalid_request", SWAMP_E_REFUSED, 0, 2},
    {"of_a_later_version", SWAMP_E_REFUSED, 0, 7},
    {"", SWAMP_E_TIMEOUT, 0, 4},
    {"", SWAMP_E_CONNECT, 0, 4},
    {"", SWAMP_E_UNAUTHORIZED, 0, 6},
    {"", SWAMP_E_NOMEM, 0, 1},
};

START_TEST(errors_of_sessions_and_requests)
{
    ck_assert_int_eq(outcome_of_error(errors[_i].code, errors[_i].status, errors[_i].has_run),
                     errors[_i].outcome);
}
END_TEST

static Suite *
suite(void)
{
    Suite *made = suite_create("cli outcome");
    TCase *cases = tcase_create("outcome");
    tcase_add_loop_test(cases, ends_of_runs, 0, sizeof(ends) / sizeof(ends[0]));
    tcase_add_loop_test(cases, errors_of_sessions_and_requests, 0, sizeof(errors) / sizeof(errors[0]));
    suite_add_tcase(made, cases);
    return made;
}

int
main(void)
{
    return tap_main(suite());
}
