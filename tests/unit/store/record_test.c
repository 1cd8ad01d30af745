/* Control-plane records (PROTOCOL 5): written with all members, read from any version and from rubbish. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/record.h"
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/json.h"
#include "tap.h"

static swamp__heartbeat_record heartbeat;
static swamp__active_record active;
static swamp__cancel_record cancel;

START_TEST(heartbeat_is_written_and_read_back)
{
    static swamp__heartbeat_record record = {.instance_id = "i",
                                             .hostname = "h\"",
                                             .started_at = "2026-11-29T10:00:00.000Z",
                                             .heartbeat_at = "2026-11-29T10:00:10.000Z",
                                             .pid = 42,
                                             .beat = 9007199254740993,
                                             .interval_ms = 10000,
                                             .stale_ttl_ms = 30000,
                                             .active_runs = 3};
    swamp__buf out;
    swamp__buf_init(&out);
    swamp__heartbeat_write(&out, &record);
    ck_assert_str_eq(
        out.data, "{\"instanceId\":\"i\",\"hostname\":\"h\\\"\",\"pid\":42,"
                  "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"heartbeatAt\":\"2026-11-29T10:00:10.000Z\","
                  "\"beat\":9007199254740993,\"intervalMs\":10000,\"staleTtlMs\":30000,\"activeRuns\":3}");
    ck_assert_int_eq(swamp__heartbeat_read(out.data, out.len, &heartbeat), SWAMP_OK);
    ck_assert_mem_eq(&heartbeat, &record, sizeof(record));

    strcpy(record.address, "ws://h:1");
    record.draining = record.local = 1;
    swamp__buf_clear(&out);
    swamp__heartbeat_write(&out, &record);
    ck_assert_ptr_nonnull(strstr(out.data, ",\"address\":\"ws://h:1\",\"beat\":"));
    ck_assert_int_eq(swamp__heartbeat_read(out.data, out.len, &heartbeat), SWAMP_OK);
    ck_assert_mem_eq(&heartbeat, &record, sizeof(record));
    swamp__buf_free(&out);
}
END_TEST

START_TEST(active_run_and_cancel_request_are_written_and_read_back)
{
    swamp__active_record run = {"i", "w", "workflow-run", "2026-11-29T10:00:00.000Z", "anonymous"};
    swamp__cancel_record request = {"user:x", "enough", "2026-11-29T10:00:00.000Z"};
    swamp__buf out;
    swamp__buf_init(&out);
    swamp__active_write(&out, &run);
    ck_assert_str_eq(out.data, "{\"instanceId\":\"i\",\"resourceName\":\"w\",\"runKind\":\"workflow-run\","
                               "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"principal\":\"anonymous\"}");
    ck_assert_int_eq(swamp__active_read(out.data, out.len, &active), SWAMP_OK);
    ck_assert_mem_eq(&active, &run, sizeof(run));
    swamp__buf_clear(&out);
    swamp__cancel_write(&out, &request);
    ck_assert_str_eq(
        out.data,
        "{\"requestedBy\":\"user:x\",\"reason\":\"enough\",\"requestedAt\":\"2026-11-29T10:00:00.000Z\"}");
    ck_assert_int_eq(swamp__cancel_read(out.data, out.len, &cancel), SWAMP_OK);
    ck_assert_mem_eq(&cancel, &request, sizeof(request));
    swamp__buf_free(&out);
}
END_TEST

static int
read_heartbeat(const char *text)
{
    return swamp__heartbeat_read(text, strlen(text), &heartbeat);
}

START_TEST(members_that_are_missing_or_of_another_type_are_empty)
{
    ck_assert_int_eq(read_heartbeat("{}"), SWAMP_OK);
    ck_assert_str_eq(heartbeat.instance_id, "");
    ck_assert_int_eq(heartbeat.stale_ttl_ms, 0);
    ck_assert_int_eq(
        read_heartbeat("{\"instanceId\":7,\"hostname\":null,\"pid\":\"1\",\"beat\":[],\"intervalMs\":{},"
                       "\"draining\":\"true\",\"local\":1,\"new\":{\"a\":[]},\"staleTtlMs\":3e4}"),
        SWAMP_OK);
    ck_assert_str_eq(heartbeat.instance_id, "");
    ck_assert_int_eq(heartbeat.draining, 0);
    ck_assert_int_eq(heartbeat.local, 0);
    ck_assert_int_eq(heartbeat.interval_ms, 0);
    ck_assert_int_eq(heartbeat.stale_ttl_ms, 30000);
}
END_TEST

/* 2 x staleTtlMs and the like are computed from these. */
START_TEST(durations_are_bounded)
{
    ck_assert_int_eq(
        read_heartbeat("{\"intervalMs\":-5,\"staleTtlMs\":9223372036854775807,\"activeRuns\":-1}"), SWAMP_OK);
    ck_assert_int_eq(heartbeat.interval_ms, 0);
    ck_assert_int_eq(heartbeat.stale_ttl_ms, INT64_C(604800000));
    ck_assert_int_eq(heartbeat.active_runs, 0);
}
END_TEST

START_TEST(rubbish_is_corrupt_and_leaves_nothing_behind)
{
    static const char *const rubbish[] = {
        "", "{", "[]", "null", "\"x\"", "{\"instanceId\":\"i\"}x", "{\"instanceId\":\"\xFF\"}"};
    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        size_t len = strlen(rubbish[i]);
        memset(&heartbeat, 'x', sizeof(heartbeat));
        ck_assert_int_eq(swamp__heartbeat_read(rubbish[i], len, &heartbeat), SWAMP_E_CORRUPT);
        ck_assert_str_eq(heartbeat.instance_id, "");
        ck_assert_int_eq(heartbeat.stale_ttl_ms, 0);
        ck_assert_int_eq(swamp__active_read(rubbish[i], len, &active), SWAMP_E_CORRUPT);
        ck_assert_int_eq(swamp__cancel_read(rubbish[i], len, &cancel), SWAMP_E_CORRUPT);
    }
    ck_assert_int_eq(swamp__active_read("{\"resourceName\":\"w\"}", 20, &active), SWAMP_E_CORRUPT);
}
END_TEST

/* A cut id would be another instance's; a cut name is still a name. */
START_TEST(ids_that_are_too_long_are_dropped_and_names_cut)
{
    char text[2000] = "{\"instanceId\":\"";
    for (int i = 0; i < 65; i++)
        strcat(text, "i");
    strcat(text, "\",\"hostname\":\"");
    for (int i = 0; i < 200; i++)
        strcat(text, "\xC3\xA9");
    strcat(text, "\"}");
    ck_assert_int_eq(read_heartbeat(text), SWAMP_OK);
    ck_assert_str_eq(heartbeat.instance_id, "");
    ck_assert_uint_eq(strlen(heartbeat.hostname), 254);
}
END_TEST

START_TEST(ten_megabytes_are_read_like_any_record)
{
    size_t size = 10u << 20;
    char *text = malloc(size + 1);
    const char *end = "\",\"instanceId\":\"i\"}";

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    memcpy(text, "{\"hostname\":\"", 13);
    memcpy(text + size - strlen(end), end, strlen(end));
    ck_assert_int_eq(swamp__heartbeat_read(text, size, &heartbeat), SWAMP_OK);
    ck_assert_str_eq(heartbeat.instance_id, "i");
    ck_assert_uint_eq(strlen(heartbeat.hostname), 255);

    memset(text, '[', size);
    ck_assert_int_eq(swamp__heartbeat_read(text, size, &heartbeat), SWAMP_E_CORRUPT);
    memcpy(text, "{\"a\":", 5);
    memset(text + size / 2, ']', size / 2);
    text[size - 1] = '}';
    ck_assert_int_eq(swamp__heartbeat_read(text, size, &heartbeat), SWAMP_E_CORRUPT);
    free(text);
}
END_TEST

START_TEST(deep_record_without_memory_is_not_called_corrupt)
{
    char text[2048] = "{\"instanceId\":\"i\",\"deep\":";
    size_t len = strlen(text), depth = 600;
    memset(text + len, '[', depth);
    memset(text + len + depth, ']', depth);
    text[len + 2 * depth] = '}';
    len += 2 * depth + 1;
    for (int has_memory = 0; has_memory < 2; has_memory++) {
        int expected = has_memory ? SWAMP_OK : SWAMP_E_NOMEM;
        swamp__alloc_fail_at(has_memory ? 0 : 1, 1);
        ck_assert_int_eq(swamp__heartbeat_read(text, len, &heartbeat), expected);
        ck_assert_int_eq(swamp__active_read(text, len, &active), expected);
        ck_assert_int_eq(swamp__cancel_read(text, len, &cancel), expected);
        swamp__alloc_fail_at(0, 0);
    }
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("store/record");
    TCase *c = tcase_create("record");
    tcase_add_test(c, heartbeat_is_written_and_read_back);
    tcase_add_test(c, active_run_and_cancel_request_are_written_and_read_back);
    tcase_add_test(c, members_that_are_missing_or_of_another_type_are_empty);
    tcase_add_test(c, durations_are_bounded);
    tcase_add_test(c, rubbish_is_corrupt_and_leaves_nothing_behind);
    tcase_add_test(c, ids_that_are_too_long_are_dropped_and_names_cut);
    tcase_add_test(c, ten_megabytes_are_read_like_any_record);
    tcase_add_test(c, deep_record_without_memory_is_not_called_corrupt);
    suite_add_tcase(s, c);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
