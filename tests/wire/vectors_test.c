/* The common vectors (tests/vectors) through a real instance and connection, with frames parsed from its bytes. */
#include <cjson/cJSON.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../../libswamp/store/keys.h"
#include "../support/fake_server.h"
#include "tap.h"

#define VECTOR_RUN "0192f3a0-0000-7000-8000-000000000001"
#define VECTOR_TIME "2026-11-29T10:00:00.000Z"

enum { ATTACH_MEMORY, ATTACH_SQLITE, REQUESTS };

static cJSON *documents[2];   /* attach.json, requests.json */
static const cJSON *files[2]; /* their cases */

static cJSON *
read_vectors(const char *name)
{
    char path[4096];
    const char *root = getenv("SWAMP_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/vectors/%s", root ? root : ".", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        abort();
    char *text = calloc(1, 1 << 20);
    size_t len = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    cJSON *json = cJSON_ParseWithLength(text, len);
    free(text);
    if (!json)
        abort();
    return json;
}

static const cJSON *
member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *
text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(member(object, name));
}

/* "Only the members shown are compared." */
static int
matches(const cJSON *expected, const cJSON *got)
{
    if (!got || (expected->type & 0xff) != (got->type & 0xff))
        return 0;
    if (!cJSON_IsObject(expected))
        return cJSON_Compare(expected, got, 1);
    for (const cJSON *child = expected->child; child; child = child->next)
        if (!matches(child, member(got, child->string)))
            return 0;
    return 1;
}

/* The world of one case. */

static fake_world *world;
static fake_server *server;
static swamp_store *store;
static fake_peer *peer;
static char folder[] = "/tmp/swamp-vectors-XXXXXX";
static char run_id[64], started_at[64], epoch[64]; /* what stands for the vector's own */

static void
open_store(int kind)
{
    if (kind != ATTACH_SQLITE) {
        ck_assert_int_eq(swamp_store_memory_open(&store), SWAMP_OK);
        return;
    }
    char path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/store.db", folder);
    ck_assert_int_eq(swamp_store_sqlite_open(&store, path, NULL, NULL), SWAMP_OK);
}

static void
tear_down(int kind)
{
    fake_peer_free(peer);
    fake_server_free(server);
    fake_world_free(world);
    swamp_store_free(store);
    if (kind == ATTACH_SQLITE) {
        char command[160];
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        ck_assert_int_eq(system(command), 0);
    }
}

static uint64_t
put(const char *key, const char *value)
{
    swamp_store_op op = {.key = key,
                         .value = value,
                         .value_len = value ? strlen(value) : 0,
                         .action = value ? SWAMP_STORE_PUT : SWAMP_STORE_REMOVE,
                         .condition = SWAMP_STORE_ANY};
    uint64_t revision = 0;
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 5000, &revision, NULL), SWAMP_OK);
    return revision;
}

static void
put_json(const char *key, const cJSON *value)
{
    char *text = cJSON_IsNull(value) ? NULL : cJSON_PrintUnformatted(value);
    put(key, text);
    free(text);
}

/* Each time with other bytes: a change. */
static uint64_t
put_heartbeat(const cJSON *heartbeat)
{
    static int beat;
    char value[512];
    const char *raw = text_of(heartbeat, "raw"), *owner = text_of(heartbeat, "instanceId");
    snprintf(value, sizeof value,
             "{\"instanceId\":\"%s\",\"hostname\":\"h\",\"pid\":1,\"startedAt\":\"" VECTOR_TIME
             "\",\"heartbeatAt\":\"" VECTOR_TIME "\",\"address\":\"ws://"
             "127.0.0.1:2\",\"beat\":%d,\"intervalMs\":10000,\"staleTtlMs\":30000,\"local\":%s}",
             owner ? owner : "I2", ++beat, cJSON_IsTrue(member(heartbeat, "local")) ? "true" : "false");
    return put(swamp__key_heartbeat(owner ? owner : "I2").text, raw ? raw : value);
}

static const swamp__watch *
watch_of(const char *owner)
{
    return swamp__membership_find(&server->instance->membership, owner);
}

static uint64_t wanted_revision;

static int
has_seen_revision(void *user)
{
    (void)user;
    const swamp__watch *watch = watch_of("I2");
    return watch && watch->revision == wanted_revision;
}

/* Lets this instance see the owner's record change, then stand still for unchangedMs. */
static void
watch_owner(const cJSON *heartbeat)
{
    const cJSON *unchanged = member(heartbeat, "unchangedMs");
    wanted_revision = put_heartbeat(heartbeat);
    if (!cJSON_IsNumber(unchanged))
        return; /* first sight */
    ck_assert(fake_world_until(world, 20000, has_seen_revision, NULL));
    wanted_revision = put_heartbeat(heartbeat);
    ck_assert(fake_world_until(world, 20000, has_seen_revision, NULL));
    fake_world_advance(world, watch_of("I2")->since_ms + unchanged->valueint - world->now_ms);
}

static const cJSON *late_change;
static int first_read_done;

static void
put_records(const cJSON *records)
{
    if (member(records, "active"))
        put_json(swamp__key_active_run(VECTOR_RUN).text, member(records, "active"));
    if (member(records, "activeRaw"))
        put(swamp__key_active_run(VECTOR_RUN).text, text_of(records, "activeRaw"));
    if (member(records, "history"))
        put_json(swamp__key_run(VECTOR_RUN).text, member(records, "history"));
    const cJSON *owner;
    cJSON_ArrayForEach(owner, member(records, "instanceRuns"))
        put(swamp__key_instance_run(owner->valuestring, VECTOR_RUN).text, "{}");
}

static int
change_after_first_read(void *user, const fake_call *call)
{
    (void)user;
    if (first_read_done && late_change) {
        put_records(late_change);
        late_change = NULL;
    }
    if (call->what == FAKE_GET && strcmp(call->key, swamp__key_active_run(VECTOR_RUN).text) == 0)
        first_read_done = 1;
    return FAKE_FINE;
}

static void
make_registry(const cJSON *registry)
{
    size_t head = (size_t)member(registry, "headSeq")->valueint;
    const char *state = text_of(registry, "state");
    int ends = strcmp(state, "running") != 0;
    fake_peer_send(peer,
                   "{\"type\":\"workflow.run\",\"id\":\"s\",\"payload\":{\"workflowIdOrName\":\"quick\"}}");
    fake_world_advance(world, 20);
    ck_assert_uint_eq(server->run_count, 1);
    const swamp_run *run = server->runs[0];
    snprintf(run_id, sizeof run_id, "%s", run->id);
    snprintf(started_at, sizeof started_at, "%s", run->started_at);
    snprintf(epoch, sizeof epoch, "%s", run->epoch);
    fake_server_emit(server, 0, head - (size_t)ends);
    if (ends)
        fake_server_finish(server, 0, strcmp(state, "failed") == 0 ? SWAMP_RUN_FAILED : SWAMP_RUN_SUCCEEDED);
    fake_world_advance(world, 20);
    while (fake_peer_next(peer))
        ;
}

static void
make_server(const cJSON *given)
{
    const cJSON *registry = member(given, "registry");
    swamp__instance_options options;
    fake_server_options(&options);
    if (registry && member(registry, "firstSeq")->valueint > 1)
        options.run_log_events =
            (size_t)(member(registry, "headSeq")->valueint - member(registry, "firstSeq")->valueint + 1);
    server = fake_server_new(world, cJSON_IsNull(member(given, "store")) ? NULL : store, &options);
    fake_world_advance(world, 100);
    ck_assert(server->ready);
    peer = fake_peer_new(server);
}

static void
make_world(const cJSON *given)
{
    const cJSON *records = member(given, "store");
    snprintf(run_id, sizeof run_id, VECTOR_RUN);
    snprintf(started_at, sizeof started_at, VECTOR_TIME);
    snprintf(epoch, sizeof epoch, "e1");
    late_change = NULL;
    first_read_done = 0;
    make_server(given);
    if (member(given, "registry"))
        make_registry(member(given, "registry"));
    if (cJSON_IsString(records))
        server->questions->down = strcmp(records->valuestring, "hang") == 0 ? FAKE_TIMEOUT : FAKE_ERROR;
    if (cJSON_IsObject(records)) {
        if (member(records, "heartbeat"))
            watch_owner(member(records, "heartbeat"));
        put_records(records);
        late_change = member(records, "after_first_read");
        server->questions->watch = change_after_first_read;
    }
}

/* The vector's text with this world's run id, start and epoch in it. */
static char *
substitute(const cJSON *json)
{
    const char *const pairs[][2] = {{VECTOR_RUN, run_id}, {VECTOR_TIME, started_at}, {"\"e1\"", epoch}};
    char *text = cJSON_PrintUnformatted(json);
    char quoted[80];
    snprintf(quoted, sizeof quoted, "\"%s\"", epoch);
    for (size_t i = 0; i < 3; i++) {
        const char *with = i == 2 ? quoted : pairs[i][1];
        char *next = calloc(1, strlen(text) + 4096), *out = next;
        for (const char *at = text; *at;) {
            size_t len = strlen(pairs[i][0]);
            if (strncmp(at, pairs[i][0], len) == 0) {
                out += sprintf(out, "%s", with);
                at += len;
            } else {
                *out++ = *at++;
            }
        }
        free(text);
        text = next;
    }
    return text;
}

static void
expect_frame(const char *name, const cJSON *expected, const char *frame)
{
    char *text = substitute(expected);
    cJSON *wanted = cJSON_Parse(text), *got = frame ? cJSON_Parse(frame) : NULL;
    ck_assert_msg(matches(wanted, got), "%s: expected %s, got %s", name, text, frame ? frame : "nothing");
    cJSON_Delete(wanted);
    cJSON_Delete(got);
    free(text);
}

static void
make_later(const char *name, const char *what, const cJSON *given)
{
    const cJSON *heartbeat = member(member(given, "store"), "heartbeat");
    if (strcmp(what, "the owner's record changes") == 0)
        put_heartbeat(heartbeat);
    else if (strcmp(what, "another instance removes the heartbeat") == 0)
        put(swamp__key_heartbeat("I2").text, NULL);
    else if (strcmp(what, "30,001 ms without a change") == 0)
        fake_world_advance(world, watch_of("I2")->since_ms + 30001 - world->now_ms);
    else
        ck_abort_msg("%s: unknown event: %s", name, what);
}

static void
run_attach(const cJSON *vector)
{
    const char *name = text_of(vector, "name");
    make_world(member(vector, "given"));
    char *send = substitute(member(vector, "send"));
    fake_peer_send(peer, send);
    free(send);
    int64_t patience_ms = 20;
    const cJSON *expected;
    cJSON_ArrayForEach(expected, member(vector, "expect"))
    {
        if (cJSON_IsString(expected)) {
            const char *frame = fake_peer_wait(peer, patience_ms);
            ck_assert_msg(!frame, "%s: not withheld: %s", name, frame);
        } else if (member(expected, "later")) {
            make_later(name, text_of(expected, "later"), member(vector, "given"));
            patience_ms = 5000; /* one pulse */
        } else {
            expect_frame(name, expected, fake_peer_wait(peer, patience_ms));
        }
    }
    const char *more = fake_peer_wait(peer, 20);
    ck_assert_msg(!more, "%s: one frame too many: %s", name, more);
}

/* requests.json */

static size_t
decode_hex(const char *hex, char *out)
{
    size_t len = strlen(hex) / 2;
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        out[i] = (char)byte;
    }
    return len;
}

static void
send_vector(const cJSON *vector)
{
    static char bytes[1 << 16];
    const cJSON *fragment;
    size_t len = 0;
    int binary = member(vector, "send_binary") != NULL;
    const char *text = text_of(vector, binary ? "send_binary" : "send_raw"),
               *hex = text_of(vector, "send_hex");
    if (hex)
        len = decode_hex(hex, bytes);
    else if (text)
        memcpy(bytes, text, len = strlen(text));
    cJSON_ArrayForEach(fragment, member(vector, "send_fragments")) /* put together by the network's side */
    {
        memcpy(bytes + len, fragment->valuestring, strlen(fragment->valuestring));
        len += strlen(fragment->valuestring);
    }
    swamp__conn_message(peer->conn, bytes, len, binary);
}

static void
run_request(const cJSON *vector)
{
    const char *name = text_of(vector, "name");
    snprintf(epoch, sizeof epoch, "e1");
    snprintf(run_id, sizeof run_id, VECTOR_RUN);
    snprintf(started_at, sizeof started_at, VECTOR_TIME);
    make_server(vector);
    send_vector(vector);
    const cJSON *expected = member(vector, "expect");
    if (!expected)
        expected = cJSON_GetArrayItem(member(vector, "expect_either"), 0);
    fake_world_advance(world, 50);
    const char *frame = fake_peer_next(peer);
    if (cJSON_IsNull(expected))
        ck_assert_msg(!frame, "%s: answered: %s", name, frame);
    else
        expect_frame(name, expected, frame);
    while (fake_peer_next(peer))
        ;
    fake_peer_send(peer, "{\"type\":\"server.version\",\"id\":\"still\"}");
    frame = fake_peer_wait(peer, 50);
    ck_assert_msg(frame && strstr(frame, "\"id\":\"still\""), "%s: the connection is gone: %s", name, frame);
    ck_assert_ptr_nonnull(strstr(frame, "\"version\":\"1.2.3\""));
}

static void
run_vector(int kind, int index)
{
    const cJSON *vector = cJSON_GetArrayItem(files[kind == REQUESTS], index);
    world = fake_world_new((uint64_t)index + 1);
    open_store(kind);
    if (kind == REQUESTS)
        run_request(vector);
    else
        run_attach(vector);
    tear_down(kind);
}

START_TEST(attach_over_memory)
{
    run_vector(ATTACH_MEMORY, _i);
}
END_TEST

START_TEST(attach_over_sqlite)
{
    run_vector(ATTACH_SQLITE, _i);
}
END_TEST

START_TEST(requests)
{
    run_vector(REQUESTS, _i);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("vectors");
    TCase *tests = tcase_create("vectors");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, attach_over_memory, 0, cJSON_GetArraySize(files[0]));
    tcase_add_loop_test(tests, attach_over_sqlite, 0, cJSON_GetArraySize(files[0]));
    tcase_add_loop_test(tests, requests, 0, cJSON_GetArraySize(files[1]));
    suite_add_tcase(suite, tests);
    return suite;
}

int
main(void)
{
    documents[0] = read_vectors("attach.json");
    documents[1] = read_vectors("requests.json");
    for (int i = 0; i < 2; i++)
        files[i] = member(documents[i], "cases");
    int rc = tap_main(suite());
    cJSON_Delete(documents[0]);
    cJSON_Delete(documents[1]);
    return rc;
}
