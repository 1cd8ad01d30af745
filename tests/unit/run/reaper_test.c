/* Clearing up after the dead (PROTOCOL 5, Reaping): one commit a run, whoever else is at it, and wherever it
 * stops. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/run/reaper.h"
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/document.h"
#include "../../support/fake_world.h"
#include "records_fixture.h"
#include "tap.h"

#define RUN "0192f3a0-0000-7000-8000-000000000001"
#define NOW 1764547300000

static swamp__reap reap;

static int
reap_by(swamp_store *through, const char *me)
{
    reap = (swamp__reap){.me = me, .unix_ms = NOW, .timeout_ms = 1000, .max_runs = 10000};
    return swamp__reap_dead(through, &reap);
}

static void
open_all(void)
{
    records_open();
    put_heartbeat("me");
}

/* The run as it must be in the end, and nothing left that leads to a dead instance. */
static void
check_ended(const char *run_id, const char *instance_id)
{
    char key[128];
    swamp__run_facts facts;
    snprintf(key, sizeof key, "runs/%s", run_id);
    const char *json = record_text(key);
    ck_assert_int_eq(swamp__run_read(json, strlen(json), &facts), SWAMP_OK);
    ck_assert_str_eq(facts.id, run_id);
    ck_assert_str_eq(facts.status, "failed");
    ck_assert_str_eq(facts.interrupt_reason, "instance_dead");
    ck_assert_str_eq(facts.instance_id, instance_id);
    ck_assert_str_eq(facts.finished_at, "2025-12-01T00:01:40.000Z");
    snprintf(key, sizeof key, "active-runs/%s", run_id);
    ck_assert(!has_record(key));
    snprintf(key, sizeof key, "instance-runs/%s/", instance_id);
    ck_assert_uint_eq(count_records(key), 0);
    snprintf(key, sizeof key, "cancel-requests/%s/", instance_id);
    ck_assert_uint_eq(count_records(key), 0);
}

START_TEST(active_run_of_a_dead_instance_ends_as_interrupted)
{
    put_active_run(RUN, "I2", "w");
    put_record("cancel-requests/I2/" RUN, "{}");
    ck_assert_int_eq(reap_by(store, _i ? NULL : "me"), SWAMP_OK); /* an observer has no heartbeat to check */
    ck_assert_uint_eq(reap.ended, 1);
    ck_assert_uint_eq(reap.removed, 0);
    ck_assert_int_eq(reap.more, 0);
    ck_assert_str_eq(reap.after, "");
    check_ended(RUN, "I2");
    ck_assert_ptr_nonnull(strstr(record_text("runs/" RUN), "{\"name\":\"s\",\"status\":\"failed\""));
    ck_assert(has_record("workflow-names/w/" RUN));
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.ended + reap.removed, 0);
}
END_TEST

START_TEST(runs_of_the_living_are_left_alone)
{
    put_active_run(RUN, "I2", "w");
    put_heartbeat("I2");
    put_record("heartbeats/I3", "not json"); /* alive, too: liveness is presence */
    put_active_run("0192f3a0-0000-7000-8000-000000000002", "I3", "w");
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.ended + reap.removed, 0);
    ck_assert_uint_eq(commits_made(), 0);
    ck_assert_uint_eq(count_records("active-runs/"), 2);
    ck_assert_uint_eq(count_records("instance-runs/"), 2);
}
END_TEST

START_TEST(finished_run_of_a_dead_instance_keeps_its_record)
{
    put_final_run(RUN, "I2", "w", "succeeded", "");
    put_record("instance-runs/I2/" RUN, "{}");
    uint64_t revision = record_revision("runs/" RUN);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.removed, 1);
    ck_assert_uint_eq(reap.ended, 0);
    ck_assert_uint_eq(record_revision("runs/" RUN), revision);
    ck_assert_uint_eq(count_records("instance-runs/"), 0);
}
END_TEST

START_TEST(final_status_is_never_changed_even_beside_an_active_record)
{
    put_active_run(RUN, "I2", "w");
    put_final_run(RUN, "I2", "w", "succeeded", "");
    uint64_t revision = record_revision("runs/" RUN);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(record_revision("runs/" RUN), revision);
    ck_assert_uint_eq(count_records("active-runs/") + count_records("instance-runs/"), 0);
}
END_TEST

START_TEST(run_that_is_neither_active_nor_final_is_ended)
{
    put_active_run(RUN, "I2", "w");
    remove_record("active-runs/" RUN);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.ended, 1);
    check_ended(RUN, "I2");
}
END_TEST

/* It proves nothing about the run: what that says of itself decides, and nothing is ended for the request's sake. */
START_TEST(request_that_nothing_else_leads_to_goes_when_its_instance_is_dead)
{
    put_record("cancel-requests/I2/" RUN, "{}");
    if (_i == 1)
        put_final_run(RUN, "I2", "w", "succeeded", "");
    if (_i == 2)
        put_active_run(RUN, "me", "w");
    if (_i == 3)
        put_record("active-runs/" RUN, "not json");
    if (_i == 4)
        put_record("runs/" RUN, "{\"id\":\"" RUN "\",\"status\":\"running\"}");
    uint64_t run = record_revision("runs/" RUN), active = record_revision("active-runs/" RUN);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.ended, 0);
    ck_assert_uint_eq(reap.removed, 1);
    ck_assert_uint_eq(count_records("cancel-requests/"), 0);
    ck_assert_uint_eq(record_revision("runs/" RUN), run);
    ck_assert_uint_eq(record_revision("active-runs/" RUN), active);
}
END_TEST

START_TEST(request_to_a_living_instance_stays)
{
    put_record("cancel-requests/I2/" RUN, "{}");
    put_heartbeat("I2");
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(commits_made(), 0);
}
END_TEST

/* The end is made of the active record here: not of nothing because there was no memory to read it. */
START_TEST(memory_that_runs_out_ends_no_run_as_unreadable)
{
    for (unsigned long n = 1, failed = 1; failed; n++) {
        put_active_run(RUN, "I2", "w");
        put_deep_record("active-runs/" RUN, "\"instanceId\":\"I2\",\"principal\":\"user:x\"");
        put_record("runs/" RUN, "not json");
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 0);
        (void)reap_by(store, "me");
        failed = swamp__alloc_count() - before >= n;
        swamp__alloc_fail_at(0, 0);
        if (reap.ended)
            ck_assert_ptr_nonnull(strstr(record_text("runs/" RUN), "\"initiatedBy\":\"user:x\""));
    }
    check_ended(RUN, "I2");
}
END_TEST

/* The two lists, and what comes between them. */

static void
start_an_instance(void)
{
    put_heartbeat("young");
    put_active_run("0192f3a0-0000-7000-8000-00000000000f", "young", "w");
}

START_TEST(instance_that_starts_between_the_lists_is_not_even_tried)
{
    put_active_run(RUN, "I2", "w");
    put_heartbeat("I2");
    before_call(2, start_an_instance);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(commits_made(), 0);
    ck_assert(has_record("active-runs/0192f3a0-0000-7000-8000-00000000000f"));
}
END_TEST

START_TEST(run_that_only_its_active_record_leads_to_is_ended)
{
    put_active_run(RUN, "I2", "w");
    remove_record("instance-runs/I2/" RUN);
    put_active_run("0192f3a0-0000-7000-8000-000000000002", "me", "w");
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.ended, 1);
    check_ended(RUN, "I2");
    ck_assert_uint_eq(count_records("active-runs/"), 1);
}
END_TEST

/* Lost races. Calls for one run: list, list, get, get, commit. */

static void
let_another_reap(void)
{
    swamp__reap other = {.unix_ms = NOW, .timeout_ms = 1000, .max_runs = 100};
    ck_assert_int_eq(swamp__reap_dead(real, &other), SWAMP_OK);
}

START_TEST(another_reaper_may_be_faster_at_any_step)
{
    put_active_run(RUN, "I2", "w");
    put_active_run("0192f3a0-0000-7000-8000-000000000002", "I3", "w");
    before_call((unsigned)_i, let_another_reap);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    check_ended(RUN, "I2");
    check_ended("0192f3a0-0000-7000-8000-000000000002", "I3");
    ck_assert_uint_eq(count_records("instance-runs/") + count_records("active-runs/"), 0);
}
END_TEST

static void
write_progress(void)
{
    put_record("runs/" RUN,
               "{\"id\":\"" RUN "\",\"status\":\"running\",\"instanceId\":\"I2\",\"duration\":7}");
}

START_TEST(run_that_changed_since_it_was_read_is_left_for_the_next_time)
{
    put_active_run(RUN, "I2", "w");
    before_call(5, write_progress);
    reap = (swamp__reap){.me = "me", .unix_ms = NOW, .timeout_ms = 1000, .max_runs = 1};
    ck_assert_int_eq(swamp__reap_dead(store, &reap), SWAMP_OK);
    ck_assert_uint_eq(reap.ended, 0);
    ck_assert_int_eq(reap.more, 1);            /* its active record still leads to it */
    ck_assert(has_record("active-runs/" RUN)); /* all or nothing */
    ck_assert(has_record("instance-runs/I2/" RUN));
    ck_assert_int_eq(swamp__reap_dead(store, &reap), SWAMP_OK);
    ck_assert_uint_eq(reap.ended, 1);
    check_ended(RUN, "I2");
}
END_TEST

static void
let_the_heartbeat_come(void)
{
    put_heartbeat("I2");
}

static void
touch_the_active_record(void)
{
    put_record("active-runs/" RUN, "{\"instanceId\":\"I2\",\"new\":1}");
}

/* Whatever the lists said: the commit has the last word. */
START_TEST(run_whose_owner_or_record_is_another_one_by_the_commit_is_left)
{
    put_active_run(RUN, "I2", "w");
    before_call(5, _i ? touch_the_active_record : let_the_heartbeat_come);
    reap = (swamp__reap){.me = "me", .unix_ms = NOW, .timeout_ms = 1000, .max_runs = 1};
    ck_assert_int_eq(swamp__reap_dead(store, &reap), SWAMP_OK);
    ck_assert_uint_eq(reap.ended, 0);
    ck_assert(has_record("active-runs/" RUN));
    ck_assert(has_record("instance-runs/I2/" RUN));
}
END_TEST

static void
declare_me_dead(void)
{
    remove_record("heartbeats/me");
}

START_TEST(reaper_that_was_declared_dead_writes_nothing)
{
    put_active_run(RUN, "I2", "w");
    before_call(5, declare_me_dead);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_E_FENCED);
    ck_assert(has_record("active-runs/" RUN));
    ck_assert(has_record("instance-runs/I2/" RUN));
}
END_TEST

/* Faults. */

START_TEST(reaper_killed_after_any_step_is_finished_by_the_next)
{
    unsigned n = (unsigned)_i + 1;
    put_active_run(RUN, "I2", "w");
    put_active_run("0192f3a0-0000-7000-8000-000000000002", "I2", "w");
    put_final_run("0192f3a0-0000-7000-8000-000000000003", "I2", "w", "succeeded", "");
    put_record("instance-runs/I2/0192f3a0-0000-7000-8000-000000000003", "{}");
    put_record("cancel-requests/I2/" RUN, "{}");
    uint64_t final = record_revision("runs/0192f3a0-0000-7000-8000-000000000003");
    fail_from(n, FAKE_ERROR);
    ck_assert_int_eq(reap_by(store, "me"), calls_made() >= n ? SWAMP_E_STORE : SWAMP_OK);
    size_t ended = reap.ended;
    ck_assert_int_eq(reap_by(real, "me"), SWAMP_OK);
    ck_assert_uint_eq(ended + reap.ended, 2); /* each was ended once */
    check_ended(RUN, "I2");
    check_ended("0192f3a0-0000-7000-8000-000000000002", "I2");
    ck_assert_uint_eq(record_revision("runs/0192f3a0-0000-7000-8000-000000000003"), final);
    ck_assert_uint_eq(count_records("instance-runs/") + count_records("active-runs/"), 0);
}
END_TEST

START_TEST(commit_whose_answer_is_lost_is_not_made_twice)
{
    static const int faults[] = {FAKE_ANSWER_LOST, FAKE_WRITE_LOST};
    put_active_run(RUN, "I2", "w");
    fail_call(5, faults[_i]);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_E_UNKNOWN);
    uint64_t written = _i == 0 ? record_revision("runs/" RUN) : 0;
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    check_ended(RUN, "I2");
    if (written)
        ck_assert_uint_eq(record_revision("runs/" RUN), written);
}
END_TEST

/* Records that cannot be read. */

START_TEST(unreadable_run_is_replaced_by_one_made_of_the_active_record)
{
    static char garbage[SWAMP_STORE_VALUE_MAX];
    static const char *const bad[] = {"not json", "[]", "{}", "{\"id\":\"another\",\"status\":\"running\"}",
                                      NULL,       ""};
    put_active_run(RUN, "I2", "w");
    memset(garbage, '[', sizeof garbage);
    if (bad[_i] && *bad[_i])
        put_record("runs/" RUN, bad[_i]);
    else if (bad[_i])
        put_bytes("runs/" RUN, garbage, sizeof garbage);
    else
        remove_record("runs/" RUN);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    check_ended(RUN, "I2");
    swamp__run_facts facts;
    const char *json = record_text("runs/" RUN);
    ck_assert_int_eq(swamp__run_read(json, strlen(json), &facts), SWAMP_OK);
    ck_assert_str_eq(facts.workflow_name, "w");
    ck_assert_str_eq(facts.initiated_by, "user:x");
    ck_assert_str_eq(facts.started_at, "2026-11-29T10:00:00.000Z");
}
END_TEST

START_TEST(unreadable_active_record_of_a_dead_instance_goes)
{
    put_active_run(RUN, "I2", "w");
    put_record("active-runs/" RUN, _i ? "not json" : "{}");
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    check_ended(RUN, "I2");
    put_active_run(RUN, "I2", "w");
    put_record("active-runs/" RUN, "not json");
    put_record("runs/" RUN, "not json, too");
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    check_ended(RUN, "I2");
}
END_TEST

START_TEST(unreadable_active_record_that_may_be_of_the_living_stays)
{
    put_active_run(RUN, "I2", "w");
    put_final_run(RUN, "I3", "w", "running", ""); /* the RUN names somebody else */
    put_record("active-runs/" RUN, "not json");
    put_record("active-runs/0192f3a0-0000-7000-8000-000000000002",
               "not json"); /* nothing leads to its owner */
    put_heartbeat("I3");
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(count_records("active-runs/"), 2);
    ck_assert(!has_record("instance-runs/I2/" RUN));
    ck_assert_ptr_nonnull(strstr(record_text("runs/" RUN), "\"status\":\"running\""));
}
END_TEST

START_TEST(run_that_a_living_instance_admitted_stays)
{
    put_active_run(RUN, "I3", "w");
    put_heartbeat("I3");
    put_record("instance-runs/I2/" RUN, "{}"); /* what a loser of a race left behind */
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.removed, 1);
    ck_assert(has_record("active-runs/" RUN));
    ck_assert(has_record("instance-runs/I3/" RUN));
    ck_assert(!has_record("instance-runs/I2/" RUN));
}
END_TEST

START_TEST(keys_that_cannot_be_understood_stay)
{
    put_record("instance-runs/I2/a/b", "{}");
    put_record("instance-runs/I2", "{}");
    put_record("instance-runs/" RUN RUN "/" RUN, "{}");
    put_record("instance-runs/I2/" RUN RUN, "{}");
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(count_records("instance-runs/"), 4);
}
END_TEST

/* Much to do. */

static void
put_many(int count)
{
    char run_id[64], instance_id[16];
    for (int i = 0; i < count; i++) {
        snprintf(run_id, sizeof run_id, "0192f3a0-0000-7000-8000-%012d", i);
        snprintf(instance_id, sizeof instance_id, "I%d", i % 7);
        put_active_run(run_id, instance_id, "w");
    }
    put_heartbeat("I3");
}

START_TEST(a_thousand_runs_take_several_pages)
{
    put_many(1000);
    ck_assert_int_eq(reap_by(store, "me"), SWAMP_OK);
    ck_assert_uint_eq(reap.ended, 857);
    ck_assert_int_eq(reap.more, 0);
    ck_assert_uint_eq(count_records("active-runs/"), 143);
    ck_assert_uint_eq(count_records("instance-runs/"), 143);
    ck_assert_uint_eq(count_records("instance-runs/I3/"), 143);
}
END_TEST

START_TEST(max_runs_bounds_one_call_and_the_next_goes_on)
{
    size_t ended = 0, calls = 0;
    put_many(1000);
    reap = (swamp__reap){.me = "me", .unix_ms = NOW, .timeout_ms = 1000, .max_runs = 100};
    do {
        ck_assert_int_eq(swamp__reap_dead(store, &reap), SWAMP_OK);
        ck_assert_uint_le(reap.ended, 100);
        ck_assert_int_eq(reap.more, *reap.after != 0);
        ended += reap.ended;
        calls++;
    } while (reap.more);
    ck_assert_uint_eq(ended, 857);
    ck_assert_uint_eq(calls, 9);
}
END_TEST

/* Retention. */

#define OLD "\"startedAt\":\"2026-10-01T00:00:00.000Z\",\"finishedAt\":\"2026-10-01T01:00:00.000Z\""
#define YOUNG "\"startedAt\":\"2026-11-29T00:00:00.000Z\",\"finishedAt\":\"2026-11-29T01:00:00.000Z\""
#define BOUND 1793491200000 /* 2026-11-01T00:00:00.000Z */

static int
retain(size_t max, size_t *removed)
{
    return swamp__retain(store, "me", BOUND, max, 1000, removed);
}

START_TEST(old_final_runs_go_with_their_index_keys)
{
    size_t removed = 99;
    put_final_run("a-1", "I2", "w", "succeeded", OLD);
    put_final_run("a-2", "I2", "w", "failed", OLD);
    put_final_run("b-1", "I2", "w", "succeeded", YOUNG);
    ck_assert_int_eq(retain(100, &removed), SWAMP_OK);
    ck_assert_uint_eq(removed, 2);
    ck_assert_uint_eq(count_records("runs/"), 1);
    ck_assert(has_record("runs/b-1"));
    ck_assert_uint_eq(count_records("workflow-runs/"), 1);
    ck_assert_uint_eq(count_records("workflow-names/"), 1);
}
END_TEST

START_TEST(runs_that_are_not_final_or_not_readable_are_kept)
{
    size_t removed = 99;
    put_final_run("a-1", "I2", "w", "running", OLD);
    put_final_run("a-2", "I2", "w", "suspended", OLD);
    put_record("runs/a-3", "not json");
    put_final_run("a-4", "I2", "w", "succeeded", OLD);
    put_final_run("a-5", "I2", "w", "succeeded",
                  "\"startedAt\":\"2026-10-01T00:00:00.000Z\",\"finishedAt\":\"2026-11-29T00:00:00.000Z\"");
    ck_assert_int_eq(retain(100, &removed), SWAMP_OK);
    ck_assert_uint_eq(removed, 1);
    ck_assert(!has_record("runs/a-4"));
    ck_assert_uint_eq(count_records("runs/"), 4);
}
END_TEST

START_TEST(run_that_does_not_say_when_it_began_goes_by_its_id)
{
    size_t removed = 99;
    put_final_run("0199a000-0000-7000-8000-000000000001", "I2", "w", "succeeded", ""); /* October 2025 */
    put_final_run("01a1f000-0000-7000-8000-000000000001", "I2", "w", "succeeded", ""); /* after the bound */
    ck_assert_int_eq(retain(100, &removed), SWAMP_OK);
    ck_assert_uint_eq(removed, 1);
    ck_assert(has_record("runs/01a1f000-0000-7000-8000-000000000001"));
}
END_TEST

START_TEST(retention_goes_on_where_it_was_bounded)
{
    char run_id[64];
    size_t removed = 0;
    for (int i = 0; i < 600; i++) {
        snprintf(run_id, sizeof run_id, "a-%04d", i);
        put_final_run(run_id, "I2", "w", "succeeded", OLD);
    }
    put_final_run("b-1", "I2", "w", "succeeded", YOUNG);
    ck_assert_int_eq(retain(50, &removed), SWAMP_OK);
    ck_assert_uint_eq(removed, 50);
    ck_assert(!has_record("runs/a-0000")); /* oldest first */
    ck_assert(has_record("runs/a-0050"));
    ck_assert_int_eq(retain(10000, &removed), SWAMP_OK);
    ck_assert_uint_eq(removed, 550);
    ck_assert_uint_eq(count_records("runs/"), 1);
    ck_assert_uint_eq(count_records("workflow-names/"), 1);
}
END_TEST

static void
touch_the_run(void)
{
    put_final_run("a-1", "I2", "w", "succeeded", OLD);
}

START_TEST(retention_removes_only_what_it_read)
{
    size_t removed = 99;
    put_final_run("a-1", "I2", "w", "succeeded", OLD);
    before_call(2, touch_the_run);
    ck_assert_int_eq(retain(100, &removed), SWAMP_OK);
    ck_assert_uint_eq(removed, 0);
    ck_assert(has_record("runs/a-1"));
    ck_assert(has_record("workflow-names/w/a-1"));
    before_call(2, declare_me_dead);
    ck_assert_int_eq(retain(100, &removed), SWAMP_E_FENCED);
    ck_assert(has_record("runs/a-1"));
    fail_call(2, FAKE_ANSWER_LOST);
    ck_assert_int_eq(swamp__retain(store, NULL, BOUND, 100, 1000, &removed), SWAMP_E_UNKNOWN);
    ck_assert_int_eq(swamp__retain(store, NULL, BOUND, 100, 1000, &removed), SWAMP_OK);
    ck_assert_uint_eq(count_records("runs/"), 0);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("reaper");
    TCase *t = tcase_create("reaping");
    tcase_add_checked_fixture(t, open_all, records_close);
    tcase_add_loop_test(t, active_run_of_a_dead_instance_ends_as_interrupted, 0, 2);
    tcase_add_test(t, runs_of_the_living_are_left_alone);
    tcase_add_test(t, finished_run_of_a_dead_instance_keeps_its_record);
    tcase_add_test(t, final_status_is_never_changed_even_beside_an_active_record);
    tcase_add_test(t, run_that_is_neither_active_nor_final_is_ended);
    tcase_add_loop_test(t, request_that_nothing_else_leads_to_goes_when_its_instance_is_dead, 0, 5);
    tcase_add_test(t, request_to_a_living_instance_stays);
    tcase_add_test(t, memory_that_runs_out_ends_no_run_as_unreadable);
    tcase_add_test(t, instance_that_starts_between_the_lists_is_not_even_tried);
    tcase_add_test(t, run_that_only_its_active_record_leads_to_is_ended);
    suite_add_tcase(s, t);

    t = tcase_create("races and faults");
    tcase_add_checked_fixture(t, open_all, records_close);
    tcase_add_loop_test(t, another_reaper_may_be_faster_at_any_step, 1, 10);
    tcase_add_test(t, run_that_changed_since_it_was_read_is_left_for_the_next_time);
    tcase_add_loop_test(t, run_whose_owner_or_record_is_another_one_by_the_commit_is_left, 0, 2);
    tcase_add_test(t, reaper_that_was_declared_dead_writes_nothing);
    tcase_add_loop_test(t, reaper_killed_after_any_step_is_finished_by_the_next, 0, 16);
    tcase_add_loop_test(t, commit_whose_answer_is_lost_is_not_made_twice, 0, 2);
    suite_add_tcase(s, t);

    t = tcase_create("records that cannot be read");
    tcase_add_checked_fixture(t, open_all, records_close);
    tcase_add_loop_test(t, unreadable_run_is_replaced_by_one_made_of_the_active_record, 0, 6);
    tcase_add_loop_test(t, unreadable_active_record_of_a_dead_instance_goes, 0, 2);
    tcase_add_test(t, unreadable_active_record_that_may_be_of_the_living_stays);
    tcase_add_test(t, run_that_a_living_instance_admitted_stays);
    tcase_add_test(t, keys_that_cannot_be_understood_stay);
    suite_add_tcase(s, t);

    t = tcase_create("much to do");
    tcase_add_checked_fixture(t, open_all, records_close);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, a_thousand_runs_take_several_pages);
    tcase_add_test(t, max_runs_bounds_one_call_and_the_next_goes_on);
    suite_add_tcase(s, t);

    t = tcase_create("retention");
    tcase_add_checked_fixture(t, open_all, records_close);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, old_final_runs_go_with_their_index_keys);
    tcase_add_test(t, runs_that_are_not_final_or_not_readable_are_kept);
    tcase_add_test(t, run_that_does_not_say_when_it_began_goes_by_its_id);
    tcase_add_test(t, retention_goes_on_where_it_was_bounded);
    tcase_add_test(t, retention_removes_only_what_it_read);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
