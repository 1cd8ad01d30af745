/* RUN documents (PROTOCOL 4): whose word counts, what shrinking takes away and in which order, ends of the dead. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/document.h"
#include "../../../libswamp/wire/json.h"
#include "tap.h"

#define MAX (256u * 1024u)

static swamp__buf out, host;

static const swamp__run_owned owned = {.id = "r1",
                                       .status = "succeeded",
                                       .instance_id = "i1",
                                       .resource_name = "w",
                                       .workflow_id = "wid",
                                       .started_at_unix_ms = 1796205600000,
                                       .finished_at_unix_ms = 1796205601500};

#define STARTED "2026-12-02T10:00:00.000Z"

static void
set_up(void)
{
    swamp__buf_init(&out);
    swamp__buf_init(&host);
}

static void
tear_down(void)
{
    swamp__buf_free(&out);
    swamp__buf_free(&host);
}

static void
build(const char *host_json)
{
    swamp__buf_clear(&out);
    int rc = swamp__run_build(&out, &owned, host_json, host_json ? strlen(host_json) : 0, MAX);
    ck_assert_int_eq(rc, SWAMP_OK);
}

/* Builds from `host`; the result must be strict JSON of at most `max` bytes. */
static void
build_within(size_t max)
{
    swamp__json run;
    swamp__buf_clear(&out);
    ck_assert_int_eq(swamp__run_build(&out, &owned, host.data, host.len, max), SWAMP_OK);
    ck_assert_uint_le(out.len, max);
    ck_assert_int_eq(swamp__json_check(out.data, out.len, SWAMP__JSON_STRICT, &run), SWAMP_OK);
}

static void
assert_has(const char *text)
{
    ck_assert_msg(strstr(out.data, text) != NULL, "no %s in %.1000s", text, out.data);
}

static void
assert_lacks(const char *text)
{
    ck_assert_msg(strstr(out.data, text) == NULL, "%s in %.1000s", text, out.data);
}

START_TEST(members_of_the_library_come_in_the_order_of_run)
{
    swamp__run_owned all = owned;
    all.status = "failed";
    all.interrupt_reason = "instance_shutdown";
    all.initiated_by = "user:x";
    ck_assert_int_eq(swamp__run_build(&out, &all, NULL, 0, MAX), SWAMP_OK);
    ck_assert_str_eq(
        out.data,
        "{\"id\":\"r1\",\"workflowId\":\"wid\",\"workflowName\":\"w\",\"status\":\"failed\",\"jobs\":[],"
        "\"duration\":1500,\"initiatedBy\":\"user:x\",\"startedAt\":\"" STARTED
        "\",\"finishedAt\":\"2026-12-02T10:00:01.500Z\",\"instanceId\":\"i1\","
        "\"interruptReason\":\"instance_shutdown\"}");

    swamp__run_owned running = {.id = "r", .status = "running", .started_at_unix_ms = 1796205600000};
    swamp__buf_clear(&out);
    ck_assert_int_eq(swamp__run_build(&out, &running, "{}", 2, MAX), SWAMP_OK);
    ck_assert_str_eq(out.data,
                     "{\"id\":\"r\",\"status\":\"running\",\"jobs\":[],\"startedAt\":\"" STARTED "\"}");
}
END_TEST

START_TEST(host_cannot_speak_for_the_library)
{
    build("{\"id\":\"evil\",\"status\":\"failed\",\"startedAt\":\"x\",\"finishedAt\":\"x\",\"duration\":7,"
          "\"instance\\u0049d\":\"evil\","
          "\"interruptReason\":\"x\",\"jobs\":{},\"workflowName\":5}");
    ck_assert_str_eq(
        out.data,
        "{\"id\":\"r1\",\"workflowId\":\"wid\",\"workflowName\":\"w\",\"status\":\"succeeded\",\"jobs\":[],"
        "\"duration\":1500,\"startedAt\":\"" STARTED
        "\",\"finishedAt\":\"2026-12-02T10:00:01.500Z\",\"instanceId\":\"i1\"}");
}
END_TEST

START_TEST(host_names_its_workflow_and_keeps_its_members_byte_for_byte)
{
    build("{\"big\":18446744073709551615, \"workflowName\":\"mine\", \"f\":0.1000,\"o\":{ \"a\" : [1e2] },"
          "\"workflowId\":\"m\",\"initiatedBy\":\"cron\",\"\\u0061\":1,"
          "\"jobs\":[{\"name\":\"j\",\"status\":\"running\",\"n\":9007199254740993,\"steps\":[{\"name\":"
          "\"s\",\"status\":"
          "\"running\",\"duration\":1.50}]}]}");
    ck_assert_str_eq(
        out.data,
        "{\"id\":\"r1\",\"workflowId\":\"m\",\"workflowName\":\"mine\",\"status\":\"succeeded\",\"jobs\":[{"
        "\"name\":"
        "\"j\",\"status\":\"running\",\"n\":9007199254740993,\"steps\":[{\"name\":\"s\",\"status\":"
        "\"running\","
        "\"duration\":1.50}]}],\"duration\":1500,\"initiatedBy\":\"cron\",\"startedAt\":\"" STARTED
        "\",\"finishedAt\":\"2026-12-02T10:00:01.500Z\",\"instanceId\":\"i1\",\"big\":18446744073709551615,"
        "\"f\":0.1000,\"o\":{ \"a\" : [1e2] },\"\\u0061\":1}");
}
END_TEST

/* A wall clock may be set back while a run goes on. */
START_TEST(no_duration_below_zero)
{
    swamp__run_owned back = owned;
    back.finished_at_unix_ms = back.started_at_unix_ms - 1;
    ck_assert_int_eq(swamp__run_build(&out, &back, NULL, 0, MAX), SWAMP_OK);
    assert_lacks("duration");
    assert_has("finishedAt");
}
END_TEST

START_TEST(host_json_that_is_no_object_is_refused)
{
    ck_assert_int_eq(swamp__run_build(&out, &owned, "[]", 2, MAX), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__run_build(&out, &owned, "{", 1, MAX), SWAMP_E_INVALID);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

/* Fills `host` with jobs; each step's error is `text` said often enough to give error_len bytes. */
static void
make_jobs(int jobs, int steps, const char *status, const char *text, size_t error_len)
{
    char line[200];
    swamp__buf_text(&host, "{\"note\":\"kept\",\"jobs\":[");
    for (int j = 0; j < jobs; j++) {
        snprintf(line, sizeof(line), "%s{\"name\":\"job-%d\",\"status\":\"failed\",\"steps\":[", j ? "," : "",
                 j);
        swamp__buf_text(&host, line);
        for (int s = 0; s < steps; s++) {
            snprintf(line, sizeof(line), "%s{\"name\":\"step-%d\",\"status\":\"%s\",\"duration\":12",
                     s ? "," : "", s, status);
            swamp__buf_text(&host, line);
            if (error_len) {
                swamp__buf_text(&host, ",\"error\":\"");
                for (size_t n = 0; n < error_len; n += strlen(text))
                    swamp__buf_text(&host, text);
                swamp__buf_text(&host, "\"");
            }
            swamp__buf_text(&host, "}");
        }
        swamp__buf_text(&host, "]}");
    }
    swamp__buf_text(&host, "]}");
}

static size_t
length_of_first_error(void)
{
    const char *at = strstr(out.data, "\"error\":\"");
    ck_assert_ptr_nonnull(at);
    at += strlen("\"error\":\"");
    return (size_t)(strchr(at, '"') - at);
}

START_TEST(step_errors_are_cut_to_1_kib_between_characters)
{
    make_jobs(1, 1, "failed", "x", 1024);
    build_within(MAX);
    ck_assert_uint_eq(length_of_first_error(), 1024);
    swamp__buf_clear(&host);
    make_jobs(1, 1, "failed", "x", 1025);
    build_within(MAX);
    ck_assert_uint_eq(length_of_first_error(), 1024);
    swamp__buf_clear(&host);
    make_jobs(1, 1, "failed", "\xE2\x82\xAC", 3000);
    build_within(MAX);
    ck_assert_uint_eq(length_of_first_error(), 1023);
    /* 1,000 bytes of text, though 6,000 of JSON: not cut, not rewritten */
    swamp__buf_clear(&host);
    make_jobs(1, 1, "failed", "\\u0041", 6000);
    build_within(MAX);
    ck_assert_uint_eq(length_of_first_error(), 6000);
}
END_TEST

START_TEST(first_errors_shrink_to_100_bytes)
{
    /* Steps that succeeded and yet have an error (an allowed failure) would go in the step after this one. */
    make_jobs(4, 100, "succeeded", "x", 1000);
    build_within(MAX);
    ck_assert_uint_eq(length_of_first_error(), 100);
    assert_has("\"step-99\"");
    assert_has("\"note\":\"kept\"");
    assert_lacks("stepsOmitted");
}
END_TEST

START_TEST(then_succeeded_steps_are_dropped_and_counted)
{
    make_jobs(10, 1000, "succeeded", "", 0);
    build_within(MAX);
    assert_has("{\"name\":\"job-9\",\"status\":\"failed\",\"steps\":[],\"stepsOmitted\":1000}");
    assert_has("\"note\":\"kept\"");
}
END_TEST

START_TEST(then_jobs_keep_name_and_status)
{
    make_jobs(100, 100, "failed", "x", 100);
    build_within(MAX);
    assert_has("\"jobs\":[{\"name\":\"job-0\",\"status\":\"failed\"},{");
    assert_has("{\"name\":\"job-99\",\"status\":\"failed\"}]");
    assert_has("\"note\":\"kept\"");
}
END_TEST

START_TEST(then_no_job_is_kept)
{
    make_jobs(20000, 0, "", "", 0);
    build_within(MAX);
    assert_has("\"jobs\":[],");
    assert_has("\"note\":\"kept\"");
}
END_TEST

START_TEST(at_last_only_the_library_is_heard)
{
    swamp__buf_text(&host, "{\"note\":\"");
    for (int i = 0; i < 100000; i++)
        swamp__buf_text(&host, "noise");
    swamp__buf_text(&host, "\",\"workflowName\":\"");
    for (int i = 0; i < 100000; i++)
        swamp__buf_text(&host, "\\u0001\xC3\xA9");
    swamp__buf_text(&host, "\",\"initiatedBy\":\"me\"}");
    build_within(16 * 1024);
    assert_has("\"id\":\"r1\"");
    assert_has("\"initiatedBy\":\"me\"");
    assert_has("\"status\":\"succeeded\"");
    assert_lacks("noise");

    swamp__buf_clear(&out);
    ck_assert_int_eq(swamp__run_build(&out, &owned, host.data, host.len, 100), SWAMP_E_TOO_BIG);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

/* At the limit nothing is lost, one byte below something is. */
START_TEST(limit_is_exact)
{
    make_jobs(1, 3, "failed", "x", 500);
    build_within(MAX);
    size_t full = out.len;
    build_within(full);
    ck_assert_uint_eq(out.len, full);
    build_within(full - 1);
    ck_assert_uint_eq(length_of_first_error(), 100);
}
END_TEST

START_TEST(whatever_the_limit_the_result_fits_and_is_json)
{
    make_jobs(20, 20, "succeeded", "\xC3\xA9\\\"", 600);
    for (size_t max = 1024; max < 200000; max += max / 7)
        build_within(max);
}
END_TEST

static const char running_run[] =
    "{\"id\":\"r1\",\"workflowId\":\"wid\",\"workflowName\":\"w\",\"status\":\"running\",\"jobs\":["
    "{\"name\":\"a\",\"status\":\"succeeded\",\"steps\":[{\"name\":\"s\",\"status\":\"succeeded\"}]},"
    "{\"name\":\"b\",\"status\":\"running\",\"steps\":[{\"name\":\"s\",\"status\":\"running\",\"duration\":1."
    "0},"
    "{\"name\":\"t\",\"status\":\"pending\"}],\"stepsOmitted\":4},"
    "{\"name\":\"c\",\"status\":\"pending\",\"steps\":[{\"name\":\"s\",\"status\":\"pending\"}]},"
    "{\"steps\":[{\"status\":\"failed\"},{\"status\":\"pending\"}],\"status\":\"pending\",\"name\":\"d\"}],"
    "\"startedAt\":\"" STARTED "\",\"instanceId\":\"i1\",\"counter\":18446744073709551615}";

START_TEST(run_of_a_dead_owner_ends_as_failed)
{
    ck_assert_int_eq(swamp__run_end_for_dead(&out, running_run, strlen(running_run), "failed",
                                             "instance_dead", 1796205660000, MAX),
                     SWAMP_OK);
    ck_assert_str_eq(
        out.data,
        "{\"id\":\"r1\",\"workflowId\":\"wid\",\"workflowName\":\"w\",\"status\":\"failed\",\"jobs\":["
        "{\"name\":\"a\",\"status\":\"succeeded\",\"steps\":[{\"name\":\"s\",\"status\":\"succeeded\"}]},"
        "{\"name\":\"b\",\"status\":\"failed\",\"steps\":[{\"name\":\"s\",\"status\":\"failed\",\"duration\":"
        "1.0},"
        "{\"name\":\"t\",\"status\":\"skipped\"}],\"stepsOmitted\":4},"
        "{\"name\":\"c\",\"status\":\"skipped\",\"steps\":[{\"name\":\"s\",\"status\":\"skipped\"}]},"
        "{\"steps\":[{\"status\":\"failed\"},{\"status\":\"skipped\"}],\"status\":\"failed\",\"name\":\"d\"}]"
        ","
        "\"duration\":60000,\"startedAt\":\"" STARTED "\",\"finishedAt\":\"2026-12-02T10:01:00.000Z\","
        "\"instanceId\":\"i1\",\"interruptReason\":\"instance_dead\",\"counter\":18446744073709551615}");
}
END_TEST

START_TEST(shrinking_twice_adds_the_omitted_steps_up)
{
    swamp__buf_text(&host,
                    "{\"jobs\":[{\"name\":\"j\",\"status\":\"running\",\"stepsOmitted\":10,\"steps\":[");
    for (int i = 0; i < 100; i++)
        swamp__buf_text(&host, i ? ",{\"name\":\"s\",\"status\":\"succeeded\"}"
                                 : "{\"name\":\"s\",\"status\":\"succeeded\"}");
    swamp__buf_text(&host, "]}]}");
    ck_assert_int_eq(
        swamp__run_end_for_dead(&out, host.data, host.len, "failed", "instance_dead", 1796205660000, 1024),
        SWAMP_OK);
    assert_has("{\"name\":\"j\",\"status\":\"failed\",\"steps\":[],\"stepsOmitted\":110}");
}
END_TEST

/* Records come from other versions, and from other programs. */
START_TEST(odd_records_are_ended_all_the_same)
{
    static const char *const odd[] = {
        "{}",
        "{\"jobs\":null,\"startedAt\":7,\"status\":[]}",
        "{\"jobs\":[1,null,[],{\"status\":5,\"steps\":{}},{\"steps\":[7,{\"status\":{}},{\"error\":[]}]}]}",
        "{\"id\":1,\"id\":2,\"jobs\":[{\"name\":{\"status\":\"running\"},\"stepsOmitted\":-1e300,\"steps\":[]"
        "}]}",
        "{\"jobs\":[{\"status\":\"running\",\"steps\":[{\"status\":\"running\",\"error\":\"\\u0000\\ud800\"}]"
        "}]}",
    };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        swamp__json run;
        swamp__run_facts facts;
        for (size_t max = MAX; max > 200; max /= 4) {
            swamp__buf_clear(&out);
            int rc = swamp__run_end_for_dead(&out, odd[i], strlen(odd[i]), "failed", "instance_dead",
                                             1796205660000, max);
            ck_assert_msg(rc == SWAMP_OK, "%d for %s", rc, odd[i]);
            ck_assert_int_eq(swamp__json_check(out.data, out.len, 0, &run), SWAMP_OK);
            ck_assert_int_eq(swamp__run_read(out.data, out.len, &facts), SWAMP_OK);
            ck_assert_str_eq(facts.status, "failed");
            ck_assert_int_eq(facts.is_final, 1);
        }
    }
}
END_TEST

START_TEST(records_that_cannot_be_read_are_corrupt)
{
    static const char *const bad[] = {"", "{", "[]", "null", "{\"id\":\"r\"}}", "{\"id\":\"\xFF\"}"};
    swamp__run_facts facts;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(swamp__run_read(bad[i], strlen(bad[i]), &facts), SWAMP_E_CORRUPT);
        ck_assert_str_eq(facts.id, "");
        ck_assert_int_eq(
            swamp__run_end_for_dead(&out, bad[i], strlen(bad[i]), "failed", "instance_dead", 1, MAX),
            SWAMP_E_CORRUPT);
    }
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(facts_are_read_from_any_version)
{
    swamp__run_facts facts;
    ck_assert_int_eq(swamp__run_read(running_run, strlen(running_run), &facts), SWAMP_OK);
    ck_assert_str_eq(facts.id, "r1");
    ck_assert_str_eq(facts.status, "running");
    ck_assert_str_eq(facts.instance_id, "i1");
    ck_assert_str_eq(facts.workflow_id, "wid");
    ck_assert_str_eq(facts.workflow_name, "w");
    ck_assert_str_eq(facts.started_at, STARTED);
    ck_assert_str_eq(facts.finished_at, "");
    ck_assert_int_eq(facts.is_final, 0);
    ck_assert_int_eq(swamp__run_read("{\"status\":\"cancelled\",\"id\":{}}", 30, &facts), SWAMP_OK);
    ck_assert_str_eq(facts.id, "");
    ck_assert_int_eq(facts.is_final, 1);
    ck_assert_int_eq(swamp__run_status_is_final("suspended"), 0);
}
END_TEST

START_TEST(ten_megabytes_of_nesting_crash_nothing)
{
    size_t half = 5u << 20;
    char *text = calloc(1, 2 * half + 16);
    swamp__run_facts facts;
    size_t len;

    ck_assert_ptr_nonnull(text);
    len = (size_t)sprintf(text, "{\"jobs\":");
    memset(text + len, '[', half);
    memset(text + len + half, ']', half);
    len += 2 * half;
    text[len++] = '}';
    ck_assert_int_eq(swamp__run_read(text, len, &facts), SWAMP_OK);
    ck_assert_int_eq(swamp__run_end_for_dead(&out, text, len, "failed", "instance_dead", 1796205660000, MAX),
                     SWAMP_OK);
    assert_has("\"jobs\":[]");
    free(text);
}
END_TEST

START_TEST(each_failed_allocation_is_reported_and_leaves_nothing_behind)
{
    make_jobs(2, 3, "failed", "x", 2000);
    unsigned long n = 1;
    int rc;
    do {
        ck_assert_uint_lt(n, 200);
        swamp__buf_free(&out);
        swamp__alloc_fail_at(n++, 1);
        rc = swamp__run_build(&out, &owned, host.data, host.len, 2000);
        swamp__alloc_fail_at(0, 0);
        ck_assert_msg(rc == SWAMP_OK || rc == SWAMP_E_NOMEM, "%d at %lu", rc, n - 1);
    } while (rc != SWAMP_OK);
    ck_assert_uint_gt(n, 4);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("wire/document");
    TCase *c = tcase_create("document");
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, members_of_the_library_come_in_the_order_of_run);
    tcase_add_test(c, host_cannot_speak_for_the_library);
    tcase_add_test(c, host_names_its_workflow_and_keeps_its_members_byte_for_byte);
    tcase_add_test(c, no_duration_below_zero);
    tcase_add_test(c, host_json_that_is_no_object_is_refused);
    tcase_add_test(c, step_errors_are_cut_to_1_kib_between_characters);
    tcase_add_test(c, first_errors_shrink_to_100_bytes);
    tcase_add_test(c, then_succeeded_steps_are_dropped_and_counted);
    tcase_add_test(c, then_jobs_keep_name_and_status);
    tcase_add_test(c, then_no_job_is_kept);
    tcase_add_test(c, at_last_only_the_library_is_heard);
    tcase_add_test(c, limit_is_exact);
    tcase_add_test(c, whatever_the_limit_the_result_fits_and_is_json);
    tcase_add_test(c, run_of_a_dead_owner_ends_as_failed);
    tcase_add_test(c, shrinking_twice_adds_the_omitted_steps_up);
    tcase_add_test(c, odd_records_are_ended_all_the_same);
    tcase_add_test(c, records_that_cannot_be_read_are_corrupt);
    tcase_add_test(c, facts_are_read_from_any_version);
    tcase_add_test(c, ten_megabytes_of_nesting_crash_nothing);
    tcase_add_test(c, each_failed_allocation_is_reported_and_leaves_nothing_behind);
    suite_add_tcase(s, c);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
