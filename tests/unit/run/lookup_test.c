/* Where does a run live: the reads of PROTOCOL 6.3 to 6.6, their number, and what happens between them. */
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/run/lookup.h"
#include "../../../libswamp/util/alloc.h"
#include "../../support/fake_world.h"
#include "records_fixture.h"
#include "tap.h"

#define RUN "0192f3a0-0000-7000-8000-000000000001"

static swamp__lookup found;

static int
look_up(const char *run_id)
{
    swamp__lookup_free(&found);
    swamp__lookup_run(store, run_id, 1000, &found);
    return found.found;
}

static void
open_all(void)
{
    records_open();
    memset(&found, 0, sizeof found);
}

static void
close_all(void)
{
    swamp__lookup_free(&found);
    records_close();
}

START_TEST(id_that_no_run_can_have_is_not_asked_for)
{
    static const char *const ids[] = {"", "a/b", "caf\xc3\xa9", "a\nb",
                                      "01234567890123456789012345678901234567890123456789012345678901234"};
    ck_assert_int_eq(look_up(ids[_i]), SWAMP__FOUND_NOTHING);
    ck_assert_int_eq(found.reads, 0);
    ck_assert_int_eq(calls_made(), 0);
}
END_TEST

START_TEST(active_run_takes_two_reads)
{
    put_active_run(RUN, "I2", "w");
    put_heartbeat("I2");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_ACTIVE);
    ck_assert_str_eq(found.owner, "I2");
    ck_assert_uint_eq(found.heartbeat_revision, record_revision("heartbeats/I2"));
    ck_assert_str_eq(found.heartbeat.data, record_text("heartbeats/I2"));
    ck_assert_int_eq(found.local, 0);
    ck_assert_int_eq(found.reads, 2);
    ck_assert_int_eq(calls_made(), 2);
}
END_TEST

START_TEST(active_run_of_a_local_instance_says_so)
{
    put_active_run(RUN, "I2", "w");
    put_record("heartbeats/I2", "{\"local\":true}");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_ACTIVE);
    ck_assert_int_eq(found.local, 1);
}
END_TEST

START_TEST(owner_with_an_unreadable_heartbeat_is_there)
{
    static char garbage[SWAMP_STORE_VALUE_MAX];
    put_active_run(RUN, "I2", "w");
    put_record("heartbeats/I2", "{");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_ACTIVE);
    memset(garbage, 0xFF, sizeof garbage);
    put_bytes("heartbeats/I2", garbage, sizeof garbage);
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_ACTIVE);
    ck_assert_uint_eq(found.heartbeat.len, sizeof garbage);
}
END_TEST

START_TEST(run_of_a_dead_owner_is_read_a_second_time)
{
    put_active_run(RUN, "I2", "w");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_ORPHAN);
    ck_assert_str_eq(found.owner, "I2");
    ck_assert_int_eq(found.reads, 3);
}
END_TEST

static void
stop_cleanly(void)
{
    remove_record("active-runs/" RUN);
    put_final_run(RUN, "I2", "w", "succeeded", "");
    remove_record("heartbeats/I2");
}

START_TEST(owner_that_stops_cleanly_between_the_reads_is_not_dead)
{
    put_active_run(RUN, "I2", "w");
    put_heartbeat("I2");
    before_call(2, stop_cleanly);
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_NOTHING);
    ck_assert_str_eq(found.run.status, "succeeded");
    ck_assert_int_eq(found.reads, 4);
}
END_TEST

static void
be_reaped(void)
{
    remove_record("active-runs/" RUN);
    put_final_run(RUN, "I2", "w", "failed", "\"interruptReason\":\"instance_dead\"");
}

START_TEST(reaper_that_is_faster_changes_nothing_for_the_caller)
{
    put_active_run(RUN, "I2", "w");
    before_call(3, be_reaped);
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_INTERRUPTED);
    ck_assert_str_eq(found.run.interrupt_reason, "instance_dead");
    ck_assert_int_eq(found.reads, 4);
}
END_TEST

START_TEST(absent_run_takes_two_reads)
{
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_NOTHING);
    ck_assert_int_eq(found.reads, 2);
}
END_TEST

START_TEST(run_that_ended_long_ago_takes_three_reads)
{
    put_final_run(RUN, "I2", "w", "succeeded", "");
    put_heartbeat("I2");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_NOTHING);
    ck_assert_str_eq(found.run.status, "succeeded");
    ck_assert_int_eq(found.reads, 3);
}
END_TEST

START_TEST(interrupted_run_says_why)
{
    put_final_run(RUN, "I2", "w", "cancelled", "\"interruptReason\":\"instance_shutdown\"");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_INTERRUPTED);
    ck_assert_str_eq(found.run.interrupt_reason, "instance_shutdown");
    ck_assert_str_eq(found.run.instance_id, "I2");
    ck_assert_int_eq(found.reads, 3);
}
END_TEST

START_TEST(ended_run_that_its_living_owner_keeps_is_found_there)
{
    put_final_run(RUN, "I2", "w", "cancelled", _i ? "\"interruptReason\":\"instance_shutdown\"" : "");
    put_record("instance-runs/I2/" RUN, "{}");
    put_heartbeat("I2");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_KEPT);
    ck_assert_str_eq(found.owner, "I2");
    ck_assert_uint_eq(found.heartbeat_revision, record_revision("heartbeats/I2"));
    ck_assert_int_eq(found.local, 0);
    ck_assert_int_eq(found.reads, 4);
    put_record("heartbeats/I2", "{\"local\":true}");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_KEPT);
    ck_assert_int_eq(found.local, 1);
}
END_TEST

START_TEST(ended_run_of_a_dead_owner_is_not_found)
{
    put_final_run(RUN, "I2", "w", "succeeded", "");
    put_record("instance-runs/I2/" RUN, "{}");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_NOTHING);
}
END_TEST

START_TEST(run_that_is_neither_active_nor_final_is_under_way)
{
    put_final_run(RUN, "I2", "w", "running", "");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_UNDER_WAY);
    put_record("runs/" RUN, "{}");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_UNDER_WAY);
}
END_TEST

START_TEST(record_that_cannot_be_read_is_no_answer)
{
    static const char *const bad[] = {
        "not json", "[]", "{}", "{\"instanceId\":7}", "{\"instanceId\":\"a/b\"}", ""};
    put_heartbeat("I2");
    put_record("active-runs/" RUN, bad[_i]);
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_FAILED);
    remove_record("active-runs/" RUN);
    put_record("runs/" RUN, "not json");
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_FAILED);
}
END_TEST

START_TEST(memory_that_runs_out_says_nothing_of_a_record)
{
    put_deep_record("active-runs/" RUN, "\"instanceId\":\"I2\"");
    put_deep_record("heartbeats/I2",
                    "\"instanceId\":\"I2\",\"intervalMs\":10000,\"staleTtlMs\":30000,\"local\":true");
    for (unsigned long n = 1, failed = 1; failed; n++) {
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 1);
        look_up(RUN);
        failed = swamp__alloc_count() - before >= n;
        swamp__alloc_fail_at(0, 0);
        ck_assert_int_eq(found.unreadable, 0);
        ck_assert_int_eq(found.found, failed ? SWAMP__FOUND_FAILED : SWAMP__FOUND_ACTIVE);
    }
    ck_assert_int_eq(found.local, 1);
    ck_assert_uint_eq(warnings_logged(), 0);
}
END_TEST

START_TEST(store_that_fails_at_any_read_is_no_answer)
{
    static const int faults[] = {FAKE_ERROR, FAKE_TIMEOUT};
    put_active_run(RUN, "I2", "w");
    for (unsigned n = 1; n <= 3; n++) { /* an orphan: three reads */
        fail_call(n, faults[_i]);
        ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_FAILED);
    }
    remove_record("active-runs/" RUN);
    put_final_run(RUN, "I2", "w", "succeeded", "");
    put_heartbeat("I2");
    for (unsigned n = 1; n <= 4; n++) { /* kept: four reads */
        fail_call(n, faults[_i]);
        ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_FAILED);
    }
    fail_call(5, faults[_i]);
    ck_assert_int_eq(look_up(RUN), SWAMP__FOUND_KEPT);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("lookup");
    TCase *t = tcase_create("lookup");
    tcase_add_checked_fixture(t, open_all, close_all);
    tcase_add_loop_test(t, id_that_no_run_can_have_is_not_asked_for, 0, 5);
    tcase_add_test(t, active_run_takes_two_reads);
    tcase_add_test(t, active_run_of_a_local_instance_says_so);
    tcase_add_test(t, owner_with_an_unreadable_heartbeat_is_there);
    tcase_add_test(t, run_of_a_dead_owner_is_read_a_second_time);
    tcase_add_test(t, owner_that_stops_cleanly_between_the_reads_is_not_dead);
    tcase_add_test(t, reaper_that_is_faster_changes_nothing_for_the_caller);
    tcase_add_test(t, absent_run_takes_two_reads);
    tcase_add_test(t, run_that_ended_long_ago_takes_three_reads);
    tcase_add_test(t, interrupted_run_says_why);
    tcase_add_loop_test(t, ended_run_that_its_living_owner_keeps_is_found_there, 0, 2);
    tcase_add_test(t, ended_run_of_a_dead_owner_is_not_found);
    tcase_add_test(t, run_that_is_neither_active_nor_final_is_under_way);
    tcase_add_loop_test(t, record_that_cannot_be_read_is_no_answer, 0, 6);
    tcase_add_test(t, memory_that_runs_out_says_nothing_of_a_record);
    tcase_add_loop_test(t, store_that_fails_at_any_read_is_no_answer, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
