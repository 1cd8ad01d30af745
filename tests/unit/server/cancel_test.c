/* Cancelling, from here and from elsewhere, by frame, by HTTP and by the host (PROTOCOL 2 and 8). */
#include "fixture.h"

static void
expect_cancelled(const char *id)
{
    expect(peer, "\"kind\":\"cancelled\",\"run\":{", "\"status\":\"cancelled\"", NULL);
    char done[64];
    snprintf(done, sizeof done, "{\"type\":\"done\",\"id\":\"%s\"}", id);
    expect(peer, done, NULL);
}

static void
send_run_cancel(fake_peer *to, const char *id, const char *run_id, const char *reason)
{
    char text[300];
    snprintf(text, sizeof text,
             "{\"type\":\"run.cancel\",\"id\":\"%s\",\"payload\":{\"runId\":\"%s\",\"reason\":\"%s\"}}", id,
             run_id, reason);
    fake_peer_send(to, text);
}

START_TEST(cancel_with_the_id_of_the_start_ends_the_run)
{
    start_run(peer, "r");
    send_plain(peer, "cancel", "r");
    advance(50);
    expect_cancelled("r");
    expect_nothing(peer, 50); /* no answer of its own */
}
END_TEST

START_TEST(cancel_with_a_run_id_ends_the_run)
{
    swamp_run *run = start_run(peer, "r");
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", run->id);
    send_plain(peer, "cancel", run_id);
    advance(50);
    expect_cancelled("r");
}
END_TEST

START_TEST(cancel_of_an_attach_ends_the_run_and_asks_the_host_once)
{
    swamp_run *run = start_run(peer, "r");
    server->finish_on_cancel = 0;
    send_attach(peer, "a", run->id, 0);
    expect(peer, "run.attached", NULL);
    send_plain(peer, "cancel", "a");
    send_plain(peer, "cancel", "r");
    send_run_cancel(peer, "c", run->id, "again");
    advance(2000);
    ck_assert_uint_eq(server->cancels, 1);
    expect(peer,
           "{\"type\":\"run.cancel\",\"id\":\"c\",\"runId\":", "\"accepted\":true,\"status\":\"running\"",
           server->options.instance_id, NULL);
}
END_TEST

START_TEST(run_cancel_from_another_instance_ends_the_run_with_the_reason)
{
    swamp_run *run = start_run(peer, "r");
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", run->id);
    fake_server *other = add_server();
    fake_peer *client = fake_peer_new(other);
    send_run_cancel(client, "c", run_id, "enough");
    advance(50);
    expect(client, "{\"type\":\"run.cancel\",\"id\":\"c\"", "\"accepted\":true", server->options.instance_id,
           NULL);
    advance(SWAMP__CANCEL_POLL_MS + 50);
    ck_assert_uint_eq(server->cancels, 1);
    ck_assert_str_eq(server->reason, "enough");
    expect_cancelled("r");
    ck_assert_ptr_null(stored(swamp__key_cancel_request(server->options.instance_id, run_id).text));
    send_run_cancel(client, "c", run_id, "enough");
    advance(50);
    expect(client, "\"accepted\":false,\"status\":\"cancelled\"", NULL);
    send_run_cancel(client, "c", "no-such-run", "enough");
    advance(50);
    expect(client, "\"id\":\"c\"", "not_found", NULL);
    fake_peer_free(client);
}
END_TEST

START_TEST(run_cancel_while_the_store_is_down_is_unavailable)
{
    server->questions->down = FAKE_ERROR;
    send_run_cancel(peer, "c", "some-run", "x");
    advance(50);
    expect(peer, "\"id\":\"c\"", "unavailable", NULL);
}
END_TEST

START_TEST(host_can_cancel_a_run_of_this_instance_and_of_another)
{
    start_run(peer, "r");
    fake_server *other = add_server();
    swamp__instance_cancel(other->instance, server->runs[0]->id, "from the host");
    advance(SWAMP__CANCEL_POLL_MS + 100);
    ck_assert_str_eq(server->reason, "from the host");
    expect_cancelled("r");
    start_run(peer, "s");
    swamp__instance_cancel(server->instance, server->runs[1]->id, NULL);
    advance(50);
    ck_assert_str_eq(server->reason, "");
    expect_cancelled("s");
}
END_TEST

/* HTTP */

static int http_status, http_answers;
static char http_body[4096];

static void
take_http(void *user, const swamp__http_answer *answer)
{
    (void)user;
    http_answers++;
    http_status = answer->status;
    snprintf(http_body, sizeof http_body, "%.*s", (int)answer->body.len,
             answer->body.data ? answer->body.data : "");
}

static int
http(fake_server *of, const char *method, const char *path)
{
    swamp__http_request request = {method, path, take_http, NULL};
    http_answers = 0;
    (void)swamp__http_ask(of->instance, &request);
    advance(50);
    ck_assert_int_eq(http_answers, 1);
    return http_status;
}

/* An observer has no heartbeat of its own to check, and none that could be gone. */
START_TEST(observer_leaves_a_cancel_request)
{
    beat_foreign();
    put_foreign("run");
    fake_peer_send(peer, "{\"type\":\"run.cancel\",\"id\":\"c\",\"payload\":{\"runId\":\"run\"}}");
    advance(100);
    expect(peer, "{\"type\":\"run.cancel\",\"id\":\"c\"", "\"accepted\":true", "\"instanceId\":\"I2\"", NULL);
    ck_assert_ptr_nonnull(stored(swamp__key_cancel_request("I2", "run").text));
}
END_TEST

static void
set_up_observer(void)
{
    fake_server_options(&options);
    options.observer = 1;
    set_up();
}

START_TEST(http_cancel_works_on_any_instance)
{
    char path[128];
    start_run(peer, "r");
    fake_server *other = add_server();
    snprintf(path, sizeof path, "/api/v1/cancel/workflow-run/%s", server->runs[0]->id);
    ck_assert_int_eq(http(other, "POST", path), 200);
    ck_assert_ptr_nonnull(
        strstr(http_body, "{\"status\":\"cancelled\",\"executionType\":\"workflow-run\",\"executionId\":\""));
    advance(SWAMP__CANCEL_POLL_MS + 50);
    expect_cancelled("r");
    ck_assert_int_eq(http(other, "POST", path), 404);
    ck_assert_int_eq(http(server, "POST", path), 404);
    ck_assert_int_eq(http(server, "POST", "/api/v1/cancel/method-run/none"), 404);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"not_found\",\"message\":"));
    ck_assert_int_eq(http(server, "GET", path), 404);
}
END_TEST

START_TEST(http_health_and_readiness)
{
    ck_assert_int_eq(http(server, "GET", "/health"), 200);
    ck_assert_str_eq(http_body, "{\"status\":\"ok\",\"version\":\"1.2.3\"}");
    ck_assert_int_eq(http(server, "HEAD", "/"), 200);
    ck_assert_int_eq(http(server, "GET", "/ready"), 200);
    ck_assert_ptr_nonnull(strstr(http_body, "{\"status\":\"ready\",\"instanceId\":"));
    ck_assert_int_eq(http(server, "GET", "/api/v1/cluster/instances"), 200);
    ck_assert_ptr_nonnull(strstr(http_body, "{\"instances\":[{"));
    ck_assert_int_eq(http(server, "GET", "/etc/passwd"), 404);
    server->questions->down = server->beats->down = FAKE_ERROR;
    ck_assert_int_eq(http(server, "GET", "/api/v1/cluster/instances"), 503);
    ck_assert_int_eq(http(server, "GET", "/ready"), 200);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"degraded\""));
    swamp__instance_stop(server->instance, 0);
    ck_assert_int_eq(http(server, "GET", "/ready"), 503);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"draining\""));
}
END_TEST

/* An instance whose one start failed, and that is asked nothing more, is not out of order for ever. */
START_TEST(http_readiness_comes_back_with_a_beat_after_a_write_that_failed)
{
    server->questions->down = server->beats->down = FAKE_ERROR;
    send_start(peer, "r");
    advance(50);
    expect(peer, "\"id\":\"r\"", "unavailable", NULL);
    server->questions->down = FAKE_FINE;
    ck_assert_int_eq(http(server, "GET", "/ready"), 200);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"degraded\""));
    server->beats->down = FAKE_FINE;
    advance(40000);
    ck_assert_int_eq(http(server, "GET", "/ready"), 200);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"ready\""));
}
END_TEST

/* "Bad input": a counter, and no excuse to call the store out of order. */
START_TEST(http_readiness_counts_records_that_cannot_be_read)
{
    ck_assert_int_eq(http(server, "GET", "/ready"), 200);
    ck_assert_ptr_null(strstr(http_body, "unreadableRecords"));
    put_record("active-runs/x", "no");
    put_record("runs/y", "[]");
    for (int times = 0; times < 2; times++) {
        send_attach(peer, "a", "x", 0);
        expect(peer, "\"id\":\"a\"", "unavailable", NULL);
        send_attach(peer, "b", "y", 0);
        expect(peer, "\"id\":\"b\"", "unavailable", NULL);
        advance(50); /* the next may be looked up */
    }
    ck_assert_int_eq(http(server, "GET", "/ready"), 200);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"ready\""));
    ck_assert_ptr_nonnull(strstr(http_body, ",\"unreadableRecords\":2}"));
    server->beats->down = FAKE_ERROR;
    advance(60000);
    ck_assert_int_eq(http(server, "GET", "/ready"), 200);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"degraded\""));
    ck_assert_ptr_nonnull(strstr(http_body, ",\"unreadableRecords\":2}"));
}
END_TEST

/* DESIGN 6: it listens after 5 s with the store down, and says that it is not ready. */
START_TEST(http_of_a_starting_instance_says_so_until_it_has_joined)
{
    fake_server *late = fake_server_new(world, store, NULL);
    late->beats->down = FAKE_ERROR;
    advance(6000);
    ck_assert_int_eq(http(late, "GET", "/ready"), 503);
    ck_assert_ptr_nonnull(strstr(http_body, "\"status\":\"starting\""));
    ck_assert_int_eq(http(late, "GET", "/health"), 200);
    late->beats->down = FAKE_FINE;
    advance(5000);
    ck_assert_int_eq(http(late, "GET", "/ready"), 200);
    fake_server_free(late);
}
END_TEST

START_TEST(http_peer_may_go_before_the_answer)
{
    swamp__http_request request = {"GET", "/api/v1/cluster/instances", take_http, NULL};
    http_answers = 0;
    void *token = swamp__http_ask(server->instance, &request);
    ck_assert_ptr_nonnull(token);
    swamp__http_abandon(token);
    advance(50);
    ck_assert_int_eq(http_answers, 0);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("cancel");
    TCase *tests = add_case(suite, "cancel");
    tcase_add_test(tests, cancel_with_the_id_of_the_start_ends_the_run);
    tcase_add_test(tests, cancel_with_a_run_id_ends_the_run);
    tcase_add_test(tests, cancel_of_an_attach_ends_the_run_and_asks_the_host_once);
    tcase_add_test(tests, run_cancel_from_another_instance_ends_the_run_with_the_reason);
    tcase_add_test(tests, run_cancel_while_the_store_is_down_is_unavailable);
    tcase_add_test(tests, host_can_cancel_a_run_of_this_instance_and_of_another);
    tcase_add_test(tests, http_cancel_works_on_any_instance);
    tcase_add_test(tests, http_health_and_readiness);
    tcase_add_test(tests, http_readiness_comes_back_with_a_beat_after_a_write_that_failed);
    tcase_add_test(tests, http_readiness_counts_records_that_cannot_be_read);
    tcase_add_test(tests, http_of_a_starting_instance_says_so_until_it_has_joined);
    tcase_add_test(tests, http_peer_may_go_before_the_answer);
    TCase *observers = tcase_create("observer");
    tcase_add_checked_fixture(observers, set_up_observer, tear_down);
    tcase_add_test(observers, observer_leaves_a_cancel_request);
    suite_add_tcase(suite, observers);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
