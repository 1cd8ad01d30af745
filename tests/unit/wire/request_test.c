/* Requests (PROTOCOL 2): the common vectors as far as reading alone decides them, then each rule of the table. */
#include <cjson/cJSON.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include <time.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/request.h"
#include "tap.h"

static swamp__request request;
static const char *message;

static int
read_text(const char *text)
{
    message = NULL;
    return swamp__request_read(text, strlen(text), &request, &message);
}

/* Every refusal is one line of at most 200 characters. */
static void
assert_refused(const char *text, const char *id)
{
    ck_assert_msg(read_text(text) == SWAMP_E_INVALID, "accepted: %.200s", text);
    ck_assert_str_eq(request.id, id);
    ck_assert_ptr_nonnull(message);
    ck_assert_uint_le(strlen(message), SWAMP__ERROR_MESSAGE_MAX);
    ck_assert_ptr_null(strpbrk(message, "\r\n"));
}

static void
assert_accepted(const char *text)
{
    int rc = read_text(text);
    ck_assert_msg(rc == SWAMP_OK, "%d %s: %.200s", rc, message ? message : "", text);
}

static char *
read_file(const char *name)
{
    char path[4096];
    const char *root = getenv("SWAMP_SOURCE_ROOT");
    snprintf(path, sizeof(path), "%s/tests/vectors/%s", root ? root : ".", name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    char *text = calloc(1, 1 << 20);
    ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, file), 0);
    fclose(file);
    return text;
}

static const char *
text_member(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* The bytes of a case; NULL: not decided by reading (a binary message). */
static char *
bytes_of_case(const cJSON *vector, size_t *len)
{
    const char *raw = text_member(vector, "send_raw"), *hex = text_member(vector, "send_hex");
    const cJSON *fragments = cJSON_GetObjectItemCaseSensitive(vector, "send_fragments"), *fragment;
    char *text = calloc(1, 1 << 20);

    *len = 0;
    if (raw) {
        *len = strlen(raw);
        memcpy(text, raw, *len);
    } else if (hex) {
        for (; hex[0] && hex[1]; hex += 2) {
            unsigned byte;
            ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
            text[(*len)++] = (char)byte;
        }
    } else if (fragments) {
        cJSON_ArrayForEach(fragment, fragments) strcat(text, fragment->valuestring);
        *len = strlen(text);
    } else {
        free(text);
        return NULL;
    }
    return text;
}

static int
check_vector(const cJSON *vector)
{
    const char *name = text_member(vector, "name");
    const cJSON *expect = cJSON_GetObjectItemCaseSensitive(vector, "expect");
    size_t len;
    char *text = bytes_of_case(vector, &len);

    if (!text)
        return 0;
    if (!expect)
        expect = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(vector, "expect_either"), 0);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(expect, "error");
    const char *code = text_member(error, "code"), *id = text_member(expect, "id");

    int rc = swamp__request_read(text, len, &request, &message);
    if (code && strcmp(code, "invalid_request") == 0)
        ck_assert_msg(rc == SWAMP_E_INVALID, "%s: read as %d", name, rc);
    else
        ck_assert_msg(rc == SWAMP_OK, "%s: read as %d, %s", name, rc, message);
    if (id)
        ck_assert_msg(strcmp(request.id, id) == 0, "%s: id %s", name, request.id);
    free(text);
    return 1;
}

START_TEST(every_vector_that_reading_decides)
{
    char *text = read_file("requests.json");
    cJSON *file = cJSON_Parse(text), *vector;
    int checked = 0;

    ck_assert_ptr_nonnull(file);
    cJSON_ArrayForEach(vector, cJSON_GetObjectItemCaseSensitive(file, "cases")) checked +=
        check_vector(vector);
    ck_assert_int_ge(checked, 45);
    cJSON_Delete(file);
    free(text);
}
END_TEST

START_TEST(answered_under_unknown_without_an_id_to_trust)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "{\"id\":\"x\",}",
        "{\"type\":\"server.version\",\"id\":\"x\"}x",
        "\xEF\xBB\xBF{\"type\":\"server.version\",\"id\":\"x\"}",
        "{\"type\":\"server.version\",\"id\":\"\xFF\"}",
        "{\"type\":\"server.version\",\"id\":\"x\",\"type\":\"server.version\"}",
        "{\"type\":\"server.version\",\"id\":\"x\",\"\\u0069d\":\"y\"}",
        "{\"type\":\"server.version\",\"id\":null}",
        "{\"type\":\"server.version\",\"id\":[\"x\"]}",
        "{\"type\":\"server.version\",\"ID\":\"x\"}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refused(texts[i], "unknown");
}
END_TEST

START_TEST(answered_under_its_id_whatever_else_is_wrong)
{
    assert_refused("{\"type\":\"server.version\",\"id\":\"x\",\"a\":{\"k\":1,\"k\":2}}", "x");
    assert_refused("{\"type\":\"server.version\",\"id\":\"x\",\"a\":1e400}", "x");
    assert_refused("{\"type\":\"server.version\",\"id\":\"x\",\"a\":\"\\u0000\"}", "x");
    assert_refused("{\"type\":\"server.version\",\"a\":\"\\udc00\",\"id\":\"x\"}", "x");
    assert_refused("{\"type\":null,\"id\":\"x\"}", "x");
    assert_refused("{\"type\":\"Server.version\",\"id\":\"x\"}", "x");
}
END_TEST

static void
assert_refusal_frame(const char *text, const char *start)
{
    swamp__buf out;
    swamp__json frame;

    ck_assert_int_eq(read_text(text), SWAMP_E_INVALID);
    swamp__buf_init(&out);
    swamp__request_put_refusal(&out, &request, message);
    ck_assert_int_eq(swamp__json_check(out.data, out.len, 0, &frame), SWAMP_OK);
    ck_assert_msg(strncmp(out.data, start, strlen(start)) == 0, "%.300s", out.data);
    swamp__buf_free(&out);
}

START_TEST(refusal_carries_the_id_as_it_was_written)
{
    char text[4096], start[4096], id[2001];

    assert_refusal_frame("{\"id\":\"a\\u0000b\",\"type\":\"cancel\"}",
                         "{\"type\":\"error\",\"id\":\"a\\u0000b\",\"error\":{\"code\":\"invalid_request\",");
    assert_refusal_frame("{\"id\":\"\\ud800\",\"type\":\"cancel\"}",
                         "{\"type\":\"error\",\"id\":\"\\ud800\",");
    assert_refusal_frame("{\"id\":7,\"type\":\"cancel\"}", "{\"type\":\"error\",\"id\":\"unknown\",");
    assert_refusal_frame("nonsense", "{\"type\":\"error\",\"id\":\"unknown\",");
    memset(id, 'i', sizeof(id) - 1);
    id[sizeof(id) - 1] = 0;
    snprintf(text, sizeof(text), "{\"id\":\"%s\",\"type\":\"cancel\"}", id);
    snprintf(start, sizeof(start), "{\"type\":\"error\",\"id\":\"%s\",", id);
    assert_refusal_frame(text, start);
}
END_TEST

/* 256 characters of four bytes each are an id; the limit counts characters. */
START_TEST(id_limit_counts_characters)
{
    char text[2048] = "{\"type\":\"cancel\",\"id\":\"";
    for (int i = 0; i < 256; i++)
        strcat(text, "\xF0\x9F\x98\x80");
    strcat(text, "\"}");
    assert_accepted(text);
    ck_assert_uint_eq(strlen(request.id), 1024);
}
END_TEST

START_TEST(each_type_is_known)
{
    static const struct {
        const char *payload, *text;
        int type;
    } all[] = {
        {"{\"workflowIdOrName\":\"w\"}", "workflow.run", SWAMP__REQ_WORKFLOW_RUN},
        {"{\"modelIdOrName\":\"m\",\"methodName\":\"f\"}", "model.method.run", SWAMP__REQ_METHOD_RUN},
        {"{\"runId\":\"r\"}", "run.attach", SWAMP__REQ_ATTACH},
        {"{}", "cancel", SWAMP__REQ_CANCEL},
        {"{\"runId\":\"r\"}", "run.cancel", SWAMP__REQ_RUN_CANCEL},
        {"{\"workflowIdOrName\":\"w\"}", "workflow.history.get", SWAMP__REQ_HISTORY_GET},
        {"{}", "workflow.search", SWAMP__REQ_SEARCH},
        {"{}", "run.history", SWAMP__REQ_RUN_HISTORY},
        {"{}", "cluster.instances", SWAMP__REQ_INSTANCES},
        {"{}", "server.version", SWAMP__REQ_VERSION},
    };
    char text[512];
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        snprintf(text, sizeof(text), "{\"payload\":%s,\"id\":\"x\",\"type\":\"%s\"}", all[i].payload,
                 all[i].text);
        assert_accepted(text);
        ck_assert_int_eq(request.type, all[i].type);
        ck_assert_str_eq(request.type_text, all[i].text);
        ck_assert_int_eq((int)request.payload.len, (int)strlen(all[i].payload));
    }
}
END_TEST

static const char *
with_payload(const char *type, const char *payload)
{
    static char text[8192];
    snprintf(text, sizeof(text), "{\"type\":\"%s\",\"id\":\"x\",\"payload\":%s}", type, payload);
    return text;
}

START_TEST(payload_members_of_a_wrong_type_are_refused)
{
    static const char *const bad[][2] = {
        {"workflow.run", "null"},
        {"workflow.run", "{\"workflowIdOrName\":\"\"}"},
        {"workflow.run", "{\"workflowIdOrName\":null}"},
        {"workflow.run", "{\"workflowIdOrName\":\"w\",\"inputs\":null}"},
        {"workflow.run", "{\"workflowIdOrName\":\"w\",\"inputs\":\"{}\"}"},
        {"workflow.run", "{\"workflowIdOrName\":\"w\",\"runtimeTags\":[]}"},
        {"workflow.run", "{\"workflowIdOrName\":\"w\",\"runtimeTags\":{\"a\":\"b\",\"c\":null}}"},
        {"model.method.run", "{\"modelIdOrName\":\"m\"}"},
        {"model.method.run", "{\"methodName\":\"f\"}"},
        {"model.method.run", "{\"modelIdOrName\":\"m\",\"methodName\":5}"},
        {"run.attach", "{\"runId\":5}"},
        {"run.attach", "{\"runId\":\"r\",\"afterSeq\":-0}"},
        {"run.attach", "{\"runId\":\"r\",\"afterSeq\":1.0}"},
        {"run.attach", "{\"runId\":\"r\",\"afterSeq\":1e2}"},
        {"run.attach", "{\"runId\":\"r\",\"afterSeq\":[1]}"},
        {"run.attach", "{\"runId\":\"r\",\"epoch\":null}"},
        {"run.attach", "{\"runId\":\"r\",\"epoch\":1}"},
        {"run.cancel", "{}"},
        {"run.cancel", "{\"runId\":\"r\",\"reason\":1}"},
        {"workflow.history.get", "{}"},
        {"workflow.search", "{\"query\":1}"},
        {"workflow.search", "[]"},
        {"run.history", "{\"active\":1}"},
        {"run.history", "{\"all\":\"true\"}"},
        {"run.history", "{\"limit\":0}"},
        {"run.history", "{\"limit\":-1}"},
        {"run.history", "{\"limit\":\"10\"}"},
        {"run.history", "{\"workflow\":7}"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_refused(with_payload(bad[i][0], bad[i][1]), "x");
}
END_TEST

START_TEST(values_arrive_in_their_places)
{
    assert_accepted(with_payload("run.attach", "{\"epoch\":\"e1\",\"afterSeq\":42,\"runId\":\"r\\u00e9\"}"));
    ck_assert_str_eq(request.run_id, "r\xC3\xA9");
    ck_assert_str_eq(request.epoch, "e1");
    ck_assert_int_eq(request.has_epoch, 1);
    ck_assert_uint_eq(request.after_seq, 42);

    assert_accepted(with_payload("workflow.run", "{\"work\\u0066lowIdOrName\":\"w\",\"verbose\":3,"
                                                 "\"runtimeTags\":{\"a\":\"b\"},\"traceparent\":\"00-ab\"}"));
    ck_assert_str_eq(request.name, "w");
    ck_assert_str_eq(request.traceparent, "00-ab");

    assert_accepted(
        with_payload("run.history", "{\"active\":true,\"all\":false,\"limit\":7,\"workflow\":\"w\"}"));
    ck_assert_int_eq(request.only_active, 1);
    ck_assert_int_eq(request.all, 0);
    ck_assert_uint_eq(request.limit, 7);
    ck_assert_str_eq(request.workflow, "w");

    assert_accepted(with_payload("workflow.search", "{\"query\":\"q\"}"));
    ck_assert_int_eq((int)request.query.len, 3);

    assert_accepted("{\"type\":\"run.history\",\"id\":\"x\"}");
    ck_assert_uint_eq(request.limit, SWAMP__HISTORY_LIMIT);
    assert_accepted(with_payload("run.history", "{\"limit\":5000}"));
    ck_assert_uint_eq(request.limit, SWAMP__HISTORY_LIMIT_MAX);
    assert_accepted(with_payload("server.version", "[1]"));
}
END_TEST

/* PROTOCOL 3: any other epoch, also an empty one, is a mismatch; only an absent one is not checked. */
START_TEST(epoch_that_cannot_be_ours_is_kept_as_present)
{
    char payload[600] = "{\"runId\":\"r\",\"epoch\":\"", *end = payload + strlen(payload);

    assert_accepted(with_payload("run.attach", "{\"runId\":\"r\"}"));
    ck_assert_int_eq(request.has_epoch, 0);
    assert_accepted(with_payload("run.attach", "{\"runId\":\"r\",\"epoch\":\"\"}"));
    ck_assert_int_eq(request.has_epoch, 1);
    memset(end, 'e', 300);
    strcpy(end + 300, "\"}");
    assert_accepted(with_payload("run.attach", payload));
    ck_assert_int_eq(request.has_epoch, 1);
    ck_assert_str_eq(request.epoch, "");
}
END_TEST

START_TEST(trace_context_never_fails_a_run)
{
    char payload[600] = "{\"workflowIdOrName\":\"w\",\"traceparent\":\"", *end = payload + strlen(payload);

    assert_accepted(with_payload("workflow.run", "{\"workflowIdOrName\":\"w\",\"traceparent\":7}"));
    ck_assert_str_eq(request.traceparent, "");
    memset(end, 't', 129);
    strcpy(end + 129, "\"}");
    assert_accepted(with_payload("workflow.run", payload));
    ck_assert_str_eq(request.traceparent, "");
}
END_TEST

START_TEST(long_reason_is_cut_between_characters)
{
    char payload[2000] = "{\"runId\":\"r\",\"reason\":\"x";
    for (int i = 0; i < 300; i++)
        strcat(payload, "\xE2\x82\xAC");
    strcat(payload, "\"}");
    assert_accepted(with_payload("run.cancel", payload));
    ck_assert_uint_eq(strlen(request.reason), 511); /* 1 + 170 * 3; the next would end at 514 */
}
END_TEST

START_TEST(name_of_1024_bytes_is_taken_and_1025_refused)
{
    char payload[1200] = "{\"workflowIdOrName\":\"", *end = payload + strlen(payload);
    memset(end, 'w', 1024);
    strcpy(end + 1024, "\"}");
    assert_accepted(with_payload("workflow.run", payload));
    strcpy(end + 1024, "w\"}");
    assert_refused(with_payload("workflow.run", payload), "x");
}
END_TEST

static double
cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/*
 * STYLE 6 asks for 20 ms in an optimised build; sanitizers cost up to twenty times as much, and a quadratic
 * check of so many keys took 1.4 s even without them.
 */
START_TEST(a_message_of_the_greatest_size_is_read_in_linear_time)
{
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__buf_text(&text, "{\"type\":\"workflow.run\",\"id\":\"x\",\"payload\":{\"workflowIdOrName\":\"w\","
                           "\"inputs\":{\"k\":0");
    for (int i = 0; text.len < SWAMP__MESSAGE_MAX - 40; i++) {
        swamp__buf_text(&text, ",\"k");
        swamp__buf_u64(&text, (uint64_t)i);
        swamp__buf_text(&text, "\":0");
    }
    swamp__buf_text(&text, "}}}");
    double before = cpu_ms();
    ck_assert_int_eq(swamp__request_read(text.data, text.len, &request, &message), SWAMP_OK);
    ck_assert_double_lt(cpu_ms() - before, 400 * tap_slowdown());
    swamp__buf_free(&text);
}
END_TEST

START_TEST(out_of_memory_is_told_apart_from_a_bad_request)
{
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__buf_text(&text, "{\"type\":\"cancel\",\"id\":\"x\",\"payload\":{");
    for (int i = 0; i < 2000; i++) {
        swamp__buf_text(&text, i ? ",\"" : "\"");
        swamp__buf_u64(&text, (uint64_t)i);
        swamp__buf_text(&text, "\":0");
    }
    swamp__buf_text(&text, "}}");
    swamp__alloc_fail_at(1, 1);
    int rc = swamp__request_read(text.data, text.len, &request, &message);
    swamp__alloc_fail_at(0, 0);
    ck_assert_int_eq(rc, SWAMP_E_NOMEM);
    swamp__buf_free(&text);
}
END_TEST

START_TEST(written_requests_are_exact)
{
    swamp__buf out;
    swamp__buf_init(&out);
    swamp__request_put(&out, "server.version", "i\"1", NULL, 0);
    ck_assert_str_eq(out.data, "{\"type\":\"server.version\",\"id\":\"i\\\"1\"}");
    swamp__buf_clear(&out);
    swamp__request_put(&out, "workflow.run", "x", "{\"a\":1}", 7);
    ck_assert_str_eq(out.data, "{\"type\":\"workflow.run\",\"id\":\"x\",\"payload\":{\"a\":1}}");
    swamp__buf_clear(&out);
    swamp__request_put_attach(&out, "x", "r", "e", 9007199254740991u);
    ck_assert_str_eq(out.data,
                     "{\"type\":\"run.attach\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"afterSeq\":"
                     "9007199254740991,\"epoch\":\"e\"}}");
    swamp__buf_clear(&out);
    swamp__request_put_attach(&out, "x", "r", "", 0);
    ck_assert_str_eq(out.data,
                     "{\"type\":\"run.attach\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"afterSeq\":0}}");
    swamp__buf_clear(&out);
    swamp__request_put_run_cancel(&out, "x", "r", "why");
    ck_assert_str_eq(
        out.data, "{\"type\":\"run.cancel\",\"id\":\"x\",\"payload\":{\"runId\":\"r\",\"reason\":\"why\"}}");
    swamp__buf_clear(&out);
    swamp__request_put_history_get(&out, "x", "r");
    ck_assert_str_eq(
        out.data,
        "{\"type\":\"workflow.history.get\",\"id\":\"x\",\"payload\":{\"workflowIdOrName\":\"r\"}}");
    assert_accepted(out.data);
    swamp__buf_free(&out);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("wire/request");
    TCase *c = tcase_create("request");
    tcase_add_test(c, every_vector_that_reading_decides);
    tcase_add_test(c, answered_under_unknown_without_an_id_to_trust);
    tcase_add_test(c, answered_under_its_id_whatever_else_is_wrong);
    tcase_add_test(c, refusal_carries_the_id_as_it_was_written);
    tcase_add_test(c, id_limit_counts_characters);
    tcase_add_test(c, each_type_is_known);
    tcase_add_test(c, payload_members_of_a_wrong_type_are_refused);
    tcase_add_test(c, values_arrive_in_their_places);
    tcase_add_test(c, epoch_that_cannot_be_ours_is_kept_as_present);
    tcase_add_test(c, trace_context_never_fails_a_run);
    tcase_add_test(c, long_reason_is_cut_between_characters);
    tcase_add_test(c, name_of_1024_bytes_is_taken_and_1025_refused);
    tcase_add_test(c, a_message_of_the_greatest_size_is_read_in_linear_time);
    tcase_add_test(c, out_of_memory_is_told_apart_from_a_bad_request);
    tcase_add_test(c, written_requests_are_exact);
    suite_add_tcase(s, c);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
