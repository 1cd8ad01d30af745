/* Outgoing links on real sockets: addresses, time-outs, refusals, messages, ends (PROTOCOL 1, 7); under poll
 * and libev. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../../libswamp/session/session.h"
#include "dial_double.h"
#include "net_fixture.h"
#include "raw_peer.h"
#include "tap.h"

static void
do_send_hello(void *user)
{
    swamp__link_send(((dial_double *)user)->link, "hello", 5);
}

static void
do_ping(void *user)
{
    swamp__link_ping(((dial_double *)user)->link);
}

static void
do_pause(void *user)
{
    swamp__link_pause(((dial_double *)user)->link, 1);
}

static void
do_go_on(void *user)
{
    swamp__link_pause(((dial_double *)user)->link, 0);
}

static void
do_hang_up(void *user)
{
    dial_double *it = user;

    swamp__link_hang_up(it->link);
    it->link = NULL;
}

static void
begin(dial_double *it, int i, const char *host, int port)
{
    char url[128];

    snprintf(url, sizeof(url), "ws://%s:%d/path?q=1", host, port);
    dial_begin(it, net_loop(i, SWAMP__LOOP_CLIENT, NULL), url);
}

static void
expect_lost(dial_double *it, int how)
{
    core_await(&it->record, &it->record.freed, 1);
    ck_assert_msg(it->how == how, "%d: %s", it->how, it->why);
    ck_assert(it->why[0]);
}

START_TEST(text_goes_both_ways_with_the_token_in_its_header)
{
    dial_double it;
    char request[2048];
    raw_frame frame;
    int port, listener = raw_listen("127.0.0.1", &port), fd;

    begin(&it, _i, "127.0.0.1", port);
    setenv("http_proxy", "http://127.0.0.1:1", 1); /* not ours to follow */
    it.token = "ci.secret";
    dial_now(&it);
    fd = raw_accept(listener);
    raw_accept_upgrade(fd, request, sizeof(request));
    ck_assert_int_eq(strncmp(request, "GET /path?q=1 HTTP/1.1\r\n", 24), 0);
    ck_assert_ptr_nonnull(strcasestr(request, "\r\nauthorization: Bearer ci.secret\r\n"));
    ck_assert_ptr_null(strcasestr(request, "\r\norigin:"));
    ck_assert_ptr_null(strcasestr(request, "sec-websocket-extensions"));
    core_await(&it.record, &it.record.opened, 1);
    net_on_loop(it.loop, do_send_hello, &it);
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(frame.opcode, RAW_TEXT);
    ck_assert_str_eq(frame.payload, "hello");
    raw_frame_free(&frame);
    raw_send(fd, RAW_TEXT, "in ", 3, 0);
    raw_send(fd, RAW_FIN | RAW_CONTINUATION, "pieces", 6, 0);
    core_await(&it.record, &it.record.messages, 1);
    ck_assert_str_eq(it.record.last, "in pieces");
    net_on_loop(it.loop, do_ping, &it);
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(frame.opcode, RAW_PING);
    ck_assert_uint_gt(frame.len, 0);
    size_t before = core_get(&it.record, &it.record.alive);
    raw_send(fd, RAW_FIN | RAW_PONG, frame.payload, frame.len, 0);
    raw_frame_free(&frame);
    core_await(&it.record, &it.record.alive, before + 1);
    net_on_loop(it.loop, do_hang_up, &it);
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(raw_close_code(&frame), 1000);
    raw_frame_free(&frame);
    close(fd);
    dial_end(&it);
    ck_assert_uint_eq(it.record.freed, 0); /* hanging up is silent */
    close(listener);
}
END_TEST

START_TEST(what_cannot_be_reached_is_lost_once)
{
    dial_double it;
    int port, listener = raw_listen("127.0.0.1", &port);

    close(listener);
    begin(&it, _i, "127.0.0.1", port); /* refused */
    dial_now(&it);
    ck_assert_int_eq(it.rc, SWAMP_OK);
    expect_lost(&it, SWAMP__LINK_LOST);
    dial_end(&it);
    begin(&it, _i, "no-such-name.invalid", 80);
    it.timeout_ms = 3000;
    dial_now(&it);
    expect_lost(&it, SWAMP__LINK_LOST);
    dial_end(&it);
    ck_assert_uint_eq(it.record.freed, 1);
}
END_TEST

/* TCP is accepted, by the kernel, and the upgrade never answered: libwebsockets reports neither error nor end. */
START_TEST(an_upgrade_that_is_never_answered_times_out)
{
    dial_double it;
    int port, listener = raw_listen("127.0.0.1", &port);

    begin(&it, _i, "127.0.0.1", port);
    it.timeout_ms = 400;
    dial_now(&it);
    expect_lost(&it, SWAMP__LINK_LOST);
    ck_assert_ptr_nonnull(strstr(it.why, "no connection within 400 ms"));
    dial_end(&it);
    begin(&it, _i, "127.0.0.1", port); /* hung up meanwhile */
    dial_now(&it);
    close(raw_accept(listener));
    dial_end(&it);
    close(listener);
}
END_TEST

START_TEST(all_addresses_of_a_name_are_tried)
{
    dial_double it;
    char request[2048];
    int port, listener = raw_listen("127.0.0.1", &port), fd; /* nothing on ::1, which often comes first */

    begin(&it, _i, "localhost", port);
    dial_now(&it);
    fd = raw_accept(listener);
    raw_accept_upgrade(fd, request, sizeof(request));
    ck_assert_ptr_nonnull(strcasestr(request, "\r\nhost: localhost:"));
    core_await(&it.record, &it.record.opened, 1);
    dial_end(&it);
    close(fd);
    close(listener);
}
END_TEST

typedef struct refusal {
    const char *answer;
    int how;
    int64_t retry_after_ms;
} refusal;

static const refusal refusals[] = {
    {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", SWAMP__LINK_UNAUTHORIZED, 0},
    {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", SWAMP__LINK_UNAUTHORIZED, 0},
    {"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", SWAMP__LINK_TRY_LATER, 7000},
    {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", SWAMP__LINK_LOST, 0},
};

START_TEST(refused_upgrades_mean_what_the_protocol_says)
{
    char request[2048];
    dial_double it;

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        int port, listener = raw_listen("127.0.0.1", &port), fd;

        begin(&it, _i, "127.0.0.1", port);
        dial_now(&it);
        fd = raw_accept(listener);
        raw_read_head(fd, request, sizeof(request));
        raw_write(fd, refusals[i].answer, strlen(refusals[i].answer));
        expect_lost(&it, refusals[i].how);
        ck_assert_int_eq(it.retry_after_ms, refusals[i].retry_after_ms);
        ck_assert_ptr_nonnull(strstr(it.why, "HTTP "));
        dial_end(&it);
        close(fd);
        close(listener);
    }
}
END_TEST

START_TEST(a_redirect_never_carries_the_token_away)
{
    dial_double it;
    char request[2048], answer[256];
    int port, elsewhere, listener = raw_listen("127.0.0.1", &port),
                         other = raw_listen("127.0.0.1", &elsewhere), fd;

    begin(&it, _i, "127.0.0.1", port);
    it.token = "ci.secret";
    dial_now(&it);
    fd = raw_accept(listener);
    raw_read_head(fd, request, sizeof(request));
    snprintf(answer, sizeof(answer),
             "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n", elsewhere);
    raw_write(fd, answer, strlen(answer));
    expect_lost(&it, SWAMP__LINK_LOST);
    dial_end(&it);
    ck_assert_int_lt(accept4(other, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), 0);
    close(fd);
    close(listener);
    close(other);
}
END_TEST

static int
open_link(dial_double *it, int i, int *listener)
{
    char request[2048];
    int port, fd;

    *listener = raw_listen("127.0.0.1", &port);
    begin(it, i, "127.0.0.1", port);
    dial_now(it);
    fd = raw_accept(*listener);
    raw_accept_upgrade(fd, request, sizeof(request));
    core_await(&it->record, &it->record.opened, 1);
    return fd;
}

START_TEST(ends_mean_what_the_protocol_says)
{
    static const struct {
        const char *code;
        int how;
    } closes[] = {{"\x0f\xa3", SWAMP__LINK_UNAUTHORIZED}, /* 4003 */
                  {"\x03\xf0", SWAMP__LINK_UNAUTHORIZED}, /* 1008 */
                  {"\x03\xe9", SWAMP__LINK_LOST},         /* 1001 */
                  {"\x0f\xa1", SWAMP__LINK_LOST},         /* 4001 */
                  {NULL, SWAMP__LINK_LOST}};              /* cut */
    dial_double it;

    for (size_t i = 0; i < sizeof(closes) / sizeof(closes[0]); i++) {
        int listener, fd = open_link(&it, _i, &listener);
        struct linger abrupt = {1, 0};

        if (closes[i].code)
            raw_send(fd, RAW_FIN | RAW_CLOSE, closes[i].code, 2, 0);
        else
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
        if (!closes[i].code)
            close(fd);
        expect_lost(&it, closes[i].how);
        dial_end(&it);
        ck_assert_uint_eq(it.record.freed, 1);
        if (closes[i].code)
            close(fd);
        close(listener);
    }
}
END_TEST

START_TEST(a_message_up_to_the_limit_is_taken_and_no_more)
{
    char *big = malloc(DIAL_MAX_MESSAGE + 1);
    dial_double it;
    raw_frame frame;
    int listener, fd = open_link(&it, _i, &listener);

    memset(big, 'x', DIAL_MAX_MESSAGE + 1);
    raw_send(fd, RAW_FIN | RAW_TEXT, big, DIAL_MAX_MESSAGE, 0);
    core_await(&it.record, &it.record.messages, 1);
    ck_assert_uint_eq(it.record.last_len, DIAL_MAX_MESSAGE);
    raw_send(fd, RAW_FIN | RAW_TEXT, big, DIAL_MAX_MESSAGE + 1, 0);
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(raw_close_code(&frame), 1009);
    raw_frame_free(&frame);
    close(fd);
    expect_lost(&it, SWAMP__LINK_LOST);
    ck_assert_uint_eq(it.record.messages, 1);
    dial_end(&it);
    close(listener);
    free(big);
}
END_TEST

START_TEST(a_paused_link_is_not_read_and_goes_on_where_it_was)
{
    char block[60000];
    struct timeval brief = {.tv_usec = 300000};
    size_t sent = 0, whole;
    dial_double it;
    int listener, fd = open_link(&it, _i, &listener);
    unsigned char header[] = {0x81, 126, 60000 >> 8, 60000 & 0xff};

    net_on_loop(it.loop, do_pause, &it);
    memset(block, 'p', sizeof(block));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &brief, sizeof(brief));
    while (sent < 512u * 1024 * 1024) {
        size_t at = sent % (sizeof(block) + sizeof(header));
        ssize_t n = at < sizeof(header) ? send(fd, header + at, sizeof(header) - at, MSG_NOSIGNAL)
                                        : send(fd, block, sizeof(block) + sizeof(header) - at, MSG_NOSIGNAL);

        if (n < 0)
            break;
        sent += (size_t)n;
    }
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_uint_eq(core_get(&it.record, &it.record.messages), 0);
    whole = sent / (sizeof(block) + sizeof(header));
    ck_assert_uint_gt(whole, 0);
    net_on_loop(it.loop, do_go_on, &it);
    core_await(&it.record, &it.record.messages, whole);
    dial_end(&it);
    close(fd);
    close(listener);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("net_dial");
    TCase *tc = tcase_create("dial");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, text_goes_both_ways_with_the_token_in_its_header, 0, NET_LOOPS);
    tcase_add_loop_test(tc, what_cannot_be_reached_is_lost_once, 0, NET_LOOPS);
    tcase_add_loop_test(tc, an_upgrade_that_is_never_answered_times_out, 0, NET_LOOPS);
    tcase_add_loop_test(tc, all_addresses_of_a_name_are_tried, 0, NET_LOOPS);
    tcase_add_loop_test(tc, refused_upgrades_mean_what_the_protocol_says, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_redirect_never_carries_the_token_away, 0, NET_LOOPS);
    tcase_add_loop_test(tc, ends_mean_what_the_protocol_says, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_message_up_to_the_limit_is_taken_and_no_more, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_paused_link_is_not_read_and_goes_on_where_it_was, 0, NET_LOOPS);
    suite_add_tcase(s, tc);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
