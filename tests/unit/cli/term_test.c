/* Nothing that was received can move a terminal's cursor, switch its modes, or turn the direction of writing. */
#include <string.h>
#include "../../../cli/term.h"
#include "tap.h"

static const struct {
    const char *received, *shown;
} words[] = {
    {"plain text", "plain text"},
    {"tab\there", "tab\there"},
    {"gr\xc3\xbc\xc3\x9f\xe2\x82\xac\xf0\x9f\x90\x8a", "gr\xc3\xbc\xc3\x9f\xe2\x82\xac\xf0\x9f\x90\x8a"},
    {"\033[31mred", "\\x1b[31mred"},
    {"\033]0;title\007", "\\x1b]0;title\\x07"},
    {"one\ntwo\r", "one\\ntwo\\r"},
    {"back\b\x7f", "back\\x08\\x7f"},
    {"\xc2\x9b"
     "31m",
     "\\u009b31m"}, /* CSI in one character */
    {"\x9b"
     "31m",
     "\\x9b"
     "31m"}, /* and as a byte that is not UTF-8 */
    {"a\xe2\x80\xae"
     "b",
     "a\\u202eb"}, /* right-to-left override */
    {"a\xe2\x81\xa6"
     "b",
     "a\\u2066b"}, /* isolate */
    {"a\xe2\x80\xa8"
     "b",
     "a\\u2028b"},                                         /* line separator */
    {"cut \xe2\x82", "cut \\xe2\\x82"},                    /* an unfinished sequence */
    {"\xc0\x9b\xed\xa0\x80", "\\xc0\\x9b\\xed\\xa0\\x80"}, /* overlong, surrogate */
};

START_TEST(received_words_are_shown_escaped)
{
    text out = {0};
    term_add_words(&out, words[_i].received, strlen(words[_i].received));
    ck_assert_str_eq(out.bytes, words[_i].shown);
    text_free(&out);
}
END_TEST

START_TEST(a_nul_is_shown_too)
{
    text out = {0};
    term_add_words(&out, "a\0b", 3);
    ck_assert_str_eq(out.bytes, "a\\x00b");
    text_free(&out);
}
END_TEST

START_TEST(json_keeps_its_bytes_on_one_line)
{
    const char *received = "{\"a\":\n\"\xc2\x9b\x7f\xe2\x80\xae\"\r\n}";
    text out = {0};
    term_add_json(&out, received, strlen(received), 1);
    ck_assert_str_eq(out.bytes, "{\"a\": \"\xc2\x9b\x7f\xe2\x80\xae\"  }");
    text_clear(&out);
    term_add_json(&out, received, strlen(received), 0); /* on a terminal: the same value */
    ck_assert_str_eq(out.bytes, "{\"a\": \"\\u009b\\u007f\\u202e\"  }");
    text_free(&out);
}
END_TEST

static Suite *
suite(void)
{
    Suite *made = suite_create("cli term");
    TCase *cases = tcase_create("term");
    tcase_add_loop_test(cases, received_words_are_shown_escaped, 0, sizeof(words) / sizeof(words[0]));
    tcase_add_test(cases, a_nul_is_shown_too);
    tcase_add_test(cases, json_keeps_its_bytes_on_one_line);
    suite_add_tcase(made, cases);
    return made;
}

int
main(void)
{
    return tap_main(suite());
}
