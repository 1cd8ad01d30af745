/* The delays between dials: range, growth, spread. */
#include "../../../libswamp/session/backoff.h"
#include "../../support/fake_world.h"
#include "tap.h"

static swamp__backoff
make_backoff(void)
{
    return (swamp__backoff){.min_ms = 1000,
                            .first_ms = 2000,
                            .max_ms = 15000,
                            .settle_ms = 10000,
                            .bound_ms = 2000,
                            .attached_ms = -1};
}

START_TEST(a_thousand_clients_do_not_come_at_one_moment)
{
    enum { CLIENTS = 1000, BINS = 10 };
    unsigned bins[BINS] = {0};
    fake_world *world = fake_world_new(7);
    fake_node *node = fake_node_new(world);
    for (int i = 0; i < CLIENTS; i++) {
        swamp__backoff backoff = make_backoff();
        int64_t delay_ms = swamp__backoff_next(&backoff, &node->world);
        ck_assert_int_ge(delay_ms, 1000);
        ck_assert_int_le(delay_ms, 2000);
        bins[(delay_ms - 1000) * BINS / 1001]++;
    }
    for (int i = 0; i < BINS; i++) {
        ck_assert_uint_ge(bins[i], CLIENTS / BINS / 2);
        ck_assert_uint_le(bins[i], CLIENTS / BINS * 2);
    }
    fake_world_free(world);
}
END_TEST

START_TEST(the_bound_doubles_up_to_the_highest)
{
    static const int64_t bounds[] = {4000, 8000, 15000, 15000};
    fake_world *world = fake_world_new(1);
    fake_node *node = fake_node_new(world);
    swamp__backoff backoff = make_backoff();
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        swamp__backoff_next(&backoff, &node->world);
        ck_assert_int_eq(backoff.bound_ms, bounds[i]);
    }
    fake_world_free(world);
}
END_TEST

START_TEST(only_time_attached_lets_it_fall_back)
{
    swamp__backoff backoff = make_backoff();
    backoff.bound_ms = 15000;
    swamp__backoff_lost(&backoff, 1000000); /* never attached */
    ck_assert_int_eq(backoff.bound_ms, 15000);
    swamp__backoff_attached(&backoff, 0);
    swamp__backoff_lost(&backoff, 9999);
    ck_assert_int_eq(backoff.bound_ms, 15000);
    swamp__backoff_lost(&backoff, 20000); /* lost twice: not attached in between */
    ck_assert_int_eq(backoff.bound_ms, 15000);
    swamp__backoff_attached(&backoff, 0);
    swamp__backoff_lost(&backoff, 10000);
    ck_assert_int_eq(backoff.bound_ms, 2000);
}
END_TEST

START_TEST(a_time_that_a_peer_names_is_kept_spread_and_bounded)
{
    fake_world *world = fake_world_new(3);
    fake_node *node = fake_node_new(world);
    int64_t first_ms = swamp__backoff_told(&node->world, 1500, 8000, 300000);
    int differs = 0;
    for (int i = 0; i < 100; i++) {
        int64_t delay_ms = swamp__backoff_told(&node->world, 1500, 8000, 300000);
        ck_assert_int_ge(delay_ms, 8000);
        ck_assert_int_le(delay_ms, 10000);
        differs |= delay_ms != first_ms;
    }
    ck_assert(differs);
    ck_assert_int_eq(swamp__backoff_told(&node->world, 1500, 0, 300000), 1500);
    ck_assert_int_eq(swamp__backoff_told(&node->world, 1500, 10, 300000), 1500);
    ck_assert_int_le(swamp__backoff_told(&node->world, 1500, INT64_MAX, 300000), 375000);
    fake_world_free(world);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("backoff");
    TCase *tcase = tcase_create("backoff");
    tcase_add_test(tcase, a_thousand_clients_do_not_come_at_one_moment);
    tcase_add_test(tcase, the_bound_doubles_up_to_the_highest);
    tcase_add_test(tcase, only_time_attached_lets_it_fall_back);
    tcase_add_test(tcase, a_time_that_a_peer_names_is_kept_spread_and_bounded);
    suite_add_tcase(suite, tcase);
    return tap_main(suite);
}
