/* Records that cannot be read, whoever meets them: one log line and one count for each, and they stay ("Bad input"). */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/run/history.h"
#include "../../../libswamp/run/lookup.h"
#include "../../../libswamp/run/reading.h"
#include "../../../libswamp/run/reaper.h"
#include "../../../libswamp/store/store.h"
#include "records_fixture.h"
#include "tap.h"

#define RUN "0192f3a0-0000-7000-8000-00000000ab01"

/* Not JSON, no object, without the members that the record is for, of another version. */
static const char *const bad_texts[] = {"",
                                        "this is not JSON",
                                        "[]",
                                        "null",
                                        "{}",
                                        "{\"instanceId\":7,\"id\":[]}",
                                        "{\"version\":99,\"id\":{},\"status\":\"levitating\"}",
                                        "{\"id\":\"\xff\"}"};
#define BAD_TEXTS ((int)(sizeof bad_texts / sizeof bad_texts[0]))

static uint64_t
count(void)
{
    return swamp__unreadable_count(swamp__store_unreadable(store));
}

/* Each reads what it reads; what comes of it is the business of other tests. */
static void
look_up(void)
{
    swamp__lookup found;
    swamp__lookup_run(store, RUN, 1000, &found);
    swamp__lookup_free(&found);
}

static void
get_history(void)
{
    size_t matches;
    swamp__buf out;
    swamp__buf_init(&out);
    (void)swamp__history_get(store, RUN, 1000, &out, &matches);
    swamp__buf_free(&out);
}

static void
list_rows(void)
{
    const swamp__history_query query = {.limit = 100, .workflow = "", .timeout_ms = 1000};
    swamp__buf out;
    swamp__buf_init(&out);
    ck_assert_int_eq(swamp__history_list(store, &query, &out), SWAMP_OK);
    swamp__buf_free(&out);
}

static int
is_stale(void *user, const char *instance_id)
{
    (void)user, (void)instance_id;
    return 0;
}

static void
list_instances(void)
{
    swamp__buf out;
    swamp__buf_init(&out);
    ck_assert_int_eq(swamp__history_instances(store, 1000, is_stale, NULL, &out), SWAMP_OK);
    swamp__buf_free(&out);
}

static void
cancel_run(void)
{
    char owner[65], status[16];
    (void)swamp__history_cancel(store, NULL, RUN, "user:x", "", 1, 1000, owner, status);
}

static void
reap(void)
{
    swamp__reap asked = {.unix_ms = 1, .timeout_ms = 1000, .max_runs = 100};
    ck_assert_int_eq(swamp__reap_dead(store, &asked), SWAMP_OK);
}

static void
retain(void)
{
    size_t removed;
    ck_assert_int_eq(swamp__retain(store, NULL, INT64_MAX / 2, 100, 1000, &removed), SWAMP_OK);
}

static void
take_nothing(void *user, const char *run_id, const char *reason, const char *requested_by)
{
    (void)user, (void)run_id, (void)reason, (void)requested_by;
}

static void
poll_requests(void)
{
    ck_assert_int_eq(swamp__history_cancel_requests(store, "I2", 1000, take_nothing, NULL), SWAMP_OK);
}

static const struct meeting {
    const char *key;
    void (*meet)(void);
    int object_is_fine; /* of a request its key says enough */
} meetings[] = {
    {"active-runs/" RUN, look_up, 0},
    {"active-runs/" RUN, list_rows, 0},
    {"active-runs/" RUN, cancel_run, 0},
    {"active-runs/" RUN, reap, 0},
    {"runs/" RUN, look_up, 0},
    {"runs/" RUN, get_history, 0},
    {"runs/" RUN, list_rows, 0},
    {"runs/" RUN, cancel_run, 0},
    {"runs/" RUN, retain, 0},
    {"heartbeats/I2", list_instances, 0},
    {"heartbeats/I2", list_rows, 0},
    {"cancel-requests/I2/" RUN, poll_requests, 1},
};
#define MEETINGS ((int)(sizeof meetings / sizeof meetings[0]))

START_TEST(a_bad_record_is_named_once_counted_once_and_left_alone)
{
    const struct meeting *one = &meetings[_i % MEETINGS];
    const char *text = bad_texts[_i / MEETINGS];
    int is_bad = !(one->object_is_fine && text[0] == '{' && !strchr(text, '\xff'));
    put_record(one->key, text);
    uint64_t revision = record_revision(one->key);
    for (int times = 0; times < 3; times++)
        one->meet();
    ck_assert_uint_eq(count(), (uint64_t)is_bad);
    ck_assert_uint_eq(warnings_logged(), (unsigned)is_bad);
    ck_assert_uint_eq(record_revision(one->key), revision);
    if (!is_bad)
        return;
    ck_assert_ptr_nonnull(strstr(last_warning(), one->key));
    put_record(one->key,
               text); /* written once more: whoever did it shall hear of it again, but for each beat */
    one->meet();
    unsigned told = strncmp(one->key, "heartbeats/", 11) == 0 ? 1 : 2;
    ck_assert_uint_eq(count(), told);
    ck_assert_uint_eq(warnings_logged(), told);
}
END_TEST

START_TEST(good_records_are_not_noted)
{
    put_heartbeat("I2");
    put_active_run(RUN, "I2", "w");
    put_record("cancel-requests/I2/" RUN, "{}");
    for (int i = 0; i < MEETINGS; i++)
        if (meetings[i].meet != cancel_run)
            meetings[i].meet();
    put_final_run("0192f3a0-0000-7000-8000-00000000ab02", "I2", "w", "failed", "");
    list_rows();
    ck_assert_uint_eq(count(), 0);
    ck_assert_uint_eq(warnings_logged(), 0);
}
END_TEST

/* A client would refuse the whole answer: that is no answer. */
START_TEST(a_run_that_is_nested_too_deeply_is_not_passed_on)
{
    char text[1024];
    size_t matches;
    swamp__buf out;
    swamp__buf_init(&out);
    snprintf(text, sizeof text, "{\"id\":\"%s\",\"status\":\"failed\",\"jobs\":%.*s%.*s}", RUN, 100,
             "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
             "[[[[[",
             100,
             "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
             "]]]]]");
    put_record("runs/" RUN, text);
    ck_assert_int_eq(swamp__history_get(store, RUN, 1000, &out, &matches), SWAMP_E_CORRUPT);
    ck_assert_uint_eq(out.len, 0);
    ck_assert_uint_eq(warnings_logged(), 1);
    swamp__buf_free(&out);
}
END_TEST

START_TEST(more_than_can_be_told_apart_flood_nothing)
{
    char key[64];
    for (int i = 0; i < SWAMP__UNREADABLE_MAX + 200; i++) {
        snprintf(key, sizeof key, "runs/r-%05d", i);
        put_record(key, "no");
    }
    for (int times = 0; times < 2; times++) {
        const swamp__history_query query = {.limit = 1000, .workflow = "", .timeout_ms = 1000};
        swamp__buf out;
        swamp__buf_init(&out);
        ck_assert_int_eq(swamp__history_list(store, &query, &out), SWAMP_OK);
        swamp__buf_free(&out);
    }
    ck_assert_uint_eq(count(), SWAMP__UNREADABLE_MAX);
    ck_assert_uint_eq(warnings_logged(), SWAMP__UNREADABLE_MAX);
    ck_assert_ptr_nonnull(strstr(last_warning(), "There are more"));
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("reading");
    TCase *c = tcase_create("reading");
    tcase_add_checked_fixture(c, records_open, records_close);
    tcase_add_loop_test(c, a_bad_record_is_named_once_counted_once_and_left_alone, 0, MEETINGS * BAD_TEXTS);
    tcase_add_test(c, good_records_are_not_noted);
    tcase_add_test(c, a_run_that_is_nested_too_deeply_is_not_passed_on);
    tcase_add_test(c, more_than_can_be_told_apart_flood_nothing);
    suite_add_tcase(s, c);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
