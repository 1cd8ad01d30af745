/* Messages that come in pieces: fragments, frames cut anywhere by the network, control frames in between. */
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../libswamp/wire/limits.h"
#include "net_fixture.h"
#include "raw_peer.h"

static net_fixture fixture;

START_TEST(messages_are_put_together_from_their_pieces)
{
    static char big[SWAMP__MESSAGE_MAX];
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    raw_send(fd, RAW_TEXT, "one ", 4, 1);
    raw_send(fd, RAW_FIN | RAW_PING, "", 0, 1);
    raw_send(fd, RAW_CONTINUATION, "", 0, 1);
    raw_send(fd, RAW_CONTINUATION, "two ", 4, 1);
    raw_send(fd, RAW_FIN | RAW_CONTINUATION, "three", 5, 1);
    core_await(&fixture.core, &fixture.core.messages, 1);
    ck_assert_str_eq(fixture.core.last, "one two three");
    raw_send(fd, RAW_FIN | RAW_TEXT, "", 0, 1);
    core_await(&fixture.core, &fixture.core.messages, 2);
    ck_assert_uint_eq(fixture.core.last_len, 0);
    raw_send(fd, RAW_FIN | RAW_BINARY, "bin", 3, 1);
    core_await(&fixture.core, &fixture.core.binaries, 1);
    memset(big, 'b', sizeof(big));
    raw_send(fd, RAW_FIN | RAW_TEXT, big, sizeof(big), 1); /* at the limit */
    core_await(&fixture.core, &fixture.core.messages, 4);
    ck_assert_uint_eq(fixture.core.last_len, sizeof(big));
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

/* A seeded dice: what it throws is the same in each run. */
static unsigned
throw_below(unsigned *dice, unsigned below)
{
    *dice = *dice * 1664525u + 1013904223u;
    return (*dice >> 8) % below;
}

/* Whatever bytes wait are sent in parts, so that the reader sees frames, and headers, cut anywhere. */
static void
send_in_parts(int fd, unsigned *dice, const unsigned char *bytes, size_t len)
{
    while (len > 0) {
        size_t part = 1 + throw_below(dice, 40);

        if (part > len)
            part = len;
        raw_write(fd, bytes, part);
        bytes += part;
        len -= part;
    }
}

static size_t
put_fragments(unsigned *dice, unsigned char *out, const char *text, size_t len)
{
    size_t at = 0, size = 0;
    int first = 1, last;

    do {
        size_t part = throw_below(dice, (unsigned)(len - at) + 1);

        last = at + part == len && throw_below(dice, 2);
        if (throw_below(dice, 3) == 0)
            size += raw_put_frame(out + size, RAW_FIN | RAW_PONG, "between", throw_below(dice, 8), 1);
        size += raw_put_frame(out + size, (last ? RAW_FIN : 0) | (first ? RAW_TEXT : RAW_CONTINUATION),
                              text + at, part, 1);
        at += part;
        first = 0;
    } while (!last);
    return size;
}

START_TEST(messages_cut_at_random_arrive_whole_and_in_order)
{
    static unsigned char bytes[65536];
    char text[250] = "echo "; /* the double echoes no more */
    unsigned dice = 7;

    net_start(&fixture, _i, NULL, NULL);
    int fd = raw_websocket(fixture.port);
    for (int round = 0; round < 200; round++) {
        size_t len = 5 + throw_below(&dice, sizeof(text) - 6);
        raw_frame frame;

        for (size_t i = 5; i < len; i++)
            text[i] = (char)('a' + throw_below(&dice, 26));
        send_in_parts(fd, &dice, bytes, put_fragments(&dice, bytes, text, len));
        raw_read_frame(fd, &frame);
        ck_assert_int_eq(frame.opcode, RAW_TEXT);
        ck_assert_uint_eq(frame.len, len - 5);
        ck_assert_msg(memcmp(frame.payload, text + 5, len - 5) == 0, "message %d", round);
        raw_frame_free(&frame);
    }
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("net_pieces");
    TCase *tc = tcase_create("pieces");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, messages_are_put_together_from_their_pieces, 0, NET_LOOPS);
    tcase_add_loop_test(tc, messages_cut_at_random_arrive_whole_and_in_order, 0, NET_LOOPS);
    suite_add_tcase(s, tc);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
