/* run.attach for runs of other instances (PROTOCOL 6): waiting, coalescing, giving up; the vectors have the
 * answers. */
#include "fixture.h"

static int look_ups, reads, others;

static int
count_reads(void *user, const fake_call *call)
{
    (void)user;
    if (call->what == FAKE_GET)
        reads++;
    else
        others++;
    look_ups += call->what == FAKE_GET && strncmp(call->key, "active-runs/", 12) == 0;
    return FAKE_FINE;
}

static void
begin_to_count(int store_takes_ms)
{
    server->questions->watch = count_reads;
    server->questions->ask_low_ms = server->questions->ask_high_ms = store_takes_ms;
    look_ups = reads = others = 0;
}

/* I2 owns the run and was seen to beat just now. */
static void
meet_owner(void)
{
    beat_foreign();
    advance(10000);
    beat_foreign();
    advance(5001);
    put_foreign("run");
}

START_TEST(elsewhere_says_who_where_and_how_long_ago)
{
    meet_owner();
    send_attach(peer, "a", "run", 0);
    expect(peer,
           "{\"type\":\"run.elsewhere\",\"id\":\"a\",\"payload\":{\"runId\":\"run\",\"instanceId\":\"I2\","
           "\"address\":"
           "\"ws://127.0.0.1:2\",\"retryAfterMs\":1000,\"ownerSeenMsAgo\":",
           "\"staleTtlMs\":30000}}", NULL);
    send_attach(peer, "a", "run", 0); /* the id is free again */
    advance(50);
    expect(peer, "run.elsewhere", NULL);
}
END_TEST

/* The store as it is read for an attach: each look-up is one read of the run and one of its owner's heartbeat. */
static void
expect_look_ups(int most)
{
    ck_assert_int_le(look_ups, most);
    ck_assert_int_eq(reads, 2 * look_ups);
    ck_assert_int_eq(others, 0);
}

START_TEST(many_who_ask_for_one_run_cost_two_look_ups)
{
    meet_owner();
    begin_to_count(30);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof id, "a%d", i);
        send_attach(peer, id, "run", 0);
    }
    advance(200);
    ck_assert_uint_eq(peer->count, 50);
    ck_assert_int_eq(look_ups, 2); /* the first one's, and one that began after all the others had asked */
    expect_look_ups(2);
}
END_TEST

/* A thousand clients of ten runs whose instance has died, one after the other, `every` in a millisecond. */
static void
storm(int store_takes_ms, int every)
{
    fake_peer *peers[10];
    char id[16], run_id[16];
    meet_owner();
    for (int run = 0; run < 10; run++) {
        snprintf(run_id, sizeof run_id, "run%d", run);
        put_foreign(run_id);
    }
    for (int i = 0; i < 10; i++)
        peers[i] = fake_peer_new(server);
    begin_to_count(store_takes_ms);
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "a%d", i);
        snprintf(run_id, sizeof run_id, "run%d", i % 10);
        send_attach(peers[i / 100], id, run_id, 0);
        if (i % every == every - 1)
            advance(1);
    }
    advance(2000);
    for (int i = 0; i < 10; i++) {
        ck_assert_uint_eq(peers[i]->count, 100);
        fake_peer_free(peers[i]);
    }
}

START_TEST(a_thousand_who_ask_for_ten_runs_at_once_cost_twenty_look_ups)
{
    storm(30, 1000);
    expect_look_ups(20);
}
END_TEST

/* Over 100 ms, on a store that answers at once: nobody waits for a reading that is under way. */
START_TEST(a_storm_of_a_tenth_of_a_second_costs_three_look_ups_a_run)
{
    storm(0, 10);
    expect_look_ups(30);
}
END_TEST

START_TEST(who_asks_alone_does_not_wait)
{
    meet_owner();
    begin_to_count(0);
    send_attach(peer, "a", "run", 0);
    expect(peer, "run.elsewhere", NULL);
    expect_look_ups(1);
}
END_TEST

/* PROTOCOL 6.5. One wait for a run, one reading when its owner has died, however many clients it is for. */
START_TEST(what_is_withheld_is_kept_once_for_a_run)
{
    char id[16];
    beat_foreign();
    put_foreign("run");
    begin_to_count(0);
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "a%d", i);
        send_attach(peer, id, "run", 0);
        advance(5);
    }
    swamp__link *one = swamp__list_first(&server->instance->withheld);
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_null(swamp__list_next(&server->instance->withheld, one));
    ck_assert_uint_eq(peer->count, 0);
    look_ups = 0;
    advance(31000);
    ck_assert_uint_eq(peer->count, 100);
    ck_assert_int_le(look_ups, 3); /* the look-up's, and the reaper's */
    expect(peer, "\"type\":\"run.interrupted\"", "instance_dead", NULL);
    ck_assert(swamp__list_empty(&server->instance->withheld));
}
END_TEST

/* The second one's reading finds the owner's next beat, and so ends the wait of the first in the midst of its own. */
START_TEST(reading_that_ends_the_wait_of_others)
{
    beat_foreign();
    put_foreign("run");
    send_attach(peer, "first", "run", 0);
    advance(100);
    ck_assert(!swamp__list_empty(&server->instance->withheld));
    beat_foreign();
    send_attach(peer, "second", "run", 0);
    advance(100);
    ck_assert_uint_eq(peer->count, 2);
    expect(peer, "run.elsewhere", "\"id\":\"first\"", NULL);
    expect(peer, "run.elsewhere", "\"id\":\"second\"", NULL);
}
END_TEST

START_TEST(question_that_came_during_a_look_up_is_not_answered_by_it)
{
    server->questions->answer_low_ms = server->questions->answer_high_ms = 50;
    send_attach(peer, "early", "run", 0);
    advance(20); /* it has read: nothing there */
    put_foreign("run");
    send_attach(peer, "late", "run", 0);
    advance(40);
    expect(peer, "\"id\":\"early\"", "not_found", NULL);
    advance(200);
    expect(peer, "\"id\":\"late\"", "run.interrupted", "instance_dead", NULL);
}
END_TEST

START_TEST(answer_is_withheld_at_most_twice_the_ttl)
{
    beat_foreign();
    put_foreign("run");
    server->beats->down = FAKE_ERROR; /* own beats fail: nobody may be declared dead */
    advance(5001);
    send_attach(peer, "a", "run", 0);
    expect_nothing(peer, 59000);
    advance(1100);
    expect(peer, "\"type\":\"run.elsewhere\",\"id\":\"a\"", NULL);
    ck_assert_ptr_nonnull(stored(swamp__key_heartbeat("I2").text));
}
END_TEST

START_TEST(client_may_go_while_its_answer_is_withheld)
{
    beat_foreign();
    put_foreign("run");
    send_attach(peer, "a", "run", 0);
    send_attach(peer, "b", "run", 0);
    advance(100);
    ck_assert(!swamp__list_empty(&server->instance->withheld));
    fake_peer_free(peer);
    peer = NULL;
    ck_assert(swamp__list_empty(&server->instance->withheld));
    advance(90000);
}
END_TEST

START_TEST(death_ends_the_wait_of_all_and_the_run_is_reaped)
{
    beat_foreign();
    put_foreign("run");
    put_record(swamp__key_instance_run("I2", "run").text, "{}");
    put_record(swamp__key_run("run").text,
               "{\"id\":\"run\",\"workflowId\":\"w\",\"workflowName\":\"w\",\"status\":"
               "\"running\",\"jobs\":[],\"instanceId\":\"I2\",\"startedAt\":"
               "\"2026-11-29T10:00:00.000Z\"}");
    send_attach(peer, "a", "run", 0);
    send_attach(peer, "b", "run", 3);
    expect_nothing(peer, 29000);
    advance(2000);
    expect(peer, "\"type\":\"run.interrupted\"", "instance_dead", NULL);
    expect(peer, "\"type\":\"run.interrupted\"", "instance_dead", NULL);
    advance(100);
    ck_assert_ptr_nonnull(
        strstr(stored(swamp__key_run("run").text), "\"interruptReason\":\"instance_dead\""));
    ck_assert_ptr_null(stored(swamp__key_active_run("run").text));
    swamp__instance_stats stats;
    swamp__instance_stats_get(server->instance, &stats);
    ck_assert_uint_eq(stats.deaths_declared, 1);
    ck_assert_uint_eq(stats.runs_reaped, 1);
}
END_TEST

/* Its owner has no port: sending the client there would send it nowhere. The history has the end. */
START_TEST(ended_run_that_an_instance_without_a_port_keeps_is_not_found)
{
    put_record(swamp__key_heartbeat("I3").text,
               "{\"instanceId\":\"I3\",\"beat\":1,\"intervalMs\":10000,\"staleTtlMs\":30000,\"local\":true}");
    put_record(swamp__key_instance_run("I3", "run").text, "{}");
    put_record(
        swamp__key_run("run").text,
        "{\"id\":\"run\",\"workflowId\":\"w\",\"workflowName\":\"w\",\"status\":\"succeeded\",\"jobs\":[],"
        "\"instanceId\":\"I3\",\"startedAt\":\"2026-11-29T10:00:00.000Z\"}");
    send_attach(peer, "a", "run", 0);
    advance(50);
    expect(peer, "\"id\":\"a\"", "not_found", NULL);
}
END_TEST

/* Nobody asks for the run, and no tick comes for an hour: PROTOCOL 5, at once after a death. */
START_TEST(death_is_followed_by_reaping_at_once)
{
    server->instance->options.reconciliation_interval_ms = 3600000;
    advance(30001);
    beat_foreign();
    advance(5001);
    put_foreign("run");
    put_record(swamp__key_instance_run("I2", "run").text, "{}");
    advance(24000);
    ck_assert_ptr_nonnull(stored(swamp__key_active_run("run").text));
    advance(7000);
    ck_assert_ptr_null(stored(swamp__key_heartbeat("I2").text));
    ck_assert_ptr_null(stored(swamp__key_active_run("run").text));
    ck_assert_ptr_null(stored(swamp__key_instance_run("I2", "run").text));
}
END_TEST

/* Which runs, is what a person looks for: five by their ids, the others counted. */
START_TEST(runs_that_are_ended_for_the_dead_are_named_in_the_log)
{
    static const struct {
        int runs;
        const char *said;
    } cases[] = {{1, "ended as interrupted: run-1; "},
                 {5, "ended as interrupted: run-1, run-2, run-3, run-4, run-5; "},
                 {7, "ended as interrupted: run-1, run-2, run-3, run-4, run-5 and 2 more; "}};
    for (int i = 1; i <= cases[_i].runs; i++) {
        char run_id[16];
        snprintf(run_id, sizeof run_id, "run-%d", i);
        put_foreign(run_id);
        put_record(swamp__key_instance_run("I2", run_id).text, "{}");
    }
    advance(server->options.reconciliation_interval_ms + 100);
    ck_assert_msg(strncmp(world->last_line, cases[_i].said, strlen(cases[_i].said)) == 0, "%s",
                  world->last_line);
}
END_TEST

/* Nobody asks for the run, and nobody saw its owner die: PROTOCOL 5, on every reconciliation tick. */
START_TEST(left_overs_of_the_dead_are_found_by_the_tick)
{
    put_foreign("run");
    put_record(swamp__key_instance_run("I2", "run").text, "{}");
    put_record(swamp__key_cancel_request("I2", "run").text, "{}");
    put_record(
        swamp__key_run("run").text,
        "{\"id\":\"run\",\"workflowId\":\"w\",\"workflowName\":\"w\",\"status\":\"running\",\"jobs\":[],"
        "\"instanceId\":\"I2\",\"startedAt\":\"2026-11-29T10:00:00.000Z\"}");
    advance(server->options.reconciliation_interval_ms + 100);
    ck_assert_ptr_null(stored(swamp__key_active_run("run").text));
    ck_assert_ptr_null(stored(swamp__key_instance_run("I2", "run").text));
    ck_assert_ptr_null(stored(swamp__key_cancel_request("I2", "run").text));
    ck_assert_ptr_nonnull(strstr(stored(swamp__key_run("run").text), "\"status\":\"failed\""));
}
END_TEST

START_TEST(starting_instance_holds_the_question_until_it_has_joined)
{
    fake_server *late = fake_server_new(world, store, NULL);
    late->beats->down = FAKE_ERROR;
    advance(100);
    ck_assert(!late->ready);
    fake_peer *client = fake_peer_new(late);
    send_attach(client, "a", "run", 0);
    expect_nothing(client, 4800);
    advance(2000);
    expect(client, "\"id\":\"a\"", "unavailable", NULL);
    late->beats->down = FAKE_FINE;
    send_attach(client, "b", "run", 0);
    send_start(client, "s");
    expect(client, "\"id\":\"s\"", "unavailable", NULL);
    advance(5000);
    ck_assert(late->ready);
    expect(client, "\"id\":\"b\"", "not_found", NULL);
    fake_peer_free(client);
    fake_server_free(late);
}
END_TEST

START_TEST(run_id_that_no_key_can_bear_is_not_found)
{
    send_attach(peer, "a", "runs/../x", 0);
    expect(peer, "\"id\":\"a\"", "not_found", NULL);
}
END_TEST

START_TEST(attach_that_waits_can_be_cancelled_and_asks_the_owner)
{
    beat_foreign();
    put_foreign("run");
    send_attach(peer, "a", "run", 0);
    advance(100);
    send_plain(peer, "cancel", "a");
    advance(100);
    ck_assert_ptr_nonnull(
        strstr(stored(swamp__key_cancel_request("I2", "run").text), "\"requestedBy\":\"anonymous\""));
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("attach");
    TCase *tests = add_case(suite, "attach");
    tcase_add_test(tests, elsewhere_says_who_where_and_how_long_ago);
    tcase_add_test(tests, many_who_ask_for_one_run_cost_two_look_ups);
    tcase_add_test(tests, a_thousand_who_ask_for_ten_runs_at_once_cost_twenty_look_ups);
    tcase_add_test(tests, a_storm_of_a_tenth_of_a_second_costs_three_look_ups_a_run);
    tcase_add_test(tests, who_asks_alone_does_not_wait);
    tcase_add_test(tests, what_is_withheld_is_kept_once_for_a_run);
    tcase_add_test(tests, reading_that_ends_the_wait_of_others);
    tcase_add_test(tests, question_that_came_during_a_look_up_is_not_answered_by_it);
    tcase_add_test(tests, answer_is_withheld_at_most_twice_the_ttl);
    tcase_add_test(tests, client_may_go_while_its_answer_is_withheld);
    tcase_add_test(tests, death_ends_the_wait_of_all_and_the_run_is_reaped);
    tcase_add_test(tests, ended_run_that_an_instance_without_a_port_keeps_is_not_found);
    tcase_add_test(tests, death_is_followed_by_reaping_at_once);
    tcase_add_loop_test(tests, runs_that_are_ended_for_the_dead_are_named_in_the_log, 0, 3);
    tcase_add_test(tests, left_overs_of_the_dead_are_found_by_the_tick);
    tcase_add_test(tests, starting_instance_holds_the_question_until_it_has_joined);
    tcase_add_test(tests, run_id_that_no_key_can_bear_is_not_found);
    tcase_add_test(tests, attach_that_waits_can_be_cancelled_and_asks_the_owner);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
