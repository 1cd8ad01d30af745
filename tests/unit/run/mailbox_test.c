/* The mailbox of a run: many threads emit, numbers have no holes, wake-ups coalesce, an end is posted once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/run/registry.h"
#include "../../../libswamp/util/alloc.h"
#include "fake_world.h"
#include "log_reader.h"
#include "tap.h"

static fake_world *world;
static fake_node *node;
static swamp__registry *registry;
static atomic_int wakes;

static void
count_wake(void *user)
{
    (void)user;
    atomic_fetch_add(&wakes, 1);
}

static void
set_up(void)
{
    world = fake_world_new(1);
    node = fake_node_new(world);
    registry = swamp__registry_new(16u << 20, 100000, count_wake, NULL);
    atomic_store(&wakes, 0);
}

static void
tear_down(void)
{
    swamp__registry_free(registry);
    fake_world_free(world);
}

static swamp_run *
add_run(const char *run_id, const char *principal)
{
    const swamp__run_new facts = {"workflow-run", "workflow.run", principal, "{}", 2, run_id};
    swamp_run *run = NULL;
    ck_assert_int_eq(swamp__registry_add(registry, &node->world, &facts, &run), SWAMP_OK);
    return run;
}

static int
emit(swamp_run *run, const char *json)
{
    return swamp__run_emit(run, json, strlen(json));
}

START_TEST(a_run_gets_its_facts)
{
    swamp_run *run = add_run("r1", "user:x"), *other = add_run("r2", "user:y");
    ck_assert_ptr_eq(swamp__registry_find(registry, "r1"), run);
    ck_assert_ptr_null(swamp__registry_find(registry, "r3"));
    ck_assert_int_eq(run->state, SWAMP__RUN_ADMITTED);
    ck_assert_uint_eq(strlen(run->epoch), 36);
    ck_assert_str_ne(run->epoch, other->epoch); /* fresh for each run */
    ck_assert_int_eq(run->started_at_unix_ms, world->now_ms + world->unix_offset_ms);
    ck_assert_str_eq(swamp__run_status_text(run), "running");
    ck_assert_uint_eq(registry->unfinished, 2);
    ck_assert_uint_eq(swamp__registry_count_principal(registry, "user:x"), 1);
    swamp__registry_remove(registry, run);
    ck_assert_uint_eq(registry->unfinished, 1);
    ck_assert_uint_eq(swamp__registry_count_principal(registry, "user:x"), 0);
}
END_TEST

START_TEST(emit_refuses)
{
    static const struct {
        const char *json;
        int rc;
    } cases[] = {
        {"{\"seq\":1}", SWAMP_E_INVALID},
        {"{\"a\":1,\"seq\":null}", SWAMP_E_INVALID},
        {"{\"\\u0073eq\":1}", SWAMP_E_INVALID}, /* the same name, written otherwise */
        {"[]", SWAMP_E_INVALID},
        {"1", SWAMP_E_INVALID},
        {"{\"a\":1", SWAMP_E_JSON},
        {"", SWAMP_E_JSON},
        {"{\"a\":1,\"a\":2}", SWAMP_E_RULES},
        {"{\"a\":{\"seq\":1}}", SWAMP_OK},
        {" {\"a\":\"seq\"} ", SWAMP_OK},
    };
    swamp_run *run = add_run("r1", "p");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(emit(run, cases[i].json) == cases[i].rc, "%s", cases[i].json);
    ck_assert_uint_eq(swamp__event_log_head(run->log), 2);
}
END_TEST

static char *
event_of_size(size_t len)
{
    char *json = malloc(len);
    memset(json, 'x', len);
    memcpy(json, "{\"a\":\"", 6);
    memcpy(json + len - 2, "\"}", 2);
    return json;
}

START_TEST(an_event_of_256_kib_and_one_byte_more)
{
    swamp_run *run = add_run("r1", "p");
    char *json = event_of_size(SWAMP__EVENT_MAX + 1);
    ck_assert_int_eq(swamp__run_emit(run, json, SWAMP__EVENT_MAX + 1), SWAMP_E_TOO_BIG);
    free(json);
    json = event_of_size(SWAMP__EVENT_MAX);
    ck_assert_int_eq(swamp__run_emit(run, json, SWAMP__EVENT_MAX), SWAMP_OK);
    free(json);
}
END_TEST

/* What a viewer does that has found nothing more. */
static void
await(swamp_run *run)
{
    pthread_mutex_lock(&run->lock);
    swamp__run_await(run);
    pthread_mutex_unlock(&run->lock);
}

START_TEST(wake_ups_coalesce_until_the_core_came)
{
    swamp_run *run = add_run("r1", "p"), *other = add_run("r2", "p");
    await(run);
    await(other);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(emit(run, "{}"), SWAMP_OK);
    ck_assert_int_eq(emit(other, "{}"), SWAMP_OK);
    ck_assert_int_eq(atomic_load(&wakes), 1);

    swamp_run *first = swamp__registry_take(registry), *second = swamp__registry_take(registry);
    ck_assert_ptr_eq(first, run);
    ck_assert_ptr_eq(second, other);
    ck_assert_ptr_null(swamp__registry_take(registry));
    swamp__run_unref(first);
    swamp__run_unref(second);

    ck_assert_int_eq(emit(run, "{}"), SWAMP_OK);
    ck_assert_int_eq(atomic_load(&wakes), 1); /* no viewer stands at the head: each comes by itself */
    await(run);
    ck_assert_int_eq(emit(run, "{}"), SWAMP_OK);
    ck_assert_int_eq(atomic_load(&wakes), 2);
}
END_TEST

START_TEST(events_that_nobody_awaits_wake_the_core_once_in_64_kib)
{
    swamp_run *run = add_run("r1", "p");
    for (int bytes = 0; bytes < 10 * 64 * 1024; bytes += 8)
        ck_assert_int_eq(emit(run, "{\"a\":10}"), SWAMP_OK);
    ck_assert_int_eq(atomic_load(&wakes), 1); /* the core has not come yet */
    for (int rounds = 1; rounds <= 10; rounds++) {
        swamp__run_unref(swamp__registry_take(registry));
        for (int bytes = 0; bytes < 64 * 1024; bytes += 8)
            ck_assert_int_eq(emit(run, "{\"a\":10}"), SWAMP_OK);
        ck_assert_int_eq(atomic_load(&wakes), 1 + rounds);
    }
}
END_TEST

START_TEST(the_last_update_wins)
{
    swamp_run *run = add_run("r1", "p");
    ck_assert_int_eq(swamp__run_update(run, "{\"a\":1}", 7), SWAMP_OK);
    ck_assert_int_eq(swamp__run_update(run, " {\"a\":2} ", 9), SWAMP_OK);
    ck_assert_int_eq(swamp__run_update(run, "[]", 2), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__run_update(run, "{", 1), SWAMP_E_JSON);
    ck_assert_str_eq(run->update, "{\"a\":2}");
    ck_assert_int_eq(atomic_load(&wakes), 1);
}
END_TEST

/* What stands in for a last event that was refused: the viewers must hear how it ended (PROTOCOL 3). */
#define FAILED "{\"kind\":\"completed\",\"run\":null}"

START_TEST(finish_keeps_what_is_good_of_a_bad_end)
{
    static const struct {
        int status;
        const char *last, *json;
        int rc, kept_status;
        const char *kept_last, *kept_json;
    } cases[] = {
        {SWAMP_RUN_SUCCEEDED, "{\"k\":1}", "{\"j\":1}", SWAMP_OK, SWAMP_RUN_SUCCEEDED, "{\"k\":1}",
         "{\"j\":1}"},
        {SWAMP_RUN_CANCELLED, NULL, NULL, SWAMP_OK, SWAMP_RUN_CANCELLED, NULL, NULL},
        {SWAMP_RUN_SUCCEEDED, "{\"seq\":1}", "{\"j\":1}", SWAMP_E_INVALID, SWAMP_RUN_FAILED, FAILED,
         "{\"j\":1}"},
        {SWAMP_RUN_SUCCEEDED, "{\"k\":1}", "{", SWAMP_E_JSON, SWAMP_RUN_FAILED, "{\"k\":1}", NULL},
        {SWAMP_RUN_SUCCEEDED, "{\"k\":1,\"k\":2}", NULL, SWAMP_E_RULES, SWAMP_RUN_FAILED, FAILED, NULL},
        {0, "{\"k\":1}", NULL, SWAMP_E_INVALID, SWAMP_RUN_FAILED, "{\"k\":1}", NULL},
        {4, "{\"k\":1}", NULL, SWAMP_E_INVALID, SWAMP_RUN_FAILED, "{\"k\":1}", NULL},
    };
    char run_id[20];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(run_id, sizeof(run_id), "r%zu", i);
        swamp_run *run = swamp__run_ref(add_run(run_id, "p")); /* the host's */
        int rc =
            swamp__run_finish(run, cases[i].status, cases[i].last, cases[i].last ? strlen(cases[i].last) : 0,
                              cases[i].json, cases[i].json ? strlen(cases[i].json) : 0);
        ck_assert_int_eq(rc, cases[i].rc);
        ck_assert_int_eq(run->finish_called && run->host_done, 1);
        ck_assert_int_eq(run->finish_status, cases[i].kept_status);
        ck_assert_pstr_eq(run->last_event, cases[i].kept_last);
        ck_assert_pstr_eq(run->update, cases[i].kept_json);
        ck_assert_int_eq(emit(run, "{}"), SWAMP_E_CLOSED); /* by another thread of the host */
    }
}
END_TEST

START_TEST(run_null_is_replaced_by_the_final_run)
{
    static const char *const cases[][2] = {
        {"{\"kind\":\"completed\",\"run\":null}", "{\"kind\":\"completed\",\"run\":{\"id\":1}}"},
        {"{\"run\" : null , \"z\":0}", "{\"run\" : {\"id\":1} , \"z\":0}"},
        {"{\"run\":{\"x\":null}}", "{\"run\":{\"x\":null}}"},
        {"{\"a\":{\"run\":null}}", "{\"a\":{\"run\":null}}"},
        {"{}", "{}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        swamp__buf out;
        swamp__buf_init(&out);
        swamp__run_splice(&out, cases[i][0], strlen(cases[i][0]), "{\"id\":1}", 8);
        ck_assert_str_eq(out.data, cases[i][1]);
        swamp__buf_free(&out);
    }
}
END_TEST

/* Threads emit while the core takes: each event once, each thread's own in order, numbers 1..n. */

enum { THREADS = 4, EACH = 5000 };

typedef struct emitter {
    swamp_run *run;
    int number, refused;
} emitter;

static void *
emit_many(void *arg)
{
    emitter *self = arg;
    char json[64];
    for (int i = 0; i < EACH; i++) {
        snprintf(json, sizeof(json), "{\"t\":%d,\"i\":%d}", self->number, i);
        self->refused += emit(self->run, json) != SWAMP_OK;
    }
    return NULL;
}

typedef struct reader {
    swamp__log_cursor cursor;
    uint64_t seen;
    int next_of[THREADS];
    int takes;
} reader;

/* What the core does at a wake-up. */
static void
read_all(reader *self)
{
    for (swamp_run *run; (run = swamp__registry_take(registry));) {
        const char *event;
        size_t len;
        uint64_t from, to;
        self->takes++;
        pthread_mutex_lock(&run->lock);
        while (read_log(run->log, &self->cursor, &event, &len, &from, &to) == SWAMP__LOG_EVENT) {
            char text[80];
            int thread = -1, number = -1;
            unsigned long long seq = 0;
            snprintf(text, sizeof(text), "%.*s", (int)len, event);
            ck_assert_int_eq(sscanf(text, "{\"t\":%d,\"i\":%d,\"seq\":%llu}", &thread, &number, &seq), 3);
            ck_assert_uint_eq(seq, ++self->seen);
            ck_assert_int_eq(number, self->next_of[thread]++);
        }
        swamp__run_await(run);
        pthread_mutex_unlock(&run->lock);
        swamp__run_unref(run);
    }
}

START_TEST(threads_emit_at_once_and_no_event_waits_for_another)
{
    pthread_t threads[THREADS];
    emitter emitters[THREADS];
    reader self = {0};
    swamp_run *run = add_run("r1", "p");
    await(run);
    for (int i = 0; i < THREADS; i++) {
        emitters[i] = (emitter){run, i, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, emit_many, &emitters[i]), 0);
    }
    /* Reads only after a wake-up: were one lost, the count would never be reached. */
    for (int handled = 0; self.seen < THREADS * EACH;) {
        int now = atomic_load(&wakes);
        if (now == handled)
            continue;
        handled = now;
        read_all(&self);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(emitters[i].refused, 0);
    }
    ck_assert_uint_eq(swamp__event_log_head(run->log), THREADS * EACH);
    ck_assert_int_le(atomic_load(&wakes), self.takes + 1);
}
END_TEST

START_TEST(handles_outlive_the_registry)
{
    swamp_run *run = swamp__run_ref(add_run("r1", "p"));
    ck_assert_int_eq(emit(run, "{}"), SWAMP_OK);
    swamp__registry_free(registry);
    registry = NULL;
    int before = atomic_load(&wakes);
    ck_assert_int_eq(emit(run, "{}"), SWAMP_E_CLOSED);
    ck_assert_int_eq(swamp__run_update(run, "{}", 2), SWAMP_E_CLOSED);
    ck_assert_int_eq(swamp__run_finish(run, SWAMP_RUN_SUCCEEDED, NULL, 0, NULL, 0), SWAMP_E_CLOSED);
    ck_assert_int_eq(atomic_load(&wakes), before);
}
END_TEST

/* The budget of all logs. */

static size_t forgotten;

static void
count_forgotten(void *user, swamp_run *run)
{
    (void)user;
    forgotten++;
    swamp__registry_remove(registry, run);
}

static void
emit_sized(swamp_run *run, size_t len)
{
    char *json = event_of_size(len);
    ck_assert_int_eq(swamp__run_emit(run, json, len), SWAMP_OK);
    free(json);
}

START_TEST(over_budget_finished_runs_go_first_the_oldest_first)
{
    swamp_run *old = add_run("old", "p"), *busy = add_run("busy", "p"), *young = add_run("young", "p");
    emit_sized(old, 10000);
    emit_sized(busy, 10000);
    emit_sized(young, 10000);
    swamp__registry_set_state(registry, old, SWAMP__RUN_FINISHED);
    swamp__registry_set_state(registry, young, SWAMP__RUN_FINISHED);
    size_t bytes = registry->touched->log_bytes;

    forgotten = 0;
    swamp__registry_fit(registry, bytes, count_forgotten, NULL); /* at the limit */
    ck_assert_uint_eq(forgotten, 0);
    swamp__registry_fit(registry, bytes - 1, count_forgotten, NULL); /* one past it */
    ck_assert_uint_eq(forgotten, 1);
    ck_assert_ptr_null(swamp__registry_find(registry, "old"));
    ck_assert_ptr_nonnull(swamp__registry_find(registry, "young"));
    ck_assert_uint_eq(swamp__event_log_first(busy->log), 1);
}
END_TEST

START_TEST(over_budget_the_largest_log_loses_its_oldest)
{
    swamp_run *small = add_run("small", "p"), *large = add_run("large", "p");
    for (int i = 0; i < 3; i++)
        emit_sized(small, 1000);
    for (int i = 0; i < 30; i++)
        emit_sized(large, 1000);
    size_t bytes = registry->touched->log_bytes;
    swamp__registry_fit(registry, bytes - 2500, count_forgotten, NULL);
    ck_assert_uint_le(registry->touched->log_bytes, bytes - 2500);
    ck_assert_uint_eq(swamp__event_log_first(small->log), 1);
    ck_assert_uint_eq(swamp__event_log_first(large->log), 4);
    /* What is given back is counted: no run, no bytes. */
    swamp__registry_remove(registry, small);
    swamp__registry_remove(registry, large);
    for (swamp_run *run; (run = swamp__registry_take(registry));)
        swamp__run_unref(run);
    ck_assert_uint_eq(registry->touched->log_bytes, 0);
}
END_TEST

/* Every allocation of making a run fails in turn; nothing leaks and nothing is half registered. */
START_TEST(out_of_memory_in_registry_add)
{
    const swamp__run_new facts = {"workflow-run", "workflow.run", "p", "{}", 2, "r1"};
    swamp_run *run = NULL;
    int rc = SWAMP_E_NOMEM;
    for (unsigned long n = 1; rc != SWAMP_OK; n++) {
        ck_assert_uint_lt(n, 100);
        swamp__alloc_fail_at(n, 0);
        rc = swamp__registry_add(registry, &node->world, &facts, &run);
        swamp__alloc_fail_at(0, 0);
        if (rc != SWAMP_OK) {
            ck_assert_int_eq(rc, SWAMP_E_NOMEM);
            ck_assert_ptr_null(swamp__registry_find(registry, "r1"));
            ck_assert_uint_eq(registry->unfinished, 0);
        }
    }
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("mailbox");
    TCase *tcase = tcase_create("mailbox");
    tcase_set_timeout(tcase, 50);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_run_gets_its_facts);
    tcase_add_test(tcase, emit_refuses);
    tcase_add_test(tcase, an_event_of_256_kib_and_one_byte_more);
    tcase_add_test(tcase, wake_ups_coalesce_until_the_core_came);
    tcase_add_test(tcase, events_that_nobody_awaits_wake_the_core_once_in_64_kib);
    tcase_add_test(tcase, the_last_update_wins);
    tcase_add_test(tcase, finish_keeps_what_is_good_of_a_bad_end);
    tcase_add_test(tcase, run_null_is_replaced_by_the_final_run);
    tcase_add_test(tcase, threads_emit_at_once_and_no_event_waits_for_another);
    tcase_add_test(tcase, handles_outlive_the_registry);
    tcase_add_test(tcase, over_budget_finished_runs_go_first_the_oldest_first);
    tcase_add_test(tcase, over_budget_the_largest_log_loses_its_oldest);
    tcase_add_test(tcase, out_of_memory_in_registry_add);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
