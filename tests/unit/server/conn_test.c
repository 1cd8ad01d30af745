/* A connection: is its peer alive, does it read, and which requests may it have (PROTOCOL 1 and 2). */
#include "fixture.h"

START_TEST(silent_peer_is_pinged_at_half_and_given_up_at_all_of_idle_timeout)
{
    peer->mute = 1;
    advance(14999);
    ck_assert_uint_eq(peer->fills, 0);
    advance(2);
    ck_assert_uint_eq(peer->fills, 1); /* the ping */
    advance(14997);
    ck_assert_int_eq(peer->closed, 0);
    advance(2);
    ck_assert_int_eq(peer->closed, 1001);
    advance(1);
    ck_assert_uint_eq(server->instance->conn_count, 0);
}
END_TEST

START_TEST(answered_pings_keep_a_silent_connection)
{
    advance(300000);
    ck_assert_int_eq(peer->closed, 0);
    ck_assert_uint_ge(peer->fills, 18);
    ck_assert_uint_le(peer->fills, 21);
}
END_TEST

START_TEST(peer_that_takes_nothing_is_closed_4001_and_not_before_stall_timeout)
{
    start_run(peer, "r");
    peer->blocked = 1;
    fake_server_emit(server, 0, 1);
    advance(59999);
    ck_assert_int_eq(peer->closed, 0);
    advance(2);
    ck_assert_int_eq(peer->closed, 4001);
    ck_assert_ptr_nonnull(server->runs[0]); /* the run goes on */
    ck_assert_uint_eq(server->cancels, 0);
}
END_TEST

START_TEST(slow_reader_is_judged_by_bytes_taken_not_by_pongs)
{
    start_run(peer, "r");
    peer->mute = 1;
    for (int i = 0; i < 6; i++) { /* 4 minutes: takes bytes each 40 s, answers no ping */
        peer->blocked = 1;
        fake_server_emit(server, 0, 1);
        advance(40000);
        fake_peer_unblock(peer);
        advance(1);
        ck_assert_int_eq(peer->closed, 0);
    }
}
END_TEST

/* Its library answers pings, and so does its kernel; but nobody reads the events. */
START_TEST(viewer_that_answers_pings_but_does_not_read_is_a_slow_viewer)
{
    start_run(peer, "r");
    peer->blocked = 1;
    fake_server_emit(server, 0, 1);
    for (int i = 0; i < 6; i++) {
        swamp__conn_alive(peer->conn);
        advance(i < 5 ? 10000 : 9999);
        ck_assert_int_eq(peer->closed, 0);
    }
    swamp__conn_alive(peer->conn);
    advance(2);
    ck_assert_int_eq(peer->closed, 4001);
}
END_TEST

/* One large event over a thin line: no batch is whole for minutes, but some of its bytes go all the time. */
START_TEST(reader_of_a_few_bytes_each_50_s_is_kept_and_closed_60_s_after_the_last)
{
    start_run(peer, "r");
    peer->mute = 1;
    peer->blocked = 1;
    fake_server_emit(server, 0, 1);
    for (int i = 0; i < 6; i++) {
        advance(50000);
        ck_assert_int_eq(peer->closed, 0);
        peer->taken += 100;
    }
    advance(59999);
    ck_assert_int_eq(peer->closed, 0);
    advance(15002); /* it is looked at four times a minute */
    ck_assert_int_eq(peer->closed, 4001);
}
END_TEST

START_TEST(short_stall_timeout_is_not_late)
{
    tear_down();
    fake_server_options(&options);
    options.stall_timeout_ms = 700;
    set_up();
    start_run(peer, "r");
    peer->blocked = 1;
    fake_server_emit(server, 0, 1);
    advance(702);
    ck_assert_int_eq(peer->closed, 4001);
}
END_TEST

START_TEST(second_use_of_an_active_id_is_duplicate_id_and_the_first_goes_on)
{
    start_run(peer, "r");
    send_start(peer, "r");
    expect(peer, "\"type\":\"error\"", "\"id\":\"r\"", "duplicate_id", NULL);
    fake_server_emit(server, 0, 1);
    expect_event(peer, "r", 1);
    ck_assert_uint_eq(server->starts, 1);
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    expect_event(peer, "r", 2);
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
    start_run(peer, "r"); /* the id is free again */
}
END_TEST

START_TEST(request_100_is_taken_and_101_is_too_many)
{
    server->hold_kind = SWAMP_WORK_SEARCH;
    for (int i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof id, "q%d", i);
        send_plain(peer, "workflow.search", id);
    }
    expect_nothing(peer, 10);
    send_plain(peer, "server.version", "one-more");
    expect(peer, "\"id\":\"one-more\"", "too_many_requests", NULL);
    fake_server_let_go(server);
    advance(1);
    ck_assert_uint_eq(peer->count, 100);
    expect(peer,
           "{\"type\":\"workflow.search\",\"id\":\"q0\",\"payload\":{\"data\":{\"query\":\"\",\"results\":[{",
           NULL);
    while (fake_peer_next(peer))
        ;
    send_plain(peer, "server.version", "one-more");
    expect(peer, "\"type\":\"server.version\"", "\"payload\":{\"version\":\"1.2.3\",\"gitSha\":\"abc\"}",
           NULL);
}
END_TEST

START_TEST(connection_that_does_not_take_answers_is_not_read)
{
    char text[512];
    memset(text, 0, sizeof text);
    snprintf(text, sizeof text, "{\"type\":\"none\",\"id\":\"%0250d\"}", 7);
    peer->blocked = 1;
    size_t sent = 0;
    for (; !peer->paused && sent < 2000; sent++)
        fake_peer_send(peer, text);
    ck_assert(peer->paused);
    ck_assert_uint_gt(sent, 500);
    fake_peer_unblock(peer);
    advance(50);
    ck_assert(!peer->paused);
    ck_assert_uint_eq(peer->count, sent);
    ck_assert_uint_le(peer->largest_fill, SWAMP__BATCH_BYTES);
}
END_TEST

START_TEST(one_connection_too_many_is_busy)
{
    static const swamp__transport unused = {0};
    swamp__conn *conn = NULL;
    server->instance->options.max_connections = 2;
    fake_peer *second = fake_peer_new(server); /* at the limit */
    ck_assert_int_eq(swamp__conn_new(&conn, server->instance, &unused, NULL, "anonymous"), SWAMP_E_BUSY);
    ck_assert_ptr_null(conn);
    fake_peer_free(second);
}
END_TEST

START_TEST(connection_may_die_with_every_kind_of_request_under_way)
{
    send_start(peer, "run");
    send_attach(peer, "attach", "some-run", 0);
    send_plain(peer, "cluster.instances", "instances");
    send_plain(peer, "run.history", "history");
    send_plain(peer, "workflow.search", "search");
    fake_peer_send(peer, "{\"type\":\"run.cancel\",\"id\":\"cancel\",\"payload\":{\"runId\":\"some-run\"}}");
    fake_peer_send(
        peer, "{\"type\":\"workflow.history.get\",\"id\":\"get\",\"payload\":{\"workflowIdOrName\":\"x\"}}");
    fake_peer_free(peer);
    peer = NULL;
    advance(1000);
    ck_assert_uint_eq(server->starts, 0); /* nobody had been told: nothing is started */
}
END_TEST

START_TEST(answers_wait_for_the_store_and_come_under_their_ids)
{
    server->questions->ask_low_ms = server->questions->ask_high_ms = 50;
    send_plain(peer, "cluster.instances", "i");
    send_plain(peer, "run.history", "h");
    fake_peer_send(
        peer, "{\"type\":\"workflow.history.get\",\"id\":\"g\",\"payload\":{\"workflowIdOrName\":\"x\"}}");
    expect_nothing(peer, 40);
    advance(500);
    expect(peer, "{\"type\":\"cluster.instances\",\"id\":\"i\",\"payload\":{\"instances\":[{",
           server->options.instance_id, "\"status\":\"healthy\"", NULL);
    expect(peer, "{\"type\":\"run.history\",\"id\":\"h\",\"payload\":{\"runs\":[]}}", NULL);
    expect(peer, "\"id\":\"g\"", "not_found", NULL);
    server->questions->down = FAKE_ERROR;
    send_plain(peer, "run.history", "h");
    advance(500);
    expect(peer, "\"id\":\"h\"", "\"code\":\"unavailable\"", "\"retryAfterMs\":", NULL);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("conn");
    TCase *tests = add_case(suite, "conn");
    tcase_add_test(tests, silent_peer_is_pinged_at_half_and_given_up_at_all_of_idle_timeout);
    tcase_add_test(tests, answered_pings_keep_a_silent_connection);
    tcase_add_test(tests, peer_that_takes_nothing_is_closed_4001_and_not_before_stall_timeout);
    tcase_add_test(tests, slow_reader_is_judged_by_bytes_taken_not_by_pongs);
    tcase_add_test(tests, viewer_that_answers_pings_but_does_not_read_is_a_slow_viewer);
    tcase_add_test(tests, reader_of_a_few_bytes_each_50_s_is_kept_and_closed_60_s_after_the_last);
    tcase_add_test(tests, short_stall_timeout_is_not_late);
    tcase_add_test(tests, second_use_of_an_active_id_is_duplicate_id_and_the_first_goes_on);
    tcase_add_test(tests, request_100_is_taken_and_101_is_too_many);
    tcase_add_test(tests, connection_that_does_not_take_answers_is_not_read);
    tcase_add_test(tests, one_connection_too_many_is_busy);
    tcase_add_test(tests, connection_may_die_with_every_kind_of_request_under_way);
    tcase_add_test(tests, answers_wait_for_the_store_and_come_under_their_ids);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
