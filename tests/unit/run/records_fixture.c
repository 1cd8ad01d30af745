/* Records in a memory store, and a second way into it where calls fail or are preceded by somebody else's. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/store.h"
#include "../../support/fake_world.h"
#include "records_fixture.h"

swamp_store *real, *store;

static fake_world *world;
static fake_asker *asker;
static swamp__buf text;

static struct {
    unsigned calls;
    unsigned hook_at, fail_at, fail_from;
    int fault;
    void (*hook)(void);
} plan;

static int
watch_call(void *user, const fake_call *call)
{
    unsigned n = ++plan.calls;
    if (n == plan.hook_at)
        plan.hook();
    return n == plan.fail_at || (plan.fail_from && n >= plan.fail_from) ? plan.fault : FAKE_FINE;
}

void
records_open(void)
{
    world = fake_world_new(1);
    ck_assert_int_eq(swamp_store_memory_open(&real), SWAMP_OK);
    asker = fake_asker_new(fake_node_new(world), real, 1000);
    asker->watch = watch_call;
    store = asker->store;
    swamp__buf_init(&text);
    memset(&plan, 0, sizeof plan);
}

void
records_close(void)
{
    fake_world_free(world);
    swamp_store_free(real);
    swamp__buf_free(&text);
}

void
before_call(unsigned n, void (*hook)(void))
{
    memset(&plan, 0, sizeof plan);
    plan.hook_at = n;
    plan.hook = hook;
}

void
fail_call(unsigned n, int fault)
{
    memset(&plan, 0, sizeof plan);
    plan.fail_at = n;
    plan.fault = fault;
}

void
fail_from(unsigned n, int fault)
{
    memset(&plan, 0, sizeof plan);
    plan.fail_from = n;
    plan.fault = fault;
}

unsigned
calls_made(void)
{
    return plan.calls;
}

size_t
commits_made(void)
{
    return asker->commits;
}

size_t
records_listed(void)
{
    return asker->given;
}

unsigned
warnings_logged(void)
{
    return world->lines[SWAMP_LOG_WARN];
}

const char *
last_warning(void)
{
    return world->last_line;
}

void
put_bytes(const char *key, const void *value, size_t len)
{
    swamp_store_op op = {
        .key = key,
        .value = value,
        .value_len = len,
        .action = SWAMP_STORE_PUT,
        .condition = SWAMP_STORE_ANY,
    };
    ck_assert_int_eq(swamp_store_commit(real, &op, 1, 1000, NULL, NULL), SWAMP_OK);
}

void
put_record(const char *key, const char *value)
{
    put_bytes(key, value, strlen(value));
}

void
put_deep_record(const char *key, const char *members)
{
    enum { DEPTH = 1000 };
    char value[4096], opened[DEPTH], closed[DEPTH];
    memset(opened, '[', DEPTH);
    memset(closed, ']', DEPTH);
    snprintf(value, sizeof value, "{%s,\"deep\":%.*s%.*s}", members, DEPTH, opened, DEPTH, closed);
    put_record(key, value);
}

void
remove_record(const char *key)
{
    swamp_store_op op = swamp__op_remove(key, SWAMP_STORE_PRESENT, 0);
    ck_assert_int_eq(swamp_store_commit(real, &op, 1, 1000, NULL, NULL), SWAMP_OK);
}

uint64_t
record_revision(const char *key)
{
    uint64_t revision = 0;
    return swamp__store_read(real, key, 1000, &text, &revision) == SWAMP_OK ? revision : 0;
}

int
has_record(const char *key)
{
    return record_revision(key) != 0;
}

const char *
record_text(const char *key)
{
    return record_revision(key) ? text.data : "";
}

static int
count_key(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    ++*(size_t *)user;
    return 0;
}

size_t
count_records(const char *key_prefix)
{
    size_t count = 0;
    ck_assert_int_eq(
        swamp_store_list(real, key_prefix, NULL, 100000, SWAMP_STORE_KEYS_ONLY, 1000, count_key, &count),
        SWAMP_OK);
    return count;
}

void
put_heartbeat(const char *instance_id)
{
    char key[128], value[512];
    snprintf(key, sizeof key, "heartbeats/%s", instance_id);
    snprintf(
        value, sizeof value,
        "{\"instanceId\":\"%s\",\"hostname\":\"host-of-%s\",\"pid\":42,\"startedAt\":\"2026-11-29T09:00:00."
        "000Z\","
        "\"heartbeatAt\":\"2026-11-29T10:00:05.000Z\",\"beat\":1,\"intervalMs\":10000,\"staleTtlMs\":30000}",
        instance_id, instance_id);
    put_record(key, value);
}

static void
put_index(const char *run_id, const char *workflow)
{
    char key[256];
    snprintf(key, sizeof key, "workflow-runs/id-of-%s/%s", workflow, run_id);
    put_record(key, "{}");
    snprintf(key, sizeof key, "workflow-names/%s/%s", workflow, run_id);
    put_record(key, "{}");
}

void
put_active_run(const char *run_id, const char *instance_id, const char *workflow)
{
    char key[256], value[1024];
    snprintf(key, sizeof key, "active-runs/%s", run_id);
    snprintf(value, sizeof value,
             "{\"instanceId\":\"%s\",\"resourceName\":\"%s\",\"runKind\":\"workflow-run\","
             "\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"principal\":\"user:x\"}",
             instance_id, workflow);
    put_record(key, value);
    snprintf(key, sizeof key, "instance-runs/%s/%s", instance_id, run_id);
    put_record(key, "{}");
    snprintf(key, sizeof key, "runs/%s", run_id);
    snprintf(value, sizeof value,
             "{\"id\":\"%s\",\"workflowId\":\"id-of-%s\",\"workflowName\":\"%s\",\"status\":\"running\","
             "\"jobs\":[{\"name\":\"j\",\"status\":\"running\",\"steps\":[{\"name\":\"s\",\"status\":"
             "\"running\"}]}],"
             "\"initiatedBy\":\"user:x\",\"startedAt\":\"2026-11-29T10:00:00.000Z\",\"instanceId\":\"%s\"}",
             run_id, workflow, workflow, instance_id);
    put_record(key, value);
    put_index(run_id, workflow);
}

void
put_final_run(const char *run_id, const char *instance_id, const char *workflow, const char *status,
              const char *times)
{
    char key[256], value[1024];
    snprintf(key, sizeof key, "runs/%s", run_id);
    snprintf(
        value, sizeof value,
        "{\"id\":\"%s\",\"workflowId\":\"id-of-%s\",\"workflowName\":\"%s\",\"status\":\"%s\",\"jobs\":[],"
        "\"initiatedBy\":\"user:y\"%s%s,\"instanceId\":\"%s\"}",
        run_id, workflow, workflow, status, *times ? "," : "", times, instance_id);
    put_record(key, value);
    put_index(run_id, workflow);
}
