/* A thousand runs that say nothing, on a store that is slow by chance and fails now and then: no record is left over. */
#include "fixture.h"

#define ROUNDS 20
#define AT_ONCE 50

static void
set_up_slow(void)
{
    fake_server_options(&options);
    options.linger_ms = 1000;
    set_up();
    /* far below the TTL: nobody shall die of it */
    fake_asker *const askers[] = {server->questions, server->beats};
    for (size_t i = 0; i < 2; i++) {
        askers[i]->ask_high_ms = i ? 300 : 20;
        askers[i]->answer_high_ms = i ? 300 : 20;
    }
}

static void
read_all(void)
{
    while (fake_peer_next(peer))
        ;
}

static int
count_key(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key, (void)value, (void)value_len, (void)revision;
    ++*(size_t *)user;
    return 0;
}

static size_t
count_keys(const char *prefix)
{
    size_t count = 0;
    ck_assert_int_eq(
        swamp_store_list(store, prefix, NULL, 100000, SWAMP_STORE_KEYS_ONLY, 1000, count_key, &count),
        SWAMP_OK);
    return count;
}

/* The clients of every other run are cut off before its end. */
static void
play_round(int round)
{
    char id[32];
    for (int i = 0; i < AT_ONCE; i++) {
        snprintf(id, sizeof id, "r-%d-%d", round, i);
        send_start(peer, id);
    }
    for (int patience = 0; server->instance->start_count && patience < 600; patience++)
        advance(100);
    ck_assert_uint_eq(server->instance->start_count, 0);
    read_all();
    if (round % 2) {
        fake_peer_free(peer);
        peer = fake_peer_new(server);
    }
    for (size_t i = 0; i < server->run_count; i++)
        if (server->runs[i])
            fake_server_finish(server, i, SWAMP_RUN_SUCCEEDED);
    server->run_count = 0;
    for (int patience = 0; server->instance->registry->unfinished && patience < 600; patience++)
        advance(100);
    ck_assert_uint_eq(server->instance->registry->unfinished, 0);
    read_all();
}

START_TEST(a_thousand_runs_without_an_event_leave_no_record)
{
    server->questions->fault_per_mille = (unsigned)_i;
    for (int round = 0; round < ROUNDS; round++)
        play_round(round);
    server->questions->fault_per_mille = 0;
    advance(120000); /* linger, and whatever has to be tried again */
    if (_i == 0)
        ck_assert_uint_eq(server->starts, ROUNDS * AT_ONCE);
    ck_assert_uint_gt(server->starts, ROUNDS * AT_ONCE / 2);
    /* of each run that was begun its history, and nothing else; of those that were not: nothing at all */
    ck_assert_uint_eq(count_keys("runs/"), server->starts);
    ck_assert_uint_eq(count_keys("workflow-runs/"), server->starts);
    ck_assert_uint_eq(count_keys("workflow-names/"), server->starts);
    ck_assert_uint_eq(count_keys(""), 3 * server->starts + 1); /* and the own heartbeat */
    ck_assert_uint_eq(swamp__map_count(server->instance->registry->runs), 0);
}
END_TEST

static Suite *
suite(void)
{
    static const int faults_per_mille[] = {0, 30};
    Suite *s = suite_create("silent");
    TCase *c = tcase_create("silent");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, set_up_slow, tear_down);
    for (size_t i = 0; i < 2; i++)
        tcase_add_loop_test(c, a_thousand_runs_without_an_event_leave_no_record, faults_per_mille[i],
                            faults_per_mille[i] + 1);
    suite_add_tcase(s, c);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
