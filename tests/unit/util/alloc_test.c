/* The allocation hook: which call fails, and that what was there survives it. */
#include "tap.h"

#include <stdint.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"

START_TEST(the_nth_allocation_fails_and_no_other)
{
    void *first, *second, *third;

    swamp__alloc_fail_at(2, 0);
    first = swamp__alloc(8);
    second = swamp__alloc(8);
    third = swamp__alloc(8);
    swamp__alloc_fail_at(0, 0);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(third);
    swamp__free(first);
    swamp__free(third);
}
END_TEST

START_TEST(with_all_every_later_allocation_fails_too)
{
    void *block;

    swamp__alloc_fail_at(1, 1);
    ck_assert_ptr_null(swamp__alloc(8));
    ck_assert_ptr_null(swamp__calloc(2, 8));
    ck_assert_ptr_null(swamp__realloc(NULL, 8));
    ck_assert_ptr_null(swamp__strdup("x"));
    swamp__alloc_fail_at(0, 1);
    block = swamp__alloc(8);
    ck_assert_ptr_nonnull(block);
    swamp__free(block);
}
END_TEST

START_TEST(every_kind_of_allocation_counts)
{
    unsigned long before = swamp__alloc_count();
    void *block = swamp__alloc(1);
    void *zeroed = swamp__calloc(1, 1);
    char *copy = swamp__strdup("text");

    block = swamp__realloc(block, 100);
    ck_assert_uint_eq(swamp__alloc_count() - before, 4);
    swamp__free(block);
    swamp__free(zeroed);
    swamp_free(copy);
}
END_TEST

START_TEST(a_failed_realloc_keeps_the_block)
{
    char *block = swamp__strdup("kept");

    swamp__alloc_fail_at(1, 0);
    ck_assert_ptr_null(swamp__realloc(block, 1000));
    swamp__alloc_fail_at(0, 0);
    ck_assert_str_eq(block, "kept");
    swamp__free(block);
}
END_TEST

START_TEST(null_means_out_of_memory_only)
{
    void *blocks[] = {swamp__alloc(0), swamp__calloc(0, 8), swamp__calloc(8, 0),
                      swamp__realloc(swamp__alloc(4), 0)};

    for (size_t i = 0; i < 4; i++) {
        ck_assert_ptr_nonnull(blocks[i]);
        swamp__free(blocks[i]);
    }
    ck_assert_ptr_null(swamp__strdup(NULL));
    swamp_free(NULL);
}
END_TEST

START_TEST(strndup_ends_the_copy)
{
    char *copy = swamp__strndup("abcdef", 3);

    ck_assert_str_eq(copy, "abc");
    swamp__free(copy);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("alloc");
    TCase *t = tcase_create("hook");

    tcase_add_test(t, the_nth_allocation_fails_and_no_other);
    tcase_add_test(t, with_all_every_later_allocation_fails_too);
    tcase_add_test(t, every_kind_of_allocation_counts);
    tcase_add_test(t, a_failed_realloc_keeps_the_block);
    tcase_add_test(t, null_means_out_of_memory_only);
    tcase_add_test(t, strndup_ends_the_copy);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
