/* Walking and decoding JSON in place, its numbers, and the writers. */
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/json.h"
#include "../../../libswamp/wire/json_part.h"

static swamp__json
checked(const char *text)
{
    swamp__json value = {NULL, 0, 0};
    int rc = swamp__json_check(text, strlen(text), 0, &value);

    ck_assert_msg(rc == SWAMP_OK, "%s", text);
    return value;
}

static int
is_text(swamp__json value, const char *text)
{
    return value.len == strlen(text) && memcmp(value.at, text, value.len) == 0;
}

START_TEST(members_are_walked_in_order)
{
    swamp__json object =
        checked("{ \"a\" : 1 ,\"b\":[1,{\"x\":\"}]\"}], \"c\":\"\\\"\" , \"d\":{},\"e\":null ,\"f\":true}");
    static const char *const keys[] = {"\"a\"", "\"b\"", "\"c\"", "\"d\"", "\"e\"", "\"f\""};
    static const char *const values[] = {"1", "[1,{\"x\":\"}]\"}]", "\"\\\"\"", "{}", "null", "true"};
    static const int types[] = {SWAMP__JSON_NUMBER, SWAMP__JSON_ARRAY, SWAMP__JSON_STRING,
                                SWAMP__JSON_OBJECT, SWAMP__JSON_NULL,  SWAMP__JSON_TRUE};
    swamp__json_iter iter;
    swamp__json key, value;

    swamp__json_enter(object, &iter);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(swamp__json_next_member(&iter, &key, &value), 1);
        ck_assert(is_text(key, keys[i]));
        ck_assert(is_text(value, values[i]));
        ck_assert_int_eq(value.type, types[i]);
    }
    ck_assert_int_eq(swamp__json_next_member(&iter, &key, &value), 0);
    ck_assert_int_eq(swamp__json_next_member(&iter, &key, &value), 0);
}
END_TEST

START_TEST(elements_are_walked_in_order)
{
    static const char *const values[] = {"[[]]", "-1.5e3", "\"a,b\"", "false", "{\"a\":[2]}"};
    swamp__json_iter iter;
    swamp__json value;

    swamp__json_enter(checked("[[[]],-1.5e3 , \"a,b\",false\n,{\"a\":[2]} ]"), &iter);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(swamp__json_next_element(&iter, &value), 1);
        ck_assert(is_text(value, values[i]));
    }
    ck_assert_int_eq(swamp__json_next_element(&iter, &value), 0);
}
END_TEST

START_TEST(what_holds_nothing_is_walked_at_once)
{
    static const char *const texts[] = {"{}", "[ ]", "\"{}\"", "12", "null"};
    swamp__json none = {NULL, 0, 0};
    swamp__json_iter iter;
    swamp__json key, value;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        swamp__json_enter(checked(texts[i]), &iter);
        ck_assert_int_eq(swamp__json_next_element(&iter, &value), 0);
        swamp__json_enter(checked(texts[i]), &iter);
        ck_assert_int_eq(swamp__json_next_member(&iter, &key, &value), 0);
    }
    swamp__json_enter(none, &iter);
    ck_assert_int_eq(swamp__json_next_element(&iter, &value), 0);
}
END_TEST

START_TEST(find_sees_the_outer_members_only_however_they_are_spelt)
{
    swamp__json object = checked("{\"x\":{\"a\":1},\"\\u0061\":2,\"A\":3,\"ab\":4}");
    swamp__json value;

    ck_assert_int_eq(swamp__json_find(object, "a", &value), 1);
    ck_assert(is_text(value, "2"));
    ck_assert_int_eq(swamp__json_find(object, "ab", &value), 1);
    ck_assert_int_eq(swamp__json_find(object, "b", &value), 0);
    ck_assert_int_eq(swamp__json_find(object, "", &value), 0);
    ck_assert_int_eq(swamp__json_find(checked("[\"a\",1]"), "a", &value), 0);
}
END_TEST

START_TEST(a_million_levels_can_be_stepped_over)
{
    swamp__buf text;
    swamp__json object, value;

    swamp__buf_init(&text);
    swamp__buf_text(&text, "{\"deep\":");
    for (int i = 0; i < 1000000; i++)
        swamp__buf_text(&text, "[");
    for (int i = 0; i < 1000000; i++)
        swamp__buf_text(&text, "]");
    swamp__buf_text(&text, ",\"id\":7}");
    object = checked(text.data);
    ck_assert_int_eq(swamp__json_find(object, "id", &value), 1);
    ck_assert(is_text(value, "7"));
    swamp__buf_free(&text);
}
END_TEST

static const struct {
    const char *json, *text;
    size_t characters;
} strings[] = {
    {"\"\"", "", 0},
    {"\"abc\"", "abc", 3},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
    {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 3},
    {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 1},
    {"\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf", 1},
    {"\"x\xf0\x9f\x98\x80y\"", "x\xf0\x9f\x98\x80y", 3},
    {"\"\\ud83d\"", "\xef\xbf\xbd", 1},
    {"\"\\ude00\\ud83dx\"", "\xef\xbf\xbd\xef\xbf\xbdx", 3},
    {"\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 2},
    {"\"a\\\\u0041\"", "a\\u0041", 7},
};

START_TEST(a_string_is_decoded)
{
    swamp__json string = checked(strings[_i].json);
    size_t len = strlen(strings[_i].text);
    char exact[64];
    swamp__buf buf;

    swamp__buf_init(&buf);
    ck_assert_int_eq(swamp__json_decode(string, &buf), SWAMP_OK);
    ck_assert_uint_eq(buf.len, len);
    ck_assert_mem_eq(buf.data ? buf.data : "", strings[_i].text, len);
    swamp__buf_free(&buf);
    ck_assert_int_eq(swamp__json_copy(string, exact, len + 1), SWAMP_OK);
    ck_assert_str_eq(exact, strings[_i].text);
    ck_assert_int_eq(swamp__json_copy(string, exact, len), SWAMP_E_TOO_BIG);
    ck_assert(len == 0 || exact[0] == '\0');
    ck_assert_uint_eq(swamp__json_characters(string), strings[_i].characters);
    ck_assert_int_eq(swamp__json_equals(string, strings[_i].text), 1);
    ck_assert_int_eq(swamp__json_equals(string, "other"), 0);
}
END_TEST

START_TEST(equals_is_neither_prefix_nor_type_blind)
{
    ck_assert_int_eq(swamp__json_equals(checked("\"abc\""), "ab"), 0);
    ck_assert_int_eq(swamp__json_equals(checked("\"ab\""), "abc"), 0);
    ck_assert_int_eq(swamp__json_equals(checked("\"\""), ""), 1);
    ck_assert_int_eq(swamp__json_equals(checked("\"\\u0000\""), ""), 0);
    ck_assert_int_eq(swamp__json_equals(checked("\"a\\u0000b\""), "a"), 0);
    ck_assert_int_eq(swamp__json_equals(checked("12"), "12"), 0);
    ck_assert_int_eq(swamp__json_equals(checked("null"), "null"), 0);
}
END_TEST

START_TEST(a_nul_cannot_be_copied_but_decoded)
{
    swamp__json string = checked("\"a\\u0000b\"");
    char out[8] = "x";
    swamp__buf buf;

    ck_assert_int_eq(swamp__json_copy(string, out, sizeof(out)), SWAMP_E_INVALID);
    ck_assert_str_eq(out, "");
    ck_assert_int_eq(swamp__json_copy(checked("1"), out, sizeof(out)), SWAMP_E_INVALID);
    swamp__buf_init(&buf);
    ck_assert_int_eq(swamp__json_decode(string, &buf), SWAMP_OK);
    ck_assert_uint_eq(buf.len, 3);
    ck_assert_mem_eq(buf.data, "a\0b", 3);
    ck_assert_int_eq(swamp__json_decode(checked("{}"), &buf), SWAMP_E_INVALID);
    swamp__buf_free(&buf);
    swamp__alloc_fail_at(1, 0);
    ck_assert_int_eq(swamp__json_decode(string, &buf), SWAMP_E_NOMEM);
    swamp__alloc_fail_at(0, 0);
}
END_TEST

START_TEST(member_readers_tell_absent_from_wrong)
{
    swamp__json object = checked("{\"t\":\"text\",\"n\":12,\"b\":true,\"f\":false,\"z\":null}");
    char out[5];
    int64_t number = 99;

    ck_assert_int_eq(swamp__json_member_text(object, "t", out, sizeof(out)), SWAMP_OK);
    ck_assert_str_eq(out, "text");
    ck_assert_int_eq(swamp__json_member_text(object, "x", out, sizeof(out)), SWAMP_ABSENT);
    ck_assert_str_eq(out, "");
    ck_assert_int_eq(swamp__json_member_text(object, "n", out, sizeof(out)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__json_member_text(object, "t", out, 4), SWAMP_E_TOO_BIG);
    ck_assert_str_eq(out, "");
    ck_assert_int_eq(swamp__json_member_i64(object, "t", &number), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__json_member_i64(object, "x", &number), SWAMP_ABSENT);
    ck_assert_int_eq(number, 99);
    ck_assert_int_eq(swamp__json_member_i64(object, "n", &number), SWAMP_OK);
    ck_assert_int_eq(number, 12);
    ck_assert_int_eq(swamp__json_member_true(object, "b"), 1);
    ck_assert_int_eq(swamp__json_member_true(object, "f"), 0);
    ck_assert_int_eq(swamp__json_member_true(object, "t"), 0);
    ck_assert_int_eq(swamp__json_member_true(object, "x"), 0);
}
END_TEST

static const struct {
    const char *json;
    int u53, i64;
    int64_t value;
} numbers[] = {
    {"0", SWAMP_OK, SWAMP_OK, 0},
    {"7", SWAMP_OK, SWAMP_OK, 7},
    {"9007199254740991", SWAMP_OK, SWAMP_OK, 9007199254740991},
    {"9007199254740992", SWAMP_E_INVALID, SWAMP_OK, 9007199254740992},
    {"99999999999999999", SWAMP_E_INVALID, SWAMP_OK, 99999999999999999},
    {"-0", SWAMP_E_INVALID, SWAMP_OK, 0},
    {"-1", SWAMP_E_INVALID, SWAMP_OK, -1},
    {"1.0", SWAMP_E_INVALID, SWAMP_OK, 1},
    {"1e3", SWAMP_E_INVALID, SWAMP_OK, 1000},
    {"1.5e3", SWAMP_E_INVALID, SWAMP_OK, 1500},
    {"12345e-2", SWAMP_E_INVALID, SWAMP_OK, 123},
    {"0.4", SWAMP_E_INVALID, SWAMP_OK, 0},
    {"0.5", SWAMP_E_INVALID, SWAMP_OK, 1},
    {"-2.5", SWAMP_E_INVALID, SWAMP_OK, -3},
    {"0.05", SWAMP_E_INVALID, SWAMP_OK, 0},
    {"0.0000001e8", SWAMP_E_INVALID, SWAMP_OK, 10},
    {"1e-999999999999999999999", SWAMP_E_INVALID, SWAMP_OK, 0},
    {"0e999999999999999999999", SWAMP_E_INVALID, SWAMP_OK, 0},
    {"9223372036854775807", SWAMP_E_INVALID, SWAMP_OK, INT64_MAX},
    {"9223372036854775807.4", SWAMP_E_INVALID, SWAMP_OK, INT64_MAX},
    {"-9223372036854775808", SWAMP_E_INVALID, SWAMP_OK, INT64_MIN},
    {"9223372036854775808", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"9223372036854775807.5", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"-9223372036854775809", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"9999999999999999999", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"18446744073709551616", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"1e19", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"1e400", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"\"7\"", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"true", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
    {"null", SWAMP_E_INVALID, SWAMP_E_INVALID, 0},
};

START_TEST(a_number_is_read_exactly_or_not_at_all)
{
    swamp__json json = checked(numbers[_i].json);
    uint64_t seq = 99;
    int64_t number = 99;

    ck_assert_int_eq(swamp__json_u53(json, &seq), numbers[_i].u53);
    ck_assert_uint_eq(seq, numbers[_i].u53 == SWAMP_OK ? (uint64_t)numbers[_i].value : 99);
    ck_assert_int_eq(swamp__json_i64(json, &number), numbers[_i].i64);
    ck_assert_int_eq(number, numbers[_i].i64 == SWAMP_OK ? numbers[_i].value : 99);
}
END_TEST

START_TEST(finite_is_what_strtod_calls_finite)
{
    static const char *const near[] = {"17976931348623157",
                                       "179769313486231580793728",
                                       "179769313486231580793729",
                                       "1797693134862315807",
                                       "1797693134862315808",
                                       "2",
                                       "17",
                                       "18",
                                       "99999"};
    uint32_t random = 7;

    for (int i = 0; i < 20000; i++) {
        char text[128];
        const char *digits = near[i % 9];
        int len = (int)strlen(digits), point;

        random = random * 1664525 + 1013904223;
        point = (int)(random >> 16) % (len + 1);
        /* The point somewhere inside, zeros in front, and an exponent that brings it near 10^308. */
        snprintf(text, sizeof(text), "%s%.*s.%s%se%d", random >> 31 ? "-" : "", point ? point : 1,
                 point ? digits : "0", point ? "" : "00", point < len ? digits + point : "0",
                 308 - (point ? point - 1 : -3) + (int)(random >> 8 & 3) - 1);
        ck_assert_msg(swamp__json_number_is_finite(text, strlen(text)) == !isinf(strtod(text, NULL)), "%s",
                      text);
    }
}
END_TEST

START_TEST(a_string_is_written_with_the_escapes_that_it_needs)
{
    swamp__buf out;

    swamp__buf_init(&out);
    swamp__json_put_string(&out, "a\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa9");
    ck_assert_str_eq(out.data, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9\"");
    swamp__buf_clear(&out);
    swamp__json_put_string_n(&out, "a\0b", 3);
    ck_assert_str_eq(out.data, "\"a\\u0000b\"");
    swamp__buf_clear(&out);
    swamp__json_put_string(&out, "");
    ck_assert_str_eq(out.data, "\"\"");
    swamp__buf_clear(&out);
    swamp__json_put_string(&out, "\xffx\xc3\xed\xa0\x80"); /* each byte that is no UTF-8 is one character */
    ck_assert_str_eq(out.data, "\"\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    swamp__buf_free(&out);
}
END_TEST

START_TEST(any_bytes_written_are_strict_json_and_valid_ones_come_back)
{
    uint32_t random = 99;

    for (int round = 0; round < 2000; round++) {
        char bytes[24];
        size_t len = (size_t)round % sizeof(bytes);
        int ascii = 1;
        swamp__buf out, back;
        swamp__json value;

        for (size_t i = 0; i < len; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(1 + (random >> 16) % (round % 2 ? 127 : 255));
            ascii = ascii && (unsigned char)bytes[i] < 0x80;
        }
        swamp__buf_init(&out);
        swamp__buf_init(&back);
        swamp__json_put_string_n(&out, bytes, len);
        ck_assert_int_eq(swamp__json_check(out.data, out.len, SWAMP__JSON_STRICT, &value), SWAMP_OK);
        ck_assert_int_eq(swamp__json_decode(value, &back), SWAMP_OK);
        if (ascii) {
            ck_assert_uint_eq(back.len, len);
            ck_assert_mem_eq(back.data ? back.data : "", bytes, len);
        }
        swamp__buf_free(&out);
        swamp__buf_free(&back);
    }
}
END_TEST

START_TEST(members_are_written_with_commas_between)
{
    swamp__buf out;

    swamp__buf_init(&out);
    swamp__buf_text(&out, "{");
    swamp__json_put_member(&out, "none", NULL);
    swamp__json_put_member(&out, "a", "x\"");
    swamp__json_put_member_i64(&out, "b", INT64_MIN);
    swamp__json_put_member_raw(&out, "c", "[1]", 3);
    swamp__json_put_member(&out, "none", NULL);
    swamp__json_put_member(&out, "d", "");
    swamp__buf_text(&out, "}");
    ck_assert_str_eq(out.data, "{\"a\":\"x\\\"\",\"b\":-9223372036854775808,\"c\":[1],\"d\":\"\"}");
    swamp__buf_clear(&out);
    swamp__json_put_member_i64(&out, "first", 1); /* the inside of an object that another writes */
    ck_assert_str_eq(out.data, "\"first\":1");
    swamp__buf_free(&out);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("json_read");
    TCase *t = tcase_create("read");

    tcase_set_timeout(t, 30);
    tcase_add_test(t, members_are_walked_in_order);
    tcase_add_test(t, elements_are_walked_in_order);
    tcase_add_test(t, what_holds_nothing_is_walked_at_once);
    tcase_add_test(t, find_sees_the_outer_members_only_however_they_are_spelt);
    tcase_add_test(t, a_million_levels_can_be_stepped_over);
    tcase_add_loop_test(t, a_string_is_decoded, 0, sizeof(strings) / sizeof(strings[0]));
    tcase_add_test(t, equals_is_neither_prefix_nor_type_blind);
    tcase_add_test(t, a_nul_cannot_be_copied_but_decoded);
    tcase_add_test(t, member_readers_tell_absent_from_wrong);
    tcase_add_loop_test(t, a_number_is_read_exactly_or_not_at_all, 0, sizeof(numbers) / sizeof(numbers[0]));
    tcase_add_test(t, finite_is_what_strtod_calls_finite);
    tcase_add_test(t, a_string_is_written_with_the_escapes_that_it_needs);
    tcase_add_test(t, any_bytes_written_are_strict_json_and_valid_ones_come_back);
    tcase_add_test(t, members_are_written_with_commas_between);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
