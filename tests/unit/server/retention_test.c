/* Retention by the clock of an instance: what ended long ago leaves the history, in bounded bites, and nothing else. */
#include "fixture.h"

#define DAY_MS 86400000
#define OLD_RUNS 250

static void
set_up_kept_for_a_day(void)
{
    fake_server_options(&options);
    options.retention_ms = DAY_MS;
    set_up();
}

static void
put_old_run(int number)
{
    char key[80], value[400];
    snprintf(key, sizeof key, "runs/01800000-0000-7000-8000-%012d", number);
    snprintf(
        value, sizeof value,
        "{\"id\":\"%s\",\"workflowId\":\"w\",\"workflowName\":\"w\",\"status\":\"succeeded\",\"jobs\":[],"
        "\"startedAt\":\"2022-01-01T00:00:00.000Z\",\"finishedAt\":\"2022-01-01T00:00:01.000Z\"}",
        key + strlen("runs/"));
    put_record(key, value);
}

static int
count_key(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)value;
    (void)value_len;
    (void)revision;
    ++((size_t *)user)[strncmp(key, "runs/01800000-", strlen("runs/01800000-")) == 0];
    return 0;
}

/* [0]: young ones, [1]: old ones. */
static const size_t *
count_runs(void)
{
    static size_t runs[2];
    runs[0] = runs[1] = 0;
    ck_assert_int_eq(
        swamp_store_list(store, "runs/", NULL, 500, SWAMP_STORE_KEYS_ONLY, 1000, count_key, runs), SWAMP_OK);
    return runs;
}

static int
count_old(void)
{
    return (int)count_runs()[1];
}

START_TEST(old_runs_go_by_hundreds_until_none_is_left)
{
    for (int number = 0; number < OLD_RUNS; number++)
        put_old_run(number);
    start_run(peer, "young");
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    int seen[OLD_RUNS + 1] = {0}, left = OLD_RUNS;
    for (int64_t waited = 0; left > 0 && waited < 11 * 60000; waited += 500) {
        advance(500);
        seen[left = count_old()] = 1;
    }
    ck_assert_int_eq(left, 0);
    /* no question to the store removes them all: another's question has its turn in between */
    ck_assert(seen[OLD_RUNS - 100] && seen[OLD_RUNS - 200]);
    ck_assert_uint_eq(count_runs()[0], 1); /* the young one stays */
}
END_TEST

START_TEST(a_store_that_is_away_is_asked_again_later)
{
    put_old_run(0);
    server->questions->down = FAKE_TIMEOUT;
    advance(11 * 60000);
    ck_assert_int_eq(count_old(), 1);
    server->questions->down = FAKE_FINE;
    advance(11 * 60000);
    ck_assert_int_eq(count_old(), 0);
}
END_TEST

START_TEST(without_a_limit_nothing_goes)
{
    put_old_run(0);
    advance(2 * DAY_MS);
    ck_assert_int_eq(count_old(), 1);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("retention");
    TCase *t = tcase_create("kept for a day");
    tcase_add_checked_fixture(t, set_up_kept_for_a_day, tear_down);
    tcase_add_test(t, old_runs_go_by_hundreds_until_none_is_left);
    tcase_add_test(t, a_store_that_is_away_is_asked_again_later);
    suite_add_tcase(s, t);
    t = add_case(s, "for ever");
    tcase_add_test(t, without_a_limit_nothing_goes);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
