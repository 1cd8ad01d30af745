/* The host's side of work: by pull and by executor, runs to their end, progress, cancel. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include "fixture.h"

static void
run_to_the_end(int with_executor)
{
    host h = {0};
    int events, gaps;
    char status[64] = "";
    host_begin(&h, 0, with_executor);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "count");
    read_all(session, &events, &gaps, status, sizeof(status));
    ck_assert_int_eq(events, 6);
    ck_assert_int_eq(gaps, 0);
    ck_assert_str_eq(status, "succeeded");
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
    ck_assert_int_eq(h.destroyed, with_executor);
}

START_TEST(host_by_pull)
{
    run_to_the_end(0);
}
END_TEST

START_TEST(host_by_executor)
{
    run_to_the_end(1);
}
END_TEST

START_TEST(next_is_not_for_servers_with_an_executor)
{
    host h = {0};
    swamp_work *work;
    host_begin(&h, 0, 1);
    ck_assert_int_eq(swamp_server_next(h.server, 0, &work), SWAMP_E_STATE);
    host_stop(&h);
}
END_TEST

START_TEST(next_waits_no_longer_than_asked)
{
    swamp_server *server = local_server();
    swamp_work *work = NULL;
    ck_assert_int_eq(swamp_server_next(server, 0, &work), SWAMP_OK);
    ck_assert_int_eq(swamp_server_next(server, 20, &work), SWAMP_OK);
    ck_assert_int_eq(swamp_server_wait(server, 0), SWAMP_OK);
    ck_assert_int_eq(swamp_server_wait(server, 20), SWAMP_OK);
    ck_assert_ptr_null(work);
    ck_assert_int_eq(swamp_server_stop(server, 0), SWAMP_OK);
    ck_assert_int_eq(swamp_server_next(server, -1, &work), SWAMP_END);
    ck_assert_int_eq(swamp_server_wait(server, -1), SWAMP_END);
    swamp_server_free(server);
}
END_TEST

START_TEST(work_tells_what_is_asked)
{
    swamp_server *server = local_server();
    swamp_work *work;
    swamp_run *run;
    size_t len;
    swamp_session *session = start_local(server, "hold");

    work = next_work(server, SWAMP_WORK_RESOLVE);
    ck_assert_str_eq(swamp_work_type(work), "workflow.run");
    ck_assert_str_eq(swamp_work_payload(work, &len), "{\"workflowIdOrName\":\"hold\"}");
    ck_assert_uint_eq(len, 27);
    ck_assert_uint_eq(strlen(swamp_work_run_id(work)), 36);
    ck_assert_str_eq(swamp_work_reason(work), "");
    ck_assert_int_eq(swamp_work_run(work, &run), SWAMP_E_STATE);
    answer_known(work);

    work = next_work(server, SWAMP_WORK_START);
    ck_assert_int_eq(swamp_work_run(work, &run), SWAMP_OK);
    ck_assert_str_eq(swamp_run_id(run), swamp_work_run_id(work));
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, NULL, 0), SWAMP_OK);

    ck_assert_int_eq(swamp_server_cancel(server, swamp_run_id(run), "enough of it"), SWAMP_OK);
    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    swamp_run *same = NULL;
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_CANCEL);
    ck_assert_str_eq(swamp_work_type(work), "");
    ck_assert_str_eq(swamp_work_payload(work, &len), "{}");
    ck_assert_str_eq(swamp_work_reason(work), "enough of it");
    ck_assert_int_eq(swamp_work_run(work, &same), SWAMP_OK);
    ck_assert_ptr_eq(same, run);
    ck_assert_int_eq(finish_now(run, SWAMP_RUN_CANCELLED), SWAMP_OK);
    ck_assert_int_eq(swamp_work_run(work, &same),
                     SWAMP_E_CLOSED); /* finished meanwhile; work still holds it */
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, NULL, 0), SWAMP_OK);

    swamp_event *done = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(done), "cancelled");
    ck_assert_int_eq(swamp_event_success(done), 0);
    swamp_event_free(done);
    swamp_session_free(session);
    swamp_server_free(server);
}
END_TEST

START_TEST(a_name_the_host_does_not_know_ends_without_a_run)
{
    host h = {0};
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *session = start_local(h.server, "unknown");
    swamp_event *event = next_of(session, SWAMP_EVENT_RUN);
    ck_assert_str_eq(swamp_event_kind(event), "error");
    ck_assert_ptr_nonnull(strstr(swamp_event_json(event, NULL), "workflow_not_found"));
    swamp_event_free(event);
    event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_int_eq(swamp_event_success(event), 0);
    swamp_event_free(event);
    expect_end(session);
    swamp_session_free(session);
    host_stop(&h);
}
END_TEST

static int
is_in_history(swamp_server *server, const char *run_id, const char *needle)
{
    char payload[128];
    swamp_event *answer = NULL;
    snprintf(payload, sizeof(payload), "{\"workflowIdOrName\":\"%s\"}", run_id);
    ck_assert_int_eq(swamp_server_request(server, "workflow.history.get", payload, LONG_MS, &answer),
                     SWAMP_EVENT);
    const char *json = swamp_event_json(answer, NULL);
    int found = json && strstr(json, needle);
    swamp_event_free(answer);
    return found;
}

START_TEST(emit_refuses_what_is_no_event)
{
    host h = {0};
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *session = start_local(h.server, "hold");
    swamp_run *run = host_take(&h);
    char id[64];
    snprintf(id, sizeof(id), "%s", swamp_run_id(run));
    ck_assert_int_eq(swamp_run_emit(run, "{", 1), SWAMP_E_JSON);
    ck_assert_int_eq(swamp_run_emit(run, "[]", 2), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_run_emit(run, "{\"seq\":1}", 9), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_run_emit(run, "{\"a\":1,\"a\":1}", 13), SWAMP_E_RULES);
    ck_assert_int_eq(swamp_run_emit(run, NULL, 0), SWAMP_E_INVALID);
    char *big = malloc(262145);
    memset(big, ' ', 262145);
    big[0] = '{', big[262143] = '}';
    ck_assert_int_eq(swamp_run_emit(run, big, 262144), SWAMP_OK);
    big[262143] = ' ', big[262144] = '}';
    ck_assert_int_eq(swamp_run_emit(run, big, 262145), SWAMP_E_TOO_BIG);
    free(big);
    /* an end that is bad still ends the run, as failed */
    ck_assert_int_eq(swamp_run_finish(run, SWAMP_RUN_SUCCEEDED, "{", 1, NULL, 0), SWAMP_E_JSON);
    swamp_event *done = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_int_eq(swamp_event_success(done), 0);
    swamp_event_free(done);
    ck_assert(is_in_history(h.server, id, "\"status\":\"failed\""));
    swamp_session_free(session);
    host_stop(&h);
}
END_TEST

START_TEST(progress_is_in_history_while_the_run_goes_on_and_the_end_is_what_was_recorded)
{
    host h = {0};
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_run *run = host_take(&h);
    char id[64];
    snprintf(id, sizeof(id), "%s", swamp_run_id(run));
    const char *half =
        "{\"workflowName\":\"wf\",\"jobs\":[{\"name\":\"half\",\"status\":\"running\",\"steps\":[]}]}";
    ck_assert_int_eq(swamp_run_update(run, half, strlen(half)), SWAMP_OK);
    while (!is_in_history(h.server, id, "\"half\"")) /* written at most once a second */
        poll(NULL, 0, 20);
    ck_assert(is_in_history(h.server, id, "\"status\":\"running\""));
    ck_assert_int_eq(swamp_run_update(run, "[]", 2), SWAMP_E_INVALID);

    const char *last = "{\"kind\":\"completed\",\"run\":null}";
    const char *whole =
        "{\"workflowName\":\"wf\",\"jobs\":[{\"name\":\"whole\",\"status\":\"succeeded\",\"steps\":[]}],"
        "\"status\":\"failed\",\"id\":\"mine\"}";
    ck_assert_int_eq(swamp_run_finish(run, SWAMP_RUN_SUCCEEDED, last, strlen(last), whole, strlen(whole)),
                     SWAMP_OK);
    swamp_event *event = next_of(session, SWAMP_EVENT_RUN);
    const char *json = swamp_event_json(event, NULL);
    ck_assert_str_eq(swamp_event_kind(event), "completed");
    ck_assert_msg(strstr(json, "\"whole\"") && strstr(json, "\"status\":\"succeeded\"") && strstr(json, id),
                  "%s", json);
    ck_assert_ptr_null(strstr(json, "\"mine\"")); /* the library owns id and status */
    swamp_event_free(event);
    event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "succeeded");
    ck_assert_int_eq(swamp_event_success(event), 1);
    swamp_event_free(event);
    ck_assert(is_in_history(h.server, id, "\"whole\""));
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(a_cancel_by_the_server_reaches_the_host)
{
    host h = {.obey = 1};
    host_begin(&h, SWAMP_SERVER_LOCAL, 1);
    swamp_session *session = start_local(h.server, "hold");
    swamp_event *event = next_of(session, SWAMP_EVENT_ACCEPTED);
    char id[64];
    snprintf(id, sizeof(id), "%s", swamp_event_run_id(event));
    swamp_event_free(event);
    ck_assert_int_eq(swamp_server_cancel(h.server, "a/b", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_cancel(h.server, id, NULL), SWAMP_OK);
    event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "cancelled");
    swamp_event_free(event);
    swamp_session_free(session);
    host_stop(&h);
    ck_assert_int_eq(h.cancels, 1);
}
END_TEST

START_TEST(a_cancel_by_a_session_brings_its_reason)
{
    host h = {.obey = 1};
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED));
    ck_assert_int_eq(swamp_session_cancel(session, "typed by a person"), SWAMP_OK);
    swamp_event *event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "cancelled");
    swamp_event_free(event);
    ck_assert_str_eq(h.reason, "typed by a person");
    ck_assert_int_eq(swamp_session_cancel(session, NULL), SWAMP_E_STATE);
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

/* A host with one thread that was asked to end what it had not yet begun could only wait for the stop's last bound. */
START_TEST(a_cancel_never_comes_before_the_start_of_its_run)
{
    swamp_server *server = local_server();
    swamp_work *work;
    swamp_event *answer;
    swamp_run *run;
    char payload[128];
    swamp_session *session = start_local(server, "any");
    answer_known(next_work(server, SWAMP_WORK_RESOLVE));
    swamp_event *accepted = next_of(session, SWAMP_EVENT_ACCEPTED);
    snprintf(payload, sizeof payload, "{\"runId\":\"%s\"}", swamp_event_run_id(accepted));
    swamp_event_free(accepted);
    ck_assert_int_eq(swamp_server_request(server, "run.cancel", payload, LONG_MS, &answer), SWAMP_EVENT);
    swamp_event_free(answer); /* START and CANCEL both wait for the host now */
    work = next_work(server, SWAMP_WORK_START);
    ck_assert_int_eq(swamp_work_run(work, &run), SWAMP_OK);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, NULL, 0), SWAMP_OK);
    work = next_work(server, SWAMP_WORK_CANCEL);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, NULL, 0), SWAMP_OK);
    swamp_run_finish(run, SWAMP_RUN_CANCELLED, NULL, 0, NULL, 0);
    swamp_event_free(next_of(session, SWAMP_EVENT_DONE));
    swamp_session_free(session);
    swamp_server_free(server);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("api host");
    TCase *t = tcase_create("host");
    tcase_set_timeout(t, 90);
    tcase_add_test(t, host_by_pull);
    tcase_add_test(t, host_by_executor);
    tcase_add_test(t, next_is_not_for_servers_with_an_executor);
    tcase_add_test(t, next_waits_no_longer_than_asked);
    tcase_add_test(t, work_tells_what_is_asked);
    tcase_add_test(t, a_name_the_host_does_not_know_ends_without_a_run);
    tcase_add_test(t, emit_refuses_what_is_no_event);
    tcase_add_test(t, progress_is_in_history_while_the_run_goes_on_and_the_end_is_what_was_recorded);
    tcase_add_test(t, a_cancel_by_the_server_reaches_the_host);
    tcase_add_test(t, a_cancel_by_a_session_brings_its_reason);
    tcase_add_test(t, a_cancel_never_comes_before_the_start_of_its_run);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
