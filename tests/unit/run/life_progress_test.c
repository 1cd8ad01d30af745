/* Progress: at most one write a second, the last one wins, lost answers and fences: the rows RUNNING of life.c. */
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/store.h"
#include "life_fixture.h"

static int
update(int number)
{
    char json[64];
    int len =
        snprintf(json, sizeof(json), "{\"jobs\":[{\"name\":\"job-%d\",\"status\":\"running\"}]}", number);
    return swamp__run_update(run, json, (size_t)len);
}

static int
recorded(int number)
{
    char text[32];
    snprintf(text, sizeof(text), "\"job-%d\"", number);
    return strstr(value_of(KEY_RUN), text) != NULL;
}

START_TEST(progress_is_recorded_as_running)
{
    start();
    ck_assert_int_eq(update(1), SWAMP_OK);
    ms(0);
    ck_assert(recorded(1));
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"running\""));
    ck_assert_trace(""); /* nothing for viewers */
}
END_TEST

START_TEST(a_storm_of_updates_is_one_write_a_second_and_the_last_one_wins)
{
    start();
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(update(i), SWAMP_OK);
        ms(10);
    }
    ms(1000);
    ck_assert_uint_ge(asker->commits - 1, 10);
    ck_assert_uint_le(asker->commits - 1, 12);
    ck_assert(recorded(999));
}
END_TEST

START_TEST(a_slow_store_gets_no_second_write_meanwhile)
{
    start();
    asker->answer_low_ms = asker->answer_high_ms = 4000;
    for (int i = 0; i < 39; i++) {
        ck_assert_int_eq(update(i), SWAMP_OK);
        ms(100);
    }
    ck_assert_uint_eq(asker->commits - 1, 1);
    ms(10000);
    ck_assert_uint_eq(asker->commits - 1, 2);
    ck_assert(recorded(38));
}
END_TEST

START_TEST(progress_whose_answer_was_lost_is_known_by_reading_back)
{
    start();
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    ck_assert_int_eq(update(1), SWAMP_OK);
    ms(5000);
    ck_assert_uint_eq(asker->commits - 1, 1);
    ck_assert_int_eq(update(2), SWAMP_OK);
    ms(0);
    ck_assert(recorded(2)); /* at the right revision at once */
    ck_assert_uint_eq(asker->commits - 1, 2);
}
END_TEST

START_TEST(progress_that_was_not_written_is_written_a_second_later)
{
    static const int faults[] = {FAKE_ERROR, FAKE_TIMEOUT, FAKE_WRITE_LOST};
    start();
    for (int i = 0; i < 3; i++) {
        fake_asker_script(asker, faults[i]);
        ck_assert_int_eq(update(i), SWAMP_OK);
        ms(0);
        ck_assert(!recorded(i));
        ms(1000);
        ck_assert(recorded(i));
        ms(1000);
    }
    ck_assert_str_eq(state(), "RUNNING");
}
END_TEST

/* Both the answer and the reading back are lost: the next write meets its predecessor's revision. */
START_TEST(progress_goes_on_from_what_is_there)
{
    start();
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    ck_assert_int_eq(update(1), SWAMP_OK);
    fail_reads(1);
    ms(0);
    ck_assert(recorded(1));
    fail_reads(0);
    ck_assert_int_eq(update(2), SWAMP_OK);
    ms(3000);
    ck_assert(recorded(2));
    ck_assert_str_eq(state(), "RUNNING");
}
END_TEST

START_TEST(progress_of_a_dead_instance_loses_the_run)
{
    start();
    declare_dead();
    ck_assert_int_eq(update(1), SWAMP_OK);
    ms(0);
    ck_assert_trace("changed LOST; fenced; ");
    ck_assert(!recorded(1));
    ck_assert_int_eq(swamp__run_emit(run, "{}", 2), SWAMP_E_FENCED);
    ck_assert_int_eq(update(2), SWAMP_E_FENCED);
    ck_assert_uint_eq(life.registry->unfinished, 0);
    ms(60000);
    ck_assert_trace(""); /* the host still has it */
    ck_assert_int_eq(finish(SWAMP_RUN_SUCCEEDED, "{}", NULL), SWAMP_E_FENCED);
    ms(0);
    ck_assert_trace("gone; ");
    ck_assert_str_eq(events(), "");
}
END_TEST

START_TEST(progress_of_a_reaped_run_changes_nothing)
{
    start();
    swamp_store_op op = swamp__op_remove(KEY_ACTIVE, SWAMP_STORE_PRESENT, 0);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT, NULL, NULL), SWAMP_OK);
    ck_assert_int_eq(update(1), SWAMP_OK);
    ms(0);
    ck_assert_trace("changed LOST; fenced; ");
    ck_assert(!recorded(1));
}
END_TEST

START_TEST(events_are_told_once_for_a_batch)
{
    start();
    for (int i = 0; i < 100; i++)
        emit("{\"kind\":\"x\"}");
    ms(0);
    ck_assert_trace("changed RUNNING; ");
    ms(10);
    ck_assert_trace("");
    emit("{\"kind\":\"x\"}");
    ms(0);
    ck_assert_trace("changed RUNNING; ");
}
END_TEST

START_TEST(a_run_past_its_duration_is_told_once)
{
    life.max_duration_ms = 5000;
    start();
    ms(4999);
    ck_assert_trace("");
    ms(1);
    ck_assert_trace("overdue; ");
    ms(60000);
    ck_assert_trace("");
}
END_TEST

START_TEST(a_run_that_ended_is_not_overdue)
{
    life.max_duration_ms = 5000;
    start();
    finish(SWAMP_RUN_SUCCEEDED, NULL, NULL);
    ms(60000);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
}
END_TEST

START_TEST(the_log_of_all_runs_is_kept_within_its_budget)
{
    start();
    life.all_logs_bytes = 1000;
    for (int i = 0; i < 100; i++) {
        emit("{\"kind\":\"0123456789012345678901234567890123456789\"}");
        ms(0);
    }
    ck_assert_uint_le(life.registry->touched->log_bytes, 1000);
    ck_assert_uint_gt(life.registry->touched->log_bytes, 900);
    ck_assert_uint_eq(swamp__event_log_head(run->log), 100);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("life_progress");
    TCase *tcase = tcase_create("life_progress");
    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, open_with_store, close_all);
    tcase_add_test(tcase, progress_is_recorded_as_running);
    tcase_add_test(tcase, a_storm_of_updates_is_one_write_a_second_and_the_last_one_wins);
    tcase_add_test(tcase, a_slow_store_gets_no_second_write_meanwhile);
    tcase_add_test(tcase, progress_whose_answer_was_lost_is_known_by_reading_back);
    tcase_add_test(tcase, progress_that_was_not_written_is_written_a_second_later);
    tcase_add_test(tcase, progress_goes_on_from_what_is_there);
    tcase_add_test(tcase, progress_of_a_dead_instance_loses_the_run);
    tcase_add_test(tcase, progress_of_a_reaped_run_changes_nothing);
    tcase_add_test(tcase, events_are_told_once_for_a_batch);
    tcase_add_test(tcase, a_run_past_its_duration_is_told_once);
    tcase_add_test(tcase, a_run_that_ended_is_not_overdue);
    tcase_add_test(tcase, the_log_of_all_runs_is_kept_within_its_budget);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
