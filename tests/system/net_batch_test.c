/* Batches on real sockets: whole and in order, when they are asked for, and what they cost; under poll and libev. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../../libswamp/util/alloc.h"
#include "net_fixture.h"
#include "raw_peer.h"
#include "tap.h"

#define LARGE 8000000 /* a frame of which the kernel takes but a part while nobody reads */
#define TRICKLE 50

static net_fixture fixture;

static int
is_flood_frame(const raw_frame *frame, size_t number)
{
    size_t same = 0;

    while (same < frame->len && frame->payload[same] == core_flood_byte(number, same))
        same++;
    return same == frame->len;
}

/* DESIGN 2: whole frames back to back; the peer reads slowly and pings, so that pongs come in between. */
static void
check_flood(size_t count, size_t size, int pings)
{
    int fd = raw_websocket(fixture.port),
        small = 32768; /* much less than a frame, so that writes end inside of one */
    size_t seen = 0, sent = 0, pongs = 0;
    char command[64];

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    snprintf(command, sizeof(command), "flood %zu %zu", count, size);
    raw_say(fd, command);
    while (seen < count || pongs < (size_t)pings) {
        raw_frame frame;

        if (sent < (size_t)pings && sent == pongs) { /* one at a time: lws drops a second one */
            raw_send(fd, RAW_FIN | RAW_PING, "p", 1, 1);
            sent++;
        }
        raw_read_frame(fd, &frame);
        ck_assert(frame.fin);
        if (frame.opcode == RAW_PONG) {
            pongs++;
        } else {
            ck_assert_int_eq(frame.opcode, RAW_TEXT);
            ck_assert_uint_eq(frame.len, size - seen % 5 * (size / 7));
            ck_assert(is_flood_frame(&frame, seen));
            seen++;
        }
        raw_frame_free(&frame);
    }
    close(fd);
}

START_TEST(batches_arrive_byte_for_byte)
{
    net_start(&fixture, _i, NULL, NULL);
    check_flood(2000, 200, 0);
    check_flood(40, 60000, 10);
    check_flood(4, 1024 * 1024, 3);
    core_await(&fixture.core, &fixture.core.freed, 3);
    net_stop(&fixture);
}
END_TEST

static void
read_flood(int fd, size_t count)
{
    for (raw_frame frame; count > 0; count--) {
        raw_read_frame(fd, &frame);
        raw_frame_free(&frame);
    }
}

/* DESIGN 2: no allocation on the way from log to socket. */
START_TEST(a_batch_takes_no_memory_of_ours)
{
    unsigned long before;
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    raw_say(fd, "flood 1000 200"); /* sizes what there is to size */
    read_flood(fd, 1000);
    before = swamp__alloc_count();
    raw_say(fd, "flood 20000 200"); /* some 60 batches */
    read_flood(fd, 20000);
    ck_assert_uint_le(swamp__alloc_count() - before, 1); /* the double's own, for its command */
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

/* The peer reads nothing from now on, so libwebsockets keeps bytes for it. */
static void
stall(int fd)
{
    char command[64];

    snprintf(command, sizeof(command), "flood 1 %d", LARGE);
    raw_say(fd, command);
    core_await(&fixture.core, &fixture.core.filled, LARGE);
}

static void
do_nothing(void *user)
{
}

/* As of the end of the callback that is under way. */
static size_t
fills_so_far(void)
{
    net_on_loop(fixture.loop, do_nothing, NULL);
    return core_get(&fixture.core, &fixture.core.fills);
}

static void
expect_message(int fd, const char *text)
{
    raw_frame frame;

    raw_read_frame(fd, &frame);
    ck_assert_str_eq(frame.payload, text);
    raw_frame_free(&frame);
}

static void
say_number(void *user)
{
    char text[32];

    snprintf(text, sizeof(text), "message %d", *(int *)user);
    core_say(&fixture.core, text);
}

static int
open_settled(void)
{
    int fd = raw_websocket(fixture.port);

    for (int i = 0; i < 2; i++) { /* after the second turn nothing is left to do of the upgrade */
        raw_say(fd, "echo begun");
        expect_message(fd, "begun");
    }
    return fd;
}

/*
 * DESIGN 2, one batch in flight: what was asked for meanwhile would be kept for each slow viewer, by libwebsockets. The
 * other viewer has each message at once, by one fill, so that all that the loop does about it is done.
 */
START_TEST(a_stalled_peer_is_given_nothing_before_it_took_its_batch)
{
    char text[32];
    size_t before;
    int fd, other;

    net_start(&fixture, _i, NULL, NULL);
    fd = open_settled();
    stall(fd);
    other = open_settled();
    before = core_get(&fixture.core, &fixture.core.fills);
    for (int i = 0; i < TRICKLE; i++) {
        net_on_loop(fixture.loop, say_number, &i);
        snprintf(text, sizeof(text), "message %d", i);
        expect_message(other, text);
    }
    ck_assert_uint_eq(core_get(&fixture.core, &fixture.core.fills) - before, TRICKLE);
    read_flood(fd, 1);
    for (int i = 0; i < TRICKLE; i++) {
        snprintf(text, sizeof(text), "message %d", i);
        expect_message(fd, text);
    }
    close(fd);
    close(other);
    core_await(&fixture.core, &fixture.core.freed, 2);
    net_stop(&fixture);
}
END_TEST

static void
insist(void *user)
{
    fixture.core.insists = 1;
}

/* When it is asked for, nothing is kept yet: only its turn shows that it must wait. */
START_TEST(a_batch_that_is_asked_for_while_another_is_made_waits_for_it)
{
    size_t before;
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = open_settled();
    net_on_loop(fixture.loop, insist, NULL);
    before = fills_so_far();
    stall(fd);
    ck_assert_uint_eq(fills_so_far() - before, 1);
    read_flood(fd, 1);
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

/* It has read all that came and goes, with more on its way: the loop must not turn round its end of file for ever. */
START_TEST(a_reader_that_goes_in_mid_batch_holds_nobody_up)
{
    int fd, other, small = 4096;
    char bytes[65536];
    raw_frame frame;

    net_start(&fixture, _i, NULL, NULL);
    other = raw_websocket(fixture.port);
    fd = raw_websocket(fixture.port);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    raw_say(fd, "flood 1 8000000");
    for (size_t seen = 0; seen < 100000;) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        ck_assert_int_gt(n, 0);
        seen += (size_t)n;
    }
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    raw_say(other, "echo still here");
    raw_read_frame(other, &frame);
    ck_assert_str_eq(frame.payload, "still here");
    raw_frame_free(&frame);
    close(other);
    core_await(&fixture.core, &fixture.core.freed, 2);
    net_stop(&fixture);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("net_batch");
    TCase *tc = tcase_create("batch");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, batches_arrive_byte_for_byte, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_batch_takes_no_memory_of_ours, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_stalled_peer_is_given_nothing_before_it_took_its_batch, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_batch_that_is_asked_for_while_another_is_made_waits_for_it, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_reader_that_goes_in_mid_batch_holds_nobody_up, 0, NET_LOOPS);
    suite_add_tcase(s, tc);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
