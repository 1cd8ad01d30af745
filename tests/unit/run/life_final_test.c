/* The end of a run: recorded first, told then, whatever the store answers: the rows FINISHING of life.c. */
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/store.h"
#include "life_fixture.h"

#define COMPLETED "{\"kind\":\"completed\",\"run\":null}"

static void
put_cancel_request(void)
{
    swamp_store_op op = swamp__op_put_empty(KEY_CANCEL);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT, NULL, NULL), SWAMP_OK);
}

/* The last event is what the store has, and stands once in the log. */
static void
assert_recorded_and_told(const char *status)
{
    char expected[4096], text[64];
    snprintf(expected, sizeof(expected), "{\"kind\":\"completed\",\"run\":%s,\"seq\":1}", value_of(KEY_RUN));
    ck_assert_str_eq(events(), expected);
    snprintf(text, sizeof(text), "\"status\":\"%s\"", status);
    ck_assert_ptr_nonnull(strstr(expected, text));
    ck_assert(!has(KEY_ACTIVE));
    ck_assert(has(KEY_INSTANCE_RUN)); /* its events are kept here */
    ck_assert_str_eq(swamp__run_status_text(run), status);
}

START_TEST(the_last_event_waits_for_the_final_commit)
{
    start();
    put_cancel_request();
    asker->ask_low_ms = asker->ask_high_ms = 100;
    asker->answer_low_ms = asker->answer_high_ms = 100;
    ck_assert_int_eq(
        finish(SWAMP_RUN_SUCCEEDED, COMPLETED, "{\"jobs\":[{\"name\":\"j\",\"status\":\"succeeded\"}]}"),
        SWAMP_OK);
    ms(99);
    ck_assert_trace("changed FINISHING; ");
    ck_assert(has(KEY_ACTIVE));
    ms(100);
    ck_assert(!has(KEY_ACTIVE)); /* written, not yet known */
    ck_assert_str_eq(events(), "");
    ck_assert_str_eq(swamp__run_status_text(run), "running");
    ms(1);
    ck_assert_trace("changed FINISHED; ");
    assert_recorded_and_told("succeeded");
    ck_assert_ptr_nonnull(strstr(events(), "\"name\":\"j\""));
    ck_assert_ptr_nonnull(strstr(events(), "\"duration\":"));
    ck_assert(!has(KEY_CANCEL));
    ck_assert_uint_eq(life.registry->unfinished, 0);
}
END_TEST

START_TEST(a_bad_last_event_ends_the_run_as_failed)
{
    start();
    ck_assert_int_eq(finish(SWAMP_RUN_SUCCEEDED, "{\"seq\":1}", NULL), SWAMP_E_INVALID);
    ms(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    ck_assert_ptr_nonnull(strstr(events(), "{\"kind\":\"completed\",\"run\":{\"id\":"));
    ck_assert_ptr_nonnull(strstr(events(), "\"status\":\"failed\""));
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"failed\""));
}
END_TEST

START_TEST(an_end_whose_answer_was_lost_is_known_by_reading_back)
{
    start();
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    ck_assert_uint_eq(asker->commits, 2);
    assert_recorded_and_told("succeeded");
}
END_TEST

START_TEST(an_end_that_was_not_written_is_written_later)
{
    start();
    fake_asker_script(asker, FAKE_WRITE_LOST);
    fake_asker_script(asker, FAKE_ERROR);
    fake_asker_script(asker, FAKE_TIMEOUT);
    finish(SWAMP_RUN_CANCELLED, COMPLETED, NULL);
    ms(0);
    ck_assert_str_eq(state(), "FINISHING");
    ms(1000);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    assert_recorded_and_told("cancelled");
}
END_TEST

/* The answer is lost, reading back fails too; the next try then meets a conflict with itself. */
START_TEST(a_conflict_with_ones_own_earlier_try_is_done)
{
    start();
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    fail_reads(1);
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(0);
    ck_assert(!has(KEY_ACTIVE));
    ms(3000); /* conflicts, and no reading back either: nothing is concluded */
    ck_assert_str_eq(state(), "FINISHING");
    fail_reads(0);
    ms(5000);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    assert_recorded_and_told("succeeded");
}
END_TEST

START_TEST(the_end_is_written_however_long_the_store_is_down)
{
    start();
    asker->down = FAKE_ERROR;
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(3600 * 1000);
    ck_assert_trace("changed FINISHING; ");
    ck_assert_uint_gt(asker->commits, 3600 / 5);
    ck_assert_uint_lt(asker->commits, 3600 * 10 / 25 + 20);
    ck_assert_uint_eq(world->lines[SWAMP_LOG_WARN], 1); /* one line, not one a try */
    asker->down = FAKE_FINE;
    ms(5000);
    ck_assert_trace("changed FINISHED; ");
    assert_recorded_and_told("succeeded");
    ck_assert_uint_eq(life.store_failures, 0);
    ck_assert_uint_eq(world->lines[SWAMP_LOG_INFO], 1);
}
END_TEST

START_TEST(an_end_whose_turn_came_too_late_is_asked_again)
{
    start();
    asker->ask_low_ms = asker->ask_high_ms = TIMEOUT + 1;
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(TIMEOUT + 1);
    asker->ask_low_ms = asker->ask_high_ms = 0;
    ms(200);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    assert_recorded_and_told("succeeded");
}
END_TEST

START_TEST(the_end_waits_for_a_progress_write_under_way)
{
    start();
    asker->answer_low_ms = asker->answer_high_ms = 100;
    ck_assert_int_eq(swamp__run_update(run, "{\"jobs\":[]}", 11), SWAMP_OK);
    ms(50);
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(49);
    ck_assert_uint_eq(asker->commits, 2);
    ms(200);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    assert_recorded_and_told("succeeded");
}
END_TEST

START_TEST(the_end_follows_a_progress_write_that_failed)
{
    start();
    asker->answer_low_ms = asker->answer_high_ms = 100;
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    fail_reads(1);
    ck_assert_int_eq(swamp__run_update(run, "{\"jobs\":[]}", 11), SWAMP_OK);
    ms(50);
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(300);
    fail_reads(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    assert_recorded_and_told("succeeded");
}
END_TEST

START_TEST(the_end_of_a_dead_instance_is_dropped)
{
    start();
    emit("{\"kind\":\"x\"}");
    ms(0);
    declare_dead();
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(60000);
    ck_assert_trace("changed RUNNING; changed FINISHING; changed LOST; fenced; gone; ");
    ck_assert_str_eq(events(), "{\"kind\":\"x\",\"seq\":1}");
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"running\""));
    ck_assert(has(KEY_ACTIVE)); /* the reaper's */
}
END_TEST

START_TEST(the_end_of_a_reaped_run_changes_nothing)
{
    start();
    reap();
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(60000);
    ck_assert_trace("changed FINISHING; changed LOST; fenced; gone; ");
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "instance_dead"));
    ck_assert_str_eq(events(), "");
}
END_TEST

START_TEST(an_active_record_at_another_revision_is_somebody_elses)
{
    start();
    swamp_store_op op = swamp__op_put_empty(KEY_ACTIVE);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT, NULL, NULL), SWAMP_OK);
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(0);
    ck_assert_str_eq(value_of(KEY_ACTIVE), "{}");
    ck_assert_ptr_nonnull(strstr(trace, "changed LOST; fenced; "));
}
END_TEST

/* Recorded, the answer lost, and declared dead before the next try: what is recorded is told. */
START_TEST(an_end_recorded_before_the_death_counts)
{
    start();
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    fail_reads(1);
    finish(SWAMP_RUN_SUCCEEDED, COMPLETED, NULL);
    ms(0);
    declare_dead();
    fail_reads(0);
    ms(1000);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    assert_recorded_and_told("succeeded");
}
END_TEST

START_TEST(an_end_of_more_than_256_kib_is_shrunk)
{
    static char json[512 * 1024];
    int len = snprintf(json, sizeof(json), "{\"jobs\":[");
    for (int i = 0; i < 400; i++)
        len += snprintf(json + len, sizeof(json) - (size_t)len,
                        "%s{\"name\":\"j%d\",\"status\":\"failed\",\"steps\":[{\"name\":\"s\",\"status\":"
                        "\"failed\",\"error\":"
                        "\"%01000d\"}]}",
                        i ? "," : "", i, i);
    len += snprintf(json + len, sizeof(json) - (size_t)len, "]}");
    start();
    ck_assert_int_eq(swamp__run_finish(run, SWAMP_RUN_FAILED, NULL, 0, json, (size_t)len), SWAMP_OK);
    ms(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"failed\""));
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("life_final");
    TCase *tcase = tcase_create("life_final");
    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, open_with_store, close_all);
    tcase_add_test(tcase, the_last_event_waits_for_the_final_commit);
    tcase_add_test(tcase, a_bad_last_event_ends_the_run_as_failed);
    tcase_add_test(tcase, an_end_whose_answer_was_lost_is_known_by_reading_back);
    tcase_add_test(tcase, an_end_that_was_not_written_is_written_later);
    tcase_add_test(tcase, a_conflict_with_ones_own_earlier_try_is_done);
    tcase_add_test(tcase, the_end_is_written_however_long_the_store_is_down);
    tcase_add_test(tcase, an_end_whose_turn_came_too_late_is_asked_again);
    tcase_add_test(tcase, the_end_waits_for_a_progress_write_under_way);
    tcase_add_test(tcase, the_end_follows_a_progress_write_that_failed);
    tcase_add_test(tcase, the_end_of_a_dead_instance_is_dropped);
    tcase_add_test(tcase, the_end_of_a_reaped_run_changes_nothing);
    tcase_add_test(tcase, an_active_record_at_another_revision_is_somebody_elses);
    tcase_add_test(tcase, an_end_recorded_before_the_death_counts);
    tcase_add_test(tcase, an_end_of_more_than_256_kib_is_shrunk);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
