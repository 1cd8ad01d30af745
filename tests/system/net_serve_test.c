/* The server's WebSockets on real sockets: upgrades, messages, batches, ends; under poll and libev (PROTOCOL 1). */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../../libswamp/net/taken.h"
#include "../../libswamp/wire/limits.h"
#include "net_fixture.h"
#include "raw_peer.h"
#include "tap.h"

static net_fixture fixture;

static int
try_upgrade(const char *path, const char *host, const char *extra, char *head, size_t cap)
{
    int fd = raw_connect("127.0.0.1", fixture.port);
    int status;

    ck_assert_int_ge(fd, 0);
    status = raw_upgrade(fd, path, host, extra, head, cap);
    close(fd);
    return status;
}

START_TEST(foreign_pages_and_hosts_are_refused)
{
    char head[2048];

    net_start(&fixture, _i, NULL, NULL);
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1", "Origin: https://evil.example\r\n", head, sizeof(head)),
                     403);
    ck_assert_int_eq(try_upgrade("/", "evil.example", "", head, sizeof(head)), 403);
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1, localhost", "", head, sizeof(head)), 403);
    ck_assert_int_eq(try_upgrade("/", "localhost", "Origin: http://localhost:3000\r\n", head, sizeof(head)),
                     101);
    ck_assert_int_eq(try_upgrade("/any/path?with=query", "127.0.0.1", "", head, sizeof(head)), 101);
    core_await(&fixture.core, &fixture.core.freed, 2);
    ck_assert_uint_eq(core_get(&fixture.core, &fixture.core.opened), 2);
    net_stop(&fixture);
}
END_TEST

START_TEST(too_many_connections_are_told_when_to_come_back)
{
    char head[2048];

    net_start(&fixture, _i, NULL, NULL);
    fixture.core.refuse = SWAMP_E_BUSY;
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1", "", head, sizeof(head)), 429);
    ck_assert_ptr_nonnull(strcasestr(head, "retry-after: 5\r\n"));
    fixture.core.refuse = SWAMP_E_CLOSED;
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1", "", head, sizeof(head)), 503);
    net_stop(&fixture);
}
END_TEST

static void
refuse_more(void *user)
{
    fixture.core.refuse = SWAMP_E_BUSY;
}

/* The 64 for which there is room above the limit are there at the same time: none of them is cut without a word. */
START_TEST(all_above_the_limit_are_told_when_to_come_back)
{
    static const char begin[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
                      rest[] = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n";
    int fds[100], more[64];
    char head[2048];

    net_start(&fixture, _i, NULL, NULL);
    for (int i = 0; i < 100; i++)
        fds[i] = raw_websocket(fixture.port);
    net_on_loop(fixture.loop, refuse_more, NULL);
    for (int i = 0; i < 64; i++) {
        more[i] = raw_connect("127.0.0.1", fixture.port);
        ck_assert_int_ge(more[i], 0);
        raw_write(more[i], begin, strlen(begin));
    }
    for (int i = 63; i >= 0; i--) {
        raw_write(more[i], rest, strlen(rest));
        ck_assert_int_eq(raw_read_head(more[i], head, sizeof(head)), 429);
        ck_assert_ptr_nonnull(strcasestr(head, "retry-after: 5\r\n"));
    }
    for (int i = 0; i < 64; i++)
        close(more[i]);
    for (int i = 0; i < 100; i++)
        close(fds[i]);
    core_await(&fixture.core, &fixture.core.freed, 100);
    net_stop(&fixture);
}
END_TEST

START_TEST(only_a_bearer_subprotocol_is_echoed_and_whole)
{
    static const char longest[] = "bearer.ci.abcdefghijklmnopqrstuvwxyz0123456789._~!-ABCDEFGHIJK";
    char head[2048], extra[512];

    net_start(&fixture, _i, NULL, NULL);
    ck_assert_uint_eq(strlen(longest), 62);
    snprintf(extra, sizeof(extra), "Sec-WebSocket-Protocol: %s\r\n", longest);
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1", extra, head, sizeof(head)), 101);
    ck_assert_ptr_nonnull(strcasestr(head, extra));
    ck_assert_int_eq(
        try_upgrade("/", "127.0.0.1", "Sec-WebSocket-Protocol: chat, bearer.x.y\r\n", head, sizeof(head)),
        101);
    ck_assert_ptr_nonnull(strcasestr(head, "Sec-WebSocket-Protocol: bearer.x.y\r\n"));
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1", "Sec-WebSocket-Protocol: chat\r\n", head, sizeof(head)),
                     101);
    ck_assert_ptr_null(strcasestr(head, "Sec-WebSocket-Protocol"));
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1", "", head, sizeof(head)), 101);
    ck_assert_ptr_null(strcasestr(head, "Sec-WebSocket-Protocol"));
    ck_assert_int_eq(
        try_upgrade("/", "127.0.0.1", "Sec-WebSocket-Protocol: bearer.a+b/c=\r\n", head, sizeof(head)), 400);
    snprintf(extra, sizeof(extra), "Sec-WebSocket-Protocol: %sx\r\n", longest);
    ck_assert_int_eq(try_upgrade("/", "127.0.0.1", extra, head, sizeof(head)), 400);
    core_await(&fixture.core, &fixture.core.freed, 4);
    net_stop(&fixture);
}
END_TEST

START_TEST(compression_is_declined)
{
    char head[2048];

    net_start(&fixture, _i, NULL, NULL);
    ck_assert_int_eq(
        try_upgrade("/", "127.0.0.1", "Sec-WebSocket-Extensions: permessage-deflate\r\n", head, sizeof(head)),
        101);
    ck_assert_ptr_null(strcasestr(head, "Sec-WebSocket-Extensions"));
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

START_TEST(a_bad_upgrade_header_ends_the_connection)
{
    static const char *const upgrades[] = {"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
                                           "Upgrade: x\r\n"};

    net_start(&fixture, _i, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        char request[256], rest[4096];
        int fd = raw_connect("127.0.0.1", fixture.port);

        snprintf(request, sizeof(request),
                 "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n%s\r\n", upgrades[i]);
        raw_write(fd, request, strlen(request));
        while (raw_read_some(fd, rest, sizeof(rest) - 1) > 0)
            ck_assert_ptr_null(strstr(rest, " 101 "));
        close(fd);
    }
    ck_assert_uint_eq(core_get(&fixture.core, &fixture.core.opened), 0);
    net_stop(&fixture);
}
END_TEST

static void
expect_close(int fd, int code)
{
    raw_frame frame;

    raw_read_frame(fd, &frame);
    ck_assert_int_eq(raw_close_code(&frame), code);
    raw_send(fd, RAW_FIN | RAW_CLOSE, frame.payload, 2, 1);
    ck_assert(raw_is_closed(fd));
    raw_frame_free(&frame);
    close(fd);
}

/* PROTOCOL 1: fragmented anywhere, also inside of a character, with control frames in between. */
START_TEST(a_message_may_be_cut_inside_a_character)
{
    static const char text[] = "echo \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 end";
    size_t len = strlen(text);

    net_start(&fixture, _i, NULL, NULL);
    int fd = raw_websocket(fixture.port);
    for (size_t cut = 0; cut <= len; cut++) { /* cut == 0: each byte is a frame */
        for (size_t at = 0; at < len;) {
            size_t part = cut == 0 ? 1 : at == 0 ? cut : len - cut;
            int last = at + part == len;

            raw_send(fd, (last ? RAW_FIN : 0) | (at == 0 ? RAW_TEXT : RAW_CONTINUATION), text + at, part, 1);
            if (!last)
                raw_send(fd, RAW_FIN | RAW_PONG, "x", 1, 1);
            at += part;
        }
        raw_frame frame;
        raw_read_frame(fd, &frame);
        ck_assert_int_eq(frame.opcode, RAW_TEXT);
        ck_assert_uint_eq(frame.len, len - 5);
        ck_assert_int_eq(memcmp(frame.payload, text + 5, len - 5), 0);
        raw_frame_free(&frame);
    }
    raw_send(fd, RAW_TEXT, "\xe2\x82", 2, 1); /* and a character that does not come to its end is none */
    raw_send(fd, RAW_FIN | RAW_CONTINUATION, "x", 1, 1);
    expect_close(fd, 1007);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

/* The server's end of a connection of this process. */
static int
find_server_end(int client)
{
    struct sockaddr_in mine, other;
    socklen_t len = sizeof(mine);

    ck_assert_int_eq(getsockname(client, (struct sockaddr *)&mine, &len), 0);
    for (int fd = 0; fd < 1024; fd++) {
        len = sizeof(other);
        if (fd != client && getpeername(fd, (struct sockaddr *)&other, &len) == 0 &&
            other.sin_family == AF_INET && other.sin_port == mine.sin_port)
            return fd;
    }
    return -1;
}

/* DESIGN 7: SO_SNDBUF 128 KiB (the kernel doubles it); and no descriptor for children. */
START_TEST(an_accepted_socket_holds_little_and_is_not_inherited)
{
    int fd, end, sndbuf = 0;
    socklen_t len = sizeof(sndbuf);

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    end = find_server_end(fd);
    ck_assert_int_ge(end, 0);
    ck_assert_int_eq(getsockopt(end, SOL_SOCKET, SO_SNDBUF, &sndbuf, &len), 0);
    ck_assert_int_le(sndbuf, 2 * SWAMP__SO_SNDBUF);
    ck_assert_int_eq(fcntl(end, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

/* What liveness goes by: it grows though the batch is not yet all taken. */
START_TEST(bytes_taken_are_counted_while_a_batch_is_under_way)
{
    int fd, end, small = 4096;
    char bytes[65536];

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    end = find_server_end(fd);
    raw_say(fd, "flood 1 8000000");
    uint64_t before = swamp__taken_bytes(end);
    for (size_t seen = 0; seen < 100000;) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        ck_assert_int_gt(n, 0);
        seen += (size_t)n;
    }
    ck_assert_uint_gt(swamp__taken_bytes(end), before);
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

START_TEST(a_message_above_the_limit_ends_with_1009)
{
    static char big[SWAMP__MESSAGE_MAX + 1];
    static const unsigned char endless[] = {0x81, 0xff, 0, 0, 1, 0, 0,  0,
                                            0,    0,    1, 2, 3, 4, 'x'}; /* 2^40 bytes */
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    memset(big, 'b', sizeof(big));
    fd = raw_websocket(fixture.port);
    raw_send(fd, RAW_FIN | RAW_TEXT, big, sizeof(big), 1);
    expect_close(fd, 1009);
    fd = raw_websocket(fixture.port);
    raw_send(fd, RAW_TEXT, big, SWAMP__MESSAGE_MAX, 1); /* one byte too many, in another frame */
    raw_send(fd, RAW_FIN | RAW_CONTINUATION, big, 1, 1);
    expect_close(fd, 1009);
    fd = raw_websocket(fixture.port);
    raw_write(fd, endless, sizeof(endless)); /* refused by its announcement */
    raw_frame frame;
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(raw_close_code(&frame), 1009);
    raw_frame_free(&frame);
    close(fd);
    ck_assert_uint_eq(core_get(&fixture.core, &fixture.core.messages), 0);
    core_await(&fixture.core, &fixture.core.freed, 3);
    net_stop(&fixture);
}
END_TEST

START_TEST(invalid_utf8_ends_with_1007)
{
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    raw_send(fd, RAW_FIN | RAW_TEXT, "\xc3\x28", 2, 1);
    expect_close(fd, 1007);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

START_TEST(our_close_code_and_reason_reach_the_peer)
{
    raw_frame frame;
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    raw_say(fd, "echo before");
    raw_read_frame(fd, &frame);
    raw_frame_free(&frame);
    raw_say(fd, "close 4001 too slow");
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(raw_close_code(&frame), 4001);
    ck_assert_str_eq(frame.payload + 2, "too slow");
    raw_frame_free(&frame);
    raw_send(fd, RAW_FIN | RAW_CLOSE, "\x0f\xa1", 2, 1);
    ck_assert(raw_is_closed(fd));
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

/* It has not read for long, and does not now: the connection goes all the same, within SWAMP__FLUSH_MS. */
START_TEST(a_stalled_peer_is_let_go)
{
    int fd, small = 4096;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    raw_say(fd, "flood 200 100000");
    raw_say(fd, "close 4001 too slow");
    core_await(&fixture.core, &fixture.core.freed, 1);
    close(fd);
    net_stop(&fixture);
}
END_TEST

START_TEST(nothing_is_written_after_the_peers_close_frame)
{
    raw_frame frame;
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    raw_send(fd, RAW_FIN | RAW_CLOSE, "\x03\xe8", 2, 1);
    raw_say(fd, "echo too late");
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(raw_close_code(&frame), 1000);
    raw_frame_free(&frame);
    ck_assert(raw_is_closed(fd));
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

/* An empty pong is swallowed by libwebsockets: our ping must bring back one that is not. */
START_TEST(the_pong_to_our_ping_counts_as_life)
{
    raw_frame frame;
    size_t before;
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    raw_say(fd, "ping");
    raw_read_frame(fd, &frame);
    ck_assert_int_eq(frame.opcode, RAW_PING);
    before = core_get(&fixture.core, &fixture.core.alive);
    raw_send(fd, RAW_FIN | RAW_PONG, frame.payload, frame.len, 1);
    raw_frame_free(&frame);
    core_await(&fixture.core, &fixture.core.alive, before + 1);
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

static void
resume_all(void *user)
{
    core_resume(&fixture.core);
}

START_TEST(a_paused_connection_is_not_read)
{
    static char block[60000];
    size_t sent = 0;
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    raw_say(fd, "pause");
    core_await(&fixture.core, &fixture.core.messages, 1);
    memset(block, 'p', sizeof(block));
    /* As long as it reads, all of this goes through; as it does not, the kernel's buffers fill up. */
    struct timeval brief = {.tv_usec = 300000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &brief, sizeof(brief));
    unsigned char header[] = {0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0}; /* 1 MiB, mask 0 */
    while (sent < 512u * 1024 * 1024) {
        size_t of_message = sent % (SWAMP__MESSAGE_MAX + sizeof(header));
        const char *from = of_message < sizeof(header) ? (char *)header + of_message : block;
        size_t len = of_message < sizeof(header) ? sizeof(header) - of_message
                                                 : SWAMP__MESSAGE_MAX + sizeof(header) - of_message;
        ssize_t n = send(fd, from, len < sizeof(block) ? len : sizeof(block), MSG_NOSIGNAL);

        if (n < 0)
            break;
        sent += (size_t)n;
    }
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_uint_eq(core_get(&fixture.core, &fixture.core.messages), 1);
    net_on_loop(fixture.loop, resume_all, NULL);
    if (sent >= SWAMP__MESSAGE_MAX + sizeof(header))
        core_await(&fixture.core, &fixture.core.messages, 1 + sent / (SWAMP__MESSAGE_MAX + sizeof(header)));
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

START_TEST(stopping_the_loop_frees_what_is_still_connected)
{
    int fds[5];

    net_start(&fixture, _i, NULL, NULL);
    for (int i = 0; i < 5; i++)
        fds[i] = raw_websocket(fixture.port);
    raw_say(fds[0], "flood 1000 100000");
    core_await(&fixture.core, &fixture.core.messages, 1);
    net_stop(&fixture);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("net_serve");
    TCase *tc = tcase_create("serve");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, foreign_pages_and_hosts_are_refused, 0, NET_LOOPS);
    tcase_add_loop_test(tc, too_many_connections_are_told_when_to_come_back, 0, NET_LOOPS);
    tcase_add_loop_test(tc, all_above_the_limit_are_told_when_to_come_back, 0, NET_LOOPS);
    tcase_add_loop_test(tc, only_a_bearer_subprotocol_is_echoed_and_whole, 0, NET_LOOPS);
    tcase_add_loop_test(tc, compression_is_declined, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_bad_upgrade_header_ends_the_connection, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_message_may_be_cut_inside_a_character, 0, NET_LOOPS);
    tcase_add_loop_test(tc, an_accepted_socket_holds_little_and_is_not_inherited, 0, NET_LOOPS);
    tcase_add_loop_test(tc, bytes_taken_are_counted_while_a_batch_is_under_way, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_message_above_the_limit_ends_with_1009, 0, NET_LOOPS);
    tcase_add_loop_test(tc, invalid_utf8_ends_with_1007, 0, NET_LOOPS);
    tcase_add_loop_test(tc, our_close_code_and_reason_reach_the_peer, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_stalled_peer_is_let_go, 0, NET_LOOPS);
    tcase_add_loop_test(tc, nothing_is_written_after_the_peers_close_frame, 0, NET_LOOPS);
    tcase_add_loop_test(tc, the_pong_to_our_ping_counts_as_life, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_paused_connection_is_not_read, 0, NET_LOOPS);
    tcase_add_loop_test(tc, stopping_the_loop_frees_what_is_still_connected, 0, NET_LOOPS);
    suite_add_tcase(s, tc);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
