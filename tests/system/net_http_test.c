/* HTTP on the WebSocket's port: answers at once and late, bodies, refusals (PROTOCOL 8); under poll and libev. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <swamp/status.h>
#include "net_fixture.h"
#include "raw_peer.h"
#include "tap.h"

static net_fixture fixture;

static int
ask(int fd, const char *request, char *head, size_t head_cap, char *body, size_t body_cap)
{
    int status;

    raw_write(fd, request, strlen(request));
    status = raw_read_head(fd, head, head_cap);
    if (body)
        raw_read_body(fd, head, body, body_cap);
    return status;
}

START_TEST(requests_of_one_connection_are_answered_in_turn)
{
    char head[1024], body[1024];
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_connect("127.0.0.1", fixture.port);
    ck_assert_int_eq(
        ask(fd, "GET /now HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", head, sizeof(head), body, sizeof(body)), 200);
    ck_assert_str_eq(body, "GET /now");
    ck_assert_int_eq(
        ask(fd, "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n", head, sizeof(head), body, sizeof(body)),
        200);
    ck_assert_str_eq(body, "late");
    ck_assert_int_eq(
        ask(fd, "GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", head, sizeof(head), body, sizeof(body)),
        404);
    close(fd);
    net_stop(&fixture);
}
END_TEST

START_TEST(head_has_the_length_and_no_body)
{
    char head[1024], body[1024];
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_connect("127.0.0.1", fixture.port);
    ck_assert_int_eq(ask(fd, "HEAD /now HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", head, sizeof(head), NULL, 0),
                     200);
    ck_assert_ptr_nonnull(strcasestr(head, "content-length: 9\r\n"));
    ck_assert_int_eq(
        ask(fd, "GET /next HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", head, sizeof(head), body, sizeof(body)),
        200);
    ck_assert_str_eq(body, "GET /next");
    close(fd);
    net_stop(&fixture);
}
END_TEST

START_TEST(a_post_is_answered_with_and_without_a_length)
{
    static const char *const requests[] = {
        "POST /p HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhello",
        "POST /p HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
        "POST /p HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    };
    char head[1024], body[1024];

    net_start(&fixture, _i, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        int fd = raw_connect("127.0.0.1", fixture.port);

        ck_assert_int_eq(ask(fd, requests[i], head, sizeof(head), body, sizeof(body)), 200);
        ck_assert_str_eq(body, "POST /p");
        if (i == 2) {
            ck_assert_ptr_nonnull(strcasestr(head, "connection: close\r\n"));
            ck_assert(raw_is_closed(fd));
        } else {
            ck_assert_int_eq(ask(fd, requests[i], head, sizeof(head), body, sizeof(body)), 200);
        }
        close(fd);
    }
    net_stop(&fixture);
}
END_TEST

START_TEST(a_web_page_cannot_post_to_a_local_server)
{
    char head[1024], body[1024];
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_connect("127.0.0.1", fixture.port);
    ck_assert_int_eq(ask(fd,
                         "POST /p HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: "
                         "https://evil.example\r\nContent-Length: 2\r\n\r\nxx",
                         head, sizeof(head), body, sizeof(body)),
                     403);
    close(fd);
    fd = raw_connect("127.0.0.1", fixture.port);
    ck_assert_int_eq(
        ask(fd, "GET /now HTTP/1.1\r\nHost: rebound.example\r\n\r\n", head, sizeof(head), body, sizeof(body)),
        403);
    close(fd);
    net_stop(&fixture);
}
END_TEST

START_TEST(a_check_without_a_host_is_answered_and_nothing_else_is)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"GET /now HTTP/1.0\r\n\r\n", 200},
        {"GET /now HTTP/1.0\r\nOrigin: https://evil.example\r\n\r\n", 403},
        {"POST /p HTTP/1.0\r\nContent-Length: 0\r\n\r\n", 403},
    };
    char head[1024], body[1024];

    net_start(&fixture, _i, NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = raw_connect("127.0.0.1", fixture.port);
        ck_assert_int_eq(ask(fd, cases[i].request, head, sizeof(head), body, sizeof(body)), cases[i].status);
        close(fd);
    }
    net_stop(&fixture);
}
END_TEST

START_TEST(a_peer_that_goes_before_its_answer_is_forgotten)
{
    static const char request[] = "GET /late HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_connect("127.0.0.1", fixture.port);
    raw_write(fd, request, strlen(request));
    core_await(&fixture.core, &fixture.core.messages, 1);
    close(fd);
    fd = raw_connect("127.0.0.1", fixture.port);
    raw_write(fd, "GET /never HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 41);
    core_await(&fixture.core, &fixture.core.messages, 2);
    net_stop(&fixture); /* the question is still open */
    close(fd);
    ck_assert_uint_ge(fixture.core.abandoned, 1);
}
END_TEST

static void
count_connections(void *user)
{
    *(size_t *)user = swamp__listener_connections(fixture.listener);
}

/* Polls: no event tells of a connection that says nothing. */
static void
await_connections(size_t wanted)
{
    size_t count = wanted + 1;

    for (int i = 0; i < 2000 && count != wanted; i++) {
        usleep(5000);
        net_on_loop(fixture.loop, count_connections, &count);
    }
    ck_assert_uint_eq(count, wanted);
}

/* Such as balancers without a request to ask. The kernel keeps who is silent for a second (listen.c). */
START_TEST(checks_that_only_connect_leave_nothing_and_who_speaks_late_is_answered)
{
    static const struct linger reset = {.l_onoff = 1};
    char head[1024], body[1024];
    int silent, fd;

    net_start(&fixture, _i, NULL, NULL);
    silent = raw_connect("127.0.0.1", fixture.port);
    for (int i = 0; i < 20; i++) {
        fd = raw_connect("127.0.0.1", fixture.port);
        ck_assert_int_ge(fd, 0);
        if (i % 2)
            ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        close(fd);
    }
    await_connections(1); /* the silent one, and none of the others */
    ck_assert_int_eq(
        ask(silent, "GET /now HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", head, sizeof(head), body, sizeof(body)),
        200);
    close(silent);
    await_connections(0);
    net_stop(&fixture);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("net_http");
    TCase *tc = tcase_create("http");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, requests_of_one_connection_are_answered_in_turn, 0, NET_LOOPS);
    tcase_add_loop_test(tc, head_has_the_length_and_no_body, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_post_is_answered_with_and_without_a_length, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_web_page_cannot_post_to_a_local_server, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_check_without_a_host_is_answered_and_nothing_else_is, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_peer_that_goes_before_its_answer_is_forgotten, 0, NET_LOOPS);
    tcase_add_loop_test(tc, checks_that_only_connect_leave_nothing_and_who_speaks_late_is_answered, 0,
                        NET_LOOPS);
    suite_add_tcase(s, tc);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
