/* Single requests: over the network and inside the process, with every way in which they fail. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "fixture.h"

START_TEST(requests_are_answered_over_the_network)
{
    host h = {0};
    swamp_server_options o;
    swamp_event *event = NULL;
    size_t len;
    host_options(&o);
    o.version_text = "9.8.7";
    o.git_sha = "abc";
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    ck_assert_int_eq(swamp_client_request(client, "server.version", NULL, LONG_MS, &event), SWAMP_EVENT);
    ck_assert_int_eq(swamp_event_type(event), SWAMP_EVENT_ANSWER);
    const char *json = swamp_event_json(event, &len);
    ck_assert_msg(strstr(json, "9.8.7") && strstr(json, "abc") && strlen(json) == len, "%s", json);
    swamp_event_free(event);

    ck_assert_int_eq(swamp_client_request(client, "workflow.search", "{\"query\":\"c\"}", LONG_MS, &event),
                     SWAMP_EVENT);
    ck_assert_ptr_nonnull(strstr(swamp_event_json(event, NULL), "\"count\""));
    swamp_event_free(event);

    const char *nobody = "{\"workflowIdOrName\":\"0190b5a0-0000-7000-8000-000000000000\"}";
    ck_assert_int_eq(swamp_client_request(client, "workflow.history.get", nobody, LONG_MS, &event),
                     SWAMP_EVENT);
    ck_assert_int_eq(swamp_event_type(event), SWAMP_EVENT_ERROR); /* the server's code is the caller's */
    ck_assert_str_eq(swamp_event_code(event), "not_found");
    ck_assert_int_eq(swamp_event_error(event), SWAMP_E_NOT_FOUND);
    ck_assert_str_ne(swamp_event_message(event), "");
    swamp_event_free(event);

    ck_assert_int_eq(swamp_client_request(client, "no.such.type", "{}", LONG_MS, &event), SWAMP_EVENT);
    ck_assert_str_eq(swamp_event_code(event), "invalid_request");
    swamp_event_free(event);
    char line[64];
    ck_assert_int_eq(swamp_client_error(client, line, sizeof(line)), SWAMP_OK);
    ck_assert_str_eq(line, "");
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(a_request_that_cannot_be_sent_says_why)
{
    swamp_client *client = client_of("http://127.0.0.1:1");
    swamp_event *event = NULL;
    char line[256];
    ck_assert_int_eq(swamp_client_request(client, NULL, NULL, 100, &event), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_client_request(client, "x", "[]", 100, &event), SWAMP_E_INVALID);
    swamp_client_error(client, line, sizeof(line));
    ck_assert_msg(strstr(line, "JSON object"), "%s", line);
    ck_assert_int_eq(swamp_client_request(client, "x", NULL, 0, &event), SWAMP_E_INVALID);
    swamp_client_error(client, line, sizeof(line));
    ck_assert_msg(strstr(line, "timeout_ms"), "%s", line);
    ck_assert_int_eq(swamp_client_error(client, line, 5), SWAMP_OK); /* cut, not refused */
    ck_assert_uint_eq(strlen(line), 4);
    ck_assert_ptr_null(event);
    swamp_client_free(client);
}
END_TEST

START_TEST(nobody_listens_is_connect)
{
    swamp_client *client = client_of("http://127.0.0.1:1");
    swamp_event *event = NULL;
    char line[256];
    ck_assert_int_eq(swamp_client_request(client, "server.version", NULL, LONG_MS, &event), SWAMP_E_CONNECT);
    swamp_client_error(client, line, sizeof(line));
    ck_assert_msg(strstr(line, "127.0.0.1"), "%s", line);
    ck_assert_ptr_null(event);
    swamp_client_free(client);
}
END_TEST

/* Takes connections and says nothing. */
static int
silent_listener(char *url, size_t cap)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    getsockname(fd, (struct sockaddr *)&address, &len);
    snprintf(url, cap, "ws://127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

START_TEST(a_server_that_says_nothing_is_a_timeout)
{
    char url[64];
    int fd = silent_listener(url, sizeof(url));
    swamp_client *client = client_of(url);
    swamp_event *event = NULL;
    ck_assert_int_eq(swamp_client_request(client, "server.version", NULL, 100, &event), SWAMP_E_TIMEOUT);
    swamp_client_free(client);
    close(fd);
}
END_TEST

typedef struct asker {
    swamp_client *client;
    swamp_server *server;
    int rc;
} asker;

static void *
ask(void *user)
{
    asker *a = user;
    swamp_event *event = NULL;
    if (a->client)
        a->rc = swamp_client_request(a->client, "server.version", NULL, LONG_MS, &event);
    else
        a->rc = swamp_server_request(a->server, "workflow.search", NULL, LONG_MS, &event);
    swamp_event_free(event);
    return NULL;
}

START_TEST(a_client_freed_while_a_request_waits_lets_it_leave_first)
{
    char url[64];
    int fd = silent_listener(url, sizeof(url));
    pthread_t thread;
    asker a = {client_of(url), NULL, -999};
    pthread_create(&thread, NULL, ask, &a);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, LONG_MS), 1); /* it has dialled */
    swamp_client_free(a.client);
    pthread_join(thread, NULL);
    ck_assert_int_eq(a.rc, SWAMP_E_CLOSED);
    close(fd);
}
END_TEST

START_TEST(a_server_stopped_while_a_request_waits_is_state)
{
    swamp_server_options o;
    pthread_t thread;
    asker a = {NULL, NULL, -999};
    swamp_work *work;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    ck_assert_int_eq(swamp_server_new(&a.server, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(a.server), SWAMP_OK);
    pthread_create(&thread, NULL, ask, &a);
    ck_assert_int_eq(swamp_server_next(a.server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_kind(work), SWAMP_WORK_SEARCH);
    ck_assert_int_eq(swamp_server_stop(a.server, 0), SWAMP_OK);
    pthread_join(thread, NULL);
    ck_assert(a.rc == SWAMP_E_STATE || a.rc == SWAMP_E_CONNECT);
    swamp_server_free(a.server);
    swamp_work_answer(work, SWAMP_OK, "[]", 2);
}
END_TEST

static char history_id[64];

START_TEST(an_observer_answers_questions_and_takes_no_runs)
{
    host h = {0};
    swamp_server_options o;
    swamp_server *observer = NULL;
    swamp_session *session = NULL;
    swamp_event *event = NULL;
    char payload[128];
    host_options(&o);
    host_start(&h, &o, 0);
    session = start_local(h.server, "count");
    event = next_of(session, SWAMP_EVENT_DONE);
    snprintf(history_id, sizeof(history_id), "%s", swamp_event_run_id(event));
    swamp_event_free(event);
    swamp_session_free(session);
    session = NULL;

    o.flags = SWAMP_SERVER_LOCAL | SWAMP_SERVER_OBSERVER;
    o.store = h.store;
    ck_assert_int_eq(swamp_server_new(&observer, &o, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(observer), SWAMP_OK);
    snprintf(payload, sizeof(payload), "{\"workflowIdOrName\":\"%s\"}", history_id);
    ck_assert_int_eq(swamp_server_request(observer, "workflow.history.get", payload, LONG_MS, &event),
                     SWAMP_EVENT);
    ck_assert_ptr_nonnull(strstr(swamp_event_json(event, NULL), "\"succeeded\""));
    swamp_event_free(event);
    ck_assert_int_eq(swamp_server_request(observer, "cluster.instances", NULL, LONG_MS, &event), SWAMP_EVENT);
    char id[64];
    swamp_server_instance_id(h.server, id, sizeof(id));
    ck_assert_ptr_nonnull(strstr(swamp_event_json(event, NULL), id));
    swamp_server_instance_id(observer, id, sizeof(id));
    ck_assert_ptr_null(strstr(swamp_event_json(event, NULL), id)); /* it has no heartbeat */
    swamp_event_free(event);
    ck_assert_int_eq(swamp_session_local(&session, observer, "workflow.run", "{}", NULL), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_request(observer, "x", "[]", 10, &event), SWAMP_E_INVALID);
    swamp_server_free(observer);
    host_stop(&h);
}
END_TEST

START_TEST(a_run_can_be_cancelled_by_a_request_and_through_another_instance)
{
    host a = {.obey = 1}, b = {0};
    swamp_server_options o;
    swamp_event *event;
    char payload[128];
    host_options(&o);
    host_start(&a, &o, 0);
    b.store = a.store;
    host_start(&b, &o, 0);
    swamp_client *client = client_of(b.url);
    swamp_session *session = start_local(a.server, "hold");
    event = next_of(session, SWAMP_EVENT_ACCEPTED);
    snprintf(payload, sizeof(payload), "{\"runId\":\"%s\",\"reason\":\"by request\"}",
             swamp_event_run_id(event));
    swamp_event_free(event);
    ck_assert_int_eq(swamp_client_request(client, "run.cancel", payload, LONG_MS, &event), SWAMP_EVENT);
    ck_assert_msg(strstr(swamp_event_json(event, NULL), "\"accepted\":true"), "%s",
                  swamp_event_json(event, NULL));
    swamp_event_free(event);
    event = next_of(session, SWAMP_EVENT_DONE);
    ck_assert_str_eq(swamp_event_status(event), "cancelled");
    swamp_event_free(event);
    ck_assert_str_eq(a.reason, "by request");
    swamp_session_free(session);
    swamp_client_free(client);
    b.store = NULL;
    host_stop(&b);
    host_stop(&a);
}
END_TEST

START_TEST(requests_of_many_threads_do_not_mix)
{
    host h = {0};
    swamp_server_options o;
    pthread_t threads[8];
    asker a[8];
    host_options(&o);
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    for (int i = 0; i < 8; i++) {
        a[i] = (asker){i % 2 ? client : NULL, h.server, -999};
        pthread_create(&threads[i], NULL, ask, &a[i]);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(a[i].rc, SWAMP_EVENT);
    }
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("api request");
    TCase *t = tcase_create("request");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, requests_are_answered_over_the_network);
    tcase_add_test(t, a_request_that_cannot_be_sent_says_why);
    tcase_add_test(t, nobody_listens_is_connect);
    tcase_add_test(t, a_server_that_says_nothing_is_a_timeout);
    tcase_add_test(t, a_client_freed_while_a_request_waits_lets_it_leave_first);
    tcase_add_test(t, a_server_stopped_while_a_request_waits_is_state);
    tcase_add_test(t, an_observer_answers_questions_and_takes_no_runs);
    tcase_add_test(t, a_run_can_be_cancelled_by_a_request_and_through_another_instance);
    tcase_add_test(t, requests_of_many_threads_do_not_mix);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
