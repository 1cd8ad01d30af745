/* Starting a run (DESIGN 6.1 to 6.3): known before done, recorded before told, and what becomes of each failure. */
#include "fixture.h"

START_TEST(run_is_recorded_before_it_is_accepted_and_accepted_before_its_events)
{
    send_start(peer, "r");
    advance(10);
    expect(peer, "{\"type\":\"run.accepted\",\"id\":\"r\",\"run\":{\"runId\":\"", NULL);
    ck_assert_uint_eq(server->starts, 1);
    char *active = stored(swamp__key_active_run(server->runs[0]->id).text);
    ck_assert_ptr_nonnull(active);
    ck_assert_ptr_nonnull(strstr(active, server->options.instance_id));
    fake_server_emit(server, 0, 1);
    expect_event(peer, "r", 1);
}
END_TEST

START_TEST(unknown_name_is_answered_by_events_and_done_without_run_or_record)
{
    fake_peer_send(peer,
                   "{\"type\":\"workflow.run\",\"id\":\"r\",\"payload\":{\"workflowIdOrName\":\"no-such\"}}");
    expect(peer, "{\"type\":\"event\",\"id\":\"r\",\"event\":{\"kind\":\"validating_inputs\",\"seq\":1}}",
           NULL);
    expect(peer, "workflow_not_found", ",\"seq\":2}}", NULL);
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
    advance(100);
    ck_assert_uint_eq(server->starts, 0);
    ck_assert_uint_eq(swamp__map_count(server->instance->registry->runs), 0);
    start_run(peer, "r"); /* the id is free */
}
END_TEST

START_TEST(answer_that_cannot_be_read_is_internal_error)
{
    fake_peer_send(
        peer, "{\"type\":\"workflow.run\",\"id\":\"r\",\"payload\":{\"workflowIdOrName\":\"bad-answer\"}}");
    expect(peer, "\"type\":\"error\",\"id\":\"r\"", "internal_error", NULL);
}
END_TEST

START_TEST(store_that_is_down_makes_a_start_unavailable_and_nothing_starts)
{
    server->questions->down = _i;
    send_start(peer, "r");
    advance(100);
    expect(peer, "\"type\":\"error\",\"id\":\"r\"", "\"code\":\"unavailable\"", "\"retryAfterMs\":", NULL);
    server->questions->down = FAKE_FINE;
    advance(60000);
    ck_assert_uint_eq(server->starts, 0);
    ck_assert_uint_eq(server->instance->registry->unfinished, 0);
    ck_assert_uint_eq(swamp__map_count(server->instance->registry->runs), 0);
}
END_TEST

START_TEST(run_at_the_cap_starts_and_one_more_is_global_cap)
{
    tear_down();
    fake_server_options(&options);
    options.max_runs = 2;
    set_up();
    server->hold_kind = SWAMP_WORK_RESOLVE;
    send_start(peer, "a");
    send_start(peer, "b");
    send_start(peer, "c"); /* counts although nothing is resolved yet */
    expect(peer, "\"id\":\"c\"", "global_cap", NULL);
    fake_server_let_go(server);
    advance(10);
    ck_assert_uint_eq(server->starts, 2);
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    advance(10);
    send_start(peer, "d");
    advance(10);
    ck_assert_uint_eq(server->starts, 3);
}
END_TEST

START_TEST(one_principal_at_its_cap_is_principal_cap)
{
    tear_down();
    fake_server_options(&options);
    options.max_runs_per_principal = 1;
    set_up();
    start_run(peer, "a");
    send_start(peer, "b");
    expect(peer, "\"id\":\"b\"", "principal_cap", NULL);
}
END_TEST

START_TEST(client_that_goes_while_resolving_starts_nothing)
{
    server->hold_kind = SWAMP_WORK_RESOLVE;
    send_start(peer, "r");
    advance(10);
    fake_peer_free(peer);
    peer = NULL;
    fake_server_let_go(server);
    advance(100);
    ck_assert_uint_eq(server->resolves, 1);
    ck_assert_uint_eq(server->starts, 0);
    ck_assert_uint_eq(server->instance->start_count, 0);
}
END_TEST

START_TEST(client_that_goes_during_admission_leaves_a_run_that_goes_on)
{
    server->questions->answer_low_ms = server->questions->answer_high_ms = 50;
    send_start(peer, "r");
    advance(20);
    ck_assert_uint_eq(server->resolves, 1);
    fake_peer_free(peer);
    peer = NULL;
    advance(200);
    ck_assert_uint_eq(server->starts, 1);
    ck_assert_uint_eq(server->instance->start_count, 0);
    ck_assert_uint_eq(server->instance->viewer_count, 0);
}
END_TEST

START_TEST(host_that_cannot_take_the_run_on_ends_it_as_failed)
{
    server->start_status = SWAMP_E_REFUSED;
    send_start(peer, "r");
    advance(20);
    expect(peer, "run.accepted", NULL);
    expect(peer, "\"kind\":\"completed\",\"run\":{\"id\":", "\"status\":\"failed\"", "\"seq\":1}}", NULL);
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
    fake_peer_send(
        peer,
        "{\"type\":\"workflow.history.get\",\"id\":\"h\",\"payload\":{\"workflowIdOrName\":\"quick\"}}");
    advance(20);
    expect(peer, "\"id\":\"h\"", "\"status\":\"failed\"", NULL);
}
END_TEST

START_TEST(cancel_while_resolving_answers_cancelled_and_nothing_starts)
{
    server->hold_kind = SWAMP_WORK_RESOLVE;
    send_start(peer, "r");
    advance(10);
    send_plain(peer, "cancel", "r");
    expect(peer, "\"type\":\"error\",\"id\":\"r\"", "\"code\":\"cancelled\"", NULL);
    fake_server_let_go(server);
    advance(100);
    ck_assert_uint_eq(server->starts, 0);
    expect_nothing(peer, 10);
}
END_TEST

START_TEST(cancel_during_admission_starts_and_cancels)
{
    server->questions->answer_low_ms = server->questions->answer_high_ms = 50;
    send_start(peer, "r");
    advance(20);
    send_plain(peer, "cancel", "r");
    advance(400);
    expect(peer, "run.accepted", NULL);
    expect(peer, "\"kind\":\"cancelled\"", "\"status\":\"cancelled\"", NULL);
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
    ck_assert_uint_eq(server->cancels, 1);
}
END_TEST

START_TEST(run_that_lasts_too_long_is_cancelled_with_the_reason)
{
    tear_down();
    fake_server_options(&options);
    options.max_run_duration_ms = 5000;
    set_up();
    start_run(peer, "r");
    advance(4900);
    ck_assert_uint_eq(server->cancels, 0);
    advance(200);
    ck_assert_uint_eq(server->cancels, 1);
    ck_assert_str_eq(server->reason, "max_run_duration");
    expect(peer, "\"kind\":\"cancelled\"", "\"interruptReason\":\"max_run_duration\"", NULL);
}
END_TEST

/* Its last event may be behind the client's cursor, or be evicted: the state alone would hide that it was interrupted. */
START_TEST(attach_after_the_end_is_told_why_it_was_interrupted)
{
    tear_down();
    fake_server_options(&options);
    options.max_run_duration_ms = 5000;
    set_up();
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", start_run(peer, "r")->id);
    advance(5100);
    expect(peer, "\"kind\":\"cancelled\"", "\"seq\":1}", NULL);
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
    send_attach(peer, "late", run_id, 1);
    expect(peer, "run.attached", "\"id\":\"late\"",
           "\"state\":\"cancelled\",\"interruptReason\":\"max_run_duration\"}}", NULL);
    expect(peer, "{\"type\":\"done\",\"id\":\"late\"}", NULL);
}
END_TEST

START_TEST(without_a_store_runs_start_end_and_are_known_here)
{
    start_run(peer, "r");
    fake_server_emit(server, 0, 1);
    expect_event(peer, "r", 1);
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    expect_event(peer, "r", 2);
    expect(peer, "\"type\":\"done\"", NULL);
    fake_peer_send(
        peer,
        "{\"type\":\"workflow.history.get\",\"id\":\"h\",\"payload\":{\"workflowIdOrName\":\"quick\"}}");
    expect(peer, "{\"type\":\"workflow.history.get\",\"id\":\"h\",\"payload\":{\"data\":{",
           "\"status\":\"succeeded\"", NULL);
    send_plain(peer, "run.history", "l");
    expect(peer, "{\"type\":\"run.history\",\"id\":\"l\",\"payload\":{\"runs\":[{\"id\":",
           "\"workflowName\":\"quick\"", NULL);
    send_plain(peer, "cluster.instances", "i");
    expect(peer, "\"instances\":[{\"instanceId\":", "\"draining\":false", NULL);
    swamp__instance_stop(server->instance, 0);
    advance(20000);
    ck_assert_int_eq(server->ended, SWAMP_END);
}
END_TEST

static void
send_history_get(const char *text)
{
    char request[300];
    snprintf(request, sizeof request,
             "{\"type\":\"workflow.history.get\",\"id\":\"h\",\"payload\":{\"workflowIdOrName\":\"%s\"}}",
             text);
    fake_peer_send(peer, request);
}

/* PROTOCOL 2: also without a store a part of an id names a run, if it is long enough and of one id only. */
START_TEST(without_a_store_a_part_of_an_id_names_the_run)
{
    char first[64], second[64], found[80], part[64];
    snprintf(first, sizeof first, "%s", start_run(peer, "a")->id);
    snprintf(second, sizeof second, "%s", start_run(peer, "b")->id);
    snprintf(found, sizeof found, "\"data\":{\"id\":\"%s\"", first);
    send_history_get(first + 36 - 8);
    expect(peer, found, NULL);
    send_history_get(first + 36 - 7);
    expect(peer, "\"id\":\"h\"", "not_found", NULL);
    size_t shared = 0;
    while (first[shared] == second[shared])
        shared++;
    ck_assert_uint_lt(shared, 36);
    snprintf(part, sizeof part, "%.*s", (int)(shared < 13 ? 13 : shared + 1), first);
    send_history_get(part);
    expect(peer, found, NULL);
    snprintf(part, sizeof part, "%.12s", first);
    send_history_get(part);
    expect(peer, "\"id\":\"h\"", "not_found", NULL);
    if (shared >= 13) {
        snprintf(part, sizeof part, "%.13s", first);
        send_history_get(part);
        expect(peer, "\"id\":\"h\"", "invalid_request", "2 runs", NULL);
    }
}
END_TEST

/* PROTOCOL 4: the same row as from a store; null where it does not apply. */
START_TEST(without_a_store_rows_are_complete)
{
    start_run(peer, "r");
    send_plain(peer, "run.history", "l");
    expect(peer,
           "\"runKind\":\"workflow-run\",\"modelType\":null,\"methodName\":null,\"workflowName\":\"quick\",",
           "\"pid\":7,\"hostname\":\"host\",\"status\":\"running\",\"startedAt\":\"", "\"heartbeatAt\":\"",
           "\"stale\":false,\"initiatedBy\":\"anonymous\"}", NULL);
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    expect_event(peer, "r", 1);
    expect(peer, "\"type\":\"done\"", NULL);
    send_plain(peer, "run.history", "l");
    expect(peer, "\"pid\":null,\"hostname\":null,\"status\":\"succeeded\"",
           "\"heartbeatAt\":null,\"stale\":null,\"initiatedBy\":\"anonymous\"}", NULL);
    fake_peer_send(peer, "{\"type\":\"run.history\",\"id\":\"l\",\"payload\":{\"active\":true}}");
    expect(peer, "\"payload\":{\"runs\":[]}}", NULL);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("start");
    TCase *tests = add_case(suite, "start");
    tcase_add_test(tests, run_is_recorded_before_it_is_accepted_and_accepted_before_its_events);
    tcase_add_test(tests, unknown_name_is_answered_by_events_and_done_without_run_or_record);
    tcase_add_test(tests, answer_that_cannot_be_read_is_internal_error);
    tcase_add_loop_test(tests, store_that_is_down_makes_a_start_unavailable_and_nothing_starts, FAKE_ERROR,
                        FAKE_WRITE_LOST + 1);
    tcase_add_test(tests, run_at_the_cap_starts_and_one_more_is_global_cap);
    tcase_add_test(tests, one_principal_at_its_cap_is_principal_cap);
    tcase_add_test(tests, client_that_goes_while_resolving_starts_nothing);
    tcase_add_test(tests, client_that_goes_during_admission_leaves_a_run_that_goes_on);
    tcase_add_test(tests, host_that_cannot_take_the_run_on_ends_it_as_failed);
    tcase_add_test(tests, cancel_while_resolving_answers_cancelled_and_nothing_starts);
    tcase_add_test(tests, cancel_during_admission_starts_and_cancels);
    tcase_add_test(tests, run_that_lasts_too_long_is_cancelled_with_the_reason);
    tcase_add_test(tests, attach_after_the_end_is_told_why_it_was_interrupted);
    TCase *storeless = tcase_create("storeless");
    tcase_add_checked_fixture(storeless, set_up_storeless, tear_down);
    tcase_add_test(storeless, without_a_store_runs_start_end_and_are_known_here);
    tcase_add_test(storeless, without_a_store_a_part_of_an_id_names_the_run);
    tcase_add_test(storeless, without_a_store_rows_are_complete);
    suite_add_tcase(suite, storeless);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
