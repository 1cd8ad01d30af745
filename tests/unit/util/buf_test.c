/* The growable buffer: content, growth, and that a failure sticks. */
#include "tap.h"

#include <stdint.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/util/buf.h"

START_TEST(appended_pieces_are_one_text)
{
    swamp__buf buf;

    swamp__buf_init(&buf);
    swamp__buf_text(&buf, "a");
    swamp__buf_append(&buf, "b\0c", 3);
    swamp__buf_append(&buf, NULL, 0);
    ck_assert_uint_eq(buf.len, 4);
    ck_assert_mem_eq(buf.data, "ab\0c", 5); /* the zero too */
    swamp__buf_free(&buf);
    ck_assert_ptr_null(buf.data);
}
END_TEST

START_TEST(numbers_are_written_to_their_last_digit)
{
    swamp__buf buf;

    swamp__buf_init(&buf);
    swamp__buf_u64(&buf, 0);
    swamp__buf_text(&buf, " ");
    swamp__buf_u64(&buf, UINT64_MAX);
    swamp__buf_text(&buf, " ");
    swamp__buf_i64(&buf, INT64_MIN);
    swamp__buf_text(&buf, " ");
    swamp__buf_i64(&buf, INT64_MAX);
    swamp__buf_text(&buf, " ");
    swamp__buf_i64(&buf, -1);
    ck_assert_str_eq(buf.data, "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1");
    swamp__buf_free(&buf);
}
END_TEST

START_TEST(growth_doubles)
{
    swamp__buf buf;
    unsigned long before = swamp__alloc_count();

    swamp__buf_init(&buf);
    for (int i = 0; i < 100000; i++)
        swamp__buf_append(&buf, "0123456789", 10);
    ck_assert_uint_eq(buf.len, 1000000);
    ck_assert_uint_lt(swamp__alloc_count() - before, 20);
    for (size_t i = 0; i < buf.len; i++)
        if (buf.data[i] != (char)('0' + i % 10)) /* no assertion a byte: check reports each one over a pipe */
            ck_abort_msg("byte %zu is %c", i, buf.data[i]);
    swamp__buf_free(&buf);
}
END_TEST

START_TEST(a_failure_sticks_until_cleared)
{
    swamp__buf buf;

    swamp__buf_init(&buf);
    swamp__buf_text(&buf, "whole");
    swamp__alloc_fail_at(1, 0);
    ck_assert_int_eq(swamp__buf_reserve(&buf, 1000), SWAMP_E_NOMEM);
    swamp__alloc_fail_at(0, 0);
    swamp__buf_text(&buf, "x"); /* would fit, but would follow a hole */
    ck_assert_str_eq(buf.data, "whole");
    ck_assert_int_eq(swamp__buf_status(&buf), SWAMP_E_NOMEM);
    swamp__buf_clear(&buf);
    swamp__buf_text(&buf, "again");
    ck_assert_int_eq(swamp__buf_status(&buf), SWAMP_OK);
    ck_assert_str_eq(buf.data, "again");
    swamp__buf_free(&buf);
}
END_TEST

START_TEST(a_failed_buffer_cannot_be_stolen)
{
    swamp__buf buf;

    swamp__buf_init(&buf);
    swamp__buf_text(&buf, "half");
    swamp__alloc_fail_at(1, 0);
    ck_assert_int_eq(swamp__buf_reserve(&buf, 1000), SWAMP_E_NOMEM);
    swamp__alloc_fail_at(0, 0);
    ck_assert_ptr_null(swamp__buf_steal(&buf));
    ck_assert_uint_eq(buf.len, 0);
}
END_TEST

START_TEST(a_size_beyond_all_memory_is_refused_without_overflow)
{
    swamp__buf buf;

    swamp__buf_init(&buf);
    swamp__buf_text(&buf, "x");
    ck_assert_int_eq(swamp__buf_reserve(&buf, SIZE_MAX), SWAMP_E_NOMEM);
    swamp__buf_clear(&buf);
    ck_assert_int_eq(swamp__buf_reserve(&buf, SIZE_MAX / 2), SWAMP_E_NOMEM);
    swamp__buf_free(&buf);
}
END_TEST

START_TEST(consume_drops_the_front)
{
    swamp__buf buf;

    swamp__buf_init(&buf);
    swamp__buf_consume(&buf, 0);
    swamp__buf_text(&buf, "abcdef");
    swamp__buf_consume(&buf, 2);
    ck_assert_str_eq(buf.data, "cdef");
    swamp__buf_consume(&buf, 4);
    ck_assert_uint_eq(buf.len, 0);
    ck_assert_str_eq(buf.data, "");
    swamp__buf_free(&buf);
}
END_TEST

START_TEST(steal_gives_text_also_of_an_empty_buffer)
{
    swamp__buf buf;
    char *text;

    swamp__buf_init(&buf);
    text = swamp__buf_steal(&buf);
    ck_assert_str_eq(text, "");
    swamp__free(text);
    swamp__buf_text(&buf, "full");
    text = swamp__buf_steal(&buf);
    ck_assert_str_eq(text, "full");
    ck_assert_uint_eq(buf.len, 0);
    swamp__free(text);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("buf");
    TCase *t = tcase_create("buf");

    tcase_add_test(t, appended_pieces_are_one_text);
    tcase_add_test(t, numbers_are_written_to_their_last_digit);
    tcase_add_test(t, growth_doubles);
    tcase_add_test(t, a_failure_sticks_until_cleared);
    tcase_add_test(t, a_failed_buffer_cannot_be_stolen);
    tcase_add_test(t, a_size_beyond_all_memory_is_refused_without_overflow);
    tcase_add_test(t, consume_drops_the_front);
    tcase_add_test(t, steal_gives_text_also_of_an_empty_buffer);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
