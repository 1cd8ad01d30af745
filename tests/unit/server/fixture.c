/* One world with a memory store and a server in it, and the sentences that tests of server/ are made of. */
#include <stdarg.h>
#include "fixture.h"

fake_world *world;
swamp_store *store;
fake_server *server;
fake_peer *peer;
swamp__instance_options options;

static fake_server *others[4];
static size_t other_count;

void
advance(int64_t ms)
{
    fake_world_advance(world, ms);
}

static void
begin(swamp_store *with)
{
    if (!options.max_runs)
        fake_server_options(&options);
    world = fake_world_new(1);
    server = fake_server_new(world, with, &options);
    advance(50);
    ck_assert(server->ready);
    peer = fake_peer_new(server);
}

void
set_up(void)
{
    ck_assert_int_eq(swamp_store_memory_open(&store), SWAMP_OK);
    begin(store);
}

void
set_up_storeless(void)
{
    begin(NULL);
}

void
tear_down(void)
{
    if (peer)
        fake_peer_free(peer);
    while (other_count)
        fake_server_free(others[--other_count]);
    fake_server_free(server);
    fake_world_free(world);
    swamp_store_free(store);
    (void)stored(NULL);
    store = NULL;
    peer = NULL;
    memset(&options, 0, sizeof options);
}

TCase *
add_case(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    suite_add_tcase(suite, tests);
    return tests;
}

fake_server *
add_server(void)
{
    fake_server *other = fake_server_new(world, store, &options);
    others[other_count++] = other;
    advance(50);
    ck_assert(other->ready);
    return other;
}

void
send_start(fake_peer *to, const char *id)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"type\":\"workflow.run\",\"id\":\"%s\",\"payload\":{\"workflowIdOrName\":\"quick\"}}", id);
    fake_peer_send(to, text);
}

void
send_attach(fake_peer *to, const char *id, const char *run_id, uint64_t after_seq)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"type\":\"run.attach\",\"id\":\"%s\",\"payload\":{\"runId\":\"%s\",\"afterSeq\":%llu}}", id,
             run_id, (unsigned long long)after_seq);
    fake_peer_send(to, text);
}

void
send_plain(fake_peer *to, const char *type, const char *id)
{
    char text[256];
    snprintf(text, sizeof text, "{\"type\":\"%s\",\"id\":\"%s\"}", type, id);
    fake_peer_send(to, text);
}

swamp_run *
start_run(fake_peer *to, const char *id)
{
    size_t count = to->server->run_count;
    send_start(to, id);
    advance(10);
    ck_assert_uint_eq(to->server->run_count, count + 1);
    expect(to, "\"type\":\"run.accepted\"", id, NULL);
    return to->server->runs[count];
}

void
expect(fake_peer *from, const char *first, ...)
{
    const char *frame = fake_peer_wait(from, 1);
    va_list list;
    ck_assert_msg(frame != NULL, "no frame; expected %s", first);
    va_start(list, first);
    for (const char *part = first; part; part = va_arg(list, const char *))
        ck_assert_msg(strstr(frame, part) != NULL, "%s is not in %s", part, frame);
    va_end(list);
}

void
expect_event(fake_peer *from, const char *id, uint64_t seq)
{
    char begin_text[128], end_text[64];
    snprintf(begin_text, sizeof begin_text, "{\"type\":\"event\",\"id\":\"%s\",\"event\":{", id);
    snprintf(end_text, sizeof end_text, ",\"seq\":%llu}}", (unsigned long long)seq);
    expect(from, begin_text, end_text, NULL);
}

void
expect_nothing(fake_peer *from, int64_t ms)
{
    const char *frame = fake_peer_wait(from, ms);
    ck_assert_msg(frame == NULL, "unexpected: %s", frame);
}

char *
stored(const char *key)
{
    static swamp__buf value;
    swamp__buf_free(&value);
    swamp__buf_init(&value);
    if (!key || swamp__store_read(store, key, 1000, &value, NULL) != SWAMP_OK)
        return NULL;
    return value.data;
}

void
put_record(const char *key, const char *value)
{
    swamp_store_op op = {.key = key,
                         .value = value,
                         .value_len = value ? strlen(value) : 0,
                         .action = value ? SWAMP_STORE_PUT : SWAMP_STORE_REMOVE,
                         .condition = SWAMP_STORE_ANY};
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, NULL, NULL), SWAMP_OK);
}

void
put_foreign(const char *run_id)
{
    put_record(swamp__key_active_run(run_id).text,
               "{\"instanceId\":\"I2\",\"resourceName\":\"w\",\"runKind\":\"workflow-run\",\"startedAt\":"
               "\"2026-11-29T10:00:00.000Z\",\"principal\":\"anonymous\"}");
}

void
beat_foreign(void)
{
    static int beat;
    char value[400];
    snprintf(value, sizeof value,
             "{\"instanceId\":\"I2\",\"hostname\":\"h\",\"pid\":1,\"startedAt\":\"2026-11-29T10:00:00.000Z\","
             "\"heartbeatAt\":\"2026-11-29T10:00:00.000Z\",\"address\":\"ws://127.0.0.1:2\",\"beat\":%d,"
             "\"intervalMs\":10000,\"staleTtlMs\":30000}",
             ++beat);
    put_record(swamp__key_heartbeat("I2").text, value);
}
