/* WebSocket frames as a server sends them: every length form, and control frames within their bound. */
#include "tap.h"

#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/ws.h"

static const struct {
    size_t len, size;
    uint8_t bytes[SWAMP__WS_HEADER_MAX];
} headers[] = {
    {0, 2, {0x81, 0}},
    {125, 2, {0x81, 125}},
    {126, 4, {0x81, 126, 0, 126}},
    {65535, 4, {0x81, 126, 0xff, 0xff}},
    {65536, 10, {0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0}},
    {0x123456789a, 10, {0x81, 127, 0, 0, 0, 0x12, 0x34, 0x56, 0x78, 0x9a}},
};

START_TEST(a_length_takes_its_shortest_form)
{
    uint8_t header[SWAMP__WS_HEADER_MAX];

    ck_assert_uint_eq(swamp__ws_header(header, SWAMP__WS_TEXT, headers[_i].len), headers[_i].size);
    ck_assert_mem_eq(header, headers[_i].bytes, headers[_i].size);
}
END_TEST

START_TEST(a_text_frame_is_header_and_text)
{
    swamp__buf out;

    swamp__buf_init(&out);
    swamp__ws_put_text(&out, "{}", 2);
    swamp__ws_put_text(&out, "", 0);
    swamp__ws_put_ping(&out);
    ck_assert_uint_eq(out.len, 9);
    /* a ping is never empty: libwebsockets tells nobody of the empty pong that answers it */
    ck_assert_mem_eq(out.data, "\x81\x02{}\x81\x00\x89\x01s", 9);
    swamp__buf_free(&out);
}
END_TEST

START_TEST(a_frame_that_does_not_fit_in_memory_leaves_no_half)
{
    char text[1000];
    swamp__buf out;

    memset(text, 'x', sizeof(text));
    swamp__buf_init(&out);
    swamp__ws_put_ping(&out);
    swamp__alloc_fail_at(1, 0);
    swamp__ws_put_text(&out, text, sizeof(text));
    swamp__alloc_fail_at(0, 0);
    ck_assert_int_eq(swamp__buf_status(&out), SWAMP_E_NOMEM);
    ck_assert_uint_eq(out.len, 3); /* the ping alone */
    swamp__buf_free(&out);
}
END_TEST

START_TEST(a_close_frame_has_its_code_and_a_reason_of_at_most_123_bytes)
{
    char reason[200];
    swamp__buf out;

    swamp__buf_init(&out);
    swamp__ws_put_close(&out, 4001, "slow");
    ck_assert_uint_eq(out.len, 8);
    ck_assert_mem_eq(out.data, "\x88\x06\x0f\xa1slow", 8);
    swamp__buf_clear(&out);
    swamp__ws_put_close(&out, 1001, NULL);
    ck_assert_mem_eq(out.data, "\x88\x02\x03\xe9", 4);
    swamp__buf_clear(&out);
    memset(reason, 'r', sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    swamp__ws_put_close(&out, 1000, reason);
    ck_assert_uint_eq(out.len, 2 + 125);
    ck_assert_uint_eq((uint8_t)out.data[1], 125);
    swamp__buf_clear(&out);
    memcpy(reason + 122, "\xc3\xa9", 2); /* a reason must be UTF-8: cut before the character */
    swamp__ws_put_close(&out, 1000, reason);
    ck_assert_uint_eq((uint8_t)out.data[1], 124);
    swamp__buf_free(&out);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("ws");
    TCase *t = tcase_create("ws");

    tcase_add_loop_test(t, a_length_takes_its_shortest_form, 0, sizeof(headers) / sizeof(headers[0]));
    tcase_add_test(t, a_text_frame_is_header_and_text);
    tcase_add_test(t, a_frame_that_does_not_fit_in_memory_leaves_no_half);
    tcase_add_test(t, a_close_frame_has_its_code_and_a_reason_of_at_most_123_bytes);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
