/* Durations and counts: every spelling that is allowed, and its neighbours that are not. */
#include <string.h>
#include "../../../cli/value.h"
#include "tap.h"

static const struct {
    const char *words;
    int64_t ms; /* -1: refused */
} durations[] = {
    {"0", 0},
    {"30", 30000},
    {"30s", 30000},
    {"5m", 300000},
    {"1h", 3600000},
    {"500ms", 500},
    {"2d", 172800000},
    {"007s", 7000},
    {"", -1},
    {"s", -1},
    {"-1s", -1},
    {"+1s", -1},
    {"1.5s", -1},
    {" 1s", -1},
    {"1 s", -1},
    {"1s ", -1},
    {"1S", -1},
    {"1us", -1},
    {"1m30s", -1},
    {"0x10", -1},
    {"1e3", -1},
    {"999999999999999999d", -1},
    {"9999999999999999999s", -1},
};

START_TEST(durations_as_documented)
{
    uint64_t ms = 42;
    int known = value_duration(durations[_i].words, &ms);
    ck_assert_int_eq(known, durations[_i].ms >= 0);
    ck_assert_uint_eq(ms, durations[_i].ms >= 0 ? (uint64_t)durations[_i].ms : 42);
}
END_TEST

START_TEST(a_duration_is_written_so_that_it_reads_back)
{
    static const uint64_t values[] = {0, 1, 500, 1000, 1500, 30000, 60000, 90000, 3600000, 86400000};
    text out = {0};
    uint64_t back;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        text_clear(&out);
        value_add_duration(&out, values[i]);
        ck_assert_int_eq(value_duration(out.bytes, &back), 1);
        ck_assert_uint_eq(back, values[i]);
    }
    text_free(&out);
}
END_TEST

START_TEST(counts_are_decimal_digits_only)
{
    static const char *const wrong[] = {"", "-1", "+1", "1 ", "0x1", "1.0", "1e2", "9999999999999999999"};
    uint64_t number;
    ck_assert_int_eq(value_count("9007199254740991", &number), 1);
    ck_assert_uint_eq(number, 9007199254740991);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!value_count(wrong[i], &number), "%s", wrong[i]);
}
END_TEST

static Suite *
suite(void)
{
    Suite *made = suite_create("cli value");
    TCase *cases = tcase_create("value");
    tcase_add_loop_test(cases, durations_as_documented, 0, sizeof(durations) / sizeof(durations[0]));
    tcase_add_test(cases, a_duration_is_written_so_that_it_reads_back);
    tcase_add_test(cases, counts_are_decimal_digits_only);
    suite_add_tcase(made, cases);
    return made;
}

int
main(void)
{
    return tap_main(suite());
}
