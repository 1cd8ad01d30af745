/* Own beats and their schedule (PROTOCOL 5): when an instance beats, how it learns of its death, and what
 * time counts. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "membership_fixture.h"
#include "tap.h"

START_TEST(first_beat_is_written_at_once_then_every_interval)
{
    member *me = member_new("me");
    member_start(me);
    swamp__heartbeat_record record;
    heartbeat_of("me", &record);
    ck_assert_int_eq(record.beat, 1);
    ck_assert_int_eq(record.active_runs, 3);
    ck_assert_int_eq(me->beats->commits, 1);
    ck_assert_int_eq(me->beats->lists, 1);

    fake_world_advance(world, INTERVAL - 1);
    ck_assert_int_eq(me->beats->commits, 1);
    ck_assert_int_eq(me->beats->lists, 2); /* every pulse reads, every other one beats */
    fake_world_advance(world, 1);
    ck_assert_int_eq(me->beats->commits, 2);
    fake_world_advance(world, 10 * INTERVAL);
    ck_assert_int_eq(me->beats->commits, 12);
    heartbeat_of("me", &record);
    ck_assert_int_eq(record.beat, 12);
    ck_assert_int_eq(me->fenced, 0);
    ck_assert_uint_eq(me->m.watches_restarted, 0);
    member_close(me);
}
END_TEST

START_TEST(beat_whose_answer_is_lost_is_recognised_by_its_counter)
{
    member *me = member_new("me");
    fake_asker_script(me->beats, FAKE_ANSWER_LOST); /* also the very first one */
    member_start(me);
    ck_assert_uint_eq(me->m.revision, revision_of("me"));
    fake_asker_script(me->beats, FAKE_ANSWER_LOST);
    fake_world_advance(world, INTERVAL);
    ck_assert_uint_eq(me->m.revision, revision_of("me"));
    ck_assert_int_eq(me->beats->commits, 2); /* read back, not written twice */
    fake_world_advance(world, 3 * INTERVAL);
    ck_assert_int_eq(me->fenced, 0);
    ck_assert_uint_eq(me->m.watches_restarted, 0);
    member_close(me);
}
END_TEST

START_TEST(beat_that_was_not_written_is_written_again)
{
    member *me = member_new("me");
    fake_asker_script(me->beats, FAKE_WRITE_LOST);
    member_start(me);
    fake_asker_script(me->beats, FAKE_WRITE_LOST);
    fake_world_advance(world, INTERVAL);
    swamp__heartbeat_record record;
    heartbeat_of("me", &record);
    ck_assert_int_eq(record.beat, 2);
    ck_assert_int_eq(me->fenced, 0);
    member_close(me);
}
END_TEST

START_TEST(earlier_own_beat_that_landed_late_is_no_death)
{
    member *me = member_new("me");
    member_start(me);
    /* A beat of this instance whose outcome was unknown, and that the store carried out only later. */
    uint64_t landed = neighbour_beats("me", 1);
    fake_world_advance(world, INTERVAL);
    ck_assert_int_eq(me->fenced, 0);
    ck_assert_uint_gt(revision_of("me"), landed);
    ck_assert_uint_eq(me->m.revision, revision_of("me"));
    member_close(me);
}
END_TEST

START_TEST(failed_beat_is_tried_again_half_an_interval_later)
{
    member *me = member_new("me");
    member_start(me);
    fake_asker_script(me->beats, FAKE_ERROR);
    fake_world_advance(world, INTERVAL);
    ck_assert_int_eq(me->m.me.beat, 2);
    ck_assert_uint_eq(me->m.watches_restarted, 1);
    fake_world_advance(world, INTERVAL / 2);
    swamp__heartbeat_record record;
    heartbeat_of("me", &record);
    ck_assert_int_eq(record.beat, 3);
    ck_assert_uint_eq(me->m.watches_restarted, 1);
    member_close(me);
}
END_TEST

START_TEST(joined_comes_once_and_only_after_beat_and_read)
{
    member *me = member_new("me");
    me->beats->down = FAKE_TIMEOUT;
    swamp__membership_start(&me->m);
    fake_world_advance(world, 5 * INTERVAL);
    ck_assert_int_eq(me->joined, 0);
    me->beats->down = 0;
    fake_world_advance(world, INTERVAL / 2);
    ck_assert_int_eq(me->joined, 1);
    ck_assert(is_there("me"));
    fake_world_advance(world, 5 * INTERVAL);
    ck_assert_int_eq(me->joined, 1);
    member_close(me);
}
END_TEST

START_TEST(removed_record_fences_and_is_never_written_again)
{
    member *me = member_new("me");
    member_start(me);
    neighbour_goes("me");
    fake_world_advance(world, INTERVAL / 2); /* the read finds out before the beat does */
    ck_assert_int_eq(me->fenced, 1);
    fake_world_advance(world, 10 * INTERVAL);
    ck_assert(!is_there("me"));
    ck_assert_int_eq(me->fenced, 1);
    ck_assert_int_eq(me->beats->commits, 1);
    member_close(me);
}
END_TEST

static int
take_away_before_commit(void *user, const fake_call *call)
{
    if (call->what == FAKE_COMMIT && is_there("me"))
        neighbour_goes("me");
    return *(int *)user;
}

START_TEST(beat_on_a_removed_record_fences_whatever_its_answer)
{
    static int faults[] = {FAKE_FINE, FAKE_ANSWER_LOST, FAKE_WRITE_LOST};
    member *me = member_new("me");
    member_start(me);
    me->beats->watch_user = &faults[_i];
    me->beats->watch = take_away_before_commit;
    if (_i)
        me->beats->watch_user = &faults[0];
    fake_asker_script(me->beats, faults[_i]);
    fake_world_advance(world, INTERVAL);
    ck_assert_int_eq(me->fenced, 1);
    ck_assert(!is_there("me"));
    member_close(me);
}
END_TEST

START_TEST(record_written_by_somebody_else_fences)
{
    static const char *const foreign[] = {
        "{",
        "{\"instanceId\":\"other\",\"beat\":1}",
        "{\"instanceId\":\"me\",\"beat\":99}",
    };
    member *me = member_new("me");
    member_start(me);
    neighbour_writes("me", foreign[_i]);
    fake_world_advance(world, INTERVAL);
    ck_assert_int_eq(me->fenced, 1);
    member_close(me);
}
END_TEST

START_TEST(id_that_is_taken_fences_before_joining)
{
    neighbour_beats("me", 7);
    member *me = member_new("me");
    swamp__membership_start(&me->m);
    fake_world_advance(world, 0);
    ck_assert_int_eq(me->fenced, 1);
    ck_assert_int_eq(me->joined, 0);
    member_close(me);
}
END_TEST

/* What time counts. Each fault hits while a silent neighbour is watched; without it the neighbour dies at its TTL. */

START_TEST(tick_more_than_half_an_interval_late_restarts_watches)
{
    member *me = member_new("me");
    neighbour_beats("n", 1);
    member_start(me);
    fake_world_advance(world, 1000);
    me->node->paused = 1;
    fake_world_advance(world, INTERVAL / 2 - 1000 + INTERVAL / 2 + _i); /* 5,000 or 5,001 behind the tick */
    me->node->paused = 0;
    fake_world_advance(world, 0);
    ck_assert_uint_eq(me->m.watches_restarted, _i);
    fake_world_advance(world, TTL + 1 - INTERVAL - _i);
    ck_assert_int_eq(is_there("n"), _i);
    fake_world_advance(world, INTERVAL + _i);
    ck_assert(!is_there("n"));
    member_close(me);
}
END_TEST

START_TEST(answer_more_than_half_an_interval_late_restarts_watches)
{
    member *me = member_new("me");
    neighbour_beats("n", 1);
    member_start(me);
    me->beats->answer_low_ms = me->beats->answer_high_ms = INTERVAL / 2 + _i;
    fake_world_advance(world, INTERVAL / 2); /* one read, its answer is on the way */
    me->beats->answer_low_ms = me->beats->answer_high_ms = 0;
    fake_world_advance(world, INTERVAL / 2 + _i);
    ck_assert_uint_eq(me->m.watches_restarted, _i);
    fake_world_advance(world, TTL + 1 - INTERVAL - _i);
    ck_assert_int_eq(is_there("n"), _i);
    fake_world_advance(world, INTERVAL + _i);
    ck_assert(!is_there("n"));
    member_close(me);
}
END_TEST

static int
fail_lists(void *user, const fake_call *call)
{
    return call->what == FAKE_LIST && *(int *)user ? FAKE_ERROR : FAKE_FINE;
}

START_TEST(failed_read_restarts_watches)
{
    member *me = member_new("me");
    neighbour_beats("n", 1);
    member_start(me);
    int failing = 1;
    me->beats->watch = fail_lists;
    me->beats->watch_user = &failing;
    fake_world_advance(world, INTERVAL / 2);
    failing = 0;
    ck_assert_uint_eq(me->m.watches_restarted, 1);
    fake_world_advance(world, TTL);
    ck_assert(is_there("n"));
    fake_world_advance(world, 1);
    ck_assert(!is_there("n"));
    member_close(me);
}
END_TEST

START_TEST(failed_own_beat_restarts_watches)
{
    member *me = member_new("me");
    neighbour_beats("n", 1);
    member_start(me);
    fake_asker_script(me->beats, FAKE_TIMEOUT);
    fake_world_advance(world, INTERVAL);
    fake_world_advance(world, TTL);
    ck_assert(is_there("n"));
    fake_world_advance(world, 1);
    ck_assert(!is_there("n"));
    member_close(me);
}
END_TEST

/* At short intervals a busy machine falls behind again and again: nobody reads two lines a second. */
START_TEST(trouble_that_comes_and_goes_is_said_at_most_once_a_minute)
{
    member *me = member_new("me");
    member_start(me);
    for (int i = 0; i < 24; i++) { /* for eight minutes */
        fake_asker_script(me->beats, FAKE_TIMEOUT);
        fake_world_advance(world, 2 * INTERVAL);
    }
    ck_assert_uint_ge(me->m.watches_restarted, 24);
    ck_assert_uint_le(world->lines[SWAMP_LOG_WARN], 9);
    ck_assert_uint_ge(world->lines[SWAMP_LOG_WARN], 6);
    ck_assert_uint_eq(world->lines[SWAMP_LOG_INFO], world->lines[SWAMP_LOG_WARN]);
    member_close(me);
}
END_TEST

/* The second trouble begins within a minute of the first, and then stays: it must not hide behind the first one. */
START_TEST(trouble_that_stays_is_said_though_another_was_said_just_before)
{
    member *me = member_new("me");
    int failing = 0;
    me->beats->watch = fail_lists;
    me->beats->watch_user = &failing;
    member_start(me);
    for (int i = 0; i < 2; i++) {
        failing = 1;
        fake_world_advance(world, i ? 600000 : INTERVAL / 2);
        failing = 0;
        fake_world_advance(world, INTERVAL);
    }
    ck_assert_uint_eq(world->lines[SWAMP_LOG_WARN], 2);
    ck_assert_uint_eq(world->lines[SWAMP_LOG_INFO], 2);
    member_close(me);
}
END_TEST

START_TEST(unhealthy_instance_does_not_beat_and_declares_nobody_dead)
{
    member *me = member_new("me");
    neighbour_beats("n", 1);
    member_start(me);
    me->unhealthy = 1;
    fake_world_advance(world, 3 * TTL);
    ck_assert_int_eq(me->beats->commits, 1);
    ck_assert(is_there("n"));
    me->unhealthy = 0;
    fake_world_advance(world, INTERVAL / 2); /* beats with the next pulse */
    ck_assert_int_eq(me->beats->commits, 2);
    ck_assert_int_eq(me->fenced, 0);
    fake_world_advance(world, TTL + INTERVAL);
    ck_assert(!is_there("n"));
    member_close(me);
}
END_TEST

START_TEST(stopped_process_does_not_judge_by_the_time_it_slept)
{
    /* Both sleep, such as the machine that they run on; whoever wakes first must not bury the other. */
    member *a = member_new("a"), *b = member_new("b");
    member_start(a);
    member_start(b);
    fake_world_advance(world, 2 * INTERVAL);
    a->node->paused = b->node->paused = 1;
    fake_world_advance(world, 100 * TTL);
    world->unix_offset_ms -= 7 * 3600 * 1000;
    a->node->paused = 0;
    fake_world_advance(world, 0);
    swamp__membership_judge(&a->m);
    fake_world_advance(world, INTERVAL / 2);
    b->node->paused = 0;
    fake_world_advance(world, 10 * TTL);
    ck_assert_int_eq(a->deaths + b->deaths, 0);
    ck_assert_int_eq(a->fenced + b->fenced, 0);
    member_close(a);
    member_close(b);
}
END_TEST

START_TEST(judging_before_the_late_tick_declares_nobody_dead)
{
    member *me = member_new("me");
    neighbour_beats("n", 1);
    member_start(me);
    fake_world_advance(world, TTL - 1000);
    me->node->paused = 1;
    fake_world_advance(world, 1000 + INTERVAL / 2 + _i); /* 5,000 or 5,001 behind the tick */
    swamp__membership_judge(&me->m); /* such as an attach whose answer is handled before the timer */
    me->node->paused = 0;
    fake_world_advance(world, 0);
    ck_assert_int_eq(is_there("n"), _i);
    member_close(me);
}
END_TEST

START_TEST(zombie_learns_of_its_death_with_its_first_write)
{
    member *a = member_new("a"), *b = member_new("b");
    member_start(a);
    member_start(b);
    fake_world_advance(world, INTERVAL);
    a->node->paused = 1;
    fake_world_advance(world, 2 * TTL);
    ck_assert_int_eq(b->deaths, 1);
    ck_assert_str_eq(b->last_dead, "a");
    world->unix_offset_ms += 5 * 3600 * 1000;
    a->node->paused = 0;
    fake_world_advance(world, 0);
    ck_assert_int_eq(a->fenced, 1);
    ck_assert(!is_there("a"));
    ck_assert(is_there("b"));
    member_close(a);
    member_close(b);
}
END_TEST

/* The end. */

static void
note_left(void *user)
{
    ((member *)user)->left++;
}

START_TEST(leaving_removes_the_own_record)
{
    static const int faults[] = {FAKE_FINE, FAKE_ANSWER_LOST, FAKE_WRITE_LOST};
    member *a = member_new("a"), *b = member_new("b");
    member_start(a);
    member_start(b);
    fake_asker_script(a->beats, faults[_i]);
    swamp__membership_leave(&a->m, note_left, a);
    ck_assert_int_eq(a->left, 0); /* never before it returns */
    fake_world_advance(world, 0);
    ck_assert_int_eq(a->left, 1);
    ck_assert(!is_there("a"));
    ck_assert_int_eq(a->fenced, 0);
    fake_world_advance(world, INTERVAL / 2);
    ck_assert_int_eq(b->deaths, 1); /* others learn at the next read */
    fake_world_advance(world, 3 * INTERVAL);
    ck_assert(!is_there("a"));
    member_close(a);
    member_close(b);
}
END_TEST

START_TEST(leaving_waits_for_the_beat_under_way)
{
    member *me = member_new("me");
    member_start(me);
    me->beats->answer_low_ms = me->beats->answer_high_ms = 700;
    fake_world_advance(world, INTERVAL); /* a beat is written, its answer is on the way */
    ck_assert_int_eq(me->m.asking, 1);
    swamp__membership_leave(&me->m, note_left, me);
    fake_world_advance(world, 2000);
    ck_assert_int_eq(me->left, 1);
    ck_assert(!is_there("me"));
    member_close(me);
}
END_TEST

START_TEST(leaving_finds_the_record_of_a_beat_whose_answer_was_lost)
{
    member *me = member_new("me");
    member_start(me);
    neighbour_beats("me", 1); /* its own, landed late */
    swamp__membership_leave(&me->m, note_left, me);
    fake_world_advance(world, 0);
    ck_assert_int_eq(me->left, 1);
    ck_assert(!is_there("me"));
    member_close(me);
}
END_TEST

/* It would make the record again: while the record stands, it is refused. */
START_TEST(leaving_waits_until_a_first_beat_without_an_answer_cannot_land)
{
    member *me = member_new("me");
    fake_asker_script(me->beats, FAKE_WRITE_LOST);
    member_start(me);
    swamp__membership_leave(&me->m, note_left, me);
    fake_world_advance(world, 2 * me->beats->asker.timeout_ms - 10);
    ck_assert_int_eq(me->left, 0);
    ck_assert(is_there("me"));
    fake_world_advance(world, 20);
    ck_assert_int_eq(me->left, 1);
    ck_assert(!is_there("me"));
    member_close(me);
}
END_TEST

START_TEST(leaving_ends_with_the_store_down)
{
    member *me = member_new("me");
    member_start(me);
    me->beats->down = FAKE_TIMEOUT;
    swamp__membership_leave(&me->m, note_left, me);
    fake_world_advance(world, 0);
    ck_assert_int_eq(me->left, 1);
    ck_assert(is_there("me"));
    member_close(me);
}
END_TEST

START_TEST(observer_has_no_record_and_declares_nobody_dead)
{
    member *me = member_new("me");
    me->m.observer = 1;
    neighbour_beats("n", 1);
    member_start(me);
    fake_world_advance(world, 3 * TTL);
    swamp__membership_judge(&me->m);
    fake_world_advance(world, 0);
    ck_assert(!is_there("me"));
    ck_assert(is_there("n"));
    ck_assert_int_eq(me->beats->commits, 0);
    ck_assert_ptr_nonnull(swamp__membership_find(&me->m, "n"));
    swamp__membership_leave(&me->m, note_left, me);
    fake_world_advance(world, 0);
    ck_assert_int_eq(me->left, 1);
    member_close(me);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("membership");
    TCase *t = tcase_create("beats");
    tcase_add_checked_fixture(t, fixture_open, fixture_close);
    tcase_add_test(t, first_beat_is_written_at_once_then_every_interval);
    tcase_add_test(t, beat_whose_answer_is_lost_is_recognised_by_its_counter);
    tcase_add_test(t, beat_that_was_not_written_is_written_again);
    tcase_add_test(t, earlier_own_beat_that_landed_late_is_no_death);
    tcase_add_test(t, failed_beat_is_tried_again_half_an_interval_later);
    tcase_add_test(t, joined_comes_once_and_only_after_beat_and_read);
    tcase_add_test(t, removed_record_fences_and_is_never_written_again);
    tcase_add_loop_test(t, beat_on_a_removed_record_fences_whatever_its_answer, 0, 3);
    tcase_add_loop_test(t, record_written_by_somebody_else_fences, 0, 3);
    tcase_add_test(t, id_that_is_taken_fences_before_joining);
    suite_add_tcase(s, t);

    t = tcase_create("time that counts");
    tcase_add_checked_fixture(t, fixture_open, fixture_close);
    tcase_add_loop_test(t, tick_more_than_half_an_interval_late_restarts_watches, 0, 2);
    tcase_add_loop_test(t, answer_more_than_half_an_interval_late_restarts_watches, 0, 2);
    tcase_add_test(t, failed_read_restarts_watches);
    tcase_add_test(t, failed_own_beat_restarts_watches);
    tcase_add_test(t, trouble_that_comes_and_goes_is_said_at_most_once_a_minute);
    tcase_add_test(t, trouble_that_stays_is_said_though_another_was_said_just_before);
    tcase_add_test(t, unhealthy_instance_does_not_beat_and_declares_nobody_dead);
    tcase_add_test(t, stopped_process_does_not_judge_by_the_time_it_slept);
    tcase_add_loop_test(t, judging_before_the_late_tick_declares_nobody_dead, 0, 2);
    tcase_add_test(t, zombie_learns_of_its_death_with_its_first_write);
    suite_add_tcase(s, t);

    t = tcase_create("leaving");
    tcase_add_checked_fixture(t, fixture_open, fixture_close);
    tcase_add_loop_test(t, leaving_removes_the_own_record, 0, 3);
    tcase_add_test(t, leaving_waits_for_the_beat_under_way);
    tcase_add_test(t, leaving_finds_the_record_of_a_beat_whose_answer_was_lost);
    tcase_add_test(t, leaving_waits_until_a_first_beat_without_an_answer_cannot_land);
    tcase_add_test(t, leaving_ends_with_the_store_down);
    tcase_add_test(t, observer_has_no_record_and_declares_nobody_dead);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
