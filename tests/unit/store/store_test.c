/* The store handle holds vtables to their contract: wrong answers become errors, destroy runs once, memory
 * runs out. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/store.h"
#include "../../../libswamp/util/alloc.h"
#include "tap.h"

/* A store that answers what the test tells it to. */
struct liar {
    int destroyed;
    int rc;
    const char *keys[4]; /* what get and list hand over; NULL ends */
    const void *value;
    size_t value_len;
    uint64_t revision;
    size_t failed;
};

static void
destroy_liar(void *self)
{
    ((struct liar *)self)->destroyed++;
}

static void
hand_over(struct liar *liar, swamp_store_sink sink, void *user)
{
    for (int i = 0; i < 4 && liar->keys[i]; i++) {
        if (sink(user, liar->keys[i], liar->value, liar->value_len, liar->revision) != 0)
            return;
    }
}

static int
get_from_liar(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    (void)key;
    (void)timeout_ms;
    hand_over(self, sink, user);
    return ((struct liar *)self)->rc;
}

static int
list_from_liar(void *self, const char *prefix, const char *after, size_t limit, unsigned flags,
               int timeout_ms, swamp_store_sink sink, void *user)
{
    (void)prefix;
    (void)after;
    (void)limit;
    (void)flags;
    (void)timeout_ms;
    hand_over(self, sink, user);
    return ((struct liar *)self)->rc;
}

static int
commit_to_liar(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
               size_t *failed)
{
    struct liar *liar = self;

    (void)ops;
    (void)count;
    (void)timeout_ms;
    *revision = liar->revision;
    *failed = liar->failed;
    return liar->rc;
}

static const swamp_store_vtable liar_vtable = {.size = sizeof liar_vtable,
                                               .destroy = destroy_liar,
                                               .get = get_from_liar,
                                               .list = list_from_liar,
                                               .commit = commit_to_liar};

static int
ignore(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key;
    (void)value;
    (void)value_len;
    (void)revision;
    *(int *)user += 1;
    return 0;
}

static void
assert_get(struct liar liar, int status)
{
    swamp_store *store;
    int count = 0;

    ck_assert_int_eq(swamp_store_custom(&store, &liar_vtable, &liar), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(store, "key", 1000, ignore, &count), status);
    ck_assert_int_le(count, 1);
    swamp_store_free(store);
    ck_assert_int_eq(liar.destroyed, 1);
}

START_TEST(get_gives_the_one_record_or_nothing)
{
    assert_get((struct liar){.keys = {"key"}, .revision = 1}, SWAMP_OK);
    assert_get((struct liar){.rc = SWAMP_ABSENT}, SWAMP_ABSENT);
    assert_get((struct liar){.rc = SWAMP_E_TIMEOUT}, SWAMP_E_TIMEOUT);
    assert_get((struct liar){.rc = SWAMP_OK}, SWAMP_E_STORE); /* no record */
    assert_get((struct liar){.rc = SWAMP_ABSENT, .keys = {"key"}, .revision = 1}, SWAMP_E_STORE); /* both */
    assert_get((struct liar){.keys = {"key", "key"}, .revision = 1}, SWAMP_E_STORE);              /* twice */
    assert_get((struct liar){.keys = {"other"}, .revision = 1}, SWAMP_E_STORE); /* another */
    assert_get((struct liar){.keys = {"key"}, .revision = 0}, SWAMP_E_STORE);   /* no revision */
    assert_get((struct liar){.keys = {"key"}, .revision = 1, .value_len = 5}, SWAMP_E_STORE); /* no bytes */
    assert_get((struct liar){.keys = {"key"}, .revision = 1, .value = "", .value_len = 262145},
               SWAMP_E_STORE);
    assert_get((struct liar){.rc = SWAMP_CONFLICT}, SWAMP_E_STORE); /* not an answer to get */
    assert_get((struct liar){.rc = -9999}, SWAMP_E_STORE);
}
END_TEST

static void
assert_list(struct liar liar, size_t limit, unsigned flags, int status)
{
    swamp_store *store;
    int count = 0;

    liar.revision = 1;
    ck_assert_int_eq(swamp_store_custom(&store, &liar_vtable, &liar), SWAMP_OK);
    ck_assert_int_eq(swamp_store_list(store, "a/", "a/1", limit, flags, 1000, ignore, &count), status);
    ck_assert_uint_le((unsigned)count, limit);
    swamp_store_free(store);
}

START_TEST(list_gives_records_in_order_below_the_prefix_and_no_more_than_asked)
{
    assert_list((struct liar){.keys = {"a/2", "a/3"}}, 2, 0, SWAMP_OK);
    assert_list((struct liar){.keys = {NULL}}, 2, 0, SWAMP_OK);
    assert_list((struct liar){.keys = {"a/3", "a/2"}}, 2, 0, SWAMP_E_STORE);
    assert_list((struct liar){.keys = {"a/2", "a/2"}}, 2, 0, SWAMP_E_STORE);
    assert_list((struct liar){.keys = {"a/1"}}, 2, 0, SWAMP_E_STORE);
    assert_list((struct liar){.keys = {"b/1"}}, 2, 0, SWAMP_E_STORE);
    assert_list((struct liar){.keys = {"a/2", "a/3"}}, 1, 0, SWAMP_E_STORE);
    assert_list((struct liar){.keys = {"a/0"}}, 2, SWAMP_STORE_REVERSE, SWAMP_OK);
    assert_list((struct liar){.keys = {"a/2"}}, 2, SWAMP_STORE_REVERSE, SWAMP_E_STORE);
    assert_list((struct liar){.keys = {"a/2"}, .value = "v", .value_len = 1}, 2, SWAMP_STORE_KEYS_ONLY,
                SWAMP_E_STORE);
    assert_list((struct liar){.rc = SWAMP_ABSENT}, 2, 0, SWAMP_E_STORE);
    assert_list((struct liar){.rc = SWAMP_E_NOMEM}, 2, 0, SWAMP_E_NOMEM);
}
END_TEST

static void
assert_commit(struct liar liar, int status)
{
    swamp_store_op op = swamp__op_check("key", SWAMP_STORE_PRESENT, 0);
    swamp_store *store;
    uint64_t revision = 77;
    size_t failed = 77;

    ck_assert_int_eq(swamp_store_custom(&store, &liar_vtable, &liar), SWAMP_OK);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, &revision, &failed), status);
    ck_assert_uint_eq(revision, status == SWAMP_OK ? liar.revision : 77);
    ck_assert_uint_eq(failed, status == SWAMP_CONFLICT ? liar.failed : 77);
    swamp_store_free(store);
}

START_TEST(a_commit_answered_wrongly_is_unknown)
{
    assert_commit((struct liar){.revision = 9}, SWAMP_OK);
    assert_commit((struct liar){.rc = SWAMP_CONFLICT, .failed = 0}, SWAMP_CONFLICT);
    assert_commit((struct liar){.rc = SWAMP_E_STORE}, SWAMP_E_STORE);
    assert_commit((struct liar){.rc = SWAMP_E_UNKNOWN}, SWAMP_E_UNKNOWN);
    assert_commit((struct liar){.rc = SWAMP_OK, .revision = 0}, SWAMP_E_UNKNOWN);
    assert_commit((struct liar){.rc = SWAMP_CONFLICT, .failed = 1}, SWAMP_E_UNKNOWN);
    assert_commit((struct liar){.rc = SWAMP_ABSENT}, SWAMP_E_UNKNOWN);
    assert_commit((struct liar){.rc = SWAMP_E_INVALID}, SWAMP_E_UNKNOWN);
}
END_TEST

START_TEST(destroy_runs_once_also_for_a_vtable_that_is_refused)
{
    struct liar liar = {.rc = 0};
    swamp_store_vtable vtable = liar_vtable;
    swamp_store *store = NULL;

    vtable.commit = NULL;
    ck_assert_int_eq(swamp_store_custom(&store, &vtable, &liar), SWAMP_E_INVALID);
    ck_assert_int_eq(liar.destroyed, 1);
    vtable = liar_vtable;
    vtable.flags = 2;
    ck_assert_int_eq(swamp_store_custom(&store, &vtable, &liar), SWAMP_E_INVALID);
    ck_assert_int_eq(liar.destroyed, 2);
    vtable = liar_vtable;
    vtable.size = offsetof(swamp_store_vtable, get); /* from before there was a get */
    ck_assert_int_eq(swamp_store_custom(&store, &vtable, &liar), SWAMP_E_INVALID);
    ck_assert_int_eq(liar.destroyed, 3);
    swamp__alloc_fail_at(1, 1);
    ck_assert_int_eq(swamp_store_custom(&store, &liar_vtable, &liar), SWAMP_E_NOMEM);
    swamp__alloc_fail_at(0, 0);
    ck_assert_int_eq(liar.destroyed, 4);
    ck_assert_ptr_null(store);

    ck_assert_int_eq(swamp_store_custom(&store, &liar_vtable, &liar), SWAMP_OK);
    ck_assert_ptr_eq(swamp__store_ref(store), store);
    swamp_store_free(store);
    ck_assert_int_eq(liar.destroyed, 4); /* somebody still holds it */
    swamp_store_free(store);
    ck_assert_int_eq(liar.destroyed, 5);
}
END_TEST

static int
free_inside(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key;
    (void)value;
    (void)value_len;
    (void)revision;
    swamp_store_free(user);
    return 0;
}

START_TEST(a_store_freed_inside_a_sink_goes_after_the_call)
{
    struct liar liar = {.keys = {"key"}, .revision = 1};
    swamp_store_vtable vtable = liar_vtable;
    swamp_store *store;

    vtable.flags = SWAMP_STORE_SERIAL;
    ck_assert_int_eq(swamp_store_custom(&store, &vtable, &liar), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(store, "key", 1000, free_inside, store), SWAMP_OK);
    ck_assert_int_eq(liar.destroyed, 1);
}
END_TEST

/* A commit of a serial store that blocks until the test lets it go. */
struct slow {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int inside, most, let_go;
};

static void
destroy_slow(void *self)
{
    (void)self;
}

static int
commit_slowly(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
              size_t *failed)
{
    struct slow *slow = self;

    (void)ops;
    (void)count;
    (void)timeout_ms;
    (void)failed;
    pthread_mutex_lock(&slow->mutex);
    slow->inside++;
    slow->most = slow->inside > slow->most ? slow->inside : slow->most;
    pthread_cond_broadcast(&slow->changed);
    while (!slow->let_go)
        pthread_cond_wait(&slow->changed, &slow->mutex);
    slow->inside--;
    pthread_mutex_unlock(&slow->mutex);
    *revision = 1;
    return SWAMP_OK;
}

static void *
commit_once(void *user)
{
    swamp_store_op op = swamp__op_put_empty("key");

    return swamp_store_commit(user, &op, 1, 60000, NULL, NULL) == SWAMP_OK ? user : NULL;
}

START_TEST(a_serial_store_is_locked_for_up_to_the_time_out)
{
    struct slow slow = {.inside = 0};
    swamp_store_vtable vtable = {.size = sizeof vtable,
                                 .flags = SWAMP_STORE_SERIAL,
                                 .destroy = destroy_slow,
                                 .get = get_from_liar,
                                 .list = list_from_liar,
                                 .commit = commit_slowly};
    swamp_store_op op = swamp__op_put_empty("key");
    swamp_store *store;
    pthread_t threads[2];
    void *done;

    pthread_mutex_init(&slow.mutex, NULL);
    pthread_cond_init(&slow.changed, NULL);
    ck_assert_int_eq(swamp_store_custom(&store, &vtable, &slow), SWAMP_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, commit_once, store), 0);
    pthread_mutex_lock(&slow.mutex);
    while (!slow.inside)
        pthread_cond_wait(&slow.changed, &slow.mutex);
    pthread_mutex_unlock(&slow.mutex);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 20, NULL, NULL), SWAMP_E_TIMEOUT);
    pthread_mutex_lock(&slow.mutex);
    slow.let_go = 1;
    pthread_cond_broadcast(&slow.changed);
    pthread_mutex_unlock(&slow.mutex);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &done);
        ck_assert_ptr_eq(done, store);
    }
    ck_assert_int_eq(slow.most, 1);
    swamp_store_free(store);
    pthread_cond_destroy(&slow.changed);
    pthread_mutex_destroy(&slow.mutex);
}
END_TEST

START_TEST(half_a_value_is_never_written)
{
    swamp_store *store;
    swamp__buf value;
    swamp_store_op op;
    int count = 0;

    ck_assert_int_eq(swamp_store_memory_open(&store), SWAMP_OK);
    swamp__buf_init(&value);
    swamp__alloc_fail_at(1, 1);
    swamp__buf_text(&value, "a value that finds no memory");
    swamp__alloc_fail_at(0, 0);
    op = swamp__op_put("key", &value, SWAMP_STORE_ANY, 0);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, NULL, NULL), SWAMP_E_NOMEM);
    ck_assert_int_eq(swamp_store_get(store, "key", 1000, ignore, &count), SWAMP_ABSENT);
    swamp__buf_free(&value);
    swamp_store_free(store);
}
END_TEST

/* Each allocation of a batch fails in turn: nothing of the batch may be there, and nothing leaks. */
START_TEST(a_batch_without_memory_writes_nothing)
{
    swamp_store *store;
    swamp__buf value;
    int rc = SWAMP_E_NOMEM;
    unsigned long nth = 0;

    ck_assert_int_eq(swamp_store_memory_open(&store), SWAMP_OK);
    swamp__buf_init(&value);
    swamp__buf_text(&value, "value");
    while (rc == SWAMP_E_NOMEM) {
        swamp_store_op ops[] = {swamp__op_put("a", &value, SWAMP_STORE_ABSENT, 0),
                                swamp__op_put("b", &value, SWAMP_STORE_ABSENT, 0)};
        int count = 0;
        swamp__alloc_fail_at(++nth, 1);
        rc = swamp_store_commit(store, ops, 2, 1000, NULL, NULL);
        swamp__alloc_fail_at(0, 0);
        ck_assert_int_eq(swamp_store_list(store, "", NULL, 10, 0, 1000, ignore, &count), SWAMP_OK);
        ck_assert_int_eq(count, rc == SWAMP_OK ? 2 : 0);
    }
    ck_assert_int_eq(rc, SWAMP_OK);
    ck_assert_uint_eq(nth, 5); /* two values and two nodes, each of which failed once */
    swamp__buf_free(&value);
    swamp_store_free(store);
}
END_TEST

START_TEST(a_value_is_read_with_its_revision)
{
    swamp_store *store;
    swamp__buf value;
    swamp_store_op op = swamp__op_put_empty("key");
    uint64_t written = 0, read = 0;

    ck_assert_int_eq(swamp_store_memory_open(&store), SWAMP_OK);
    swamp__buf_init(&value);
    ck_assert_int_eq(swamp__store_read(store, "key", 1000, &value, &read), SWAMP_ABSENT);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, &written, NULL), SWAMP_OK);
    swamp__buf_text(&value, "left from before");
    ck_assert_int_eq(swamp__store_read(store, "key", 1000, &value, &read), SWAMP_OK);
    ck_assert_str_eq(value.data, "{}");
    ck_assert_uint_eq(read, written);
    op = swamp__op_remove("key", SWAMP_STORE_REVISION, read);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, &written, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp__store_read(store, "key", 1000, &value, &read), SWAMP_ABSENT);
    ck_assert_uint_eq(value.len, 0);
    swamp__buf_free(&value);
    swamp_store_free(store);
}
END_TEST

static Suite *
store_suite(void)
{
    Suite *suite = suite_create("store");
    TCase *tcase = tcase_create("store");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, get_gives_the_one_record_or_nothing);
    tcase_add_test(tcase, list_gives_records_in_order_below_the_prefix_and_no_more_than_asked);
    tcase_add_test(tcase, a_commit_answered_wrongly_is_unknown);
    tcase_add_test(tcase, destroy_runs_once_also_for_a_vtable_that_is_refused);
    tcase_add_test(tcase, a_store_freed_inside_a_sink_goes_after_the_call);
    tcase_add_test(tcase, a_serial_store_is_locked_for_up_to_the_time_out);
    tcase_add_test(tcase, half_a_value_is_never_written);
    tcase_add_test(tcase, a_batch_without_memory_writes_nothing);
    tcase_add_test(tcase, a_value_is_read_with_its_revision);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(store_suite());
}
