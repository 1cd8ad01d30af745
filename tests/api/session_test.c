/* Sessions as the application sees them: next, descriptor, cursor, room, gaps, viewers, any order of free. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include "fixture.h"

START_TEST(a_local_session_sees_the_whole_run)
{
    host h = {0};
    int events, gaps;
    char status[64] = "";
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *session = start_local(h.server, "count");
    read_all(session, &events, &gaps, status, sizeof(status));
    ck_assert_int_eq(events, 6);
    ck_assert_str_eq(status, "succeeded");
    expect_end(session);
    swamp_session_free(session);
    host_stop(&h);
}
END_TEST

START_TEST(next_does_not_wait_when_asked_not_to)
{
    host h = {0};
    swamp_event *event = NULL;
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *session = start_local(h.server, "hold");
    swamp_run *run = host_take(&h);
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED));
    ck_assert_int_eq(swamp_session_next(session, 0, &event), SWAMP_OK);
    ck_assert_int_eq(swamp_session_next(session, 20, &event), SWAMP_OK);
    ck_assert_ptr_null(event);
    ck_assert_int_eq(swamp_session_next(session, 0, NULL), SWAMP_E_INVALID);
    finish_now(run, SWAMP_RUN_SUCCEEDED);
    swamp_event_free(next_of(session, SWAMP_EVENT_DONE));
    swamp_session_free(session);
    host_stop(&h);
}
END_TEST

static int
is_readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1 && (p.revents & POLLIN);
}

START_TEST(the_descriptor_is_readable_while_next_has_something_also_the_end)
{
    host h = {0};
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *session = start_local(h.server, "hold");
    swamp_run *run = host_take(&h);
    int fd = swamp_session_fd(session);
    ck_assert_int_ge(fd, 0);
    ck_assert(is_readable(fd, LONG_MS));
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED));
    ck_assert(!is_readable(fd, 0));
    emit_text(run, "one");
    emit_text(run, "two");
    ck_assert(is_readable(fd, LONG_MS));
    swamp_event_free(next_of(session, SWAMP_EVENT_RUN));
    swamp_event_free(next_of(session, SWAMP_EVENT_RUN));
    ck_assert(!is_readable(fd, 0));
    finish_now(run, SWAMP_RUN_SUCCEEDED);
    ck_assert(is_readable(fd, LONG_MS));
    swamp_event_free(next_of(session, SWAMP_EVENT_DONE));
    ck_assert(is_readable(fd, 0)); /* next() has the end to say */
    expect_end(session);
    ck_assert(is_readable(fd, 0));
    swamp_session_free(session);
    host_stop(&h);
}
END_TEST

START_TEST(the_descriptor_is_readable_when_the_client_is_gone)
{
    swamp_client *client = client_of("http://127.0.0.1:1");
    swamp_session *session = attach_to(client, "some-run");
    swamp_event *event = NULL;
    int rc, fd = swamp_session_fd(session);
    swamp_client_free(client);
    ck_assert(is_readable(fd, 0));
    while ((rc = swamp_session_next(session, -1, &event)) == SWAMP_EVENT)
        swamp_event_free(event);
    ck_assert_int_eq(rc, SWAMP_E_CLOSED);
    ck_assert(is_readable(fd, 0));
    ck_assert_int_eq(swamp_session_cancel(session, NULL), SWAMP_E_CLOSED);
    char buf[500];
    ck_assert_int_eq(swamp_session_cursor(session, buf, sizeof(buf)), SWAMP_OK);
    swamp_session_free(session);
}
END_TEST

static void *
take_until_closed(void *user)
{
    swamp_session *session = user;
    swamp_event *event;
    int rc;
    while ((rc = swamp_session_next(session, -1, &event)) == SWAMP_EVENT)
        swamp_event_free(event);
    return rc == SWAMP_E_CLOSED ? user : NULL;
}

START_TEST(a_client_freed_while_sessions_wait_wakes_them)
{
    host h = {0};
    pthread_t threads[3];
    swamp_session *sessions[3];
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    for (int i = 0; i < 3; i++) {
        sessions[i] = start_remote(client, "hold");
        swamp_event_free(next_of(sessions[i], SWAMP_EVENT_ACCEPTED));
        pthread_create(&threads[i], NULL, take_until_closed, sessions[i]);
    }
    swamp_client_free(client);
    for (int i = 0; i < 3; i++) {
        void *closed;
        pthread_join(threads[i], &closed);
        ck_assert_ptr_nonnull(closed);
        swamp_session_free(sessions[i]);
    }
    for (int i = 0; i < 3; i++)
        finish_now(host_take(&h), SWAMP_RUN_SUCCEEDED);
    host_stop(&h);
}
END_TEST

START_TEST(events_sessions_clients_and_servers_go_in_any_order)
{
    host h = {0};
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *first = start_local(h.server, "count"), *second = start_local(h.server, "count");
    swamp_event *kept = next_of(first, SWAMP_EVENT_RUN);
    swamp_session_free(first);
    ck_assert_int_eq(swamp_server_stop(h.server, 0), SWAMP_OK);
    host_stop(&h);
    ck_assert_uint_eq(strlen(swamp_event_run_id(kept)), 36); /* events outlive all of it */
    ck_assert_uint_eq(swamp_event_seq(kept), 1);
    swamp_event *event = NULL;
    int rc;
    while ((rc = swamp_session_next(second, -1, &event)) == SWAMP_EVENT)
        swamp_event_free(event);
    ck_assert(rc == SWAMP_E_CLOSED || rc == SWAMP_END);
    swamp_session_free(second);
    swamp_event_free(kept);
}
END_TEST

START_TEST(a_session_freed_at_once_is_forgotten)
{
    host h = {0};
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    for (int i = 0; i < 20; i++)
        swamp_session_free(start_remote(client, "count"));
    swamp_session_free(attach_to(client, "no-such-run"));
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(the_cursor_stands_behind_the_last_event_taken)
{
    host h = {0};
    char cursor[400], early[400], small[8];
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    swamp_run *run = host_take(&h);
    ck_assert_int_eq(swamp_session_cursor(session, cursor, sizeof(cursor)), SWAMP_OK);
    ck_assert_str_eq(cursor, ""); /* nothing was taken: the run has no id yet for us */
    swamp_event_free(next_of(session, SWAMP_EVENT_ACCEPTED));
    ck_assert_int_eq(swamp_session_cursor(session, early, sizeof(early)), SWAMP_OK);
    ck_assert_ptr_nonnull(strstr(early, swamp_run_id(run)));
    ck_assert_int_eq(swamp_session_cursor(session, small, sizeof(small)), SWAMP_E_TOO_BIG);
    for (int i = 0; i < 4; i++)
        emit_text(run, "x");
    for (int i = 0; i < 2; i++)
        swamp_event_free(next_of(session, SWAMP_EVENT_RUN));
    ck_assert_int_eq(swamp_session_cursor(session, cursor, sizeof(cursor)), SWAMP_OK);
    swamp_session_free(session); /* with two events in the queue that nobody took */

    session = attach_to(client, cursor);
    swamp_event_free(next_of(session, SWAMP_EVENT_ATTACHED));
    swamp_event *event = next_of(session, SWAMP_EVENT_RUN);
    ck_assert_uint_eq(swamp_event_seq(event), 3);
    swamp_event_free(event);
    ck_assert_int_eq(swamp_session_cursor(session, cursor, sizeof(cursor)), SWAMP_OK);
    swamp_session_free(session);
    session = attach_to(client, cursor); /* with the run's epoch in it now */
    event = next_of(session, SWAMP_EVENT_RUN);
    ck_assert_uint_eq(swamp_event_seq(event), 4);
    swamp_event_free(event);
    swamp_session_free(session);

    session = attach_to(client, early); /* from the beginning */
    event = next_of(session, SWAMP_EVENT_RUN);
    ck_assert_uint_eq(swamp_event_seq(event), 1);
    swamp_event_free(event);
    finish_now(run, SWAMP_RUN_SUCCEEDED);
    event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_int_eq(swamp_event_success(event), 1);
    swamp_event_free(event);
    ck_assert_int_eq(swamp_session_cursor(session, cursor, sizeof(cursor)), SWAMP_OK);
    swamp_session_free(session);

    int events, gaps;
    char status[64] = "";
    session = attach_to(client, cursor); /* after the end: nothing is left but the end */
    read_all(session, &events, &gaps, status, sizeof(status));
    ck_assert_int_eq(events, 0);
    ck_assert_str_eq(status, "succeeded");
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(after_seq_and_epoch_override_a_cursor)
{
    host h = {0};
    swamp_session_options o;
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "count");
    swamp_event *done = next_of(session, SWAMP_EVENT_DONE);
    char id[64];
    snprintf(id, sizeof(id), "%s", swamp_event_run_id(done));
    swamp_event_free(done);
    swamp_session_free(session);
    session_options(&o);
    o.after_seq = 4;
    ck_assert_int_eq(swamp_session_attach(&session, client, id, &o), SWAMP_OK);
    swamp_event *event = next_of(session, SWAMP_EVENT_RUN);
    ck_assert_uint_eq(swamp_event_seq(event), 5);
    swamp_event_free(event);
    swamp_session_free(session);
    o.epoch = "another life of this run";
    ck_assert_int_eq(swamp_session_attach(&session, client, id, &o), SWAMP_OK);
    event = next_of(session, SWAMP_EVENT_GAP);
    ck_assert_str_eq(swamp_event_reason(event), "epoch");
    ck_assert_uint_eq(swamp_event_to_seq(event), 4);
    swamp_event_free(event);
    event = next_of(session, SWAMP_EVENT_RUN);
    ck_assert_uint_eq(swamp_event_seq(event), 1);
    swamp_event_free(event);
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(two_viewers_see_the_same_run)
{
    host h = {0};
    int events, gaps;
    char status[64] = "";
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *starter = start_remote(client, "hold");
    swamp_run *run = host_take(&h);
    emit_text(run, "early");
    swamp_session *viewer = attach_to(client, swamp_run_id(run));
    swamp_event_free(next_of(viewer, SWAMP_EVENT_ATTACHED));
    emit_text(run, "late");
    finish_now(run, SWAMP_RUN_SUCCEEDED);
    read_all(starter, &events, &gaps, status, sizeof(status));
    ck_assert_int_eq(events, 3);
    read_all(viewer, &events, &gaps, status, sizeof(status));
    ck_assert_int_eq(events, 3);
    ck_assert_int_eq(gaps, 0);
    ck_assert_str_eq(status, "succeeded");
    swamp_session_free(starter);
    swamp_session_free(viewer);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(an_evicted_event_is_a_gap_with_its_range)
{
    host h = {.many = 100};
    swamp_server_options o;
    host_options(&o);
    o.run_log_events = 10;
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "many");
    swamp_event *event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_int_eq(swamp_event_success(event), 1); /* what was reported as a gap counts as seen */
    swamp_session *viewer = attach_to(client, swamp_event_run_id(event));
    swamp_event_free(event);
    event = next_of(viewer, SWAMP_EVENT_GAP);
    ck_assert_uint_eq(swamp_event_from_seq(event), 1);
    ck_assert_uint_eq(swamp_event_to_seq(event), 91);
    ck_assert_str_eq(swamp_event_reason(event), "evicted");
    swamp_event_free(event);
    event = next_of(viewer, SWAMP_EVENT_RUN);
    ck_assert_uint_eq(swamp_event_seq(event), 92);
    swamp_event_free(event);
    swamp_session_free(session);
    swamp_session_free(viewer);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

/* Emits `count` events of 2 KB, waiting for a second viewer after each batch: whoever reads keeps up. */
static void
emit_paced(swamp_run *run, swamp_session *pacer, int count)
{
    char line[2001];
    memset(line, 'y', sizeof(line));
    line[2000] = '\0';
    for (int i = 0; i < count; i += 20) {
        for (int k = 0; k < 20; k++)
            ck_assert_int_eq(emit_text(run, line), SWAMP_OK);
        for (int k = 0; k < 20; k++)
            swamp_event_free(next_of(pacer, SWAMP_EVENT_RUN));
    }
}

static void
starve(int remote, int count)
{
    host h = {0};
    swamp_server_options o;
    swamp_session_options so;
    swamp_session *lazy;
    int events, gaps;
    char status[64] = "";
    host_options(&o);
    o.run_log_bytes = 262144;
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    session_options(&so);
    so.queue_bytes = 16384;
    const char *payload = "{\"workflowIdOrName\":\"hold\"}";
    int rc = remote ? swamp_session_start(&lazy, client, "workflow.run", payload, &so)
                    : swamp_session_local(&lazy, h.server, "workflow.run", payload, &so);
    ck_assert_int_eq(rc, SWAMP_OK);
    swamp_run *run = host_take(&h);
    swamp_session *pacer = attach_to(client, swamp_run_id(run));
    emit_paced(run, pacer, count);
    finish_now(run, SWAMP_RUN_SUCCEEDED);
    read_all(lazy, &events, &gaps, status, sizeof(status));
    ck_assert_int_ge(gaps, 1); /* its part was not read into memory while nobody took it */
    ck_assert_int_lt(events, count);
    ck_assert_str_eq(status, "succeeded");
    swamp_session_free(lazy);
    swamp_session_free(pacer);
    swamp_client_free(client);
    host_stop(&h);
}

START_TEST(a_local_session_that_is_not_taken_from_is_not_filled)
{
    starve(0, 600);
}
END_TEST

START_TEST(a_remote_session_that_is_not_taken_from_does_not_read_its_socket)
{
    starve(1, 8000);
}
END_TEST

START_TEST(one_client_carries_hundreds_of_sessions)
{
    enum { COUNT = 280 }; /* three descriptors each in this process, of the usual 1,024 */
    host h = {0};
    swamp_session *sessions[COUNT];
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *starter = start_remote(client, "hold");
    swamp_run *run = host_take(&h);
    for (int i = 0; i < COUNT; i++)
        sessions[i] = attach_to(client, swamp_run_id(run));
    for (int i = 0; i < COUNT; i++)
        swamp_event_free(next_of(sessions[i], SWAMP_EVENT_ATTACHED));
    finish_now(run, SWAMP_RUN_SUCCEEDED);
    for (int i = 0; i < COUNT; i++) {
        swamp_event_free(next_of(sessions[i], SWAMP_EVENT_DONE));
        swamp_session_free(sessions[i]);
    }
    swamp_session_free(starter);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("api session");
    TCase *t = tcase_create("session");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_local_session_sees_the_whole_run);
    tcase_add_test(t, next_does_not_wait_when_asked_not_to);
    tcase_add_test(t, the_descriptor_is_readable_while_next_has_something_also_the_end);
    tcase_add_test(t, the_descriptor_is_readable_when_the_client_is_gone);
    tcase_add_test(t, a_client_freed_while_sessions_wait_wakes_them);
    tcase_add_test(t, events_sessions_clients_and_servers_go_in_any_order);
    tcase_add_test(t, a_session_freed_at_once_is_forgotten);
    tcase_add_test(t, the_cursor_stands_behind_the_last_event_taken);
    tcase_add_test(t, after_seq_and_epoch_override_a_cursor);
    tcase_add_test(t, two_viewers_see_the_same_run);
    tcase_add_test(t, an_evicted_event_is_a_gap_with_its_range);
    tcase_add_test(t, a_local_session_that_is_not_taken_from_is_not_filled);
    tcase_add_test(t, a_remote_session_that_is_not_taken_from_does_not_read_its_socket);
    tcase_add_test(t, one_client_carries_hundreds_of_sessions);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
