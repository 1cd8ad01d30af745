/* The reader of size-first structs: older callers, newer callers, callers who forgot. */
#include "tap.h"

#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/options.h"

typedef struct version_1 {
    size_t size;
    uint64_t first;
} version_1;

typedef struct version_2 {
    size_t size;
    uint64_t first;
    uint64_t second;
} version_2;

START_TEST(a_struct_of_the_same_size_is_copied)
{
    version_2 from = {sizeof(from), 1, 2}, to;

    ck_assert_int_eq(swamp__options_read(&to, sizeof(to), &from), SWAMP_OK);
    ck_assert_mem_eq(&to, &from, sizeof(to));
}
END_TEST

START_TEST(an_older_callers_struct_is_extended_with_zeros)
{
    version_1 from = {sizeof(from), 1};
    version_2 to = {99, 99, 99};

    ck_assert_int_eq(swamp__options_read(&to, sizeof(to), &from), SWAMP_OK);
    ck_assert_uint_eq(to.size, sizeof(to));
    ck_assert_uint_eq(to.first, 1);
    ck_assert_uint_eq(to.second, 0);
}
END_TEST

START_TEST(a_newer_callers_struct_is_taken_if_its_tail_is_zero)
{
    version_2 from = {sizeof(from), 1, 0};
    version_1 to = {0, 0};

    ck_assert_int_eq(swamp__options_read(&to, sizeof(to), &from), SWAMP_OK);
    ck_assert_uint_eq(to.size, sizeof(to));
    ck_assert_uint_eq(to.first, 1);
}
END_TEST

START_TEST(a_newer_callers_wish_that_is_unknown_here_is_refused)
{
    version_2 from = {sizeof(from), 1, UINT64_C(1) << 63};
    version_1 to = {7, 7};

    ck_assert_int_eq(swamp__options_read(&to, sizeof(to), &from), SWAMP_E_INVALID);
    ck_assert_uint_eq(to.first, 7);
}
END_TEST

START_TEST(a_size_that_was_never_set_is_refused)
{
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 65537, SIZE_MAX};
    version_1 to = {7, 7};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        version_1 from = {sizes[i], 1};

        ck_assert_int_eq(swamp__options_read(&to, sizeof(to), &from), SWAMP_E_INVALID);
    }
    ck_assert_int_eq(swamp__options_read(&to, sizeof(to), NULL), SWAMP_E_INVALID);
    ck_assert_uint_eq(to.first, 7);
}
END_TEST

START_TEST(a_struct_of_nothing_but_its_size_is_all_defaults)
{
    size_t from = sizeof(from);
    version_2 to = {9, 9, 9};

    ck_assert_int_eq(swamp__options_read(&to, sizeof(to), &from), SWAMP_OK);
    ck_assert_uint_eq(to.first + to.second, 0);
}
END_TEST

START_TEST(zero_means_the_default)
{
    ck_assert_uint_eq(swamp__options_or(0, 5), 5);
    ck_assert_uint_eq(swamp__options_or(3, 5), 3);
    ck_assert_uint_eq(swamp__options_or(UINT32_MAX, 5), UINT32_MAX);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");

    tcase_add_test(t, a_struct_of_the_same_size_is_copied);
    tcase_add_test(t, an_older_callers_struct_is_extended_with_zeros);
    tcase_add_test(t, a_newer_callers_struct_is_taken_if_its_tail_is_zero);
    tcase_add_test(t, a_newer_callers_wish_that_is_unknown_here_is_refused);
    tcase_add_test(t, a_size_that_was_never_set_is_refused);
    tcase_add_test(t, a_struct_of_nothing_but_its_size_is_all_defaults);
    tcase_add_test(t, zero_means_the_default);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
