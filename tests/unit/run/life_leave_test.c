/* Linger, fence, runs without a store, and every fault at any moment: the rows FINISHED and LOST of life.c. */
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "life_fixture.h"

static void
end_run(void)
{
    start();
    ck_assert_int_eq(finish(SWAMP_RUN_SUCCEEDED, "{\"kind\":\"completed\"}", NULL), SWAMP_OK);
    ms(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
}

START_TEST(a_finished_run_stays_for_linger)
{
    end_run();
    ms(LINGER - 1);
    ck_assert_trace("");
    ck_assert_ptr_eq(swamp__registry_find(life.registry, RUN), run);
    ck_assert(has(KEY_INSTANCE_RUN));
    ms(1);
    ck_assert_trace("gone; ");
    ck_assert_ptr_null(swamp__registry_find(life.registry, RUN));
    ck_assert(!has(KEY_INSTANCE_RUN));
    ck_assert(has(KEY_RUN));
}
END_TEST

START_TEST(a_run_can_be_forgotten_before_its_time)
{
    end_run();
    swamp__life_forget(&life, run);
    ck_assert_trace(""); /* never before it returns */
    ms(0);
    ck_assert_trace("gone; ");
    ck_assert(!has(KEY_INSTANCE_RUN));
}
END_TEST

START_TEST(a_run_that_is_not_finished_is_not_forgotten)
{
    start();
    swamp__life_forget(&life, run);
    ms(1000);
    ck_assert_str_eq(state(), "RUNNING");
}
END_TEST

/* While the key stands, other instances send viewers here: so the run stays as long as the key does. */
START_TEST(the_run_stays_until_its_key_is_away)
{
    static const int faults[] = {FAKE_ERROR, FAKE_WRITE_LOST, FAKE_ANSWER_LOST, FAKE_FINE};
    end_run();
    for (int i = 0; i < 4; i++)
        fake_asker_script(asker, faults[i]);
    ms(LINGER);
    ck_assert_trace("");
    ms(5000);
    ck_assert_trace("gone; ");
    ck_assert(!has(KEY_INSTANCE_RUN));
    ck_assert_uint_eq(asker->commits, 6);
}
END_TEST

START_TEST(leaving_after_the_death_writes_nothing)
{
    end_run();
    declare_dead();
    ms(LINGER);
    ck_assert_trace("gone; fenced; ");
    ck_assert(has(KEY_INSTANCE_RUN)); /* the reaper's */
}
END_TEST

START_TEST(leaving_after_a_fence_asks_nothing)
{
    end_run();
    swamp__life_fence(&life);
    ck_assert_str_eq(state(), "FINISHED"); /* its viewers may still have all of it */
    ms(LINGER);
    ck_assert_trace("gone; ");
    ck_assert_uint_eq(asker->commits, 2);
}
END_TEST

/* A planned stop ended the run; the host has not seen it yet and still calls finish. */
START_TEST(a_run_ended_for_the_host_stays_until_the_host_is_through)
{
    start();
    swamp__life_end(&life, run, SWAMP_RUN_CANCELLED, "instance_shutdown");
    ck_assert_trace("");
    ms(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"interruptReason\":\"instance_shutdown\""));
    ck_assert_int_eq(swamp__run_emit(host, "{}", 2), SWAMP_E_CLOSED);
    ms(2 * LINGER);
    ck_assert_trace("");
    ck_assert_int_eq(finish(SWAMP_RUN_SUCCEEDED, "{}", "{\"jobs\":[1]}"), SWAMP_E_CLOSED);
    ms(0);
    ck_assert_trace("gone; ");
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"cancelled\""));
    ck_assert_ptr_nonnull(strstr(events(), "{\"kind\":\"cancelled\",\"run\":{\"id\":"));
    ck_assert_ptr_nonnull(strstr(events(), "\"seq\":1}"));
}
END_TEST

START_TEST(a_run_that_the_host_did_not_take_on_ends_as_failed)
{
    start();
    host = NULL; /* it must not call finish */
    swamp__life_end(&life, run, SWAMP_RUN_FAILED, NULL);
    ms(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"failed\""));
    ck_assert_ptr_null(strstr(value_of(KEY_RUN), "interruptReason"));
    ms(LINGER);
    ck_assert_trace("gone; ");
}
END_TEST

START_TEST(the_hosts_end_holds_against_a_later_stop)
{
    start();
    finish(SWAMP_RUN_SUCCEEDED, NULL, NULL);
    swamp__life_end(&life, run, SWAMP_RUN_CANCELLED, "instance_shutdown");
    ms(0);
    ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), "\"status\":\"succeeded\""));
    ck_assert_ptr_null(strstr(value_of(KEY_RUN), "interruptReason"));
}
END_TEST

START_TEST(a_fence_loses_the_run_and_no_write_follows)
{
    start();
    emit("{}");
    ck_assert_int_eq(swamp__run_update(run, "{}", 2), SWAMP_OK);
    swamp__life_fence(&life);
    swamp__life_fence(&life);
    ck_assert_trace("changed LOST; ");
    ck_assert_int_eq(swamp__run_emit(run, "{}", 2), SWAMP_E_FENCED);
    ms(60000);
    ck_assert_uint_eq(asker->commits, 1);
    ck_assert_trace("");
    run->viewer_count = 1; /* one that was not told yet */
    ck_assert_int_eq(finish(SWAMP_RUN_SUCCEEDED, NULL, NULL), SWAMP_E_FENCED);
    ms(60000);
    ck_assert_trace("");
    run->viewer_count = 0;
    ms(1000);
    ck_assert_trace("gone; ");
    ck_assert_uint_eq(asker->commits, 1);
}
END_TEST

START_TEST(the_answer_of_a_write_under_way_at_the_fence_is_not_looked_at)
{
    start();
    asker->answer_low_ms = asker->answer_high_ms = 100;
    finish(SWAMP_RUN_SUCCEEDED, "{}", NULL);
    ms(50);
    swamp__life_fence(&life);
    ck_assert_trace("changed FINISHING; changed LOST; ");
    ms(1000);
    ck_assert_trace("gone; ");
    ck_assert_str_eq(events(), "");
}
END_TEST

/* Without a store. */

START_TEST(without_a_store_a_run_lives_the_same_life)
{
    start();
    ck_assert_uint_eq(strlen(run->epoch), 36);
    ck_assert_uint_gt(strlen(run->started_at), 20);
    ck_assert_int_eq(swamp__run_update(run, "{\"jobs\":[{\"name\":\"a\"}]}", 23), SWAMP_OK);
    ms(10);
    ck_assert_int_eq(finish(SWAMP_RUN_SUCCEEDED, "{\"kind\":\"completed\",\"run\":null}", NULL), SWAMP_OK);
    ms(0);
    ck_assert_trace("changed FINISHING; changed FINISHED; ");
    ck_assert_ptr_nonnull(strstr(events(), "\"status\":\"succeeded\""));
    ck_assert_ptr_nonnull(strstr(events(), "\"name\":\"a\""));
    ck_assert_ptr_nonnull(strstr(events(), "\"duration\":10"));
    ms(LINGER);
    ck_assert_trace("gone; ");
}
END_TEST

/* Every fault at any moment. */

static int
life_is_over(void *user)
{
    (void)user;
    return run->state == SWAMP__RUN_GONE;
}

/*
 * Whatever happens to single calls: a run either never starts and leaves nothing, or its end is recorded once
 * and told exactly as recorded. Returns 1 if it started.
 */
static int
live_through_faults(uint64_t seed)
{
    world->random_state = seed;
    world->shuffle = 1;
    asker->ask_high_ms = asker->answer_high_ms = 300;
    asker->fault_per_mille = 400;
    add_run();
    while (run->state == SWAMP__RUN_ADMITTED)
        ms(1);
    if (run->state != SWAMP__RUN_RUNNING) {
        ck_assert(fake_world_until(world, 600000, life_is_over, NULL));
        ck_assert_uint_eq(count_keys(), 0);
        return 0;
    }
    swamp__life_started(&life, run);
    for (int i = 0; i < 10; i++) {
        emit("{\"kind\":\"x\"}");
        ck_assert_int_eq(swamp__run_update(run, "{\"jobs\":[]}", 11), SWAMP_OK);
        ms((int64_t)(fake_world_random(world) % 2000));
    }
    ck_assert_int_eq(finish(SWAMP_RUN_SUCCEEDED, "{\"kind\":\"completed\",\"run\":null}", NULL), SWAMP_OK);
    ck_assert(fake_world_until(world, LINGER + 600000, life_is_over, NULL));

    char expected[4096];
    snprintf(expected, sizeof(expected), "{\"kind\":\"completed\",\"run\":%s,\"seq\":11}", value_of(KEY_RUN));
    ck_assert_ptr_nonnull(strstr(expected, "\"status\":\"succeeded\""));
    ck_assert_ptr_nonnull(strstr(events(), expected));
    ck_assert_uint_eq(swamp__event_log_head(run->log), 11);
    ck_assert(!has(KEY_ACTIVE) && !has(KEY_INSTANCE_RUN));
    return 1;
}

START_TEST(three_hundred_seeds_of_faults)
{
    int started = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        open_with_store();
        started += live_through_faults(seed);
        ck_assert_ptr_null(strstr(trace, "fenced"));
        close_all();
    }
    ck_assert_int_gt(started, 100);
    ck_assert_int_lt(started, 290);
}
END_TEST

/* One run's whole life with the n-th allocation failing: 1 if the life was over before the n-th came. */
static int
live_without_memory(unsigned long n)
{
    open_with_store();
    add_run();
    unsigned long before = swamp__alloc_count();
    swamp__alloc_fail_at(n, 0);
    ms(30000); /* the admission and its clean-up */
    int rc = SWAMP_OK;
    if (run->state == SWAMP__RUN_RUNNING) {
        swamp__life_started(&life, run);
        (void)swamp__run_update(run, "{\"jobs\":[]}", 11);
        ms(2000);
        rc = finish(SWAMP_RUN_SUCCEEDED, "{\"kind\":\"completed\",\"run\":null}", "{\"jobs\":[]}");
        ms(LINGER + 30000);
    }
    int was_enough = swamp__alloc_count() - before < n;
    swamp__alloc_fail_at(0, 0);
    ck_assert_str_eq(state(), "GONE");
    if (has(KEY_RUN)) {
        /* Without memory for a text of the end the run ends as failed without that text, and the host was told. */
        ck_assert(rc == SWAMP_OK || rc == SWAMP_E_NOMEM);
        ck_assert_ptr_nonnull(strstr(value_of(KEY_RUN), rc == SWAMP_OK ? "\"succeeded\"" : "\"failed\""));
        ck_assert_uint_le(swamp__event_log_head(run->log), 1);
        ck_assert(rc != SWAMP_OK || swamp__event_log_head(run->log) == 1);
    }
    ck_assert(!has(KEY_ACTIVE) && !has(KEY_INSTANCE_RUN));
    close_all();
    return was_enough;
}

START_TEST(out_of_memory_at_every_place)
{
    unsigned long n = 1;
    while (!live_without_memory(n))
        ck_assert_uint_lt(++n, 1000);
    ck_assert_uint_gt(n, 20);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("life_leave");
    TCase *tcase = tcase_create("life_leave");
    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, open_with_store, close_all);
    tcase_add_test(tcase, a_finished_run_stays_for_linger);
    tcase_add_test(tcase, a_run_can_be_forgotten_before_its_time);
    tcase_add_test(tcase, a_run_that_is_not_finished_is_not_forgotten);
    tcase_add_test(tcase, the_run_stays_until_its_key_is_away);
    tcase_add_test(tcase, leaving_after_the_death_writes_nothing);
    tcase_add_test(tcase, leaving_after_a_fence_asks_nothing);
    tcase_add_test(tcase, a_run_ended_for_the_host_stays_until_the_host_is_through);
    tcase_add_test(tcase, a_run_that_the_host_did_not_take_on_ends_as_failed);
    tcase_add_test(tcase, the_hosts_end_holds_against_a_later_stop);
    tcase_add_test(tcase, a_fence_loses_the_run_and_no_write_follows);
    tcase_add_test(tcase, the_answer_of_a_write_under_way_at_the_fence_is_not_looked_at);
    suite_add_tcase(suite, tcase);

    TCase *alone = tcase_create("without a store");
    tcase_add_checked_fixture(alone, open_without_store, close_all);
    tcase_add_test(alone, without_a_store_a_run_lives_the_same_life);
    suite_add_tcase(suite, alone);

    TCase *faults = tcase_create("faults");
    tcase_set_timeout(faults, 50);
    tcase_add_test(faults, three_hundred_seeds_of_faults);
    tcase_add_test(faults, out_of_memory_at_every_place);
    suite_add_tcase(suite, faults);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
