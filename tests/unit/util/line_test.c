/* Lines for people: UTF-8, log lines, error texts; and uniform numbers from a world. */
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/error.h"
#include "../../../libswamp/util/log.h"
#include "../../../libswamp/util/utf8.h"
#include "../../../libswamp/util/world.h"

static char last_line[2048];
static int lines;

static void
keep_line(int level, const char *line, void *user)
{
    ck_assert_ptr_eq(user, &lines);
    snprintf(last_line, sizeof(last_line), "%d %s", level, line);
    lines++;
}

static const swamp__log info_log = {keep_line, &lines, SWAMP_LOG_INFO};

/* Every code point there and back, through the size that the validator finds. */
START_TEST(every_code_point_is_valid_utf8_except_surrogates)
{
    for (uint32_t point = 1; point <= 0x10ffff; point++) {
        char text[4];
        size_t size = swamp__utf8_write(text, point);
        int surrogate = point >= 0xd800 && point <= 0xdfff;

        /* no assertion a point: check reports each one over a pipe */
        if (swamp__utf8_size(text, text + size) != (surrogate ? 0 : size) ||
            (size > 1 && swamp__utf8_size(text, text + size - 1) != 0))
            ck_abort_msg("U+%04X", (unsigned)point);
    }
}
END_TEST

static const char *const bad_utf8[] = {
    "\x80",
    "\xbf",
    "\xc0\x80",
    "\xc1\xbf",
    "\xc3",
    "\xc3(",
    "\xe0\x80\x80",
    "\xe0\x9f\xbf",
    "\xe2\x82",
    "\xe2(\xac",
    "\xed\xa0\x80",
    "\xed\xbf\xbf",
    "\xf0\x80\x80\x80",
    "\xf0\x8f\xbf\xbf",
    "\xf4\x90\x80\x80",
    "\xf5\x80\x80\x80",
    "\xf8\x88\x80\x80\x80",
    "\xfe",
    "\xff",
    "\xf0\x9f\x98",
};

START_TEST(overlong_surrogate_and_cut_forms_are_invalid)
{
    ck_assert_uint_eq(swamp__utf8_size(bad_utf8[_i], bad_utf8[_i] + strlen(bad_utf8[_i])), 0);
}
END_TEST

START_TEST(a_cut_never_splits_a_character)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"; /* ends at 1, 3, 6, 10 */
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};

    for (size_t max = 0; max < sizeof(expected) / sizeof(expected[0]); max++)
        ck_assert_uint_eq(swamp__utf8_cut(text, 10, max), expected[max]);
    ck_assert_uint_eq(swamp__utf8_cut("\x80\x80\x80\x80\x80\x80\x80", 7, 6), 6);
}
END_TEST

START_TEST(a_log_line_is_one_clean_line)
{
    lines = 0;
    swamp__log_write(&info_log, SWAMP_LOG_WARN, "a\nb\x1b[0m\x7f%s\xff\xc3", "\xc3\xa9");
    ck_assert_str_eq(last_line, "2 a?b?[0m?\xc3\xa9??");
    ck_assert_int_eq(lines, 1);
}
END_TEST

START_TEST(a_log_line_below_the_level_is_not_made)
{
    swamp__log silent = {NULL, NULL, SWAMP_LOG_DEBUG};

    lines = 0;
    swamp__log_write(&info_log, SWAMP_LOG_DEBUG, "x");
    swamp__log_write(&silent, SWAMP_LOG_ERROR, "x");
    swamp__log_write(NULL, SWAMP_LOG_ERROR, "x");
    ck_assert_int_eq(lines, 0);
    swamp__log_write(&info_log, SWAMP_LOG_INFO, "x");
    ck_assert_int_eq(lines, 1);
}
END_TEST

START_TEST(a_long_log_line_is_cut_between_characters)
{
    char text[1500];

    for (size_t i = 0; i + 1 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    text[sizeof(text) - 2] = '\0';
    swamp__log_write(&info_log, SWAMP_LOG_INFO, "x%s", text);
    ck_assert_uint_eq(strlen(last_line + 2), 999);
    ck_assert_ptr_null(strchr(last_line + 2, '?'));
}
END_TEST

START_TEST(the_first_error_text_is_kept)
{
    swamp__error error;
    char text[SWAMP__ERROR_SIZE];

    swamp__error_init(&error);
    swamp__error_get(&error, text, sizeof(text));
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(swamp__error_set(&error, SWAMP_E_IO, "port %d is\nin use", 80), SWAMP_E_IO);
    ck_assert_int_eq(swamp__error_set(&error, SWAMP_E_ADDRESS, "cannot listen"), SWAMP_E_ADDRESS);
    swamp__error_get(&error, text, sizeof(text));
    ck_assert_str_eq(text, "port 80 is?in use");
    swamp__error_get(&error, text, 5);
    ck_assert_str_eq(text, "port");
    swamp__error_clear(&error);
    ck_assert_int_eq(swamp__error_set(&error, SWAMP_E_IO, "new"), SWAMP_E_IO);
    swamp__error_get(&error, text, sizeof(text));
    ck_assert_str_eq(text, "new");
    swamp__error_destroy(&error);
}
END_TEST

START_TEST(an_error_text_that_is_too_long_is_cut_between_characters)
{
    swamp__error error;
    char text[SWAMP__ERROR_SIZE], long_text[1025];

    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    memcpy(long_text + SWAMP__ERROR_SIZE - 2, "\xc3\xa9", 2);
    swamp__error_init(&error);
    ck_assert_int_eq(swamp__error_set(&error, SWAMP_E_IO, "%s", long_text), SWAMP_E_IO);
    swamp__error_get(&error, text, sizeof(text));
    ck_assert_uint_eq(strlen(text), SWAMP__ERROR_SIZE - 2);
    swamp__error_destroy(&error);
}
END_TEST

static uint64_t
count_up(void *self)
{
    return (*(uint64_t *)self)++;
}

START_TEST(uniform_covers_both_bounds_and_nothing_outside)
{
    uint64_t number = UINT64_MAX - 500;
    swamp__world world = {.random = count_up, .self = &number};
    int seen[5] = {0};

    for (int i = 0; i < 1000; i++) {
        int64_t value = swamp__world_uniform(&world, -2, 2);

        ck_assert_int_ge(value, -2);
        ck_assert_int_le(value, 2);
        seen[value + 2]++;
    }
    for (int i = 0; i < 5; i++)
        ck_assert_int_ge(seen[i], 190);
    ck_assert_int_eq(swamp__world_uniform(&world, 7, 7), 7);
    number = 5;
    ck_assert_int_eq(swamp__world_uniform(&world, INT64_MIN, INT64_MAX), INT64_MIN + 5);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("line");
    TCase *t = tcase_create("line");

    tcase_set_timeout(t, 30);
    tcase_add_test(t, every_code_point_is_valid_utf8_except_surrogates);
    tcase_add_loop_test(t, overlong_surrogate_and_cut_forms_are_invalid, 0,
                        sizeof(bad_utf8) / sizeof(bad_utf8[0]));
    tcase_add_test(t, a_cut_never_splits_a_character);
    tcase_add_test(t, a_log_line_is_one_clean_line);
    tcase_add_test(t, a_log_line_below_the_level_is_not_made);
    tcase_add_test(t, a_long_log_line_is_cut_between_characters);
    tcase_add_test(t, the_first_error_text_is_kept);
    tcase_add_test(t, an_error_text_that_is_too_long_is_cut_between_characters);
    tcase_add_test(t, uniform_covers_both_bounds_and_nothing_outside);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
