/* Watches and deaths (PROTOCOL 5, 6.5): liveness goes by revision and by the own monotonic clock. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "membership_fixture.h"
#include "tap.h"

static member *me;

static void
open_one(void)
{
    fixture_open();
    me = member_new("me");
}

static void
close_one(void)
{
    member_close(me);
    fixture_close();
}

static int
current(const char *instance_id)
{
    swamp__watch *watch = swamp__membership_find(&me->m, instance_id);
    ck_assert_ptr_nonnull(watch);
    return swamp__membership_is_current(&me->m, watch);
}

START_TEST(dead_strictly_after_the_ttl)
{
    neighbour_beats("n", 1); /* its wall clock says 1999: alive all the same */
    member_start(me);
    fake_world_advance(world, TTL);
    ck_assert(is_there("n"));
    ck_assert_int_eq(me->deaths, 0);
    fake_world_advance(world, 1);
    ck_assert(!is_there("n"));
    ck_assert_int_eq(me->deaths, 1);
    ck_assert_str_eq(me->last_dead, "n");
    ck_assert_ptr_null(swamp__membership_find(&me->m, "n"));
    ck_assert_uint_eq(me->m.deaths_declared, 1);
    fake_world_advance(world, 3 * TTL);
    ck_assert_int_eq(me->deaths, 1);
}
END_TEST

START_TEST(the_ttl_is_the_owners_own)
{
    neighbour_beats_with("slow", 1, 30000, 90000);
    neighbour_beats_with("fast", 1, 1000, 2000);
    member_start(me);
    fake_world_advance(world, 2000);
    ck_assert(is_there("fast"));
    fake_world_advance(world, 1);
    ck_assert(!is_there("fast"));
    fake_world_advance(world, 90000 - 2001);
    ck_assert(is_there("slow"));
    fake_world_advance(world, 1);
    ck_assert(!is_there("slow"));
}
END_TEST

START_TEST(record_that_cannot_be_read_is_watched_by_revision)
{
    static const char *const unreadable[] = {"{", "[]", "\xff\xfe",
                                             "{\"intervalMs\":-5,\"staleTtlMs\":\"soon\"}"};
    neighbour_writes("n", unreadable[_i]);
    member_start(me);
    swamp__watch *watch = swamp__membership_find(&me->m, "n");
    ck_assert_ptr_nonnull(watch);
    ck_assert_int_eq(watch->interval_ms, INTERVAL);
    ck_assert_int_eq(watch->stale_ttl_ms, TTL);
    fake_world_advance(world, TTL - 1000);
    neighbour_writes("n", unreadable[_i]);
    fake_world_advance(world, TTL);
    ck_assert(is_there("n"));
    fake_world_advance(world, INTERVAL);
    ck_assert(!is_there("n"));
}
END_TEST

START_TEST(huge_garbage_is_watched_like_any_other_record)
{
    static char garbage[SWAMP_STORE_VALUE_MAX];
    memset(garbage, '[', sizeof garbage - 1);
    neighbour_writes("n", garbage);
    member_start(me);
    fake_world_advance(world, TTL);
    ck_assert(is_there("n"));
    fake_world_advance(world, 1);
    ck_assert(!is_there("n"));
}
END_TEST

START_TEST(every_change_starts_the_watch_again)
{
    neighbour_beats("n", 1);
    member_start(me);
    for (int beat = 2; beat < 12; beat++) {
        fake_world_advance(world, TTL - INTERVAL / 2);
        neighbour_beats("n", beat);
    }
    ck_assert(is_there("n"));
    ck_assert_int_eq(me->deaths, 0);
}
END_TEST

START_TEST(current_is_within_one_and_a_half_intervals)
{
    neighbour_beats("n", 1);
    member_start(me);
    ck_assert(!current("n")); /* first sight: alive, but not known to be beating */
    fake_world_advance(world, INTERVAL / 2 - 1);
    neighbour_beats("n", 2);
    fake_world_advance(world, 1);
    ck_assert(current("n"));
    fake_world_advance(world, 15000);
    ck_assert(current("n"));
    fake_world_advance(world, 1);
    ck_assert(!current("n"));
}
END_TEST

START_TEST(restarted_watch_is_not_current_until_it_sees_a_change)
{
    neighbour_beats("n", 1);
    member_start(me);
    neighbour_beats("n", 2);
    fake_world_advance(world, INTERVAL / 2);
    ck_assert(current("n"));
    fake_asker_script(me->beats, FAKE_ERROR);
    fake_world_advance(world, INTERVAL / 2);
    ck_assert(!current("n"));
    neighbour_beats("n", 3);
    fake_world_advance(world, INTERVAL / 2);
    ck_assert(current("n"));
}
END_TEST

static void
observe(const char *instance_id, uint64_t revision, const char *value)
{
    swamp__membership_observe(&me->m, instance_id, revision, value, strlen(value));
}

START_TEST(observing_a_change_proves_a_beat)
{
    member_start(me);
    uint64_t first = neighbour_writes("n", "{}");
    observe("n", first, "{}");
    ck_assert_int_eq(me->changed, 1); /* seen for the first time */
    ck_assert(!current("n"));
    observe("n", first, "{}");
    ck_assert_int_eq(me->changed, 1);
    ck_assert(!current("n"));
    observe("n", first + 1, "{\"intervalMs\":20000,\"staleTtlMs\":50000}");
    ck_assert_int_eq(me->changed, 2);
    ck_assert(current("n"));
    ck_assert_int_eq(swamp__membership_find(&me->m, "n")->stale_ttl_ms, 50000);
    observe("me", first + 2, "{}");
    ck_assert_ptr_null(swamp__membership_find(&me->m, "me"));
}
END_TEST

START_TEST(observed_absence_is_a_death)
{
    neighbour_beats("n", 1);
    member_start(me);
    neighbour_goes("n");
    observe("n", 0, "");
    ck_assert_int_eq(me->deaths, 1);
    observe("n", 0, "");
    observe("never-seen", 0, "");
    fake_world_advance(world, TTL);
    ck_assert_int_eq(me->deaths, 1);
}
END_TEST

START_TEST(removal_by_another_instance_is_seen_in_the_list)
{
    neighbour_beats("n", 1);
    member_start(me);
    neighbour_goes("n");
    fake_world_advance(world, INTERVAL / 2);
    ck_assert_int_eq(me->deaths, 1);
    ck_assert_uint_eq(me->m.deaths_declared, 0);
    ck_assert_ptr_null(swamp__membership_find(&me->m, "n"));
}
END_TEST

/* An answer that is on the way while an attach learns something newer. */

START_TEST(instance_observed_after_the_list_was_read_is_not_taken_for_dead)
{
    member_start(me);
    me->beats->answer_low_ms = me->beats->answer_high_ms = 1000;
    fake_world_advance(world, INTERVAL / 2); /* the list is read, its answer is on the way */
    observe("n", neighbour_beats("n", 1), "{}");
    fake_world_advance(world, 1000);
    ck_assert_int_eq(me->deaths, 0);
    ck_assert_ptr_nonnull(swamp__membership_find(&me->m, "n"));
}
END_TEST

START_TEST(list_that_is_older_than_an_observation_changes_nothing)
{
    uint64_t first = neighbour_beats("n", 1);
    member_start(me);
    me->beats->answer_low_ms = me->beats->answer_high_ms = 1000;
    fake_world_advance(world, INTERVAL / 2);
    observe("n", neighbour_beats("n", 2), "{}");
    fake_world_advance(world, 1000);
    ck_assert_uint_gt(swamp__membership_find(&me->m, "n")->revision, first);
    ck_assert_int_eq(swamp__membership_unchanged_ms(&me->m, swamp__membership_find(&me->m, "n")), 1000);
}
END_TEST

START_TEST(list_that_is_older_than_a_death_does_not_bring_it_back)
{
    neighbour_beats("n", 1);
    member_start(me);
    me->beats->answer_low_ms = me->beats->answer_high_ms = 1000;
    fake_world_advance(world, INTERVAL / 2);
    neighbour_goes("n");
    observe("n", 0, "");
    fake_world_advance(world, 1000);
    ck_assert_ptr_null(swamp__membership_find(&me->m, "n"));
    fake_world_advance(world, 2 * INTERVAL);
    ck_assert_int_eq(me->deaths, 1);
}
END_TEST

/* Deaths and their races. */

static int
beat_before_removal(void *user, const fake_call *call)
{
    int *left = user;
    if (call->what == FAKE_COMMIT && call->count == 2 && *left && (*left)--)
        neighbour_beats("n", 99);
    return FAKE_FINE;
}

START_TEST(beat_that_comes_before_the_removal_saves_and_starts_afresh)
{
    int left = 1;
    neighbour_beats("n", 1);
    member_start(me);
    me->beats->watch = beat_before_removal;
    me->beats->watch_user = &left;
    fake_world_advance(world, TTL + 1);
    ck_assert_int_eq(left, 0);
    ck_assert(is_there("n"));
    ck_assert_int_eq(me->deaths, 0);
    ck_assert_int_eq(swamp__membership_unchanged_ms(&me->m, swamp__membership_find(&me->m, "n")), 0);
    fake_world_advance(world, TTL);
    ck_assert(is_there("n"));
    fake_world_advance(world, INTERVAL);
    ck_assert(!is_there("n"));
    ck_assert_int_eq(me->deaths, 1);
}
END_TEST

START_TEST(removal_whose_answer_is_lost_is_a_death)
{
    neighbour_beats("n", 1);
    member_start(me);
    fake_world_advance(world, TTL); /* own beats at 0, 10, 20, 30 s are done */
    fake_asker_script(me->beats, FAKE_ANSWER_LOST);
    fake_world_advance(world, 1);
    ck_assert(!is_there("n"));
    ck_assert_int_eq(me->deaths, 1);
}
END_TEST

START_TEST(removal_that_failed_is_tried_again_with_the_next_pulse)
{
    static const int faults[] = {FAKE_ERROR, FAKE_TIMEOUT, FAKE_WRITE_LOST};
    neighbour_beats("n", 1);
    member_start(me);
    fake_world_advance(world, TTL);
    size_t commits = me->beats->commits;
    fake_asker_script(me->beats, faults[_i]);
    fake_world_advance(world, INTERVAL / 2 - 1);
    ck_assert_int_eq(me->beats->commits, commits + 1); /* once, and no busy timer */
    ck_assert(is_there("n"));
    ck_assert_int_eq(me->deaths, 0);
    fake_world_advance(world, 1);
    ck_assert(!is_there("n"));
    ck_assert_int_eq(me->deaths, 1);
}
END_TEST

static int
be_removed_before_removal(void *user, const fake_call *call)
{
    if (call->what == FAKE_COMMIT && call->count == 2 && is_there("me"))
        neighbour_goes("me");
    return FAKE_FINE;
}

/* What it wrote itself is shown cleaned and cut. */
START_TEST(a_death_is_said_with_host_process_and_address)
{
    swamp__heartbeat_record record = {
        .hostname = "web-1\x1b[2J", .pid = 4711, .interval_ms = INTERVAL, .stale_ttl_ms = TTL};
    swamp__buf value;
    memset(record.address, 'a', sizeof record.address - 1);
    memcpy(record.address, "http://10.0.0.1:9090/", 21);
    swamp__buf_init(&value);
    swamp__heartbeat_write(&value, &record);
    neighbour_writes("n", value.data);
    swamp__buf_free(&value);
    member_start(me);
    fake_world_advance(world, TTL + 1);
    ck_assert(!is_there("n"));
    ck_assert_ptr_nonnull(
        strstr(world->last_line, "instance n (host web-1?[2J, process 4711, http://10.0.0.1:9090/aa"));
    ck_assert_ptr_nonnull(strstr(world->last_line, "a) was declared dead: its heartbeat did not change"));
    ck_assert_ptr_nonnull(strstr(world->last_line, "its way to the store"));

    neighbour_writes("garbage", "[]");
    fake_world_advance(world, INTERVAL + TTL + 1);
    ck_assert(!is_there("garbage"));
    ck_assert_ptr_nonnull(strstr(world->last_line, "instance garbage was declared dead"));
}
END_TEST

START_TEST(who_was_declared_dead_can_declare_nobody_dead)
{
    neighbour_beats("n", 1);
    member_start(me);
    me->beats->watch = be_removed_before_removal;
    fake_world_advance(world, TTL + 1);
    ck_assert(is_there("n"));
    ck_assert_int_eq(me->deaths, 0);
    ck_assert_int_eq(me->fenced, 1);
}
END_TEST

START_TEST(verdict_that_waited_is_not_carried_out)
{
    neighbour_beats("n", 1);
    member_start(me);
    fake_world_advance(world, TTL);
    me->beats->ask_low_ms = me->beats->ask_high_ms = INTERVAL / 2 + 1;
    fake_world_advance(world, 1); /* asked, and not carried out for more than half an interval */
    fake_world_advance(world, INTERVAL);
    ck_assert(is_there("n"));
    ck_assert_int_eq(me->deaths, 0);
}
END_TEST

START_TEST(one_death_is_declared_by_one_and_seen_by_all)
{
    member *others[3];
    char name[16];
    member_start(me);
    neighbour_beats("n", 1);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "other-%d", i);
        others[i] = member_new(name);
        member_start(others[i]);
        fake_world_advance(world, 777);
    }
    fake_world_advance(world, TTL + 2 * INTERVAL);
    ck_assert(!is_there("n"));
    uint64_t declared = me->m.deaths_declared;
    ck_assert_int_eq(me->deaths, 1);
    ck_assert_int_eq(me->fenced, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(others[i]->deaths, 1);
        ck_assert_int_eq(others[i]->fenced, 0);
        declared += others[i]->m.deaths_declared;
        member_close(others[i]);
    }
    ck_assert_uint_eq(declared, 1);
}
END_TEST

START_TEST(a_thousand_instances_take_several_pages)
{
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "instance-%04d", i);
        neighbour_beats(name, 1);
    }
    member_start(me);
    ck_assert_int_eq(me->changed, 1000);
    fake_world_advance(world, INTERVAL / 2);
    ck_assert_int_eq(me->deaths, 0);
    ck_assert_int_eq(me->fenced, 0);
    neighbour_goes("instance-0999");
    neighbour_goes("instance-0000");
    fake_world_advance(world, INTERVAL / 2);
    ck_assert_int_eq(me->deaths, 2);
    fake_world_advance(world, TTL + INTERVAL);
    ck_assert_int_eq(me->deaths, 1000);
    ck_assert(is_there("me"));
}
END_TEST

START_TEST(keys_that_no_instance_could_have_are_left_alone)
{
    neighbour_writes("0123456789012345678901234567890123456789012345678901234567890123456789", "{}");
    member_start(me);
    fake_world_advance(world, 2 * TTL);
    ck_assert_int_eq(me->changed + me->deaths, 0);
}
END_TEST

START_TEST(no_memory_kills_nobody)
{
    neighbour_beats("n", 1);
    member_start(me);
    swamp__alloc_fail_at(1, 1);
    fake_world_advance(world, 2 * TTL);
    swamp__alloc_fail_at(0, 0);
    ck_assert(is_there("n"));
    ck_assert(is_there("me"));
    fake_world_advance(world, TTL + INTERVAL);
    ck_assert(!is_there("n"));
    ck_assert_int_eq(me->fenced, 0);
}
END_TEST

START_TEST(verdict_without_memory_waits_for_the_next_pulse)
{
    neighbour_beats("n", 1);
    member_start(me);
    fake_world_advance(world, TTL);
    swamp__alloc_fail_at(1, 1);
    fake_world_advance(world, 1); /* a timer set in the past would never let this return */
    swamp__alloc_fail_at(0, 0);
    ck_assert(is_there("n"));
    fake_world_advance(world, INTERVAL / 2);
    ck_assert(!is_there("n"));
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("watch");
    TCase *t = tcase_create("watches");
    tcase_add_checked_fixture(t, open_one, close_one);
    tcase_add_test(t, dead_strictly_after_the_ttl);
    tcase_add_test(t, the_ttl_is_the_owners_own);
    tcase_add_loop_test(t, record_that_cannot_be_read_is_watched_by_revision, 0, 4);
    tcase_add_test(t, huge_garbage_is_watched_like_any_other_record);
    tcase_add_test(t, every_change_starts_the_watch_again);
    tcase_add_test(t, current_is_within_one_and_a_half_intervals);
    tcase_add_test(t, restarted_watch_is_not_current_until_it_sees_a_change);
    tcase_add_test(t, observing_a_change_proves_a_beat);
    tcase_add_test(t, observed_absence_is_a_death);
    tcase_add_test(t, removal_by_another_instance_is_seen_in_the_list);
    tcase_add_test(t, instance_observed_after_the_list_was_read_is_not_taken_for_dead);
    tcase_add_test(t, list_that_is_older_than_an_observation_changes_nothing);
    tcase_add_test(t, list_that_is_older_than_a_death_does_not_bring_it_back);
    suite_add_tcase(s, t);

    t = tcase_create("deaths");
    tcase_add_checked_fixture(t, open_one, close_one);
    tcase_add_test(t, beat_that_comes_before_the_removal_saves_and_starts_afresh);
    tcase_add_test(t, removal_whose_answer_is_lost_is_a_death);
    tcase_add_loop_test(t, removal_that_failed_is_tried_again_with_the_next_pulse, 0, 3);
    tcase_add_test(t, a_death_is_said_with_host_process_and_address);
    tcase_add_test(t, who_was_declared_dead_can_declare_nobody_dead);
    tcase_add_test(t, verdict_that_waited_is_not_carried_out);
    tcase_add_test(t, one_death_is_declared_by_one_and_seen_by_all);
    tcase_add_test(t, a_thousand_instances_take_several_pages);
    tcase_add_test(t, keys_that_no_instance_could_have_are_left_alone);
    tcase_add_test(t, no_memory_kills_nobody);
    tcase_add_test(t, verdict_without_memory_waits_for_the_next_pulse);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
