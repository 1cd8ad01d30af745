/* What any instance can say of any run (PROTOCOL 2): by id, name or part of an id; rows; cancel requests. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/run/history.h"
#include "../../../libswamp/util/alloc.h"
#include "../../support/fake_world.h"
#include "records_fixture.h"
#include "tap.h"

#define RUN "0192f3a0-0000-7000-8000-00000000ab01"
#define RUN2 "0192f3a0-0000-7000-8000-00000000ab02"
#define RUN3 "0192f3a1-0000-7000-8000-00000000ab01"
#define TIMES "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"finishedAt\":\"2026-11-29T10:00:01.000Z\""

static swamp__buf out;

static void
open_all(void)
{
    records_open();
    swamp__buf_init(&out);
}

static void
close_all(void)
{
    swamp__buf_free(&out);
    records_close();
}

static int
get(const char *id_or_name, size_t *matches)
{
    swamp__buf_clear(&out);
    return swamp__history_get(store, id_or_name, 1000, &out, matches);
}

static void
check_found(const char *id_or_name, const char *run_id)
{
    char key[128];
    size_t matches = 0;
    snprintf(key, sizeof key, "runs/%s", run_id);
    ck_assert_int_eq(get(id_or_name, &matches), SWAMP_OK);
    ck_assert_uint_eq(matches, 1);
    ck_assert_str_eq(out.data, record_text(key));
}

static void
check_not_found(const char *id_or_name, int status, size_t expected)
{
    size_t matches = 99;
    ck_assert_int_eq(get(id_or_name, &matches), status);
    ck_assert_uint_eq(matches, expected);
    ck_assert_uint_eq(out.len, 0);
}

START_TEST(run_is_found_by_its_exact_id_with_one_read)
{
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
    check_found(RUN, RUN);
    ck_assert_int_eq(calls_made(), 1);
}
END_TEST

START_TEST(name_means_the_latest_run_of_the_workflow)
{
    put_final_run(RUN, "I2", "nightly build", "succeeded", TIMES);
    put_record("workflow-names/nightly%20build/" RUN, "{}");
    put_final_run(RUN2, "I2", "w", "failed", TIMES);
    put_final_run(RUN3, "I2", "w", "succeeded", TIMES);
    check_found("w", RUN3);
    check_found("nightly build", RUN);
    check_not_found("nightly", SWAMP_ABSENT, 0);
    check_not_found("", SWAMP_ABSENT, 0);
}
END_TEST

START_TEST(index_key_whose_run_is_gone_is_passed_over)
{
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
    put_record("workflow-names/w/" RUN3, "{}"); /* retention took it between the two reads */
    check_found("w", RUN);
}
END_TEST

START_TEST(names_that_are_cut_to_one_key_are_told_apart_by_the_run)
{
    char shorter[221], longer[222], key[512];
    memset(shorter, 'n', 220);
    shorter[220] = 0;
    snprintf(longer, sizeof longer, "%s2", shorter);
    put_final_run(RUN, "I2", shorter, "succeeded", TIMES);
    put_final_run(RUN2, "I2", longer, "succeeded", TIMES);
    snprintf(key, sizeof key, "workflow-names/%.200s/%s", shorter, RUN);
    put_record(key, "{}");
    snprintf(key, sizeof key, "workflow-names/%.200s/%s", shorter, RUN2);
    put_record(key, "{}");
    check_found(shorter, RUN);
    check_found(longer, RUN2);
}
END_TEST

START_TEST(prefix_of_thirteen_is_enough_and_twelve_is_not)
{
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
    put_final_run(RUN3, "I2", "w", "succeeded", TIMES);
    check_found("0192f3a1-0000", RUN3);
    check_not_found("0192f3a1-000", SWAMP_ABSENT, 0);
}
END_TEST

START_TEST(suffix_of_eight_is_enough_and_seven_is_not)
{
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
    put_final_run(RUN2, "I2", "w", "succeeded", TIMES);
    check_found("0000ab02", RUN2);
    check_not_found("000ab02", SWAMP_ABSENT, 0);
    check_not_found("0000ab03", SWAMP_ABSENT, 0);
}
END_TEST

START_TEST(ambiguous_part_says_how_many)
{
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
    put_final_run(RUN2, "I2", "w", "succeeded", TIMES);
    put_final_run(RUN3, "I2", "w", "succeeded", TIMES);
    check_not_found("0192f3a0-0000-7000", SWAMP_CONFLICT, 2);
    check_not_found("0000ab01", SWAMP_CONFLICT, 2);
}
END_TEST

START_TEST(a_thousand_runs_are_searched_by_their_keys)
{
    char run_id[64];
    size_t matches;
    for (int i = 0; i < 1000; i++) {
        snprintf(run_id, sizeof run_id, "0192f3a0-0000-7000-8000-%012d", i);
        put_final_run(run_id, "I2", "w", "succeeded", TIMES);
    }
    check_found("00000999", "0192f3a0-0000-7000-8000-000000000999");
    check_not_found("0192f3a0-0000", SWAMP_CONFLICT, 1000);
    before_call(0, NULL);
    ck_assert_int_eq(get("00000000", &matches), SWAMP_OK);
    ck_assert_int_eq(calls_made(), 7); /* id, name, four pages of keys, the one run */
}
END_TEST

START_TEST(run_that_cannot_be_read_is_an_error_not_an_absence)
{
    put_record("runs/" RUN, "not json");
    check_not_found(RUN, SWAMP_E_CORRUPT, 0);
    put_record("workflow-names/w/" RUN, "{}");
    check_not_found("w", SWAMP_E_CORRUPT, 0);
}
END_TEST

START_TEST(store_that_fails_at_any_call_is_an_error)
{
    size_t matches;
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
    for (unsigned n = 1; n <= 4; n++) { /* id, name, keys, the run */
        fail_call(n, FAKE_TIMEOUT);
        ck_assert_int_eq(get("0000ab01", &matches), SWAMP_E_TIMEOUT);
        ck_assert_uint_eq(out.len, 0);
    }
    for (unsigned n = 1; n <= 3; n++) { /* id, index, the run */
        fail_call(n, FAKE_ERROR);
        ck_assert_int_eq(get("w", &matches), SWAMP_E_STORE);
    }
}
END_TEST

START_TEST(text_that_no_id_can_be_is_looked_for_as_a_name_only)
{
    size_t matches;
    before_call(0, NULL);
    ck_assert_int_eq(get("caf\xc3\xa9 with a slash / and more than eight", &matches), SWAMP_ABSENT);
    ck_assert_int_eq(calls_made(), 1);
}
END_TEST

/* run.history */

static const char *
list(int only_active, size_t limit, const char *workflow)
{
    const swamp__history_query query = {only_active, 0, limit, workflow, 1000};
    swamp__buf_clear(&out);
    ck_assert_int_eq(swamp__history_list(store, &query, &out), SWAMP_OK);
    return out.data;
}

START_TEST(row_of_an_active_run_comes_from_its_owner)
{
    put_active_run(RUN, "I2", "w");
    put_heartbeat("I2");
    static const char row[] =
        "[{\"id\":\"" RUN "\",\"runKind\":\"workflow-run\",\"modelType\":null,\"methodName\":null,"
        "\"workflowName\":\"w\",\"pid\":42,\"hostname\":\"host-of-I2\",\"status\":\"running\","
        "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"heartbeatAt\":\"2026-11-29T10:00:05.000Z\","
        "\"stale\":false,\"initiatedBy\":\"user:x\"}]";
    ck_assert_str_eq(list(0, 100, ""), row);
    ck_assert_str_eq(list(1, 100, ""), row);
    ck_assert_str_eq(list(0, 100, "w"), row);
}
END_TEST

START_TEST(row_of_a_run_whose_owner_is_dead_is_stale)
{
    put_active_run(RUN, "I2", "w");
    static const char row[] =
        "[{\"id\":\"" RUN "\",\"runKind\":\"workflow-run\",\"modelType\":null,\"methodName\":null,"
        "\"workflowName\":\"w\",\"pid\":null,\"hostname\":null,\"status\":\"running\","
        "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"heartbeatAt\":null,"
        "\"stale\":true,\"initiatedBy\":\"user:x\"}]";
    ck_assert_str_eq(list(0, 100, ""), row);
    ck_assert_str_eq(list(1, 100, ""), row);
}
END_TEST

START_TEST(row_of_an_ended_run_has_null_where_nothing_applies)
{
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
    put_heartbeat("I2");
    ck_assert_str_eq(list(0, 100, ""),
                     "[{\"id\":\"" RUN "\",\"runKind\":null,\"modelType\":null,\"methodName\":null,"
                     "\"workflowName\":\"w\",\"pid\":null,\"hostname\":null,\"status\":\"succeeded\","
                     "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"heartbeatAt\":null,"
                     "\"stale\":null,\"initiatedBy\":\"user:y\"}]");
    ck_assert_str_eq(list(1, 100, ""), "[]");
}
END_TEST

/* The ids of the rows, each by its last character. */
static const char *
ids_of(const char *rows)
{
    static char ids[1100];
    size_t count = 0;
    for (const char *at = rows; (at = strstr(at, "{\"id\":\"")) != NULL; at++) {
        ids[count++] = *(strchr(at + 7, '"') - 1);
        ck_assert_uint_lt(count, sizeof ids);
    }
    ids[count] = 0;
    return ids;
}

START_TEST(rows_are_newest_first_and_bounded)
{
    put_final_run("r-1", "I2", "w", "succeeded", TIMES);
    put_final_run("r-2", "I2", "v", "failed", TIMES);
    put_active_run("r-3", "I2", "w");
    put_active_run("r-4", "I2", "v");
    put_record("runs/r-5", "not json"); /* is passed over */
    put_heartbeat("I2");
    ck_assert_str_eq(ids_of(list(0, 100, "")), "4321");
    ck_assert_str_eq(ids_of(list(0, 2, "")), "43");
    ck_assert_str_eq(ids_of(list(1, 100, "")), "43");
    ck_assert_str_eq(ids_of(list(1, 1, "")), "4");
    ck_assert_str_eq(ids_of(list(0, 100, "w")), "31");
    ck_assert_str_eq(ids_of(list(0, 1, "w")), "3");
    ck_assert_str_eq(ids_of(list(1, 100, "w")), "3");
    ck_assert_str_eq(ids_of(list(0, 100, "none")), "");
}
END_TEST

static void
end_r_3(void)
{
    remove_record("active-runs/r-3");
    put_final_run("r-3", "I2", "w", "cancelled", TIMES);
}

START_TEST(run_that_ends_between_the_reads_shows_as_ended)
{
    put_active_run("r-3", "I2", "w");
    put_heartbeat("I2");
    before_call(3, end_r_3);
    list(0, 100, "");
    ck_assert_ptr_nonnull(strstr(out.data, "\"status\":\"cancelled\""));
    ck_assert_ptr_nonnull(strstr(out.data, "\"stale\":null"));
}
END_TEST

START_TEST(one_workflow_among_many_is_read_by_its_index)
{
    char run_id[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(run_id, sizeof run_id, "0192f3a0-0000-7000-8000-%012d", i);
        put_final_run(run_id, "I2", i % 500 ? "many" : "rare", "succeeded", TIMES);
    }
    size_t before = records_listed();
    before_call(0, NULL);
    ck_assert_uint_eq(strlen(ids_of(list(0, 100, "rare"))), 2);
    ck_assert_int_eq(calls_made(), 5); /* active, heartbeats, index, two runs */
    ck_assert_uint_eq(records_listed() - before, 2);
    ck_assert_uint_eq(strlen(ids_of(list(0, 1000, "many"))), 998);
    before = records_listed();
    before_call(0, NULL);
    ck_assert_uint_eq(strlen(ids_of(list(0, 100, ""))), 100);
    ck_assert_int_eq(calls_made(), 3);                 /* active, heartbeats, one page ... */
    ck_assert_uint_eq(records_listed() - before, 100); /* ... of which no more is read than is shown */
    before = records_listed();
    ck_assert_uint_eq(strlen(ids_of(list(1, 100, ""))),
                      0); /* active ones: of a thousand that ended none is read */
    ck_assert_uint_eq(records_listed() - before, 0);
    ck_assert_uint_eq(strlen(ids_of(list(0, 0, ""))), 100); /* the default */
    ck_assert_uint_eq(strlen(ids_of(list(0, 1000, ""))), 1000);
}
END_TEST

START_TEST(list_that_fails_or_has_no_memory_is_an_error)
{
    const swamp__history_query query = {0, 0, 100, _i ? "w" : "", 1000};
    put_active_run("r-3", "I2", "w");
    put_deep_record("active-runs/r-3", "\"instanceId\":\"I2\"");
    put_deep_record("runs/r-3", "\"id\":\"r-3\",\"workflowName\":\"w\",\"status\":\"running\"");
    put_deep_record("heartbeats/I2", "\"instanceId\":\"I2\",\"hostname\":\"there\"");
    for (unsigned n = 1; n <= 3; n++) {
        fail_call(n, FAKE_TIMEOUT);
        swamp__buf_clear(&out);
        ck_assert_int_eq(swamp__history_list(store, &query, &out), SWAMP_E_TIMEOUT);
    }
    before_call(0, NULL);
    for (unsigned long n = 1;; n++) {
        swamp__buf_free(&out);
        swamp__buf_init(&out);
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 0);
        int rc = swamp__history_list(store, &query, &out);
        unsigned long made = swamp__alloc_count() - before;
        swamp__alloc_fail_at(0, 0);
        if (made < n) {
            ck_assert_int_eq(rc, SWAMP_OK);
            ck_assert_ptr_nonnull(strstr(out.data, "\"hostname\":\"there\""));
            break;
        }
        ck_assert_int_eq(rc, SWAMP_E_NOMEM); /* and no row or member is left out for want of memory */
    }
}
END_TEST

/* cluster.instances */

static int
is_stale(void *user, const char *instance_id)
{
    return strcmp(instance_id, user) == 0;
}

START_TEST(instances_are_stale_by_the_callers_watches)
{
    put_heartbeat("I2");
    put_record("heartbeats/I3", "not json");
    put_record("heartbeats/I4", "{\"hostname\":\"h\",\"pid\":1,\"startedAt\":\"S\",\"heartbeatAt\":\"H\","
                                "\"address\":\"http://10.0.0.4:9090\",\"activeRuns\":7,\"draining\":true}");
    ck_assert_int_eq(swamp__history_instances(store, 1000, is_stale, (void *)(uintptr_t) "I3", &out),
                     SWAMP_OK);
    ck_assert_str_eq(
        out.data,
        "[{\"instanceId\":\"I2\",\"hostname\":\"host-of-I2\",\"pid\":42,\"startedAt\":\"2026-11-29T09:00:00."
        "000Z\","
        "\"lastHeartbeatAt\":\"2026-11-29T10:00:05.000Z\",\"status\":\"healthy\",\"activeRuns\":0,"
        "\"draining\":false},"
        "{\"instanceId\":\"I3\",\"hostname\":null,\"pid\":null,\"startedAt\":null,\"lastHeartbeatAt\":null,"
        "\"status\":\"stale\",\"activeRuns\":0,\"draining\":false},"
        "{\"instanceId\":\"I4\",\"hostname\":\"h\",\"pid\":1,\"startedAt\":\"S\",\"lastHeartbeatAt\":\"H\","
        "\"status\":\"healthy\",\"address\":\"http://10.0.0.4:9090\",\"activeRuns\":7,\"draining\":true}]");
    fail_call(1, FAKE_ERROR);
    ck_assert_int_eq(swamp__history_instances(store, 1000, is_stale, NULL, &out), SWAMP_E_STORE);
}
END_TEST

START_TEST(instances_without_memory_are_an_error)
{
    put_deep_record("heartbeats/I2", "\"instanceId\":\"I2\",\"hostname\":\"there\"");
    int rc = SWAMP_E_NOMEM;
    for (unsigned long n = 1, failed = 1; failed; n++) {
        swamp__buf_free(&out);
        swamp__buf_init(&out);
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 0);
        rc = swamp__history_instances(store, 1000, is_stale, (void *)(uintptr_t) "I3", &out);
        failed = swamp__alloc_count() - before >= n;
        swamp__alloc_fail_at(0, 0);
        ck_assert_int_eq(rc, failed ? SWAMP_E_NOMEM : SWAMP_OK);
    }
    ck_assert_ptr_nonnull(strstr(out.data, "\"hostname\":\"there\""));
}
END_TEST

/* run.cancel by way of the store. */

static char owner[65], status[16];

static int
cancel_by(const char *me, const char *run_id)
{
    return swamp__history_cancel(store, me, run_id, "user:z", "enough \"of\" it", 1764547300000, 1000, owner,
                                 status);
}

START_TEST(cancel_leaves_a_request_with_the_owner)
{
    put_heartbeat("me");
    put_active_run(RUN, "I2", "w");
    ck_assert_int_eq(cancel_by(_i ? NULL : "me", RUN), SWAMP_OK);
    ck_assert_str_eq(owner, "I2");
    ck_assert_str_eq(record_text("cancel-requests/I2/" RUN),
                     "{\"requestedBy\":\"user:z\",\"reason\":\"enough \\\"of\\\" it\","
                     "\"requestedAt\":\"2025-12-01T00:01:40.000Z\"}");
}
END_TEST

START_TEST(cancel_of_an_ended_run_says_how_it_ended)
{
    put_heartbeat("me");
    put_final_run(RUN, "I2", "w", "cancelled", TIMES);
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_END);
    ck_assert_str_eq(status, "cancelled");
    ck_assert_int_eq(cancel_by("me", RUN2), SWAMP_ABSENT);
    ck_assert_int_eq(cancel_by("me", "a/b"), SWAMP_ABSENT);
    ck_assert_uint_eq(count_records("cancel-requests/"), 0);
}
END_TEST

static void
end_the_run(void)
{
    remove_record("active-runs/" RUN);
    put_final_run(RUN, "I2", "w", "succeeded", TIMES);
}

START_TEST(run_that_ends_before_the_request_is_left_says_how)
{
    put_heartbeat("me");
    put_active_run(RUN, "I2", "w");
    before_call(2, end_the_run);
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_END);
    ck_assert_str_eq(status, "succeeded");
    ck_assert_uint_eq(count_records("cancel-requests/"), 0);
}
END_TEST

static void
admit_the_run(void)
{
    put_active_run(RUN, "I2", "w");
}

START_TEST(run_that_is_admitted_between_the_reads_is_cancelled)
{
    put_heartbeat("me");
    before_call(2, admit_the_run);
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_OK);
    ck_assert(has_record("cancel-requests/I2/" RUN));
}
END_TEST

START_TEST(cancel_whose_answer_is_lost_is_left_once_more)
{
    put_heartbeat("me");
    put_active_run(RUN, "I2", "w");
    fail_call(2, _i ? FAKE_ANSWER_LOST : FAKE_WRITE_LOST);
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_OK);
    ck_assert(has_record("cancel-requests/I2/" RUN));
    fail_from(1, FAKE_WRITE_LOST);
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_E_STORE);
    fail_from(2, FAKE_TIMEOUT);
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_E_TIMEOUT);
}
END_TEST

START_TEST(who_was_declared_dead_cancels_nothing)
{
    put_active_run(RUN, "I2", "w");
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_E_FENCED);
    ck_assert_uint_eq(count_records("cancel-requests/"), 0);
}
END_TEST

START_TEST(cancel_of_a_run_that_cannot_be_read_is_an_error)
{
    put_heartbeat("me");
    put_record("active-runs/" RUN, "not json");
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_E_CORRUPT);
    remove_record("active-runs/" RUN);
    put_record("runs/" RUN, "not json");
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_E_CORRUPT);
    put_final_run(RUN, "I2", "w", "running", TIMES);
    ck_assert_int_eq(cancel_by("me", RUN), SWAMP_E_BUSY);
}
END_TEST

START_TEST(cancel_without_memory_is_not_called_corrupt)
{
    put_heartbeat("me");
    if (_i)
        put_deep_record("active-runs/" RUN, "\"instanceId\":\"I2\"");
    else
        put_deep_record("runs/" RUN, "\"id\":\"" RUN "\",\"status\":\"failed\"");
    int rc = SWAMP_E_NOMEM;
    for (unsigned long n = 1, failed = 1; failed; n++) {
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 1);
        rc = cancel_by("me", RUN);
        failed = swamp__alloc_count() - before >= n;
        swamp__alloc_fail_at(0, 0);
        if (failed)
            ck_assert_int_eq(rc, SWAMP_E_NOMEM);
    }
    ck_assert_int_eq(rc, _i ? SWAMP_OK : SWAMP_END);
}
END_TEST

static char found[4096];

static void
note_found(void *user, const char *run_id, const char *reason, const char *requested_by)
{
    size_t len = strlen(found);
    ++*(int *)user;
    snprintf(found + len, sizeof found - len, "%s:%s:%s;", run_id, reason, requested_by);
}

START_TEST(owner_finds_its_requests_also_unreadable_ones)
{
    int count = 0;
    put_record("cancel-requests/me/r-1", "{\"requestedBy\":\"user:z\",\"reason\":\"why not\"}");
    put_record("cancel-requests/me/r-2", "not json");
    put_record("cancel-requests/me2/r-3", "{}");
    ck_assert_int_eq(swamp__history_cancel_requests(store, "me", 1000, note_found, &count), SWAMP_OK);
    ck_assert_str_eq(found, "r-1:why not:user:z;r-2::;");
    char key[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "cancel-requests/you/r-%d", i);
        put_record(key, "{}");
    }
    count = 0;
    ck_assert_int_eq(swamp__history_cancel_requests(store, "you", 1000, note_found, &count), SWAMP_OK);
    ck_assert_int_eq(count, 1000);
}
END_TEST

static void
add_get_tests(Suite *s)
{
    TCase *t = tcase_create("one run");
    tcase_add_checked_fixture(t, open_all, close_all);
    tcase_set_timeout(t, 20);
    tcase_add_test(t, run_is_found_by_its_exact_id_with_one_read);
    tcase_add_test(t, name_means_the_latest_run_of_the_workflow);
    tcase_add_test(t, index_key_whose_run_is_gone_is_passed_over);
    tcase_add_test(t, names_that_are_cut_to_one_key_are_told_apart_by_the_run);
    tcase_add_test(t, prefix_of_thirteen_is_enough_and_twelve_is_not);
    tcase_add_test(t, suffix_of_eight_is_enough_and_seven_is_not);
    tcase_add_test(t, ambiguous_part_says_how_many);
    tcase_add_test(t, a_thousand_runs_are_searched_by_their_keys);
    tcase_add_test(t, run_that_cannot_be_read_is_an_error_not_an_absence);
    tcase_add_test(t, store_that_fails_at_any_call_is_an_error);
    tcase_add_test(t, text_that_no_id_can_be_is_looked_for_as_a_name_only);
    suite_add_tcase(s, t);
}

static void
add_row_tests(Suite *s)
{
    TCase *t = tcase_create("rows");
    tcase_add_checked_fixture(t, open_all, close_all);
    tcase_set_timeout(t, 20);
    tcase_add_test(t, row_of_an_active_run_comes_from_its_owner);
    tcase_add_test(t, row_of_a_run_whose_owner_is_dead_is_stale);
    tcase_add_test(t, row_of_an_ended_run_has_null_where_nothing_applies);
    tcase_add_test(t, rows_are_newest_first_and_bounded);
    tcase_add_test(t, run_that_ends_between_the_reads_shows_as_ended);
    tcase_add_test(t, one_workflow_among_many_is_read_by_its_index);
    tcase_add_loop_test(t, list_that_fails_or_has_no_memory_is_an_error, 0, 2);
    tcase_add_test(t, instances_are_stale_by_the_callers_watches);
    tcase_add_test(t, instances_without_memory_are_an_error);
    suite_add_tcase(s, t);
}

static void
add_cancel_tests(Suite *s)
{
    TCase *t = tcase_create("cancel");
    tcase_add_checked_fixture(t, open_all, close_all);
    tcase_add_loop_test(t, cancel_leaves_a_request_with_the_owner, 0, 2);
    tcase_add_test(t, cancel_of_an_ended_run_says_how_it_ended);
    tcase_add_test(t, run_that_ends_before_the_request_is_left_says_how);
    tcase_add_test(t, run_that_is_admitted_between_the_reads_is_cancelled);
    tcase_add_loop_test(t, cancel_whose_answer_is_lost_is_left_once_more, 0, 2);
    tcase_add_test(t, who_was_declared_dead_cancels_nothing);
    tcase_add_test(t, cancel_of_a_run_that_cannot_be_read_is_an_error);
    tcase_add_loop_test(t, cancel_without_memory_is_not_called_corrupt, 0, 2);
    tcase_add_test(t, owner_finds_its_requests_also_unreadable_ones);
    suite_add_tcase(s, t);
}

static Suite *
suite(void)
{
    Suite *s = suite_create("history");
    add_get_tests(s);
    add_row_tests(s);
    add_cancel_tests(s);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
