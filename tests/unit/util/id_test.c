/* Ids: form, order of version 7, key segments; and that the system's random numbers differ. */
#include "tap.h"

#include <string.h>
#include "../../../libswamp/util/id.h"
#include "../../../libswamp/util/random.h"

START_TEST(version_7_has_the_form_of_rfc_9562)
{
    char id[SWAMP__ID_SIZE];

    swamp__id_v7(id, 0x017f22e279b0, 0xfffffffffffffcc3,
                 0x18c4dc0c0c07398f); /* the example of appendix A.6 */
    ck_assert_str_eq(id, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}
END_TEST

START_TEST(version_4_has_the_form_of_rfc_9562)
{
    char id[SWAMP__ID_SIZE];

    swamp__id_v4(id, 0x919108f752d11320, 0x1bacf847db4148a8); /* the example of appendix A.3 */
    ck_assert_str_eq(id, "919108f7-52d1-4320-9bac-f847db4148a8");
    swamp__id_v4(id, UINT64_MAX, UINT64_MAX);
    ck_assert_str_eq(id, "ffffffff-ffff-4fff-bfff-ffffffffffff");
}
END_TEST

START_TEST(version_7_ids_sort_as_their_times_whatever_the_randomness)
{
    char before[SWAMP__ID_SIZE], after[SWAMP__ID_SIZE];

    for (int64_t ms = 1; ms < (INT64_C(1) << 47); ms = ms * 3 + 1) {
        swamp__id_v7(before, ms, UINT64_MAX, UINT64_MAX);
        swamp__id_v7(after, ms + 1, 0, 0);
        ck_assert_str_lt(before, after);
        ck_assert_int_eq(before[14], '7');
        ck_assert_uint_eq(strlen(before), SWAMP__ID_SIZE - 1);
    }
}
END_TEST

START_TEST(a_time_outside_48_bits_does_not_spoil_the_form)
{
    char id[SWAMP__ID_SIZE];

    swamp__id_v7(id, -1, 0, 0);
    ck_assert_str_eq(id, "00000000-0000-7000-8000-000000000000");
}
END_TEST

START_TEST(a_key_segment_is_1_to_64_printable_characters_without_slash)
{
    char longest[66];

    memset(longest, 'a', 65);
    longest[65] = '\0';
    ck_assert_int_eq(swamp__id_is_key_segment(longest), 0);
    longest[64] = '\0';
    ck_assert_int_eq(swamp__id_is_key_segment(longest), 1);
    ck_assert_int_eq(swamp__id_is_key_segment("a"), 1);
    ck_assert_int_eq(swamp__id_is_key_segment("~ !"), 1);
    ck_assert_int_eq(swamp__id_is_key_segment(""), 0);
    ck_assert_int_eq(swamp__id_is_key_segment("a/b"), 0);
    ck_assert_int_eq(swamp__id_is_key_segment("a\n"), 0);
    ck_assert_int_eq(swamp__id_is_key_segment("a\x7f"), 0);
    ck_assert_int_eq(swamp__id_is_key_segment("\xc3\xa9"), 0);
}
END_TEST

START_TEST(random_numbers_use_all_bits)
{
    uint64_t ones = 0, zeros = 0;

    for (int i = 0; i < 200; i++) { /* a bit that is the same in all: once in 2^193 runs */
        uint64_t number = swamp__random_u64();

        ones |= number;
        zeros |= ~number;
    }
    ck_assert(ones == UINT64_MAX);
    ck_assert(zeros == UINT64_MAX);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("id");
    TCase *t = tcase_create("id");

    tcase_add_test(t, version_7_has_the_form_of_rfc_9562);
    tcase_add_test(t, version_4_has_the_form_of_rfc_9562);
    tcase_add_test(t, version_7_ids_sort_as_their_times_whatever_the_randomness);
    tcase_add_test(t, a_time_outside_48_bits_does_not_spoil_the_form);
    tcase_add_test(t, a_key_segment_is_1_to_64_printable_characters_without_slash);
    tcase_add_test(t, random_numbers_use_all_bits);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
