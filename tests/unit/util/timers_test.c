/* Timers: order, equal due times, moving, callbacks that change timers, memory. */
#include "tap.h"

#include <stdint.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/util/timers.h"

#define MANY 500

static swamp__timers timers;
static swamp__timer all[MANY];
static int fired[MANY * 4];
static int fired_count;

static void
note(swamp__timer *timer)
{
    ck_assert_int_eq(swamp__timer_is_set(timer), 0);
    fired[fired_count++] = (int)(timer - all);
}

static void
init_with(int count, void (*fire)(swamp__timer *))
{
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(swamp__timer_init(&timers, &all[i], fire), SWAMP_OK);
}

static void
set_up(void)
{
    swamp__timers_init(&timers);
    fired_count = 0;
}

static void
tear_down(void)
{
    swamp__timers_free(&timers);
}

START_TEST(timers_fire_by_due_time)
{
    init_with(3, note);
    swamp__timer_set(&timers, &all[0], 30);
    swamp__timer_set(&timers, &all[1], 10);
    swamp__timer_set(&timers, &all[2], 20);
    ck_assert_int_eq(swamp__timers_next(&timers), 10);
    swamp__timers_run(&timers, 9);
    ck_assert_int_eq(fired_count, 0);
    swamp__timers_run(&timers, 20);
    ck_assert_int_eq(fired_count, 2);
    ck_assert_int_eq(fired[0], 1);
    ck_assert_int_eq(fired[1], 2);
    ck_assert_int_eq(swamp__timers_next(&timers), 30);
    swamp__timers_run(&timers, 1000);
    ck_assert_int_eq(fired[2], 0);
    ck_assert_int_eq(swamp__timers_next(&timers), INT64_MAX);
}
END_TEST

START_TEST(equal_due_times_fire_in_order_of_setting)
{
    init_with(MANY, note);
    for (int i = 0; i < MANY; i++)
        swamp__timer_set(&timers, &all[(i * 7) % MANY], 5);
    swamp__timer_set(&timers, &all[0], 5); /* set again: now the last */
    swamp__timers_run(&timers, 5);
    ck_assert_int_eq(fired_count, MANY);
    for (int i = 1; i < MANY; i++)
        ck_assert_int_eq(fired[i - 1], (i * 7) % MANY);
    ck_assert_int_eq(fired[MANY - 1], 0);
}
END_TEST

/* Against the plainest model: an array of due times, searched each time. */
START_TEST(any_mix_of_set_move_and_unset_keeps_the_order)
{
    int64_t due[MANY];
    uint64_t order[MANY], orders = 0;
    uint32_t random = 12345;

    init_with(MANY, note);
    for (int i = 0; i < MANY; i++)
        due[i] = INT64_MAX;
    for (int step = 0; step < 20000; step++) {
        int which, first = -1;

        random = random * 1664525 + 1013904223;
        which = (int)(random >> 8) % MANY;
        if (random >> 28 < 10) {
            due[which] = random >> 12 & 1023;
            order[which] = ++orders;
            swamp__timer_set(&timers, &all[which], due[which]);
        } else {
            due[which] = INT64_MAX;
            swamp__timer_unset(&timers, &all[which]);
        }
        if (step % 50)
            continue;
        for (int i = 0; i < MANY; i++)
            if (due[i] != INT64_MAX &&
                (first < 0 || due[i] < due[first] || (due[i] == due[first] && order[i] < order[first])))
                first = i;
        ck_assert_int_eq(swamp__timers_next(&timers), first < 0 ? INT64_MAX : due[first]);
        if (first >= 0)
            ck_assert_ptr_eq(timers.heap[0], &all[first]);
    }
    swamp__timers_run(&timers, 2000);
    for (int i = 1; i < fired_count; i++) {
        int a = fired[i - 1], b = fired[i];

        ck_assert(due[a] < due[b] || (due[a] == due[b] && order[a] < order[b]));
    }
}
END_TEST

static void
unset_next(swamp__timer *timer)
{
    note(timer);
    swamp__timer_unset(&timers, timer + 1);
    swamp__timer_destroy(&timers, timer);
}

START_TEST(a_callback_may_unset_another_and_destroy_itself)
{
    init_with(3, unset_next);
    for (int i = 0; i < 3; i++)
        swamp__timer_set(&timers, &all[i], i);
    swamp__timers_run(&timers, 10);
    ck_assert_int_eq(fired_count, 2);
    ck_assert_int_eq(fired[0], 0);
    ck_assert_int_eq(fired[1], 2);
}
END_TEST

static void
set_itself_to_the_past(swamp__timer *timer)
{
    note(timer);
    swamp__timer_set(&timers, timer, 3);
}

START_TEST(a_timer_that_sets_itself_to_the_past_cannot_hold_the_thread)
{
    init_with(1, set_itself_to_the_past);
    swamp__timer_set(&timers, &all[0], 1);
    swamp__timers_run(&timers, 100);
    ck_assert_int_eq(fired_count, 1);
    ck_assert_int_eq(swamp__timers_next(&timers), 101);
    swamp__timers_run(&timers, 101);
    ck_assert_int_eq(fired_count, 2);
    swamp__timer_set(&timers, &all[0], 5); /* outside a run the past is taken as it is */
    ck_assert_int_eq(swamp__timers_next(&timers), 5);
}
END_TEST

START_TEST(setting_never_needs_memory)
{
    unsigned long before;

    init_with(MANY, note);
    before = swamp__alloc_count();
    for (int i = 0; i < MANY; i++)
        swamp__timer_set(&timers, &all[i], MANY - i);
    ck_assert_uint_eq(swamp__alloc_count(), before);
    swamp__timers_run(&timers, MANY);
    ck_assert_int_eq(fired_count, MANY);
}
END_TEST

START_TEST(a_destroyed_timer_gives_its_room_back)
{
    size_t cap;

    init_with(1, note);
    cap = timers.cap;
    for (int i = 0; i < 10000; i++) {
        ck_assert_int_eq(swamp__timer_init(&timers, &all[1], note), SWAMP_OK);
        swamp__timer_set(&timers, &all[1], i);
        swamp__timer_destroy(&timers, &all[1]);
        swamp__timer_destroy(&timers, &all[1]); /* twice is fine */
    }
    ck_assert_uint_eq(timers.cap, cap);
    ck_assert_uint_eq(timers.count, 0);
}
END_TEST

START_TEST(a_timer_without_room_is_not_made_and_may_be_destroyed)
{
    swamp__timer zeroed;

    memset(&zeroed, 0, sizeof(zeroed));
    memset(&all[0], 0xff, sizeof(all[0]));
    swamp__alloc_fail_at(1, 0);
    ck_assert_int_eq(swamp__timer_init(&timers, &all[0], note), SWAMP_E_NOMEM);
    swamp__alloc_fail_at(0, 0);
    swamp__timer_destroy(&timers, &all[0]);
    swamp__timer_destroy(&timers, &zeroed);
    ck_assert_uint_eq(timers.inited, 0);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("timers");
    TCase *t = tcase_create("timers");

    tcase_set_timeout(t, 30);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, timers_fire_by_due_time);
    tcase_add_test(t, equal_due_times_fire_in_order_of_setting);
    tcase_add_test(t, any_mix_of_set_move_and_unset_keeps_the_order);
    tcase_add_test(t, a_callback_may_unset_another_and_destroy_itself);
    tcase_add_test(t, a_timer_that_sets_itself_to_the_past_cannot_hold_the_thread);
    tcase_add_test(t, setting_never_needs_memory);
    tcase_add_test(t, a_destroyed_timer_gives_its_room_back);
    tcase_add_test(t, a_timer_without_room_is_not_made_and_may_be_destroyed);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
