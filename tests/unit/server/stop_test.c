/* The end of an instance: planned stop phase by phase (DESIGN 6), the fence, and the hung store thread. */
#include "fixture.h"

static int
count_key(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key;
    (void)value;
    (void)value_len;
    (void)revision;
    ++*(size_t *)user;
    return 0;
}

static size_t
count_keys(const char *prefix)
{
    size_t count = 0;
    ck_assert_int_eq(
        swamp_store_list(store, prefix, NULL, 100, SWAMP_STORE_KEYS_ONLY, 1000, count_key, &count), SWAMP_OK);
    return count;
}

START_TEST(idle_instance_stops_after_the_grace_and_removes_its_heartbeat)
{
    swamp__instance_stop(server->instance, 60000);
    expect_nothing(peer, 4900);
    start_run(peer, "late"); /* balancers have not noticed yet: still taken */
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    advance(90);
    while (fake_peer_next(peer))
        ;
    advance(200);
    ck_assert_int_eq(server->ended, SWAMP_END);
    ck_assert_str_eq(world->last_line, "stopped, runs cancelled for it: 0");
    ck_assert_int_eq(peer->closed, 1001);
    ck_assert_ptr_null(stored(swamp__key_heartbeat(server->options.instance_id).text));
    advance(60000);
}
END_TEST

/* Whoever waits to hear of another's run does so as well on the next instance: no stop waits 10 s for that. */
START_TEST(withheld_answer_does_not_hold_the_stop)
{
    beat_foreign();
    put_foreign("run");
    send_attach(peer, "a", "run", 0);
    advance(100);
    ck_assert(!swamp__list_empty(&server->instance->withheld));
    swamp__instance_stop(server->instance, 60000);
    advance(5000 + 200); /* the drain grace */
    ck_assert_int_eq(peer->closed, 1001);
    ck_assert_int_eq(server->ended, SWAMP_END);
}
END_TEST

START_TEST(draining_instance_takes_attaches_but_no_runs)
{
    swamp_run *run = start_run(peer, "r");
    swamp__instance_stop(server->instance, 60000);
    advance(5001);
    expect(peer, "{\"type\":\"server.drain\",\"retryAfterMs\":", "\"deadlineMs\":", NULL);
    send_start(peer, "s");
    expect(peer, "\"id\":\"s\"", "\"code\":\"draining\"", "\"retryAfterMs\":", NULL);
    fake_peer *late = fake_peer_new(server);
    expect(late, "server.drain", NULL);
    send_attach(late, "a", run->id, 0);
    expect(late, "run.attached", NULL);
    fake_server_emit(server, 0, 1);
    expect_event(late, "a", 1);
    ck_assert_int_eq(server->ended, 0);
    advance(10000);
    ck_assert_ptr_nonnull(
        strstr(stored(swamp__key_heartbeat(server->options.instance_id).text), "\"draining\":true"));
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    advance(500);
    expect_event(late, "a", 2);
    expect(late, "\"type\":\"done\"", NULL);
    ck_assert_int_eq(late->closed, 1001);
    ck_assert_int_eq(server->ended, SWAMP_END);
    fake_peer_free(late);
}
END_TEST

/* DESIGN 6: they are not lingered for, and no key is left for the reapers. */
START_TEST(finished_runs_go_before_the_heartbeat)
{
    start_run(peer, "r");
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    advance(100);
    ck_assert_uint_eq(count_keys(SWAMP__KEYS_INSTANCE_RUNS), 1);
    swamp__instance_stop(server->instance, 0);
    advance(500);
    ck_assert_int_eq(server->ended, SWAMP_END);
    ck_assert_uint_eq(count_keys(SWAMP__KEYS_INSTANCE_RUNS), 0);
    ck_assert_uint_eq(count_keys(SWAMP__KEYS_HEARTBEATS), 0);
}
END_TEST

START_TEST(host_that_does_not_resolve_does_not_hold_a_stop_without_bound)
{
    server->hold_kind = SWAMP_WORK_RESOLVE;
    send_start(peer, "s");
    swamp__instance_stop(server->instance, -1);
    advance(5002);
    expect(peer, "\"id\":\"s\"", "\"code\":\"draining\"", NULL);
    advance(100);
    ck_assert_int_eq(server->ended, SWAMP_END);
    fake_server_let_go(server);
    advance(100);
    ck_assert_uint_eq(server->starts, 0);
}
END_TEST

START_TEST(run_left_at_the_drain_timeout_is_cancelled_with_instance_shutdown)
{
    char key[512];
    snprintf(key, sizeof key, "%s", swamp__key_run(start_run(peer, "r")->id).text);
    swamp__instance_stop(server->instance, 20000);
    advance(19900);
    ck_assert_uint_eq(server->cancels, 0);
    advance(200);
    ck_assert_uint_eq(server->cancels, 1);
    ck_assert_str_eq(server->reason, "instance_shutdown");
    advance(500);
    expect(peer, "server.drain", NULL);
    expect(peer, "\"kind\":\"cancelled\"", NULL);
    expect(peer, "\"type\":\"done\"", NULL);
    ck_assert_int_eq(server->ended, SWAMP_END);
    ck_assert_str_eq(world->last_line, "stopped, runs cancelled for it: 1");
    ck_assert_ptr_nonnull(strstr(stored(key), "\"status\":\"cancelled\""));
    ck_assert_ptr_nonnull(strstr(stored(key), "\"interruptReason\":\"instance_shutdown\""));
}
END_TEST

/* Who was first says why: a person's cancel is no interruption, though the stop finds the run still ending. */
START_TEST(run_that_a_person_cancelled_is_not_interrupted_by_the_stop)
{
    char key[512];
    snprintf(key, sizeof key, "%s", swamp__key_run(start_run(peer, "r")->id).text);
    server->finish_on_cancel = 0;
    send_plain(peer, "cancel", "r");
    advance(10);
    swamp__instance_stop(server->instance, 0);
    advance(100);
    fake_server_finish(server, 0, SWAMP_RUN_CANCELLED);
    advance(500);
    ck_assert_int_eq(server->ended, SWAMP_END);
    ck_assert_str_eq(world->last_line, "stopped, runs cancelled for it: 0");
    ck_assert_ptr_nonnull(strstr(stored(key), "\"status\":\"cancelled\""));
    ck_assert_ptr_null(strstr(stored(key), "interruptReason"));
}
END_TEST

START_TEST(host_that_never_answers_a_cancel_does_not_hold_the_stop)
{
    char key[512];
    snprintf(key, sizeof key, "%s", swamp__key_run(start_run(peer, "r")->id).text);
    server->finish_on_cancel = 0;
    swamp__instance_stop(server->instance, 0);
    advance(9000);
    ck_assert_int_eq(server->ended, 0);
    expect(peer, "server.drain", NULL);
    advance(3000);
    ck_assert_int_eq(server->ended, SWAMP_END);
    /* PROTOCOL 3: the last event says how it ended, though the host never said it */
    expect(peer, "\"kind\":\"cancelled\",\"run\":{\"id\":", "\"status\":\"cancelled\"",
           "\"interruptReason\":\"instance_shutdown\"", "\"seq\":1}}", NULL);
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
    ck_assert_uint_eq(swamp__instance_host_runs(server->instance), 1);
    ck_assert_ptr_nonnull(strstr(stored(key), "\"interruptReason\":\"instance_shutdown\""));
}
END_TEST

START_TEST(second_stop_with_a_shorter_time_holds)
{
    start_run(peer, "r");
    swamp__instance_stop(server->instance, -1);
    advance(100000);
    ck_assert_int_eq(server->ended, 0);
    swamp__instance_stop(server->instance, 50000);
    swamp__instance_stop(server->instance, 90000); /* longer: no effect */
    advance(49900);
    ck_assert_uint_eq(server->cancels, 0);
    advance(1000);
    ck_assert_int_eq(server->ended, SWAMP_END);
}
END_TEST

START_TEST(viewer_that_reads_nothing_holds_the_stop_for_10_s_only)
{
    start_run(peer, "r");
    peer->blocked = 1;
    fake_server_emit(server, 0, 1);
    swamp__instance_stop(server->instance, 0);
    advance(9900);
    ck_assert_int_eq(server->ended, 0);
    advance(300);
    ck_assert_int_eq(server->ended, SWAMP_END);
    ck_assert_int_eq(peer->closed, 1001);
}
END_TEST

START_TEST(stop_with_the_store_down_ends_all_the_same)
{
    start_run(peer, "r");
    server->questions->down = server->beats->down = FAKE_ERROR;
    swamp__instance_stop(server->instance, 0);
    advance(60000);
    ck_assert_int_eq(server->ended, SWAMP_END);
}
END_TEST

/* DESIGN 6.2: a run that was promised never to start must not be found and ended by the others' reapers. */
START_TEST(keys_of_an_unconfirmed_admission_go_before_the_heartbeat)
{
    fake_asker_script(server->questions, FAKE_ANSWER_LOST); /* the admission ... */
    fake_asker_script(server->questions, FAKE_ERROR);       /* ... and the first try to take it back */
    send_start(peer, "s");
    advance(20);
    expect(peer, "\"id\":\"s\"", "\"code\":\"unavailable\"", NULL);
    swamp__instance_stop(server->instance, 0);
    advance(5000);
    ck_assert_int_eq(server->ended, SWAMP_END);
    ck_assert_uint_eq(server->starts, 0);
    ck_assert_uint_eq(count_keys(SWAMP__KEYS_ACTIVE_RUNS), 0);
    ck_assert_uint_eq(count_keys(SWAMP__KEYS_RUNS), 0);
}
END_TEST

/* The fence (PROTOCOL 5): the heartbeat is gone, the next checked write or beat says so. */

START_TEST(declared_dead_it_tells_each_viewer_in_its_own_form_and_ends_fenced)
{
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", start_run(peer, "r")->id);
    server->finish_on_cancel = 0;
    send_attach(peer, "a", run_id, 0);
    expect(peer, "run.attached", NULL);
    put_record(swamp__key_heartbeat(server->options.instance_id).text, NULL);
    if (_i) /* by a run's write, else by a beat */
        fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    advance(_i ? 20 : 10100);
    const char *frame;
    int interrupted = 0, error = 0;
    while ((frame = fake_peer_next(peer))) {
        ck_assert_ptr_null(strstr(frame, "completed"));
        ck_assert_ptr_nonnull(strstr(frame, "instance_fenced"));
        ck_assert_ptr_nonnull(strstr(frame, server->options.instance_id));
        interrupted += strstr(frame, "{\"type\":\"run.interrupted\",\"id\":\"a\"") != NULL;
        error +=
            strstr(frame, "{\"type\":\"error\",\"id\":\"r\"") && strstr(frame, "\"code\":\"interrupted\"");
    }
    ck_assert_int_eq(interrupted, 1);
    ck_assert_int_eq(error, 1);
    advance(6000);
    ck_assert_int_eq(server->ended, SWAMP_E_FENCED);
    ck_assert_int_eq(peer->closed, 1001);
    if (!_i) {
        ck_assert_str_eq(server->reason, "instance_fenced");
        ck_assert_int_eq(swamp__run_emit(server->runs[0], "{\"kind\":\"x\"}", 12), SWAMP_E_FENCED);
    }
}
END_TEST

/* PROTOCOL 5: any failed check of the own heartbeat says it, not only a beat's or a run's. */
START_TEST(refused_cancel_request_says_that_this_instance_is_dead)
{
    put_foreign("run");
    put_record(swamp__key_heartbeat(server->options.instance_id).text, NULL);
    fake_peer_send(peer, "{\"type\":\"run.cancel\",\"id\":\"c\",\"payload\":{\"runId\":\"run\"}}");
    advance(500);
    expect(peer, "\"id\":\"c\"", "\"code\":\"unavailable\"", NULL);
    ck_assert_int_eq(server->ended, SWAMP_E_FENCED);
}
END_TEST

/* Refused before the first heartbeat was written, answered after: nobody has declared this instance dead. */
START_TEST(refusal_from_before_joining_is_no_death)
{
    fake_server *late = fake_server_new(world, store, NULL);
    late->beats->down = FAKE_ERROR;
    advance(100);
    put_foreign("run");
    fake_peer *client = fake_peer_new(late);
    late->questions->answer_low_ms = late->questions->answer_high_ms = 8000;
    fake_peer_send(client, "{\"type\":\"run.cancel\",\"id\":\"c\",\"payload\":{\"runId\":\"run\"}}");
    advance(10);
    ck_assert(late->questions->commits > 0 && !late->ready);
    late->beats->down = FAKE_FINE;
    advance(7000);
    ck_assert(late->ready);
    expect_nothing(client, 100);
    advance(2000);
    expect(client, "\"id\":\"c\"", "\"code\":\"unavailable\"", NULL);
    ck_assert(!late->instance->fenced);
    ck_assert_ptr_nonnull(stored(swamp__key_heartbeat(late->options.instance_id).text));
    fake_peer_free(client);
    fake_server_free(late);
}
END_TEST

/* Whichever write told it. A record that is there after all, as after a restore of the store, is not kept alive. */
START_TEST(instance_that_was_refused_a_write_beats_no_more)
{
    char key[512], record[2048];
    snprintf(key, sizeof key, "%s", swamp__key_heartbeat(server->options.instance_id).text);
    snprintf(record, sizeof record, "%s", stored(key));
    put_foreign("run");
    put_record(key, NULL);
    fake_peer_send(peer, "{\"type\":\"run.cancel\",\"id\":\"c\",\"payload\":{\"runId\":\"run\"}}");
    advance(10);
    ck_assert(server->instance->fenced);
    put_record(key, record);
    size_t commits = server->beats->commits;
    advance(60000);
    ck_assert_int_eq(server->ended, SWAMP_E_FENCED);
    ck_assert_uint_eq(server->beats->commits, commits);
}
END_TEST

/* PROTOCOL 6.1: in the registry but fenced. */
START_TEST(attach_to_a_run_that_was_taken_away_is_interrupted)
{
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", start_run(peer, "r")->id);
    peer->blocked = 1;
    fake_server_emit(server, 0, 1); /* keeps the connection open until it is read */
    put_record(swamp__key_heartbeat(server->options.instance_id).text, NULL);
    advance(5500);
    send_attach(peer, "late", run_id, 0);
    advance(10);
    fake_peer_unblock(peer);
    advance(100);
    int found = 0;
    for (const char *frame; (frame = fake_peer_next(peer));)
        found += strstr(frame, "{\"type\":\"run.interrupted\",\"id\":\"late\"") &&
                 strstr(frame, "\"reason\":\"instance_fenced\"");
    ck_assert_int_eq(found, 1);
}
END_TEST

START_TEST(fence_refuses_what_the_host_has_not_resolved)
{
    server->hold_kind = SWAMP_WORK_RESOLVE;
    send_start(peer, "s");
    put_record(swamp__key_heartbeat(server->options.instance_id).text, NULL);
    advance(5100);
    expect(peer, "\"id\":\"s\"", "\"code\":\"unavailable\"", NULL);
    ck_assert_int_eq(server->ended, SWAMP_E_FENCED);
    fake_server_let_go(server);
    advance(100);
    ck_assert_uint_eq(server->starts, 0);
}
END_TEST

START_TEST(fenced_while_stopping_ends_fenced_once)
{
    start_run(peer, "r");
    swamp__instance_stop(server->instance, 60000);
    advance(6000);
    put_record(swamp__key_heartbeat(server->options.instance_id).text, NULL);
    advance(40000);
    ck_assert_int_eq(server->ended, SWAMP_E_FENCED);
}
END_TEST

START_TEST(store_thread_that_answers_nothing_stops_the_beats)
{
    start_run(peer, "r");
    server->questions->ask_low_ms = server->questions->ask_high_ms = 1000000;
    advance(40000);
    size_t before = server->beats->commits;
    ck_assert_uint_ge(before, 4);
    advance(60000);
    ck_assert_uint_le(server->beats->commits, before + 1);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("stop");
    TCase *tests = add_case(suite, "stop");
    tcase_add_test(tests, idle_instance_stops_after_the_grace_and_removes_its_heartbeat);
    tcase_add_test(tests, withheld_answer_does_not_hold_the_stop);
    tcase_add_test(tests, draining_instance_takes_attaches_but_no_runs);
    tcase_add_test(tests, finished_runs_go_before_the_heartbeat);
    tcase_add_test(tests, host_that_does_not_resolve_does_not_hold_a_stop_without_bound);
    tcase_add_test(tests, run_left_at_the_drain_timeout_is_cancelled_with_instance_shutdown);
    tcase_add_test(tests, run_that_a_person_cancelled_is_not_interrupted_by_the_stop);
    tcase_add_test(tests, host_that_never_answers_a_cancel_does_not_hold_the_stop);
    tcase_add_test(tests, second_stop_with_a_shorter_time_holds);
    tcase_add_test(tests, viewer_that_reads_nothing_holds_the_stop_for_10_s_only);
    tcase_add_test(tests, stop_with_the_store_down_ends_all_the_same);
    tcase_add_loop_test(tests, declared_dead_it_tells_each_viewer_in_its_own_form_and_ends_fenced, 0, 2);
    tcase_add_test(tests, keys_of_an_unconfirmed_admission_go_before_the_heartbeat);
    tcase_add_test(tests, refused_cancel_request_says_that_this_instance_is_dead);
    tcase_add_test(tests, refusal_from_before_joining_is_no_death);
    tcase_add_test(tests, instance_that_was_refused_a_write_beats_no_more);
    tcase_add_test(tests, attach_to_a_run_that_was_taken_away_is_interrupted);
    tcase_add_test(tests, fence_refuses_what_the_host_has_not_resolved);
    tcase_add_test(tests, fenced_while_stopping_ends_fenced_once);
    tcase_add_test(tests, store_thread_that_answers_nothing_stops_the_beats);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
