/* The JSON checker, rule by rule: what must be taken, what must be refused, and as what. */
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/json.h"

typedef struct json_case {
    const char *rule;
    const char *text;
    size_t len;
    int strict, lenient; /* expected status of each way to check */
} json_case;

/* A text may hold NUL bytes. */
#define TEXT(text) text, sizeof(text) - 1

#define ACCEPT(rule, text)                                                                                   \
    {                                                                                                        \
        rule, TEXT(text), SWAMP_OK, SWAMP_OK                                                                 \
    }
#define RULES(rule, text)                                                                                    \
    {                                                                                                        \
        rule, TEXT(text), SWAMP_E_RULES, SWAMP_OK                                                            \
    }
#define REFUSE(rule, text)                                                                                   \
    {                                                                                                        \
        rule, TEXT(text), SWAMP_E_JSON, SWAMP_E_JSON                                                         \
    }

#define LEVELS_16 "[[[[[[[[[[[[[[[["
#define ENDS_16 "]]]]]]]]]]]]]]]]"
#define LEVELS_64 LEVELS_16 LEVELS_16 LEVELS_16 LEVELS_16
#define ENDS_64 ENDS_16 ENDS_16 ENDS_16 ENDS_16
#define DIGITS_50 "12345678901234567890123456789012345678901234567890"
#define DIGITS_300 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50

static const json_case cases[] = {
    ACCEPT("empty object", "{}"),
    ACCEPT("empty array", "[]"),
    ACCEPT("one member", "{\"a\":1}"),
    ACCEPT("nested containers", "{\"a\":[{\"b\":[]},{}],\"c\":{\"a\":{}}}"),
    ACCEPT("white space of all four kinds, everywhere", " \t\r\n{ \"a\" \n:\t[ 1 , 2 ] , \"b\" : { } }\r\n "),
    ACCEPT("outermost string", "\"x\""),
    ACCEPT("outermost number", "0"),
    ACCEPT("true", "true"),
    ACCEPT("false", "false"),
    ACCEPT("null", "null"),
    ACCEPT("empty key", "{\"\":0}"),
    ACCEPT("the same key in two objects", "[{\"a\":1},{\"a\":{\"a\":2}}]"),
    ACCEPT("keys that differ in case", "{\"a\":1,\"A\":2}"),
    ACCEPT("a key that begins with another", "{\"a\":1,\"ab\":2,\"\":3}"),
    ACCEPT("key and value alike", "{\"a\":\"a\",\"b\":[\"a\",\"a\"]}"),
    ACCEPT("depth 64", LEVELS_64 ENDS_64),
    ACCEPT("depth 64 reached many times", "[" LEVELS_16 ENDS_16 "," LEVELS_16 ENDS_16 "]"),

    ACCEPT("every short escape", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    ACCEPT("unicode escapes in both cases", "\"\\u00e9\\u00E9\\uABCD\\uabcd\""),
    ACCEPT("surrogate pair", "\"\\ud83d\\ude00\""),
    ACCEPT("first and last surrogate pair", "\"\\ud800\\udc00\\uDBFF\\uDFFF\""),
    ACCEPT("characters beside the surrogates", "\"\\ud7ff\\ue000\""),
    ACCEPT("escaped control characters", "\"\\u0001\\u001f\""),
    ACCEPT("delete and line separators raw", "\"\x7f\xe2\x80\xa8\xe2\x80\xa9\""),
    ACCEPT("UTF-8 of 2, 3 and 4 bytes", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""),
    ACCEPT("bounds of UTF-8",
           "\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\""),
    ACCEPT("brackets inside a string", "[\"]}{[\",\"\\\"]\"]"),
    ACCEPT("byte order mark inside a string", "\"\xef\xbb\xbf\""),

    ACCEPT("negative zero", "-0"),
    ACCEPT("fraction", "[0.5,-0.0,10.25]"),
    ACCEPT("exponents", "[1e5,1E5,1e+5,1e-5,0e0,1.5e007]"),
    ACCEPT("2^53 and beyond", "[9007199254740993,18446744073709551616]"),
    ACCEPT("greatest double", "1.7976931348623157e308"),
    ACCEPT("the greatest text that rounds down", "1.797693134862315807e308"),
    ACCEPT("underflow to zero", "1e-999999999999999999999999"),
    ACCEPT("zero with a huge exponent", "[0e999999999999999999999999,-0.000E+400]"),
    ACCEPT("a huge exponent outweighed by zeros", "0.00000000000000000001e320"),
    ACCEPT("300 digits", DIGITS_300),
    ACCEPT("the last integer that rounds down to the greatest double",
           "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
           "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
           "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
           "342711559699508093042880177904174497791"),
    RULES("half-way between the greatest double and the next, which rounds to infinity",
          "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
          "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
          "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
          "342711559699508093042880177904174497792"),
    RULES("number above the doubles", "1e400"),
    RULES("negative number above the doubles", "-1e400"),
    RULES("number just above the greatest double", "[1.7976931348623159e308]"),
    RULES("number above the doubles in an element", "{\"a\":[0,123456e304]}"),
    RULES("number above the doubles without exponent", DIGITS_300 "1234567890"),
    RULES("number above the doubles with digits to spare", DIGITS_300 "1234567890.5"),
    RULES("exponent beyond 64 bits", "1e99999999999999999999999999999999"),
    RULES("a negative exponent outweighed by digits", DIGITS_300 "00000000000000000000e-1"),

    RULES("NUL in a string", "\"\\u0000\""),
    RULES("NUL in a key", "{\"a\\u0000b\":1}"),
    RULES("first half of a pair alone", "\"\\ud800\""),
    RULES("second half of a pair alone", "\"\\udc00\""),
    RULES("pair in the wrong order", "\"\\udc00\\ud800\""),
    RULES("first half before another character", "\"\\ud83dx\""),
    RULES("first half before another escape", "\"\\ud83d\\n\""),
    RULES("first half before an escape that is no half", "\"\\ud83d\\u0041\""),
    RULES("first half before an escape just above the second halves", "\"\\ud83d\\ue000\""),
    RULES("first half before an escape just below the second halves", "\"\\udbff\\udbff\""),
    RULES("two first halves before a second", "\"\\ud83d\\ud83d\\ude00\""),
    RULES("lone surrogate in a key", "{\"\\udfff\":1}"),
    RULES("depth 65", "[" LEVELS_64 ENDS_64 "]"),
    RULES("depth 65 by objects", "{\"a\":" LEVELS_64 ENDS_64 "}"),
    RULES("key twice", "{\"a\":1,\"a\":2}"),
    RULES("key twice, not neighbours", "{\"a\":1,\"b\":2,\"c\":{},\"a\":2}"),
    RULES("key twice, once escaped", "{\"a\":1,\"\\u0061\":2}"),
    RULES("key twice, by different escapes", "{\"/\":1,\"\\/\":2}"),
    RULES("key twice, escape in both cases", "{\"\\u00e9\":1,\"\\u00E9\":2}"),
    RULES("key twice, raw and escaped beyond ASCII", "{\"\xc3\xa9\":1,\"\\u00e9\":2}"),
    RULES("key twice, raw and as a pair", "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}"),
    RULES("empty key twice", "{\"\":1,\"\":2}"),
    RULES("key twice within", "{\"a\":[{\"b\":{\"c\":1,\"c\":2}}]}"),
    RULES("key twice around an inner object with it", "{\"a\":{\"a\":1},\"b\":{\"a\":2},\"a\":3}"),
    RULES("key twice within, at the last depth",
          "[[[[[[[[[[[[[[[" LEVELS_16 LEVELS_16 LEVELS_16 "{\"a\":1,\"a\":2}" ENDS_16 ENDS_16 ENDS_16
          "]]]]]]]]]]]]]]]"),

    REFUSE("nothing", ""),
    REFUSE("white space only", " \n"),
    REFUSE("byte order mark", "\xef\xbb\xbf{}"),
    REFUSE("text after the value", "{}x"),
    REFUSE("two values", "{} {}"),
    REFUSE("NUL after the value", "{}\0"),
    REFUSE("NUL before the value", "\0{}"),
    REFUSE("comma after the value", "1,"),
    REFUSE("closing without opening", "]"),
    REFUSE("closing brace without opening", "}"),
    REFUSE("comma alone", ","),
    REFUSE("object never closed", "{"),
    REFUSE("array never closed", "["),
    REFUSE("object closed as array", "{]"),
    REFUSE("array closed as object", "[}"),
    REFUSE("array closed as object after an element", "[1}"),
    REFUSE("object closed as array after a member", "{\"a\":1]"),
    REFUSE("closed once too often", "[]]"),
    REFUSE("member without value", "{\"a\"}"),
    REFUSE("member without value after the colon", "{\"a\":}"),
    REFUSE("member without key", "{:1}"),
    REFUSE("key that is no string", "{1:1}"),
    REFUSE("key without quotes", "{a:1}"),
    REFUSE("key in single quotes", "{'a':1}"),
    REFUSE("two colons", "{\"a\"::1}"),
    REFUSE("colon in an array", "[\"a\":1]"),
    REFUSE("comma before the first member", "{,\"a\":1}"),
    REFUSE("comma after the last member", "{\"a\":1,}"),
    REFUSE("two commas between members", "{\"a\":1,,\"b\":2}"),
    REFUSE("no comma between members", "{\"a\":1 \"b\":2}"),
    REFUSE("member left at its key", "{\"a\":1,\"b\""),
    REFUSE("comma before the first element", "[,1]"),
    REFUSE("comma after the last element", "[1,]"),
    REFUSE("two commas between elements", "[1,,2]"),
    REFUSE("no comma between elements", "[1 2]"),
    REFUSE("comment", "[1/*x*/]"),
    REFUSE("line comment", "[1]//x"),

    REFUSE("word cut short", "tru"),
    REFUSE("word too long", "truex"),
    REFUSE("word in capitals", "True"),
    REFUSE("null cut short inside", "[nul]"),
    REFUSE("undefined", "undefined"),
    REFUSE("NaN", "NaN"),
    REFUSE("Infinity", "[-Infinity]"),

    REFUSE("leading zero", "01"),
    REFUSE("negative leading zero", "-01"),
    REFUSE("two zeros", "00"),
    REFUSE("plus sign", "+1"),
    REFUSE("minus alone", "-"),
    REFUSE("two minuses", "--1"),
    REFUSE("point without digits before", ".5"),
    REFUSE("point without digits before, negative", "-.5"),
    REFUSE("point without digits after", "1."),
    REFUSE("point before the exponent", "1.e5"),
    REFUSE("two points", "1.2.3"),
    REFUSE("exponent without digits", "1e"),
    REFUSE("exponent with a sign only", "[1e+]"),
    REFUSE("exponent with a fraction", "1e1.5"),
    REFUSE("two exponents", "1e1e1"),
    REFUSE("hexadecimal", "0x10"),
    REFUSE("hexadecimal float", "0x1p3"),
    REFUSE("decimal comma", "{\"a\":1,5}"),
    REFUSE("digits with a gap", "1_000"),
    REFUSE("letters after a number", "[1a]"),
    REFUSE("digits that are not ASCII", "\xef\xbc\x91"),

    REFUSE("string never closed", "\"abc"),
    REFUSE("quote alone", "\""),
    REFUSE("escape at the end", "\"\\"),
    REFUSE("escaped last quote", "\"\\\""),
    REFUSE("unknown escape", "\"\\a\""),
    REFUSE("hexadecimal escape", "\"\\x41\""),
    REFUSE("octal escape", "\"\\0\""),
    REFUSE("escaped NUL byte", "\"\\\0\""),
    REFUSE("capital U escape", "\"\\U0041\""),
    REFUSE("unicode escape of three digits", "\"\\u123\""),
    REFUSE("unicode escape cut by the end", "\"\\u12"),
    REFUSE("unicode escape with no hex digit", "\"\\u12g4\""),
    REFUSE("unicode escape with a sign", "\"\\u+123\""),
    REFUSE("second half of a pair that is no escape", "\"\\ud83d\\uzzzz\""),
    REFUSE("first half of a pair, second cut", "\"\\ud83d\\ude\""),
    REFUSE("raw line end in a string", "\"a\nb\""),
    REFUSE("raw tab in a string", "\"\t\""),
    REFUSE("raw NUL in a string", "\"a\0b\""),
    REFUSE("raw 0x1f in a key", "{\"\x1f\":1}"),
    REFUSE("form feed as white space", "[\f1]"),
    REFUSE("no-break space as white space", "[\xc2\xa0"
                                            "1]"),

    REFUSE("continuation byte alone", "\"\x80\""),
    REFUSE("lead byte alone", "\"\xc3\""),
    REFUSE("lead byte before ASCII", "\"\xe2\x82x\""),
    REFUSE("overlong form of 2 bytes", "\"\xc0\xaf\""),
    REFUSE("overlong quote", "\"\xc0\xa2\""),
    REFUSE("overlong form of 3 bytes", "\"\xe0\x9f\xbf\""),
    REFUSE("overlong form of 4 bytes", "\"\xf0\x8f\xbf\xbf\""),
    REFUSE("surrogate in UTF-8", "\"\xed\xa0\x80\""),
    REFUSE("surrogate pair in UTF-8", "\"\xed\xa0\xbd\xed\xb8\x80\""),
    REFUSE("above U+10FFFF", "\"\xf4\x90\x80\x80\""),
    REFUSE("form of 5 bytes", "\"\xf8\x88\x80\x80\x80\""),
    REFUSE("0xff", "\"\xff\""),
    REFUSE("UTF-8 cut by the end", "\"\xf0\x9f\x98"),
    REFUSE("invalid UTF-8 in a key", "{\"\xff\":1}"),
    REFUSE("invalid UTF-8 outside of strings", "[\xff]"),

    REFUSE("too deep, then bad", "[" LEVELS_64 "x" ENDS_64 "]"),
    REFUSE("too deep, then cut", "[" LEVELS_64 ENDS_64),
    REFUSE("key twice, then bad", "{\"a\":1,\"a\":2,}"),
    REFUSE("lone surrogate, then bad", "[\"\\ud800\",]"),
    REFUSE("infinite number, then bad", "[1e400,]"),
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

/* From a block of just its size, so that a sanitizer sees any byte read past it. */
static int
check(const char *text, size_t len, unsigned rules, swamp__json *out)
{
    char *block = malloc(len ? len : 1);
    int rc;

    ck_assert_ptr_nonnull(block);
    memcpy(block, text, len);
    rc = swamp__json_check(block, len, rules, out);
    if (out->at)
        out->at = text + (out->at - block);
    free(block);
    return rc;
}

START_TEST(a_text_is_judged_by_its_rule)
{
    const json_case *c = &cases[_i];
    swamp__json value = {NULL, 0, 0};
    int rc = check(c->text, c->len, SWAMP__JSON_STRICT, &value);

    ck_assert_msg(rc == c->strict, "%s: strict gave %s", c->rule, swamp_status_name(rc));
    ck_assert_msg((value.at != NULL) == (rc != SWAMP_E_JSON), "%s: out", c->rule);
    rc = check(c->text, c->len, 0, &value);
    ck_assert_msg(rc == c->lenient, "%s: RFC 8259 gave %s", c->rule, swamp_status_name(rc));
}
END_TEST

START_TEST(no_prefix_of_a_container_is_json)
{
    const json_case *c = &cases[_i];
    swamp__json value = {NULL, 0, 0};

    if (c->lenient != SWAMP_OK || check(c->text, c->len, 0, &value) != SWAMP_OK)
        return;
    if (value.type != SWAMP__JSON_OBJECT && value.type != SWAMP__JSON_ARRAY &&
        value.type != SWAMP__JSON_STRING)
        return;
    for (size_t len = 0; len < (size_t)(value.at - c->text) + value.len; len++) {
        swamp__json part = {NULL, 0, 0};

        ck_assert_msg(check(c->text, len, SWAMP__JSON_STRICT, &part) == SWAMP_E_JSON, "%s: first %zu bytes",
                      c->rule, len);
        ck_assert_ptr_null(part.at);
    }
}
END_TEST

START_TEST(the_value_is_given_without_white_space)
{
    static const struct {
        const char *text, *value;
        int type;
    } values[] = {
        {" {\"a\" : 1} \n", "{\"a\" : 1}", SWAMP__JSON_OBJECT},
        {"\t[ ]", "[ ]", SWAMP__JSON_ARRAY},
        {"\r\"x\" ", "\"x\"", SWAMP__JSON_STRING},
        {" -1.5e3 ", "-1.5e3", SWAMP__JSON_NUMBER},
        {"true ", "true", SWAMP__JSON_TRUE},
        {" false", "false", SWAMP__JSON_FALSE},
        {"null", "null", SWAMP__JSON_NULL},
        {" [1e999] ", "[1e999]", SWAMP__JSON_ARRAY}, /* SWAMP_E_RULES gives it too */
    };

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        swamp__json value = {NULL, 0, 0};
        int rc = check(values[i].text, strlen(values[i].text), SWAMP__JSON_STRICT, &value);

        ck_assert(rc == SWAMP_OK || rc == SWAMP_E_RULES);
        ck_assert_int_eq(value.type, values[i].type);
        ck_assert_uint_eq(value.len, strlen(values[i].value));
        ck_assert_mem_eq(value.at, values[i].value, value.len);
    }
}
END_TEST

START_TEST(only_a_key_twice_in_the_outermost_object_leaves_no_value)
{
    static const struct {
        const char *text;
        int type;
    } texts[] = {
        {"{\"id\":1,\"id\":2}", 0},
        {"{\"id\":1,\"p\":{\"x\":1,\"x\":2},\"i\\u0064\":2}", 0},
        {"{\"id\":1,\"id\":1e400}", 0},
        {"{\"id\":1,\"p\":{\"id\":1,\"id\":2}}", SWAMP__JSON_OBJECT},
        {"[{\"id\":1,\"id\":2}]", SWAMP__JSON_ARRAY},
        {"{\"id\":\"\\u0000\"}", SWAMP__JSON_OBJECT},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        swamp__json value = {NULL, 0, 99};

        ck_assert_int_eq(check(texts[i].text, strlen(texts[i].text), SWAMP__JSON_STRICT, &value),
                         SWAMP_E_RULES);
        ck_assert_int_eq(value.type, texts[i].type);
        ck_assert_int_eq(check(texts[i].text, strlen(texts[i].text), 0, &value), SWAMP_OK);
        ck_assert_int_ne(value.type, 0);
    }
}
END_TEST

/* Needs memory for levels and for keys: deeper than 512, more than 32 keys. */
static swamp__buf
make_large_text(void)
{
    swamp__buf text;

    swamp__buf_init(&text);
    swamp__buf_text(&text, "{\"deep\":");
    for (int i = 0; i < 3000; i++)
        swamp__buf_text(&text, "[");
    for (int i = 0; i < 3000; i++)
        swamp__buf_text(&text, "]");
    for (uint64_t i = 0; i < 200; i++) {
        swamp__buf_text(&text, ",\"");
        swamp__buf_u64(&text, i);
        swamp__buf_text(&text, "\":0");
    }
    swamp__buf_text(&text, "}");
    return text;
}

START_TEST(an_object_is_refused_for_its_reserved_key_and_no_other)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"{}", SWAMP_OK},
        {" {\"a\":\"seq\",\"sequence\":1,\"se\":2} ", SWAMP_OK},
        {"{\"a\":{\"seq\":1},\"b\":[{\"seq\":1}]}", SWAMP_OK},
        {"{\"seq\":1}", SWAMP_E_INVALID},
        {"{\"a\":[{}],\"seq\":1}", SWAMP_E_INVALID},
        {"{\"s\\u0065q\":1}", SWAMP_E_INVALID}, /* however it is written */
        {"{\"seq\":1,\"seq\":1}", SWAMP_E_RULES},
        {"{\"seq\":1", SWAMP_E_JSON},
        {"[{\"a\":1}]", SWAMP_E_INVALID},
        {"\"seq\"", SWAMP_E_INVALID},
    };
    swamp__json out;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        ck_assert_msg(swamp__json_check_object(rows[i].text, strlen(rows[i].text), "seq", &out) ==
                          rows[i].status,
                      "%s", rows[i].text);
    ck_assert_int_eq(swamp__json_check_object("{\"seq\":1}", 9, NULL, &out), SWAMP_OK);
}
END_TEST

/* Strings are passed by sixteen and by eight bytes: no byte may hide between the steps. */
START_TEST(each_byte_at_each_place_of_a_string)
{
    char text[64];
    swamp__json out;

    for (size_t len = 1; len <= 40; len++) {
        for (size_t place = 0; place < len; place++) {
            int wrong = -1; /* asserted once for all bytes: each assertion is a system call */

            memset(text, 'a', sizeof(text));
            text[0] = text[len + 1] = '"';
            for (int byte = 0; byte < 256; byte++) {
                int fine = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';

                text[1 + place] = (char)byte;
                if (swamp__json_check(text, len + 2, 0, &out) != (fine ? SWAMP_OK : SWAMP_E_JSON))
                    wrong = byte;
            }
            ck_assert_msg(wrong < 0, "byte 0x%02x at %zu of %zu", (unsigned)wrong, place, len);
        }
    }
}
END_TEST

/* However long, wherever they differ, and also where one is spelt with an escape. */
START_TEST(keys_are_told_apart_by_each_of_their_bytes)
{
    char text[128];
    swamp__json out;

    for (int len = 1; len <= 20; len++) {
        const char *key = "abcdefghijklmnopqrst";

        for (int place = 0; place < len; place++) {
            snprintf(text, sizeof(text), "{\"%.*s\":1,\"%.*sX%.*s\":2}", len, key, place, key,
                     len - place - 1, key + place + 1);
            ck_assert_int_eq(swamp__json_check(text, strlen(text), SWAMP__JSON_STRICT, &out), SWAMP_OK);
            snprintf(text, sizeof(text), "{\"%.*s\":1,\"%.*s\\u%04x%.*s\":2}", len, key, place, key,
                     key[place], len - place - 1, key + place + 1);
            ck_assert_int_eq(swamp__json_check(text, strlen(text), SWAMP__JSON_STRICT, &out), SWAMP_E_RULES);
        }
        snprintf(text, sizeof(text), "{\"%.*s\":1,\"%.*s\":2}", len, key, len, key);
        ck_assert_int_eq(swamp__json_check(text, strlen(text), SWAMP__JSON_STRICT, &out), SWAMP_E_RULES);
        snprintf(text, sizeof(text), "{\"%.*s\":1,\"%.*s\":2}", len, key, len - 1, key);
        ck_assert_int_eq(swamp__json_check(text, strlen(text), SWAMP__JSON_STRICT, &out), SWAMP_OK);
    }
}
END_TEST

START_TEST(every_failed_allocation_is_reported)
{
    swamp__buf text = make_large_text();
    unsigned long n = 0;
    int rc;

    do {
        swamp__json value = {NULL, 0, 0};

        swamp__alloc_fail_at(++n, 0);
        rc = swamp__json_check(text.data, text.len, SWAMP__JSON_STRICT, &value);
        swamp__alloc_fail_at(0, 0);
        ck_assert(rc == SWAMP_E_NOMEM || rc == SWAMP_E_RULES);
        ck_assert_int_eq(value.at == NULL, rc == SWAMP_E_NOMEM);
    } while (rc == SWAMP_E_NOMEM);
    ck_assert_uint_gt(n, 4);
    swamp__buf_free(&text);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("json_check");
    TCase *t = tcase_create("rules");

    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, a_text_is_judged_by_its_rule, 0, CASES);
    tcase_add_loop_test(t, no_prefix_of_a_container_is_json, 0, CASES);
    tcase_add_test(t, the_value_is_given_without_white_space);
    tcase_add_test(t, only_a_key_twice_in_the_outermost_object_leaves_no_value);
    tcase_add_test(t, an_object_is_refused_for_its_reserved_key_and_no_other);
    tcase_add_test(t, each_byte_at_each_place_of_a_string);
    tcase_add_test(t, keys_are_told_apart_by_each_of_their_bytes);
    tcase_add_test(t, every_failed_allocation_is_reported);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
