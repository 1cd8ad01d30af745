/* The text cursor: there and back, at its limits, and what is no cursor. */
#include "tap.h"

#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/wire/cursor.h"

static const struct {
    swamp__cursor cursor;
    const char *text;
} cursors[] = {
    {{"0190-run", "e1", 42}, "swc1:42:0190-run:e1"},
    {{"r", "", 0}, "swc1:0:r:"},
    {{"a:b/c%d e", "\xc3\xa9\n~", 9007199254740991}, "swc1:9007199254740991:a%3Ab%2Fc%25d%20e:%C3%A9%0A~"},
    {{"A.Z_a-z0~9", ":", 1}, "swc1:1:A.Z_a-z0~9:%3A"},
};

START_TEST(a_cursor_comes_back_as_it_was)
{
    char text[SWAMP__CURSOR_MAX];
    swamp__cursor back;

    memset(&back, 'x', sizeof(back));
    ck_assert_int_eq(swamp__cursor_write(&cursors[_i].cursor, text, sizeof(text)), SWAMP_OK);
    ck_assert_str_eq(text, cursors[_i].text);
    ck_assert_int_eq(swamp__cursor_read(text, &back), SWAMP_OK);
    ck_assert_str_eq(back.run_id, cursors[_i].cursor.run_id);
    ck_assert_str_eq(back.epoch, cursors[_i].cursor.epoch);
    ck_assert_uint_eq(back.seq, cursors[_i].cursor.seq);
}
END_TEST

START_TEST(a_cursor_that_does_not_fit_leaves_nothing)
{
    swamp__cursor cursor = {"run", "epoch", 1}; /* swc1:1:run:epoch, 16 characters */
    char text[SWAMP__CURSOR_MAX * 4];

    ck_assert_int_eq(swamp__cursor_write(&cursor, text, 17), SWAMP_OK);
    ck_assert_int_eq(swamp__cursor_write(&cursor, text, 16), SWAMP_E_TOO_BIG);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(swamp__cursor_write(&cursor, text, 0), SWAMP_E_TOO_BIG);
    memset(cursor.epoch, '%',
           sizeof(cursor.epoch) - 1); /* three characters each: above the limit of any cursor */
    ck_assert_int_eq(swamp__cursor_write(&cursor, text, sizeof(text)), SWAMP_E_TOO_BIG);
    ck_assert_str_eq(text, "");
    memset(cursor.epoch, 'e', sizeof(cursor.epoch) - 1);
    memset(cursor.run_id, 'r', sizeof(cursor.run_id) - 1);
    cursor.seq = 9007199254740991;
    ck_assert_int_eq(swamp__cursor_write(&cursor, text, SWAMP__CURSOR_MAX), SWAMP_OK);
}
END_TEST

START_TEST(before_the_run_has_an_id_the_cursor_is_empty)
{
    swamp__cursor cursor = {"", "", 0};
    char text[8] = "x";

    ck_assert_int_eq(swamp__cursor_write(&cursor, text, sizeof(text)), SWAMP_OK);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_bare_run_id_is_a_cursor_at_the_beginning)
{
    swamp__cursor cursor;
    char longest[66];

    ck_assert_int_eq(swamp__cursor_read("01890a5d-ac96-774b", &cursor), SWAMP_OK);
    ck_assert_str_eq(cursor.run_id, "01890a5d-ac96-774b");
    ck_assert_str_eq(cursor.epoch, "");
    ck_assert_uint_eq(cursor.seq, 0);
    memset(longest, 'r', 65);
    longest[65] = '\0';
    ck_assert_int_eq(swamp__cursor_read(longest, &cursor), SWAMP_E_INVALID);
    longest[64] = '\0';
    ck_assert_int_eq(swamp__cursor_read(longest, &cursor), SWAMP_OK);
}
END_TEST

static const char *const bad[] = {
    "",
    " ",
    "a b",
    "run\n",
    "\xff",
    "\x7f",
    "swc1:",
    "swc1::r:e",
    "swc1:1",
    "swc1:1:",
    "swc1:1:r",
    "swc1:1::e",
    "swc1:01:r:e",
    "swc1:-1:r:e",
    "swc1:+1:r:e",
    "swc1:1.0:r:e",
    "swc1:1e3:r:e",
    "swc1: 1:r:e",
    "swc1:x:r:e",
    "swc1:9007199254740992:r:e",
    "swc1:99999999999999999999999:r:e",
    "swc1:1:r:e:",
    "swc1:1:r:e ",
    "swc1:1:r:%",
    "swc1:1:r:%4",
    "swc1:1:r:%4g",
    "swc1:1:r:%00",
    "swc1:1:%00:e",
    "swc1:1:r r:e",
    "swc1:1:r:\xc3\xa9",
    "swc1:1:%FF:e",
    "swc1:1:r:%ED%A0%80",
    "swc1:1:rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr:e", /* 65 characters */
};

START_TEST(what_is_no_cursor_is_refused_and_changes_nothing)
{
    swamp__cursor cursor = {"kept", "kept", 7};

    ck_assert_int_eq(swamp__cursor_read(bad[_i], &cursor), SWAMP_E_INVALID);
    ck_assert_str_eq(cursor.run_id, "kept");
    ck_assert_str_eq(cursor.epoch, "kept");
    ck_assert_uint_eq(cursor.seq, 7);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("cursor");
    TCase *t = tcase_create("cursor");

    tcase_add_loop_test(t, a_cursor_comes_back_as_it_was, 0, sizeof(cursors) / sizeof(cursors[0]));
    tcase_add_test(t, a_cursor_that_does_not_fit_leaves_nothing);
    tcase_add_test(t, before_the_run_has_an_id_the_cursor_is_empty);
    tcase_add_test(t, a_bare_run_id_is_a_cursor_at_the_beginning);
    tcase_add_loop_test(t, what_is_no_cursor_is_refused_and_changes_nothing, 0, sizeof(bad) / sizeof(bad[0]));
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
