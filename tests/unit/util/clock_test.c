/* ISO 8601 text of times, both ways, and the clocks' units. */
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <swamp/status.h>
#include "../../../libswamp/util/clock.h"

static const struct {
    int64_t unix_ms;
    const char *text;
} times[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {-1, "1969-12-31T23:59:59.999Z"},
    {951782400000, "2000-02-29T00:00:00.000Z"},
    {1795946400000, "2026-11-29T10:00:00.000Z"},
    {1709251199999, "2024-02-29T23:59:59.999Z"},
    {4107542400000, "2100-03-01T00:00:00.000Z"},
    {-62167219200000, "0000-01-01T00:00:00.000Z"},
    {253402300799999, "9999-12-31T23:59:59.999Z"},
};

START_TEST(a_time_is_written_and_read_back)
{
    char text[SWAMP__ISO_SIZE];
    int64_t back = 0;

    swamp__clock_iso(times[_i].unix_ms, text);
    ck_assert_str_eq(text, times[_i].text);
    ck_assert_int_eq(swamp__clock_parse_iso(text, &back), SWAMP_OK);
    ck_assert_int_eq(back, times[_i].unix_ms);
}
END_TEST

START_TEST(every_day_agrees_with_the_c_library)
{
    int stride = 13 * tap_slowdown(); /* 13 and 400 years have no common factor */

    for (int64_t day = -800000; day < 800000; day += stride) {
        time_t seconds = (time_t)(day * 86400 + 45296);
        struct tm tm;
        char expected[SWAMP__ISO_SIZE * 2], text[SWAMP__ISO_SIZE];
        int64_t back;

        if (!gmtime_r(&seconds, &tm) || tm.tm_year < -1900 || tm.tm_year > 8099)
            continue;
        snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d.789Z", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        swamp__clock_iso((int64_t)seconds * 1000 + 789, text);
        ck_assert_str_eq(text, expected);
        ck_assert_int_eq(swamp__clock_parse_iso(text, &back), SWAMP_OK);
        ck_assert_int_eq(back, (int64_t)seconds * 1000 + 789);
    }
}
END_TEST

START_TEST(a_year_of_more_than_four_digits_is_held_at_the_bound)
{
    char text[SWAMP__ISO_SIZE];

    swamp__clock_iso(INT64_MAX, text);
    ck_assert_str_eq(text, "9999-12-31T23:59:59.999Z");
    swamp__clock_iso(INT64_MIN, text);
    ck_assert_str_eq(text, "0000-01-01T00:00:00.000Z");
}
END_TEST

START_TEST(the_fraction_may_be_absent_short_or_long)
{
    int64_t ms;

    ck_assert_int_eq(swamp__clock_parse_iso("1970-01-01T00:00:01Z", &ms), SWAMP_OK);
    ck_assert_int_eq(ms, 1000);
    ck_assert_int_eq(swamp__clock_parse_iso("1970-01-01T00:00:01.5Z", &ms), SWAMP_OK);
    ck_assert_int_eq(ms, 1500);
    ck_assert_int_eq(swamp__clock_parse_iso("1970-01-01T00:00:01.123999999Z", &ms), SWAMP_OK);
    ck_assert_int_eq(ms, 1123);
}
END_TEST

static const char *const bad_times[] = {
    "",
    "Z",
    "1970",
    "1970-01-01",
    "1970-01-01T00:00:00",
    "1970-01-01 00:00:00Z",
    "1970-01-01T00:00:00.Z",
    "1970-01-01T00:00:00.000",
    "1970-01-01T00:00:00.000z",
    "1970-01-01T00:00:00.000Z ",
    " 1970-01-01T00:00:00.000Z",
    "1970-01-01T00:00:00+00:00",
    "1970-13-01T00:00:00Z",
    "1970-00-01T00:00:00Z",
    "1970-01-00T00:00:00Z",
    "1970-01-32T00:00:00Z",
    "1970-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "1970-04-31T00:00:00Z",
    "1970-01-01T24:00:00Z",
    "1970-01-01T00:60:00Z",
    "1970-01-01T00:00:60Z",
    "+970-01-01T00:00:00Z",
    "1970-1-01T00:00:00Z",
    "1970-01-01T00:00:0-Z",
};

START_TEST(what_is_no_time_is_refused_and_changes_nothing)
{
    int64_t ms = 42;

    ck_assert_int_eq(swamp__clock_parse_iso(bad_times[_i], &ms), SWAMP_E_INVALID);
    ck_assert_int_eq(ms, 42);
}
END_TEST

START_TEST(the_clocks_agree_on_their_units)
{
    int64_t ms = swamp__clock_monotonic_ms();
    int64_t us = swamp__clock_monotonic_us();
    int64_t later_ms = swamp__clock_monotonic_ms();

    ck_assert_int_le(ms, us / 1000);
    ck_assert_int_le(us / 1000, later_ms);
    ck_assert_int_le(llabs(swamp__clock_unix_ms() / 1000 - (int64_t)time(NULL)), 2);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("clock");
    TCase *t = tcase_create("iso");

    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, a_time_is_written_and_read_back, 0, sizeof(times) / sizeof(times[0]));
    tcase_add_test(t, every_day_agrees_with_the_c_library);
    tcase_add_test(t, a_year_of_more_than_four_digits_is_held_at_the_bound);
    tcase_add_test(t, the_fraction_may_be_absent_short_or_long);
    tcase_add_loop_test(t, what_is_no_time_is_refused_and_changes_nothing, 0,
                        sizeof(bad_times) / sizeof(bad_times[0]));
    tcase_add_test(t, the_clocks_agree_on_their_units);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
