/* One instance's runs in a fake world, for the tests of a run's life. */
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/store.h"
#include "life_fixture.h"
#include "log_reader.h"

fake_world *world;
fake_asker *asker;
swamp_store *store;
swamp__life life;
swamp_run *run;
swamp_run *host;
char trace[2048];
int fence_at_once;

static fake_node *node;

/* What the life tells. */

static void
note(const char *what, const char *more)
{
    size_t len = strlen(trace);
    snprintf(trace + len, sizeof(trace) - len, "%s%s%s; ", what, more ? " " : "", more ? more : "");
}

const char *
state(void)
{
    static const char *const names[] = {"?",        "ADMITTED", "RUNNING",  "FINISHING",
                                        "FINISHED", "LOST",     "CLEANING", "GONE"};
    return names[run->state];
}

static void
on_admitted(void *user, swamp_run *admitted, int status)
{
    (void)user;
    ck_assert_ptr_eq(admitted, run);
    note("admitted", status == SWAMP_OK ? state() : swamp_status_name(status));
}

static void
on_changed(void *user, swamp_run *changed)
{
    (void)user;
    (void)changed;
    note("changed", state());
}

static void
on_fenced(void *user)
{
    (void)user;
    note("fenced", NULL);
    if (fence_at_once)
        swamp__life_fence(&life);
}

static void
on_overdue(void *user, swamp_run *overdue)
{
    (void)user;
    (void)overdue;
    note("overdue", NULL);
}

static void
on_gone(void *user, swamp_run *gone)
{
    (void)user;
    (void)gone;
    note("gone", NULL);
}

static void
collect(void *user)
{
    (void)user;
    for (swamp_run *touched; (touched = swamp__registry_take(life.registry));) {
        swamp__life_visit(&life, touched);
        swamp__run_unref(touched);
    }
}

/* The world. */

static void
put(const char *key, const char *value)
{
    swamp_store_op op = {key, value, strlen(value), 0, SWAMP_STORE_PUT, SWAMP_STORE_ANY};
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT, NULL, NULL), SWAMP_OK);
}

static void
open_world(void)
{
    world = fake_world_new(7);
    node = fake_node_new(world);
    asker = fake_asker_new(node, store, store ? TIMEOUT : 0);
    node->collect = collect;
    run = host = NULL;
    trace[0] = '\0';
    fence_at_once = 1;
    life = (swamp__life){
        .world = &node->world,
        .asker = &asker->asker,
        .registry = swamp__registry_new(16u << 20, 100000, fake_node_wake, node),
        .instance_id = ME,
        .on = {on_admitted, on_changed, on_fenced, on_overdue, on_gone, NULL},
        .linger_ms = LINGER,
    };
    ck_assert_ptr_nonnull(life.registry);
}

void
open_with_store(void)
{
    ck_assert_int_eq(swamp_store_memory_open(&store), SWAMP_OK);
    open_world();
    put(KEY_HEARTBEAT, "{}");
}

void
open_without_store(void)
{
    store = NULL;
    open_world();
}

void
close_all(void)
{
    fake_asker_close(asker);
    fake_world_advance(world, 0);
    if (host && !host->host_done)
        swamp__run_finish(host, SWAMP_RUN_FAILED, NULL, 0, NULL, 0);
    swamp__registry_free(life.registry);
    swamp__run_unref(run);
    fake_world_free(world);
    swamp_store_free(store);
}

/* What happens in it. */

void
add_run(void)
{
    const swamp__run_new facts = {"workflow-run", "workflow.run", "user:x", "{}", 2, RUN};
    ck_assert_int_eq(swamp__registry_add(life.registry, &node->world, &facts, &run), SWAMP_OK);
    swamp__run_ref(run);
    ck_assert_int_eq(swamp__run_set_resource(run, NAME, WORKFLOW), SWAMP_OK);
    ck_assert_int_eq(swamp__run_set_json(run, "{\"jobs\":[]}", 11), SWAMP_OK);
    swamp__life_admit(&life, run);
    ck_assert_str_eq(trace, ""); /* never answered before it returns */
}

void
start(void)
{
    add_run();
    ms(0);
    ck_assert_trace("admitted RUNNING; ");
    swamp__life_started(&life, run);
    host = run;
}

void
ms(int64_t ms)
{
    fake_world_advance(world, ms);
}

void
emit(const char *json)
{
    pthread_mutex_lock(&run->lock); /* as if a viewer stood at the head */
    swamp__run_await(run);
    pthread_mutex_unlock(&run->lock);
    ck_assert_int_eq(swamp__run_emit(run, json, strlen(json)), SWAMP_OK);
}

int
finish(int status, const char *last, const char *json)
{
    return swamp__run_finish(run, status, last, last ? strlen(last) : 0, json, json ? strlen(json) : 0);
}

void
declare_dead(void)
{
    swamp_store_op op = swamp__op_remove(KEY_HEARTBEAT, SWAMP_STORE_PRESENT, 0);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT, NULL, NULL), SWAMP_OK);
}

void
reap(void)
{
    swamp_store_op op = swamp__op_remove(KEY_ACTIVE, SWAMP_STORE_PRESENT, 0);
    declare_dead();
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT, NULL, NULL), SWAMP_OK);
    put(KEY_RUN, "{\"status\":\"failed\",\"interruptReason\":\"instance_dead\"}");
}

static int
fail_get(void *user, const fake_call *call)
{
    (void)user;
    return call->what == FAKE_GET ? FAKE_ERROR : FAKE_FINE;
}

void
fail_reads(int fail)
{
    asker->watch = fail ? fail_get : NULL;
}

/* What came of it. */

const char *
events(void)
{
    static char text[4096];
    swamp__log_cursor cursor = {0};
    const char *event;
    size_t len, at = 0;
    uint64_t from, to;
    text[0] = '\0';
    while (read_log(run->log, &cursor, &event, &len, &from, &to) == SWAMP__LOG_EVENT) {
        ck_assert_uint_lt(at + len, sizeof(text));
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s", (int)len, event);
    }
    return text;
}

const char *
value_of(const char *key)
{
    static char text[4096];
    swamp__buf value;
    swamp__buf_init(&value);
    int rc = swamp__store_read(store, key, TIMEOUT, &value, NULL);
    ck_assert(rc == SWAMP_OK || rc == SWAMP_ABSENT);
    snprintf(text, sizeof(text), "%s", rc == SWAMP_OK ? value.data : "");
    swamp__buf_free(&value);
    return text;
}

int
has(const char *key)
{
    return *value_of(key) != '\0';
}

static int
count_key(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)value;
    (void)value_len;
    (void)revision;
    *(size_t *)user += strcmp(key, KEY_HEARTBEAT) != 0;
    return 0;
}

size_t
count_keys(void)
{
    size_t count = 0;
    int rc = swamp_store_list(store, "", NULL, 1000, SWAMP_STORE_KEYS_ONLY, TIMEOUT, count_key, &count);
    ck_assert_int_eq(rc, SWAMP_OK);
    return count;
}
