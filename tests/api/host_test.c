/* The host's side: work by pull and by executor, runs to their end, cancel, planned stop, fence, free in any order. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include "fixture.h"

static void
run_to_the_end(int with_executor)
{
    host h = {0};
    swamp_server_options o;
    int events, gaps;
    char status[64] = "";
    host_options(&o);
    host_start(&h, &o, with_executor);
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
    swamp_server_options o;
    swamp_work *work;
    host_options(&o);
    host_start(&h, &o, 1);
    ck_assert_int_eq(swamp_server_next(h.server, 0, &work), SWAMP_E_STATE);
    host_stop(&h);
}
END_TEST

START_TEST(next_waits_no_longer_than_asked)
{
    swamp_server_options o;
    swamp_server *server;
    swamp_work *work = NULL;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    ck_assert_int_eq(swamp_server_new(&server, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
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
    swamp_server_options o;
    swamp_server *server;
    swamp_work *work;
    swamp_run *run;
    size_t len;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    ck_assert_int_eq(swamp_server_new(&server, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
    swamp_session *session = start_local(server, "hold");

    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_RESOLVE);
    ck_assert_str_eq(swamp_work_type(work), "workflow.run");
    ck_assert_str_eq(swamp_work_payload(work, &len), "{\"workflowIdOrName\":\"hold\"}");
    ck_assert_uint_eq(len, 27);
    ck_assert_uint_eq(strlen(swamp_work_run_id(work)), 36);
    ck_assert_str_eq(swamp_work_reason(work), "");
    ck_assert_int_eq(swamp_work_run(work, &run), SWAMP_E_STATE);
    const char *known = "{\"resourceName\":\"hold\",\"workflowId\":\"hold\"}";
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, known, strlen(known)), SWAMP_OK);

    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_START);
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
    swamp_server_options o;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    host_start(&h, &o, 0);
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
    swamp_server_options o;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    host_start(&h, &o, 0);
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
    swamp_server_options o;
    host_options(&o);
    host_start(&h, &o, 0);
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
    swamp_server_options o;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    host_start(&h, &o, 1);
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
    swamp_server_options o;
    host_options(&o);
    host_start(&h, &o, 0);
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

START_TEST(a_stop_without_drain_cancels_and_records)
{
    host h = {.obey = 1};
    swamp_server_options o;
    host_options(&o);
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED));
    host_wait_cancels(&h, 0);
    ck_assert_int_eq(swamp_server_stop(h.server, 0), SWAMP_OK);
    ck_assert_str_eq(h.reason, "instance_shutdown");
    swamp_event *event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "cancelled");
    swamp_event_free(event);
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

typedef struct stopper {
    swamp_server *server;
    int drain_ms, rc;
} stopper;

static void *
stop_server(void *user)
{
    stopper *s = user;
    s->rc = swamp_server_stop(s->server, s->drain_ms);
    return NULL;
}

START_TEST(a_stop_that_drains_lets_runs_end)
{
    host h = {0};
    swamp_server_options o;
    pthread_t thread;
    host_options(&o);
    host_start(&h, &o, 0);
    stopper s = {h.server, LONG_MS, -999};
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_run *run = host_take(&h);
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_server, &s), 0);
    swamp_event_free(next_of(session, SWAMP_EVENT_DRAINING));
    ck_assert_int_eq(swamp_server_wait(h.server, 0), SWAMP_OK);
    ck_assert_int_eq(emit_text(run, "still going"), SWAMP_OK);
    ck_assert_int_eq(finish_now(run, SWAMP_RUN_SUCCEEDED), SWAMP_OK);
    pthread_join(thread, NULL);
    ck_assert_int_eq(s.rc, SWAMP_OK);
    swamp_event *event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "succeeded");
    swamp_event_free(event);
    ck_assert_int_eq(h.cancels, 0);
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

/* A host with one thread that was asked to end what it had not yet begun could only wait for the stop's last bound. */
START_TEST(a_cancel_never_comes_before_the_start_of_its_run)
{
    static const char known[] = "{\"resourceName\":\"r\",\"workflowId\":\"w\"}";
    swamp_server_options o;
    swamp_server *server;
    swamp_work *work;
    swamp_event *answer;
    swamp_run *run;
    char payload[128];
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    ck_assert_int_eq(swamp_server_new(&server, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
    swamp_session *session = start_local(server, "any");
    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_RESOLVE);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, known, sizeof known - 1), SWAMP_OK);
    swamp_event *accepted = next_of(session, SWAMP_EVENT_ACCEPTED);
    snprintf(payload, sizeof payload, "{\"runId\":\"%s\"}", swamp_event_run_id(accepted));
    swamp_event_free(accepted);
    ck_assert_int_eq(swamp_server_request(server, "run.cancel", payload, LONG_MS, &answer), SWAMP_EVENT);
    swamp_event_free(answer); /* START and CANCEL both wait for the host now */
    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_START);
    ck_assert_int_eq(swamp_work_run(work, &run), SWAMP_OK);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, NULL, 0), SWAMP_OK);
    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_CANCEL);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, NULL, 0), SWAMP_OK);
    swamp_run_finish(run, SWAMP_RUN_CANCELLED, NULL, 0, NULL, 0);
    swamp_event_free(next_of(session, SWAMP_EVENT_DONE));
    swamp_session_free(session);
    swamp_server_free(server);
}
END_TEST

START_TEST(a_second_stop_with_a_shorter_time_holds)
{
    host h = {.obey = 1};
    swamp_server_options o;
    pthread_t threads[2];
    host_options(&o);
    host_start(&h, &o, 0);
    stopper first = {h.server, -1, -999}, second = {h.server, -1, -999};
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED));
    pthread_create(&threads[0], NULL, stop_server, &first);
    swamp_event_free(next_of(session, SWAMP_EVENT_DRAINING)); /* the first one is under way, for ever */
    pthread_create(&threads[1], NULL, stop_server, &second);
    ck_assert_int_eq(swamp_server_stop(h.server, 0), SWAMP_OK);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ck_assert_int_eq(first.rc, SWAMP_OK);
    ck_assert_int_eq(second.rc, SWAMP_OK);
    ck_assert_int_eq(h.cancels, 1);
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(freeing_a_server_lets_waiting_calls_leave_first)
{
    swamp_server_options o;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        stopper s = {NULL, 0, -999};
        ck_assert_int_eq(swamp_server_new(&s.server, &o, NULL), SWAMP_OK);
        ck_assert_int_eq(swamp_server_start(s.server), SWAMP_OK);
        pthread_create(&thread, NULL, stop_server, &s);
        while (swamp_server_wait(s.server, -1) == SWAMP_OK) /* it stops: the other call may still be inside */
            ;
        swamp_server_free(s.server);
        pthread_join(thread, NULL);
        ck_assert_int_eq(s.rc, SWAMP_OK);
    }
}
END_TEST

typedef struct callback_caller {
    swamp_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int rc, called, destroyed, frees;
} callback_caller;

static void
call_from_callback(swamp_work *work, void *user)
{
    callback_caller *c = user;
    swamp_work_answer(work, SWAMP_E_REFUSED, NULL, 0);
    pthread_mutex_lock(&c->lock);
    if (c->frees)
        swamp_server_free(c->server);
    else
        c->rc = swamp_server_stop(c->server, 0);
    c->called = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void
note_destroyed(void *user)
{
    callback_caller *c = user;
    pthread_mutex_lock(&c->lock);
    c->destroyed = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void
call_back_once(callback_caller *c)
{
    swamp_executor executor = {sizeof(executor), call_from_callback, note_destroyed};
    swamp_server_options o;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    o.executor = &executor;
    o.executor_user = c;
    ck_assert_int_eq(swamp_server_new(&c->server, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(c->server), SWAMP_OK);
    swamp_session *session = start_local(c->server, "count");
    pthread_mutex_lock(&c->lock);
    while (!c->called)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    swamp_session_free(session);
}

START_TEST(stop_in_an_executors_callback_is_reentrant)
{
    callback_caller c = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    call_back_once(&c);
    ck_assert_int_eq(c.rc, SWAMP_E_REENTRANT);
    ck_assert_int_eq(swamp_server_stop(c.server, 0), SWAMP_OK);
    swamp_server_free(c.server);
    ck_assert_int_eq(c.destroyed, 1);
}
END_TEST

START_TEST(free_in_an_executors_callback_is_deferred)
{
    callback_caller c = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .frees = 1};
    call_back_once(&c);
    pthread_mutex_lock(&c.lock);
    while (!c.destroyed)
        pthread_cond_wait(&c.changed, &c.lock);
    pthread_mutex_unlock(&c.lock);
}
END_TEST

START_TEST(runs_that_the_host_holds_outlive_stop_and_server)
{
    host h = {0}; /* does not obey */
    swamp_server_options o;
    char line[256];
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    host_start(&h, &o, 1);
    swamp_session *first = start_local(h.server, "hold"), *second = start_local(h.server, "hold");
    swamp_run *a = host_take(&h), *b = host_take(&h);
    ck_assert_int_eq(swamp_server_stop(h.server, 0), SWAMP_E_TIMEOUT);
    swamp_server_error(h.server, line, sizeof(line));
    ck_assert_msg(strstr(line, "2 runs"), "%s", line);
    ck_assert_int_eq(swamp_server_stop(h.server, 0), SWAMP_E_TIMEOUT); /* whoever asks again hears the same */
    ck_assert_int_eq(emit_text(a, "late"), SWAMP_E_CLOSED);
    ck_assert_int_eq(swamp_run_update(a, "{}", 2), SWAMP_E_CLOSED);
    ck_assert_int_eq(finish_now(a, SWAMP_RUN_SUCCEEDED), SWAMP_E_CLOSED);
    swamp_server_free(h.server);
    ck_assert_uint_eq(strlen(swamp_run_id(b)), 36);
    ck_assert_int_eq(emit_text(b, "later"), SWAMP_E_CLOSED);
    ck_assert_int_eq(finish_now(b, SWAMP_RUN_SUCCEEDED), SWAMP_E_CLOSED);
    swamp_session_free(first);
    swamp_session_free(second);
    swamp_store_free(h.store);
}
END_TEST

START_TEST(work_that_the_host_holds_outlives_the_server)
{
    swamp_server_options o;
    swamp_server *server;
    swamp_work *work;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    ck_assert_int_eq(swamp_server_new(&server, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
    swamp_session *session = start_local(server, "hold"), *untaken = start_local(server, "hold");
    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    swamp_server_free(server); /* with another RESOLVE that nobody took */
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_RESOLVE);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, "{}", 2), SWAMP_OK);
    swamp_session_free(session);
    swamp_session_free(untaken);
}
END_TEST

START_TEST(a_start_that_nobody_took_is_no_leak)
{
    swamp_server_options o;
    swamp_server *server;
    swamp_work *work;
    const char *known = "{\"resourceName\":\"hold\",\"workflowId\":\"hold\"}";
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    ck_assert_int_eq(swamp_server_new(&server, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
    swamp_session *session = start_local(server, "hold");
    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, known, strlen(known)), SWAMP_OK);
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED)); /* START lies on the desk */
    swamp_server_free(server);
    swamp_session_free(session);
}
END_TEST

START_TEST(an_instance_declared_dead_says_fenced_to_everybody)
{
    host h = {0}, next = {0};
    swamp_server_options o;
    char id[64], key[128];
    host_options(&o);
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_run *run = host_take(&h);
    ck_assert_int_eq(swamp_server_instance_id(h.server, id, sizeof(id)), SWAMP_OK);
    snprintf(key, sizeof(key), "heartbeats/%s", id);
    swamp_store_op op = {.key = key, .action = SWAMP_STORE_REMOVE, .condition = SWAMP_STORE_PRESENT};
    ck_assert_int_eq(swamp_store_commit(h.store, &op, 1, 1000, NULL, NULL), SWAMP_OK);

    host_wait_cancels(&h, 1);
    ck_assert_str_eq(h.reason, "instance_fenced");
    ck_assert_int_eq(emit_text(run, "too late"), SWAMP_E_FENCED);
    swamp_event *event = next_of(session, SWAMP_EVENT_INTERRUPTED);
    ck_assert_str_eq(swamp_event_reason(event), "instance_fenced");
    ck_assert_str_eq(swamp_event_instance_id(event), id);
    swamp_event_free(event);
    ck_assert_int_eq(finish_now(run, SWAMP_RUN_SUCCEEDED), SWAMP_E_FENCED);
    ck_assert_int_eq(swamp_server_wait(h.server, LONG_MS), SWAMP_E_FENCED);
    pthread_join(h.puller, NULL); /* swamp_server_next() ends without a stop */
    h.pulls = 0;
    ck_assert_int_eq(swamp_server_stop(h.server, -1), SWAMP_E_FENCED);
    char line[256];
    swamp_server_error(h.server, line, sizeof(line));
    ck_assert_msg(strstr(line, id) && strstr(line, "new handle"), "%s", line);

    /* a new handle on the same port and store: the viewer learns how the run ended */
    next.store = h.store;
    o.port = (uint32_t)atoi(strrchr(h.url, ':') + 1);
    host_start(&next, &o, 0);
    ck_assert_str_eq(next.url, h.url);
    event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "failed");
    ck_assert_str_ne(swamp_event_reason(event), "");
    swamp_event_free(event);
    swamp_session_free(session);
    swamp_client_free(client);
    h.store = NULL;
    host_stop(&h);
    host_stop(&next);
}
END_TEST

START_TEST(two_instances_on_one_store_lead_to_the_owner)
{
    host a = {0}, b = {0};
    swamp_server_options o;
    host_options(&o);
    host_start(&a, &o, 0);
    b.store = a.store;
    host_start(&b, &o, 0);
    swamp_client *to_b = client_of(b.url);
    swamp_session *session = start_local(a.server, "hold");
    swamp_run *run = host_take(&a);
    swamp_session *other = attach_to(to_b, swamp_run_id(run));
    swamp_event *event = next_of(other, SWAMP_EVENT_ELSEWHERE);
    char id[64];
    ck_assert_int_eq(swamp_server_instance_id(a.server, id, sizeof(id)), SWAMP_OK);
    ck_assert_str_eq(swamp_event_instance_id(event), id);
    ck_assert_str_eq(swamp_event_address(event), a.url);
    ck_assert_uint_eq(swamp_event_attempt(event), 1);
    swamp_event_free(event);
    swamp_event_free(next_of(other, SWAMP_EVENT_ATTACHED)); /* by the address that was told */
    ck_assert_int_eq(swamp_server_cancel(b.server, swamp_run_id(run), "from over there"), SWAMP_OK);
    host_wait_cancels(&a, 1);
    ck_assert_str_eq(a.reason, "from over there");
    finish_now(run, SWAMP_RUN_CANCELLED);
    event = next_of(other, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "cancelled");
    swamp_event_free(event);
    swamp_session_free(session);
    swamp_session_free(other);
    swamp_client_free(to_b);
    b.store = NULL;
    host_stop(&b);
    host_stop(&a);
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
    tcase_add_test(t, a_stop_without_drain_cancels_and_records);
    tcase_add_test(t, a_stop_that_drains_lets_runs_end);
    tcase_add_test(t, a_cancel_never_comes_before_the_start_of_its_run);
    tcase_add_test(t, a_second_stop_with_a_shorter_time_holds);
    tcase_add_test(t, freeing_a_server_lets_waiting_calls_leave_first);
    tcase_add_test(t, stop_in_an_executors_callback_is_reentrant);
    tcase_add_test(t, free_in_an_executors_callback_is_deferred);
    tcase_add_test(t, runs_that_the_host_holds_outlive_stop_and_server);
    tcase_add_test(t, work_that_the_host_holds_outlives_the_server);
    tcase_add_test(t, a_start_that_nobody_took_is_no_leak);
    tcase_add_test(t, an_instance_declared_dead_says_fenced_to_everybody);
    tcase_add_test(t, two_instances_on_one_store_lead_to_the_owner);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
