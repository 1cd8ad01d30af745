/* The ends of a server: planned stop, fence, a second instance, and handles that are freed in any order. */
#include <stdio.h>
#include <stdlib.h>
#include "fixture.h"

START_TEST(a_stop_without_drain_cancels_and_records)
{
    host h = {.obey = 1};
    host_begin(&h, 0, 0);
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
    pthread_t thread;
    host_begin(&h, 0, 0);
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

START_TEST(a_second_stop_with_a_shorter_time_holds)
{
    host h = {.obey = 1};
    pthread_t threads[2];
    host_begin(&h, 0, 0);
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
    char line[256];
    host_begin(&h, SWAMP_SERVER_LOCAL, 1);
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
    swamp_server *server = local_server();
    swamp_session *session = start_local(server, "hold"), *untaken = start_local(server, "hold");
    swamp_work *work = next_work(server, SWAMP_WORK_RESOLVE);
    swamp_server_free(server); /* with another RESOLVE that nobody took */
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_RESOLVE);
    ck_assert_int_eq(swamp_work_answer(work, SWAMP_OK, "{}", 2), SWAMP_OK);
    swamp_session_free(session);
    swamp_session_free(untaken);
}
END_TEST

START_TEST(a_start_that_nobody_took_is_no_leak)
{
    swamp_server *server = local_server();
    swamp_session *session = start_local(server, "hold");
    answer_known(next_work(server, SWAMP_WORK_RESOLVE));
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED)); /* START lies on the desk */
    swamp_server_free(server);
    swamp_session_free(session);
}
END_TEST

START_TEST(an_instance_declared_dead_says_fenced_to_everybody)
{
    host h = {0}, next = {0};
    swamp_server_options o;
    char id[64];
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_run *run = host_take(&h);
    declare_dead(h.server, h.store, id, sizeof(id));

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
    host_options(&o);
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
    host_begin(&a, 0, 0);
    b.store = a.store;
    host_begin(&b, 0, 0);
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
    Suite *s = suite_create("api stop");
    TCase *t = tcase_create("stop");
    tcase_set_timeout(t, 90);
    tcase_add_test(t, a_stop_without_drain_cancels_and_records);
    tcase_add_test(t, a_stop_that_drains_lets_runs_end);
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
