/* The JSON checker under texts made to be dear: time, memory, stack (STYLE 6). */
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/json.h"
#include "../../../libswamp/wire/json_keys.h"
#include "../../../libswamp/wire/limits.h"

#define KEYS 90000
#define ROUNDS 7
#define DEEP 1000000

#if defined(__clang__)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#if IS_SANITIZED || !defined(__OPTIMIZE__)
#define BOUND_US 2000000 /* still 10,000 times below a quadratic check */
#else
#define BOUND_US 20000
#endif

static swamp__buf text;

static void
set_up(void)
{
    swamp__buf_init(&text);
}

static void
tear_down(void)
{
    swamp__buf_free(&text);
}

static int64_t
cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* other processes on this machine must not count */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The best of some rounds: caches and page faults of the first do not count either, nor matter to who is slow anyway. */
static void
check_within_bound(int expected)
{
    int rounds = tap_slowdown() > 1 ? 1 : ROUNDS;
    int64_t best = INT64_MAX;
    swamp__json value;

    ck_assert_int_eq(swamp__buf_status(&text), SWAMP_OK);
    for (int i = 0; i < rounds; i++) {
        int64_t start = cpu_us();

        ck_assert_int_eq(swamp__json_check(text.data, text.len, SWAMP__JSON_STRICT, &value), expected);
        if (cpu_us() - start < best)
            best = cpu_us() - start;
    }
    ck_assert_msg(best < BOUND_US * tap_slowdown(), "took %ld us", (long)best);
}

static void
put_repeated(const char *part, size_t count)
{
    for (size_t i = 0; i < count; i++)
        swamp__buf_text(&text, part);
}

static void
put_keys(const char *prefix, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        swamp__buf_text(&text, i ? ",\"" : "{\"");
        swamp__buf_text(&text, prefix);
        swamp__buf_u64(&text, i);
        swamp__buf_text(&text, "\":1");
    }
}

START_TEST(ninety_thousand_keys)
{
    put_keys("", KEYS);
    swamp__buf_text(&text, "}");
    ck_assert_uint_le(text.len, SWAMP__MESSAGE_MAX);
    check_within_bound(SWAMP_OK);
}
END_TEST

START_TEST(ninety_thousand_keys_the_first_again_at_the_end)
{
    put_keys("", KEYS);
    swamp__buf_text(&text, ",\"\\u0030\":1}");
    check_within_bound(SWAMP_E_RULES);
}
END_TEST

START_TEST(ninety_thousand_times_one_key)
{
    swamp__buf_text(&text, "{\"k\":1");
    put_repeated(",\"k\":1", KEYS);
    swamp__buf_text(&text, "}");
    check_within_bound(SWAMP_E_RULES);
}
END_TEST

START_TEST(keys_that_share_a_long_beginning)
{
    char prefix[1001];

    memset(prefix, 'a', 1000);
    prefix[1000] = '\0';
    put_keys(prefix, 1000);
    swamp__buf_text(&text, "}");
    check_within_bound(SWAMP_OK);
}
END_TEST

START_TEST(one_mebibyte_of_ones)
{
    unsigned long before;

    swamp__buf_text(&text, "[1");
    put_repeated(",1", (SWAMP__MESSAGE_MAX - 3) / 2);
    swamp__buf_text(&text, "]");
    before = swamp__alloc_count();
    check_within_bound(SWAMP_OK);
    ck_assert_uint_eq(swamp__alloc_count(), before);
}
END_TEST

START_TEST(one_mebibyte_of_numbers_far_above_the_doubles)
{
    swamp__buf_text(&text, "[1e9999999");
    put_repeated(",1e9999999", (SWAMP__MESSAGE_MAX - 12) / 10);
    swamp__buf_text(&text, "]");
    check_within_bound(SWAMP_E_RULES);
}
END_TEST

START_TEST(one_number_of_a_mebibyte)
{
    put_repeated("9", SWAMP__MESSAGE_MAX);
    check_within_bound(SWAMP_E_RULES);
}
END_TEST

START_TEST(one_mebibyte_of_escapes)
{
    swamp__buf_text(&text, "{\"");
    put_repeated("\\u00e9", (SWAMP__MESSAGE_MAX - 8) / 6);
    swamp__buf_text(&text, "\":1}");
    check_within_bound(SWAMP_OK);
}
END_TEST

START_TEST(a_million_levels_need_neither_stack_nor_much_memory)
{
    unsigned long before = swamp__alloc_count();
    swamp__json value;

    put_repeated("[", DEEP);
    ck_assert_int_eq(swamp__json_check(text.data, text.len, SWAMP__JSON_STRICT, &value), SWAMP_E_JSON);
    put_repeated("]", DEEP);
    before = swamp__alloc_count();
    ck_assert_int_eq(swamp__json_check(text.data, text.len, 0, &value), SWAMP_OK);
    ck_assert_uint_le(swamp__alloc_count() - before, 12); /* doubled from 512 levels */
    check_within_bound(SWAMP_E_RULES);
}
END_TEST

START_TEST(a_million_levels_of_objects)
{
    swamp__json value;

    put_repeated("{\"a\":", DEEP);
    swamp__buf_text(&text, "0");
    put_repeated("}", DEEP);
    ck_assert_int_eq(swamp__json_check(text.data, text.len, 0, &value), SWAMP_OK);
    ck_assert_int_eq(swamp__json_check(text.data, text.len, SWAMP__JSON_STRICT, &value), SWAMP_E_RULES);
}
END_TEST

START_TEST(an_event_is_checked_without_memory)
{
    static const char event[] =
        "{\"kind\":\"method_output\",\"jobId\":\"build\",\"stepId\":\"compile\",\"modelName\":"
        "\"shell\",\"methodName\":\"run\",\"stream\":\"stdout\",\"line\":\"[ 12%] x.c\\n\"}";
    unsigned long before = swamp__alloc_count();
    swamp__json value;

    ck_assert_int_eq(swamp__json_check(event, sizeof(event) - 1, SWAMP__JSON_STRICT, &value), SWAMP_OK);
    ck_assert_uint_eq(swamp__alloc_count(), before);
}
END_TEST

/* Counted, not timed; `spread` 0 makes all hashes collide, which a sender could arrange. */
static uint64_t
count_comparisons(size_t count, int spread, int expected)
{
    swamp__json_keys keys;
    uint64_t compared;

    swamp__json_keys_init(&keys);
    for (size_t i = 0; i < count; i++) {
        const char *at = text.data + 8 * i;

        ck_assert_int_eq(swamp__json_keys_add(&keys, at, at + 8, 0), SWAMP_OK);
        if (!spread)
            keys.list[i].hash = 0;
    }
    ck_assert_int_eq(swamp__json_keys_twice(&keys, 0), expected);
    ck_assert_uint_eq(keys.count, 0);
    compared = keys.compared;
    swamp__json_keys_free(&keys);
    return compared;
}

START_TEST(comparisons_stay_below_n_log_n_also_when_all_hashes_collide)
{
    char digits[16];

    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(digits, sizeof(digits), "%08u", (i * 7919u) % KEYS);
        swamp__buf_append(&text, digits, 8);
    }
    for (size_t count = 10; count <= KEYS; count *= 3) {
        size_t log2 = 1;

        while ((size_t)1 << log2 < count)
            log2++;
        ck_assert_uint_le(count_comparisons(count, 1, 0), count * (log2 + 4));
        ck_assert_uint_le(count_comparisons(count, 0, 0), count * (log2 + 4));
    }
    memcpy(text.data, text.data + 8 * (KEYS - 1), 8);
    count_comparisons(KEYS, 1, 1);
    count_comparisons(KEYS, 0, 1);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("json_cost");
    TCase *t = tcase_create("cost");

    tcase_set_timeout(t, 50);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, ninety_thousand_keys);
    tcase_add_test(t, ninety_thousand_keys_the_first_again_at_the_end);
    tcase_add_test(t, ninety_thousand_times_one_key);
    tcase_add_test(t, keys_that_share_a_long_beginning);
    tcase_add_test(t, one_mebibyte_of_ones);
    tcase_add_test(t, one_mebibyte_of_numbers_far_above_the_doubles);
    tcase_add_test(t, one_number_of_a_mebibyte);
    tcase_add_test(t, one_mebibyte_of_escapes);
    tcase_add_test(t, a_million_levels_need_neither_stack_nor_much_memory);
    tcase_add_test(t, a_million_levels_of_objects);
    tcase_add_test(t, an_event_is_checked_without_memory);
    tcase_add_test(t, comparisons_stay_below_n_log_n_also_when_all_hashes_collide);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
