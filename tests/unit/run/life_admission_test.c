/* Admission, and what becomes of its keys when it fails: the rows ADMITTED and CLEANING of life.c. */
#include "tap.h"

#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/keys.h"
#include "../../../libswamp/store/store.h"
#include "life_fixture.h"

#define ADMISSION_KEYS 5

START_TEST(the_admission_writes_all_its_records_in_one_commit)
{
    add_run();
    ck_assert_uint_eq(count_keys(), 0);
    ms(0);
    ck_assert_trace("admitted RUNNING; ");
    ck_assert_uint_eq(asker->commits, 1);
    ck_assert_uint_eq(count_keys(), ADMISSION_KEYS);
    ck_assert_ptr_nonnull(strstr(value_of(KEY_ACTIVE), "\"instanceId\":\"" ME "\""));
    ck_assert_ptr_nonnull(strstr(value_of(KEY_ACTIVE), "\"resourceName\":\"" NAME "\""));
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"running\""));
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"jobs\":[]"));
    ck_assert_str_eq(value_of(KEY_INSTANCE_RUN), "{}");
    ck_assert_str_eq(value_of(swamp__key_workflow_run(WORKFLOW, RUN).text), "{}");
    ck_assert_str_eq(value_of(swamp__key_name_run(NAME, RUN).text), "{}");
    ck_assert_uint_ne(run->active_revision, 0);
}
END_TEST

START_TEST(an_admission_that_was_not_written_ends_at_once)
{
    fake_asker_script(asker, FAKE_ERROR);
    add_run();
    ms(60000);
    ck_assert_trace("admitted SWAMP_E_STORE; gone; ");
    ck_assert_uint_eq(count_keys(), 0);
    ck_assert_uint_eq(life.cleaning, 0);
    ck_assert_uint_eq(life.registry->unfinished, 0);
    ck_assert_uint_eq(life.store_failures, 1);
    ck_assert_uint_eq(world->lines[SWAMP_LOG_WARN], 1);
}
END_TEST

START_TEST(an_admission_whose_turn_came_too_late_was_not_written)
{
    asker->ask_low_ms = asker->ask_high_ms = TIMEOUT + 1;
    add_run();
    ms(60000);
    ck_assert_trace("admitted SWAMP_E_TIMEOUT; gone; ");
    ck_assert_uint_eq(asker->commits, 0);
}
END_TEST

START_TEST(an_admission_of_a_dead_instance_is_fenced)
{
    declare_dead();
    add_run();
    ms(60000);
    ck_assert_trace("admitted SWAMP_E_FENCED; gone; fenced; ");
    ck_assert_uint_eq(count_keys(), 0);
}
END_TEST

START_TEST(fenced_while_the_admission_is_under_way)
{
    asker->answer_low_ms = asker->answer_high_ms = 100;
    add_run();
    ms(50);
    ck_assert_uint_eq(count_keys(), ADMISSION_KEYS); /* done, and not yet known */
    swamp__life_fence(&life);
    ms(60000);
    ck_assert_trace("admitted SWAMP_E_FENCED; gone; ");
    ck_assert_uint_eq(asker->commits, 1); /* the keys are the reaper's */
}
END_TEST

START_TEST(an_admission_whose_answer_was_lost_is_taken_back)
{
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    add_run();
    ms(0);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; ");
    ck_assert_str_eq(state(), "CLEANING");
    ck_assert_uint_eq(count_keys(), ADMISSION_KEYS);
    ck_assert_uint_eq(life.cleaning, 1);
    ck_assert_uint_eq(life.registry->unfinished, 0);
    swamp_store_op request = swamp__op_put_empty(KEY_CANCEL); /* of somebody who saw it in a list */
    ck_assert_int_eq(swamp_store_commit(store, &request, 1, 1000, NULL, NULL), SWAMP_OK);
    ms(200);
    ck_assert_trace("gone; ");
    ck_assert_uint_eq(count_keys(), 0);
    ck_assert_uint_eq(life.cleaning, 0);
    ck_assert(has(KEY_HEARTBEAT));
}
END_TEST

START_TEST(keys_found_absent_are_looked_for_once_more)
{
    fake_asker_script(asker, FAKE_WRITE_LOST);
    add_run();
    ms(TIMEOUT);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; ");
    ms(2 * TIMEOUT);
    ck_assert_trace("gone; ");
    ck_assert_uint_eq(asker->gets, 2);
}
END_TEST

/* The commit that "was lost" is carried out by the store after the first look. */
START_TEST(a_write_that_comes_late_is_taken_back_too)
{
    static const char active[] = "{\"instanceId\":\"" ME "\"}";
    fake_asker_script(asker, FAKE_WRITE_LOST);
    add_run();
    ms(TIMEOUT);
    ck_assert_uint_eq(asker->gets, 1);
    swamp_store_op ops[] = {
        {KEY_ACTIVE, active, sizeof(active) - 1, 0, SWAMP_STORE_PUT, SWAMP_STORE_ABSENT},
        {KEY_RUN, "{}", 2, 0, SWAMP_STORE_PUT, SWAMP_STORE_ABSENT},
        {KEY_INSTANCE_RUN, "{}", 2, 0, SWAMP_STORE_PUT, SWAMP_STORE_ANY},
    };
    ck_assert_int_eq(swamp_store_commit(store, ops, 3, TIMEOUT, NULL, NULL), SWAMP_OK);
    ms(2 * TIMEOUT);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; gone; ");
    ck_assert_uint_eq(count_keys(), 0);
}
END_TEST

START_TEST(cleaning_goes_on_until_the_store_is_back)
{
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    add_run();
    ms(0);
    asker->down = FAKE_ERROR;
    ms(600000);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; ");
    ck_assert_uint_gt(asker->gets, 600000 / 5000);      /* at least every 5 s, ... */
    ck_assert_uint_lt(asker->gets, 600000 / 2500 + 20); /* ... and backing off */
    asker->down = FAKE_FINE;
    ms(5000);
    ck_assert_trace("gone; ");
    ck_assert_uint_eq(count_keys(), 0);
}
END_TEST

START_TEST(a_lost_answer_to_the_cleaning_is_settled_by_looking)
{
    fake_asker_script(asker, FAKE_ANSWER_LOST); /* the admission */
    fake_asker_script(asker, FAKE_ANSWER_LOST); /* its removal */
    add_run();
    ms(5 * TIMEOUT);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; gone; ");
    ck_assert_uint_eq(count_keys(), 0);
}
END_TEST

START_TEST(cleaning_removes_only_what_this_instance_made)
{
    static const char active[] = "{\"instanceId\":\"somebody else\"}";
    swamp_store_op op = {KEY_ACTIVE, active, sizeof(active) - 1, 0, SWAMP_STORE_PUT, SWAMP_STORE_ABSENT};
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT, NULL, NULL), SWAMP_OK);
    add_run();
    ms(5 * TIMEOUT);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; gone; ");
    ck_assert_str_eq(value_of(KEY_ACTIVE), active);
    ck_assert_uint_eq(count_keys(), 1);
}
END_TEST

START_TEST(cleaning_by_a_dead_instance_is_left_to_the_reaper)
{
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    add_run();
    ms(0);
    declare_dead();
    ms(60000);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; gone; fenced; ");
    ck_assert_uint_eq(count_keys(), ADMISSION_KEYS);
    ck_assert_uint_eq(life.cleaning, 0);
}
END_TEST

START_TEST(a_fence_ends_cleaning_without_a_write)
{
    fake_asker_script(asker, FAKE_ANSWER_LOST);
    add_run();
    ms(0);
    swamp__life_fence(&life);
    ms(60000);
    ck_assert_trace("admitted SWAMP_E_UNKNOWN; gone; ");
    ck_assert_uint_eq(asker->commits, 1);
}
END_TEST

START_TEST(ended_before_the_admission_was_answered)
{
    asker->answer_low_ms = asker->answer_high_ms = 100;
    add_run();
    ms(50);
    swamp__life_end(&life, run, SWAMP_RUN_CANCELLED, "instance_shutdown");
    ms(50);
    ck_assert_trace("admitted FINISHING; "); /* so that nobody starts it */
    ms(100);
    ck_assert_trace("changed FINISHED; ");
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"cancelled\""));
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"interruptReason\":\"instance_shutdown\""));
    ck_assert(!has(KEY_ACTIVE));
}
END_TEST

START_TEST(the_instance_ends_while_the_admission_waits)
{
    asker->ask_low_ms = asker->ask_high_ms = 100;
    add_run();
    ms(50);
    fake_asker_close(asker);
    ms(0);
    ck_assert_trace("admitted SWAMP_E_CLOSED; gone; ");
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("life_admission");
    TCase *tcase = tcase_create("life_admission");
    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, open_with_store, close_all);
    tcase_add_test(tcase, the_admission_writes_all_its_records_in_one_commit);
    tcase_add_test(tcase, an_admission_that_was_not_written_ends_at_once);
    tcase_add_test(tcase, an_admission_whose_turn_came_too_late_was_not_written);
    tcase_add_test(tcase, an_admission_of_a_dead_instance_is_fenced);
    tcase_add_test(tcase, fenced_while_the_admission_is_under_way);
    tcase_add_test(tcase, an_admission_whose_answer_was_lost_is_taken_back);
    tcase_add_test(tcase, keys_found_absent_are_looked_for_once_more);
    tcase_add_test(tcase, a_write_that_comes_late_is_taken_back_too);
    tcase_add_test(tcase, cleaning_goes_on_until_the_store_is_back);
    tcase_add_test(tcase, a_lost_answer_to_the_cleaning_is_settled_by_looking);
    tcase_add_test(tcase, cleaning_removes_only_what_this_instance_made);
    tcase_add_test(tcase, cleaning_by_a_dead_instance_is_left_to_the_reaper);
    tcase_add_test(tcase, a_fence_ends_cleaning_without_a_write);
    tcase_add_test(tcase, ended_before_the_admission_was_answered);
    tcase_add_test(tcase, the_instance_ends_while_the_admission_waits);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
