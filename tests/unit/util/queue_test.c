/* The queue between threads: order, bound, closing, and that a waiting consumer wakes. */
#include "tap.h"

#include <pthread.h>
#include <swamp/status.h>
#include "../../../libswamp/util/clock.h"
#include "../../../libswamp/util/queue.h"

#define PRODUCERS 4
#define EACH 5000

typedef struct item {
    swamp__link link;
    int producer, number;
} item;

static swamp__queue queue;
static item items[PRODUCERS][EACH];

static item *
pop(int timeout_ms)
{
    swamp__link *link = swamp__queue_pop(&queue, timeout_ms);

    return link ? SWAMP__OF(link, item, link) : NULL;
}

static void
set_up(void)
{
    ck_assert_int_eq(swamp__queue_init(&queue, 0), SWAMP_OK);
}

static void
tear_down(void)
{
    swamp__queue_destroy(&queue);
}

static void *
produce(void *argument)
{
    int producer = *(int *)argument;

    for (int i = 0; i < EACH; i++) {
        items[producer][i].producer = producer;
        items[producer][i].number = i;
        if (swamp__queue_push(&queue, &items[producer][i].link) != SWAMP_OK)
            return argument;
    }
    return NULL;
}

static void *
pop_for_ever(void *unused)
{
    return pop(-1);
}

START_TEST(links_come_out_in_order_and_the_front_first)
{
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][1].link), SWAMP_OK);
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][2].link), SWAMP_OK);
    ck_assert_int_eq(swamp__queue_push_front(&queue, &items[0][0].link), SWAMP_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(pop(0), &items[0][i]);
    ck_assert_ptr_null(pop(0));
}
END_TEST

START_TEST(a_full_queue_is_busy_but_the_front_has_no_bound)
{
    queue.max = 2;
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][1].link), SWAMP_OK);
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][2].link), SWAMP_OK);
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][3].link), SWAMP_E_BUSY);
    ck_assert_int_eq(swamp__queue_push_front(&queue, &items[0][0].link), SWAMP_OK);
    ck_assert_ptr_eq(pop(0), &items[0][0]);
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][3].link), SWAMP_E_BUSY);
    ck_assert_ptr_eq(pop(0), &items[0][1]);
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][3].link), SWAMP_OK);
}
END_TEST

START_TEST(a_closed_queue_is_emptied_but_not_filled)
{
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][0].link), SWAMP_OK);
    ck_assert_int_eq(swamp__queue_closed(&queue), 0);
    swamp__queue_close(&queue);
    ck_assert_int_eq(swamp__queue_closed(&queue), 1);
    ck_assert_int_eq(swamp__queue_push(&queue, &items[0][1].link), SWAMP_E_CLOSED);
    ck_assert_int_eq(swamp__queue_push_front(&queue, &items[0][1].link), SWAMP_E_CLOSED);
    ck_assert_ptr_eq(pop(-1), &items[0][0]);
    ck_assert_ptr_null(pop(-1));
}
END_TEST

START_TEST(an_empty_queue_waits_as_long_as_it_was_told)
{
    int64_t start_ms = swamp__clock_monotonic_ms();

    ck_assert_ptr_null(pop(30));
    ck_assert_int_ge(swamp__clock_monotonic_ms() - start_ms, 29);
}
END_TEST

START_TEST(closing_wakes_every_waiting_consumer)
{
    pthread_t threads[3];
    void *result;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, pop_for_ever, NULL), 0);
    swamp__queue_close(&queue);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_null(result);
    }
}
END_TEST

START_TEST(nothing_is_lost_doubled_or_overtaken_between_threads)
{
    pthread_t threads[PRODUCERS];
    int numbers[PRODUCERS], next[PRODUCERS] = {0};
    void *result;

    for (int i = 0; i < PRODUCERS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &numbers[i]), 0);
    }
    for (int i = 0; i < PRODUCERS * EACH; i++) {
        item *taken = pop(-1);

        ck_assert_int_eq(taken->number, next[taken->producer]);
        next[taken->producer]++;
    }
    for (int i = 0; i < PRODUCERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_null(result);
    }
    ck_assert_ptr_null(pop(0));
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("queue");
    TCase *t = tcase_create("queue");

    tcase_set_timeout(t, 30);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, links_come_out_in_order_and_the_front_first);
    tcase_add_test(t, a_full_queue_is_busy_but_the_front_has_no_bound);
    tcase_add_test(t, a_closed_queue_is_emptied_but_not_filled);
    tcase_add_test(t, an_empty_queue_waits_as_long_as_it_was_told);
    tcase_add_test(t, closing_wakes_every_waiting_consumer);
    tcase_add_test(t, nothing_is_lost_doubled_or_overtaken_between_threads);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
