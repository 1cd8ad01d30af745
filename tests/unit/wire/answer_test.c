/* Answers (PROTOCOL 3): written byte for byte as old clients expect them, read from servers of any age. */
#include <check.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/wire/answer.h"
#include "tap.h"

static swamp__buf out;
static swamp__answer answer;

static void
set_up(void)
{
    swamp__buf_init(&out);
}

static void
tear_down(void)
{
    swamp__buf_free(&out);
}

static void
assert_written(const char *text)
{
    ck_assert_str_eq(out.data, text);
    swamp__buf_clear(&out);
}

static void
read_ok(const char *text)
{
    ck_assert_msg(swamp__answer_read(text, strlen(text), &answer) == SWAMP_OK, "not read: %s", text);
}

static void
assert_unreadable(const char *text)
{
    ck_assert_msg(swamp__answer_read(text, strlen(text), &answer) == SWAMP_E_PROTOCOL, "read: %s", text);
}

START_TEST(stream_frames_are_exact)
{
    swamp__answer_accepted(&out, "x", "r");
    assert_written("{\"type\":\"run.accepted\",\"id\":\"x\",\"run\":{\"runId\":\"r\"}}");
    swamp__answer_event_open(&out, "\xE2\x82\xAC\n");
    assert_written("{\"type\":\"event\",\"id\":\"\xE2\x82\xAC\\n\",\"event\":");
    swamp__answer_done(&out, "");
    assert_written("{\"type\":\"done\",\"id\":\"\"}");
    swamp__answer_gap(&out, "x", "r", 3, 9007199254740991u);
    assert_written("{\"type\":\"run.gap\",\"id\":\"x\",\"gap\":{\"runId\":\"r\",\"fromSeq\":3,\"toSeq\":"
                   "9007199254740991,"
                   "\"reason\":\"evicted\"}}");
    swamp__answer_drain(&out, 1000, 60000);
    assert_written("{\"type\":\"server.drain\",\"retryAfterMs\":1000,\"deadlineMs\":60000}");
    swamp__answer_plain(&out, "server.version", "x", "\"version\":\"1\"", 13);
    assert_written("{\"type\":\"server.version\",\"id\":\"x\",\"version\":\"1\"}");
    swamp__answer_plain(&out, "server.version", "x", NULL, 0);
    assert_written("{\"type\":\"server.version\",\"id\":\"x\"}");
}
END_TEST

START_TEST(attach_answers_are_exact)
{
    swamp__answer_attached_info info = {
        "r", "workflow-run", "2026-11-29T10:00:00.000Z", "e", "running", NULL, 1, 3};
    swamp__answer_attached(&out, "x", &info);
    assert_written(
        "{\"type\":\"run.attached\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"kind\":\"workflow-run\","
        "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"epoch\":\"e\",\"firstSeq\":1,\"headSeq\":3,"
        "\"state\":\"running\"}}");

    swamp__answer_elsewhere_info elsewhere = {"r", "i", "ws://h:1", 1500, 20, 30000};
    swamp__answer_elsewhere(&out, "x", &elsewhere);
    assert_written(
        "{\"type\":\"run.elsewhere\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"instanceId\":\"i\","
        "\"address\":\"ws://h:1\",\"retryAfterMs\":1500,\"ownerSeenMsAgo\":20,\"staleTtlMs\":30000}}");
    elsewhere = (swamp__answer_elsewhere_info){"r", "i", "", -1, -1, -1};
    swamp__answer_elsewhere(&out, "x", &elsewhere);
    assert_written(
        "{\"type\":\"run.elsewhere\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"instanceId\":\"i\"}}");

    swamp__answer_interrupted(&out, "x", "r", "i", "instance_dead", 30000);
    assert_written(
        "{\"type\":\"run.interrupted\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"instanceId\":\"i\","
        "\"reason\":\"instance_dead\",\"staleTtlMs\":30000}}");
    swamp__answer_interrupted(&out, "x", "r", "i", "instance_dead", -1);
    assert_written(
        "{\"type\":\"run.interrupted\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"instanceId\":\"i\","
        "\"reason\":\"instance_dead\"}}");
}
END_TEST

START_TEST(error_frames_are_exact_and_their_message_one_short_line)
{
    swamp__answer_error_extra extra = {"instance_fenced", "i", 1000};
    char text[400], expected[500];

    swamp__answer_error(&out, "x", "not_found", "run not found", NULL);
    assert_written(
        "{\"type\":\"error\",\"id\":\"x\",\"error\":{\"code\":\"not_found\",\"message\":\"run not found\"}}");
    swamp__answer_error(&out, "x", "interrupted", "a\nb", &extra);
    assert_written("{\"type\":\"error\",\"id\":\"x\",\"error\":{\"code\":\"interrupted\",\"message\":\"a b\","
                   "\"reason\":\"instance_fenced\",\"instanceId\":\"i\",\"retryAfterMs\":1000}}");

    /* 200 characters are 400 bytes here, and the 201st is dropped. */
    text[0] = 0;
    strcpy(expected, "{\"type\":\"error\",\"id\":\"x\",\"error\":{\"code\":\"c\",\"message\":\"");
    for (int i = 0; i < 190; i++)
        strcat(text, "\xC3\xA9");
    strcat(text, "0123456789");
    strcat(expected, text);
    strcat(expected, "\"}}");
    strcat(text, "X");
    swamp__answer_error(&out, "x", "c", text, NULL);
    assert_written(expected);
}
END_TEST

START_TEST(event_is_found_with_its_extent_and_numbers)
{
    read_ok("{ \"type\":\"event\",\"id\":\"x\",\"event\": "
            "{\"kind\":\"started\",\"runId\":\"r\",\"a\":[{}],\"seq\":7} }");
    ck_assert_int_eq(answer.type, SWAMP__ANS_EVENT);
    ck_assert_str_eq(answer.id, "x");
    ck_assert_str_eq(answer.kind, "started");
    ck_assert_str_eq(answer.run_id, "r");
    ck_assert_uint_eq(answer.seq, 7);
    ck_assert_int_eq(strncmp(answer.event.at, "{\"kind\":\"started\",\"runId\":\"r\",\"a\":[{}],\"seq\":7}",
                             answer.event.len),
                     0);
    ck_assert_uint_eq(answer.event.len,
                      strlen("{\"kind\":\"started\",\"runId\":\"r\",\"a\":[{}],\"seq\":7}"));
    read_ok("{\"event\":{\"seq\":1.0e1},\"id\":\"x\",\"type\":\"event\"}");
    ck_assert_uint_eq(answer.seq, 10);
    ck_assert_str_eq(answer.kind, "");
    read_ok("{\"type\":\"event\",\"id\":\"x\",\"event\":{}}");
    ck_assert_uint_eq(answer.seq, 0);
}
END_TEST

START_TEST(status_of_the_run_is_read_from_terminal_events_only)
{
    read_ok("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"run\":{\"id\":\"n\",\"status\":\"failed\"},"
            "\"kind\":\"completed\"}}");
    ck_assert_str_eq(answer.run_status, "failed");
    ck_assert_str_eq(answer.run_id, "");
    read_ok("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"kind\":\"cancelled\",\"run\":{\"status\":"
            "\"cancelled\"}}}");
    ck_assert_str_eq(answer.run_status, "cancelled");
    read_ok(
        "{\"type\":\"event\",\"id\":\"x\",\"event\":{\"kind\":\"step\",\"run\":{\"status\":\"failed\"}}}");
    ck_assert_str_eq(answer.run_status, "");
    read_ok("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"kind\":\"completed\",\"run\":[]}}");
    ck_assert_str_eq(answer.run_status, "");
}
END_TEST

START_TEST(what_cannot_be_decoded_is_a_protocol_error)
{
    assert_unreadable("");
    assert_unreadable("[]");
    assert_unreadable("{\"id\":\"x\"}");
    assert_unreadable("{\"type\":7}");
    assert_unreadable("{\"type\":\"event\",\"id\":\"x\"}");
    assert_unreadable("{\"type\":\"event\",\"id\":\"x\",\"event\":[]}");
    assert_unreadable("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"seq\":\"7\"}}");
    assert_unreadable("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"seq\":-1}}");
    assert_unreadable("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"seq\":1e300}}");
    assert_unreadable("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"line\":\"\xC3\"}}");
    assert_unreadable("{\"type\":\"run.gap\",\"id\":\"x\",\"gap\":{\"runId\":\"r\"}}");
    assert_unreadable("{\"type\":\"run.gap\",\"id\":\"x\",\"gap\":{\"fromSeq\":5,\"toSeq\":4}}");
    assert_unreadable("{\"type\":\"done\"} {}");
}
END_TEST

/* PROTOCOL 7: strictness beyond RFC 8259 applies to requests, not to what a server sends. */
START_TEST(lenient_towards_servers)
{
    read_ok("{\"type\":\"event\",\"id\":\"x\",\"event\":{\"kind\":\"k\",\"line\":\"\\u0000\\ud800\",\"a\":"
            "1e999,\"a\":2}}");
    read_ok("{\"type\":\"of.the.future.with.a.name.that.is.longer.than.any.that.we.have.ever.thought.of\","
            "\"id\":\"x\"}");
    ck_assert_int_eq(answer.type, SWAMP__ANS_OTHER);
    read_ok("{\"type\":\"done\",\"id\":5}");
    ck_assert_str_eq(answer.id, "");
    read_ok("{\"type\":\"error\",\"id\":\"x\"}");
    ck_assert_int_eq(answer.type, SWAMP__ANS_ERROR);
    ck_assert_str_eq(answer.code, "");
    read_ok("{\"type\":\"run.attached\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"kind\":\"workflow-run\","
            "\"startedAt\":\"2026\"}}"); /* an old server */
    ck_assert_str_eq(answer.run_id, "r");
    ck_assert_str_eq(answer.epoch, "");
    ck_assert_int_eq(answer.head_seq, -1);
    ck_assert_str_eq(answer.run_status, "");
    read_ok("{\"type\":\"run.interrupted\",\"id\":\"x\",\"payload\":7}");
    read_ok(
        "{\"type\":\"run.elsewhere\",\"id\":\"x\",\"payload\":{\"retryAfterMs\":-5,\"staleTtlMs\":1e18}}");
    ck_assert_int_eq(answer.retry_after_ms, -1);
    ck_assert_int_eq(answer.stale_ttl_ms, -1);
}
END_TEST

START_TEST(every_frame_written_is_read_back)
{
    swamp__answer_attached_info info = {
        "r", "workflow-run", "2026-11-29T10:00:00.000Z", "e", "cancelled", "instance_shutdown", 4, 9};
    swamp__answer_attached(&out, "x", &info);
    read_ok(out.data);
    ck_assert_int_eq(answer.type, SWAMP__ANS_ATTACHED);
    ck_assert_str_eq(answer.epoch, "e");
    ck_assert_str_eq(answer.run_status, "cancelled");
    ck_assert_str_eq(answer.interrupt_reason, "instance_shutdown");
    ck_assert_int_eq(answer.first_seq, 4);
    ck_assert_int_eq(answer.head_seq, 9);

    swamp__buf_clear(&out);
    swamp__answer_accepted(&out, "x", "r2");
    read_ok(out.data);
    ck_assert_int_eq(answer.type, SWAMP__ANS_ACCEPTED);
    ck_assert_str_eq(answer.run_id, "r2");

    swamp__buf_clear(&out);
    swamp__answer_gap(&out, "x", "r", 2, 5);
    read_ok(out.data);
    ck_assert_int_eq(answer.from_seq, 2);
    ck_assert_int_eq(answer.to_seq, 5);
    ck_assert_str_eq(answer.reason, "evicted");

    swamp__buf_clear(&out);
    swamp__answer_elsewhere_info elsewhere = {"r", "i", "wss://h", 1500, 20, 30000};
    swamp__answer_elsewhere(&out, "x", &elsewhere);
    read_ok(out.data);
    ck_assert_int_eq(answer.type, SWAMP__ANS_ELSEWHERE);
    ck_assert_str_eq(answer.instance_id, "i");
    ck_assert_str_eq(answer.address, "wss://h");
    ck_assert_int_eq(answer.retry_after_ms, 1500);
    ck_assert_int_eq(answer.stale_ttl_ms, 30000);

    swamp__buf_clear(&out);
    swamp__answer_error_extra extra = {"instance_dead", "i", 250};
    swamp__answer_error(&out, "x", "interrupted", "m", &extra);
    read_ok(out.data);
    ck_assert_str_eq(answer.code, "interrupted");
    ck_assert_str_eq(answer.message, "m");
    ck_assert_str_eq(answer.reason, "instance_dead");
    ck_assert_int_eq(answer.retry_after_ms, 250);

    swamp__buf_clear(&out);
    swamp__answer_drain(&out, 1, 2);
    read_ok(out.data);
    ck_assert_int_eq(answer.type, SWAMP__ANS_DRAIN);
    ck_assert_int_eq(answer.retry_after_ms, 1);
}
END_TEST

START_TEST(history_and_cancel_answers)
{
    read_ok("{\"type\":\"workflow.history.get\",\"id\":\"x\",\"data\":{\"id\":\"r\",\"status\":\"failed\","
            "\"instanceId\":\"i\",\"interruptReason\":\"instance_dead\"}}");
    ck_assert_int_eq(answer.type, SWAMP__ANS_HISTORY);
    ck_assert_str_eq(answer.run_id, "r");
    ck_assert_str_eq(answer.run_status, "failed");
    ck_assert_str_eq(answer.interrupt_reason, "instance_dead");
    ck_assert_int_eq(answer.data.type, SWAMP__JSON_OBJECT);
    read_ok("{\"type\":\"workflow.history.get\",\"id\":\"x\",\"payload\":{\"data\":{\"id\":\"r\",\"status\":"
            "\"succeeded\"}}}");
    ck_assert_str_eq(answer.run_status, "succeeded");
    read_ok("{\"type\":\"workflow.history.get\",\"id\":\"x\",\"data\":null}");
    ck_assert_int_eq(answer.data.type, 0);
    read_ok("{\"type\":\"run.cancel\",\"id\":\"x\",\"runId\":\"r\",\"accepted\":true,\"status\":\"running\","
            "\"instanceId\":\"i\"}");
    ck_assert_int_eq(answer.accepted, 1);
    ck_assert_str_eq(answer.run_status, "running");
    ck_assert_str_eq(answer.instance_id, "i");
}
END_TEST

START_TEST(long_texts_are_cut_and_long_ids_dropped)
{
    char text[4096] = "{\"type\":\"error\",\"id\":\"x\",\"error\":{\"code\":\"c\",\"instanceId\":\"";
    for (int i = 0; i < 70; i++)
        strcat(text, "i");
    strcat(text, "\",\"message\":\"");
    for (int i = 0; i < 400; i++)
        strcat(text, "\xE2\x82\xAC");
    strcat(text, "\"}}");
    read_ok(text);
    ck_assert_uint_eq(strlen(answer.message), 510); /* 170 * 3 */
    ck_assert_str_eq(answer.instance_id, "");
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("wire/answer");
    TCase *c = tcase_create("answer");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, stream_frames_are_exact);
    tcase_add_test(c, attach_answers_are_exact);
    tcase_add_test(c, error_frames_are_exact_and_their_message_one_short_line);
    tcase_add_test(c, event_is_found_with_its_extent_and_numbers);
    tcase_add_test(c, status_of_the_run_is_read_from_terminal_events_only);
    tcase_add_test(c, what_cannot_be_decoded_is_a_protocol_error);
    tcase_add_test(c, lenient_towards_servers);
    tcase_add_test(c, every_frame_written_is_read_back);
    tcase_add_test(c, history_and_cancel_answers);
    tcase_add_test(c, long_texts_are_cut_and_long_ids_dropped);
    suite_add_tcase(s, c);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
