/* Handles: made, refused with one line that says why, started, freed in any order. */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "fixture.h"

START_TEST(freeing_null_is_fine)
{
    swamp_free(NULL);
    swamp_store_free(NULL);
    swamp_server_free(NULL);
    swamp_client_free(NULL);
    swamp_session_free(NULL);
    swamp_event_free(NULL);
    swamp_server_options_init(NULL, 0);
    swamp_client_options_init(NULL, 0);
    swamp_session_options_init(NULL, 0);
}
END_TEST

START_TEST(null_handles_are_refused_not_followed)
{
    char buf[8];
    swamp_event *event;
    swamp_work *work;
    swamp_session *session;
    ck_assert_int_eq(swamp_server_start(NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_wait(NULL, 0), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_stop(NULL, 0), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_url(NULL, buf, sizeof(buf)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_instance_id(NULL, buf, sizeof(buf)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_error(NULL, buf, sizeof(buf)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_next(NULL, 0, &work), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_cancel(NULL, "x", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_server_request(NULL, "server.version", NULL, 1, &event), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_client_request(NULL, "server.version", NULL, 1, &event), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_client_error(NULL, buf, sizeof(buf)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_start(&session, NULL, "workflow.run", "{}", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_local(&session, NULL, "workflow.run", "{}", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_attach(&session, NULL, "x", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_next(NULL, 0, &event), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_fd(NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_cursor(NULL, buf, sizeof(buf)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_cancel(NULL, NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_dispatch(NULL, 0, NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_work_answer(NULL, 0, NULL, 0), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_run_emit(NULL, "{}", 2), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_run_update(NULL, "{}", 2), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_run_finish(NULL, SWAMP_RUN_FAILED, NULL, 0, NULL, 0), SWAMP_E_INVALID);
}
END_TEST

static void
refused(const swamp_server_options *options, const char *option, const char *value, const char *allowed)
{
    swamp_server *server = (swamp_server *)(void *)&server;
    char *error = NULL;
    ck_assert_int_eq(swamp_server_new(&server, options, &error), SWAMP_E_INVALID);
    ck_assert_ptr_eq(server, (void *)&server); /* unchanged on failure */
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error, option) && strstr(error, value) && strstr(error, allowed), "%s", error);
    ck_assert_ptr_null(strchr(error, '\n'));
    swamp_free(error);
}

static void
work_nothing(swamp_work *work, void *user)
{
    swamp_work_answer(work, SWAMP_E_REFUSED, NULL, 0);
}

START_TEST(an_error_names_the_option_the_value_and_what_is_allowed)
{
    swamp_server_options o, fresh;
    swamp_server_options_init(&fresh, sizeof(fresh));
    o = fresh, o.port = 70000;
    refused(&o, "port", "70000", "65535");
    o = fresh, o.heartbeat_interval_ms = 1;
    refused(&o, "heartbeat_interval_ms", "1", "50");
    o = fresh, o.heartbeat_interval_ms = 1000, o.stale_ttl_ms = 1999;
    refused(&o, "stale_ttl_ms", "1999", "twice");
    o = fresh, o.log_level = 9;
    refused(&o, "log_level", "9", "4");
    o = fresh, o.loop = 3;
    refused(&o, "loop", "3", "2");
    o = fresh, o.flags = 0x80;
    refused(&o, "flags", "0x80", "know");
    o = fresh, o.host = "192.0.2.1";
    refused(&o, "host", "192.0.2.1", "SWAMP_SERVER_INSECURE");
    o = fresh, o.cert_file = "/nowhere/cert.pem";
    refused(&o, "cert_file", "key_file", "missing");
    o = fresh, o.advertise_url = "gopher://x";
    refused(&o, "advertise_url", "gopher://x", "https");
    o = fresh, o.run_log_bytes = 10;
    refused(&o, "run_log_bytes", "10", "262144");
    o = fresh, o.flags = SWAMP_SERVER_OBSERVER;
    refused(&o, "SWAMP_SERVER_OBSERVER", "SWAMP_SERVER_LOCAL", "store");
}
END_TEST

START_TEST(an_executor_without_work_is_refused)
{
    swamp_server_options o;
    swamp_executor executor = {.size = sizeof(executor)};
    swamp_server_options_init(&o, sizeof(o));
    o.executor = &executor;
    refused(&o, "executor.work", "NULL", "function");
    executor.size = 3;
    executor.work = work_nothing;
    refused(&o, "executor.size", "3", "sizeof(swamp_executor)");
}
END_TEST

START_TEST(options_of_an_older_caller_are_zero_extended)
{
    /* the struct as it was before its last members; what lies behind it in memory must not be read */
    char *old = malloc(offsetof(swamp_server_options, heartbeat_interval_ms));
    swamp_server_options o;
    swamp_server *server = NULL;
    swamp_server_options_init(&o, sizeof(o));
    o.size = offsetof(swamp_server_options, heartbeat_interval_ms);
    memcpy(old, &o, o.size);
    ck_assert_int_eq(swamp_server_new(&server, (swamp_server_options *)(void *)old, NULL), SWAMP_OK);
    swamp_server_free(server);
    free(old);
}
END_TEST

START_TEST(options_of_a_newer_caller_pass_only_with_a_zero_tail)
{
    struct {
        swamp_server_options known;
        uint64_t later;
    } newer = {.known = {.size = sizeof(newer)}};
    swamp_server *server = NULL;
    ck_assert_int_eq(swamp_server_new(&server, &newer.known, NULL), SWAMP_OK);
    swamp_server_free(server);
    newer.later = 1;
    refused(&newer.known, "size", "options", "version");

    struct {
        swamp_client_options known;
        uint64_t later;
    } client_newer = {.known = {.size = sizeof(client_newer), .url = "http://127.0.0.1:1"}, .later = 1};
    swamp_client *client = NULL;
    ck_assert_int_eq(swamp_client_new(&client, &client_newer.known, NULL), SWAMP_E_INVALID);
    client_newer.later = 0;
    ck_assert_int_eq(swamp_client_new(&client, &client_newer.known, NULL), SWAMP_OK);

    struct {
        swamp_session_options known;
        uint64_t later;
    } session_newer = {.known = {.size = sizeof(session_newer)}, .later = 1};
    swamp_session *session = NULL;
    ck_assert_int_eq(swamp_session_attach(&session, client, "r", &session_newer.known), SWAMP_E_INVALID);
    session_newer.later = 0;
    ck_assert_int_eq(swamp_session_attach(&session, client, "r", &session_newer.known), SWAMP_OK);
    swamp_session_free(session);
    swamp_client_free(client);
}
END_TEST

static void
client_refused(swamp_client_options options, const char *a, const char *b)
{
    swamp_client *client = (swamp_client *)(void *)&client;
    char *error = NULL;
    ck_assert_int_eq(swamp_client_new(&client, &options, &error), SWAMP_E_INVALID);
    ck_assert_ptr_eq(client, (void *)&client);
    ck_assert_msg(error && strstr(error, a) && strstr(error, b), "%s", error);
    swamp_free(error);
}

START_TEST(a_client_says_what_is_wrong_with_its_options)
{
    swamp_client_options o = {.size = sizeof(o)};
    char *error = NULL;
    client_refused(o, "missing", "https");
    o.url = "ftp://example";
    client_refused(o, "ftp://example", "https");
    o.url = "http://192.0.2.1:1";
    o.token = "name.secret";
    client_refused(o, "token", "wss://");
    o.token = NULL;
    o.log_level = 17;
    client_refused(o, "log_level is 17", "1 to 4");
    o.log_level = 0;
    o.ca_cert_file = "/nowhere/ca.pem";
    swamp_client *client = NULL;
    o.url = "https://127.0.0.1:1";
    ck_assert_int_eq(swamp_client_new(&client, &o, &error), SWAMP_E_TLS);
    ck_assert_ptr_nonnull(error);
    swamp_free(error);
    ck_assert_int_eq(swamp_client_new(NULL, &o, NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_client_new(&client, NULL, &error), SWAMP_E_INVALID);
    swamp_free(error);
}
END_TEST

static void
token_refused(const char *token, const char *why)
{
    swamp_client_options o = {.size = sizeof(o), .url = "http://127.0.0.1:1", .token = token};
    swamp_client *client = NULL;
    char *error = NULL;
    ck_assert_int_eq(swamp_client_new(&client, &o, &error), SWAMP_E_INVALID);
    ck_assert_ptr_null(client);
    ck_assert_msg(error && strstr(error, why) && !strstr(error, "s3cret"), "%s", error);
    swamp_free(error);
}

START_TEST(a_token_that_would_write_a_header_of_its_own_is_refused_and_not_shown)
{
    for (int byte = 1; byte < 256; byte++) {
        char token[] = "a.s3cret?s3cret";
        token[8] = (char)byte;
        if (byte > 0x20 && byte < 0x7f) {
            swamp_client_options o = {.size = sizeof(o), .url = "http://127.0.0.1:1", .token = token};
            swamp_client *client = NULL;
            ck_assert_int_eq(swamp_client_new(&client, &o, NULL), SWAMP_OK);
            swamp_client_free(client);
        } else {
            token_refused(token, "visible ASCII");
        }
    }
    token_refused("a.s3cret\r\nX-Evil: 1", "visible ASCII");
}
END_TEST

START_TEST(a_token_of_more_than_512_characters_is_refused_before_it_is_dialled_with)
{
    char token[514] = "a.s3cret";
    memset(token + 8, 'x', sizeof(token) - 9);
    token_refused(token, "513 characters, allowed are 512");
    token[512] = '\0';
    swamp_client_options o = {.size = sizeof(o), .url = "http://127.0.0.1:1", .token = token};
    swamp_client *client = NULL;
    ck_assert_int_eq(swamp_client_new(&client, &o, NULL), SWAMP_OK);
    swamp_client_free(client);
}
END_TEST

START_TEST(a_session_says_which_option_is_wrong)
{
    swamp_client *client = client_of("http://127.0.0.1:1");
    swamp_session_options o = {.size = sizeof(o), .retry_min_ms = 5000};
    swamp_session *session = NULL;
    char line[256], epoch[600];
    ck_assert_int_eq(swamp_session_attach(&session, client, "r", &o), SWAMP_E_INVALID);
    swamp_client_error(client, line, sizeof(line));
    ck_assert_msg(strstr(line, "retry_min_ms is 5000") && strstr(line, "retry_first_ms (2000)"), "%s", line);

    o.retry_min_ms = 0;
    memset(epoch, 'e', sizeof(epoch));
    epoch[sizeof(epoch) - 1] = '\0';
    o.epoch = epoch;
    ck_assert_int_eq(swamp_session_attach(&session, client, "r", &o), SWAMP_E_INVALID);
    swamp_client_error(client, line, sizeof(line));
    ck_assert_msg(strstr(line, "epoch has 599 bytes"), "%s", line);

    ck_assert_int_eq(swamp_session_attach(&session, client, "", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_start(&session, client, "workflow.dance", "{}", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_start(&session, client, "workflow.run", "[]", NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_session_start(&session, client, "workflow.run", "{", NULL), SWAMP_E_JSON);
    ck_assert_int_eq(swamp_session_start(&session, client, "workflow.run", "{\"a\":1,\"a\":2}", NULL),
                     SWAMP_E_RULES);
    char *big = malloc(1100000);
    memset(big, ' ', 1100000);
    big[0] = '{', big[1099998] = '}', big[1099999] = '\0';
    ck_assert_int_eq(swamp_session_start(&session, client, "workflow.run", big, NULL), SWAMP_E_TOO_BIG);
    free(big);
    ck_assert_ptr_null(session);
    swamp_client_free(client);
}
END_TEST

static swamp_server *
new_server(const swamp_server_options *options)
{
    swamp_server *server = NULL;
    char *error = NULL;
    int rc = swamp_server_new(&server, options, &error);
    ck_assert_msg(rc == SWAMP_OK, "%s", error);
    return server;
}

START_TEST(start_on_a_port_in_use_fails_and_names_it)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int taken = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(taken, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(taken, 1), 0);
    getsockname(taken, (struct sockaddr *)&address, &len);

    swamp_server_options o;
    host_options(&o);
    o.port = ntohs(address.sin_port);
    swamp_server *server = new_server(&o);
    swamp_work *work;
    char line[512], port[16];
    ck_assert_int_eq(swamp_server_start(server), SWAMP_E_ADDRESS);
    swamp_server_error(server, line, sizeof(line));
    snprintf(port, sizeof(port), "%u", o.port);
    ck_assert_msg(strstr(line, port), "%s", line);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_url(server, line, sizeof(line)), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_next(server, -1, &work), SWAMP_END);
    ck_assert_int_eq(swamp_server_wait(server, -1), SWAMP_END);
    ck_assert_int_eq(swamp_server_stop(server, -1), SWAMP_OK);
    swamp_server_free(server);
    close(taken);
}
END_TEST

START_TEST(start_with_a_bad_certificate_fails)
{
    swamp_server_options o;
    char line[512];
    host_options(&o);
    o.cert_file = o.key_file = "/nowhere/at/all.pem";
    swamp_server *server = new_server(&o);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_E_TLS);
    swamp_server_error(server, line, sizeof(line));
    ck_assert_msg(line[0], "no text");
    swamp_server_free(server);
}
END_TEST

START_TEST(a_server_that_is_not_started_says_so)
{
    swamp_server_options o;
    char buf[64];
    swamp_work *work;
    swamp_event *event;
    swamp_session *session;
    host_options(&o);
    swamp_server *server = new_server(&o);
    ck_assert_int_eq(swamp_server_url(server, buf, sizeof(buf)), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_next(server, 0, &work), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_wait(server, 0), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_cancel(server, "abc", NULL), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_request(server, "server.version", NULL, 100, &event), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_session_local(&session, server, "workflow.run", "{}", NULL), SWAMP_E_STATE);
    ck_assert_int_eq(swamp_server_instance_id(server, buf, 36), SWAMP_E_TOO_BIG);
    ck_assert_int_eq(swamp_server_instance_id(server, buf, 37), SWAMP_OK);
    ck_assert_uint_eq(strlen(buf), 36);
    ck_assert_int_eq(swamp_server_stop(server, -1), SWAMP_OK); /* one not started ends at once */
    ck_assert_int_eq(swamp_server_start(server), SWAMP_E_STATE);
    swamp_server_error(server, buf, sizeof(buf));
    ck_assert_msg(strstr(buf, "before"), "%s", buf);
    swamp_server_free(server);
}
END_TEST

START_TEST(a_url_that_does_not_fit_is_not_cut)
{
    host h = {0};
    swamp_server_options o;
    char buf[128] = "untouched";
    host_options(&o);
    host_start(&h, &o, 0);
    ck_assert_int_eq(swamp_server_url(h.server, buf, strlen(h.url)), SWAMP_E_TOO_BIG);
    ck_assert_str_eq(buf, "untouched");
    ck_assert_int_eq(swamp_server_url(h.server, buf, strlen(h.url) + 1), SWAMP_OK);
    ck_assert_int_eq(strncmp(buf, "http://127.0.0.1:", 17), 0);
    host_stop(&h);
}
END_TEST

START_TEST(a_local_server_has_no_url)
{
    host h = {0};
    swamp_server_options o;
    host_options(&o);
    o.flags = SWAMP_SERVER_LOCAL;
    host_start(&h, &o, 0);
    ck_assert_str_eq(h.url, "");
    host_stop(&h);
}
END_TEST

START_TEST(idle_and_stall_timeouts_that_are_off_end_no_connection)
{
    host h = {0};
    swamp_server_options o;
    swamp_event *event;
    int type = 0;
    host_options(&o);
    o.idle_timeout_ms = o.stall_timeout_ms = SWAMP_OFF;
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "count");
    while (type < SWAMP_EVENT_DONE) {
        ck_assert_int_eq(swamp_session_next(session, LONG_MS, &event), SWAMP_EVENT);
        type = swamp_event_type(event);
        ck_assert_msg(type != SWAMP_EVENT_RECONNECTING && type != SWAMP_EVENT_ERROR, "%s: %s",
                      swamp_event_reason(event), swamp_event_message(event));
        swamp_event_free(event);
    }
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

static void
note_destroyed(void *user)
{
    ++*(int *)user;
}

START_TEST(the_executor_is_given_back_exactly_once)
{
    int destroyed = 0;
    swamp_executor executor = {sizeof(executor), work_nothing, note_destroyed};
    swamp_server_options o;
    host_options(&o);
    o.executor = &executor;
    o.executor_user = &destroyed;
    swamp_server *server = new_server(&o);
    ck_assert_int_eq(destroyed, 0);
    swamp_server_free(server);
    ck_assert_int_eq(destroyed, 1); /* never started */
    server = new_server(&o);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
    swamp_server_free(server);
    ck_assert_int_eq(destroyed, 2);
    o.port = 70000;
    ck_assert_int_eq(swamp_server_new(&server, &o, NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(destroyed, 3); /* cannot be made */
}
END_TEST

typedef struct lines {
    pthread_mutex_t lock;
    int count, worst;
} lines;

static void
note_line(int level, const char *line, void *user)
{
    lines *l = user;
    pthread_mutex_lock(&l->lock);
    if (level >= SWAMP_LOG_ERROR && level <= SWAMP_LOG_DEBUG && line[0] && !strchr(line, '\n'))
        l->count++;
    if (level > l->worst)
        l->worst = level;
    pthread_mutex_unlock(&l->lock);
}

START_TEST(log_lines_come_with_the_users_pointer)
{
    host h = {0};
    lines l = {.lock = PTHREAD_MUTEX_INITIALIZER};
    swamp_server_options o;
    char id[64];
    host_options(&o);
    o.log = note_line;
    o.log_user = &l;
    host_start(&h, &o, 0);
    /* an instance that is declared dead must say so */
    declare_dead(h.server, h.store, id, sizeof(id));
    ck_assert_int_eq(swamp_server_wait(h.server, LONG_MS), SWAMP_E_FENCED);
    host_stop(&h);
    ck_assert_int_gt(l.count, 0);
    ck_assert_int_le(l.worst, SWAMP_LOG_INFO); /* the default level */
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("api handles");
    TCase *t = tcase_create("handles");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, freeing_null_is_fine);
    tcase_add_test(t, null_handles_are_refused_not_followed);
    tcase_add_test(t, an_error_names_the_option_the_value_and_what_is_allowed);
    tcase_add_test(t, an_executor_without_work_is_refused);
    tcase_add_test(t, options_of_an_older_caller_are_zero_extended);
    tcase_add_test(t, options_of_a_newer_caller_pass_only_with_a_zero_tail);
    tcase_add_test(t, a_client_says_what_is_wrong_with_its_options);
    tcase_add_test(t, a_token_that_would_write_a_header_of_its_own_is_refused_and_not_shown);
    tcase_add_test(t, a_token_of_more_than_512_characters_is_refused_before_it_is_dialled_with);
    tcase_add_test(t, a_session_says_which_option_is_wrong);
    tcase_add_test(t, start_on_a_port_in_use_fails_and_names_it);
    tcase_add_test(t, start_with_a_bad_certificate_fails);
    tcase_add_test(t, a_server_that_is_not_started_says_so);
    tcase_add_test(t, a_url_that_does_not_fit_is_not_cut);
    tcase_add_test(t, a_local_server_has_no_url);
    tcase_add_test(t, idle_and_stall_timeouts_that_are_off_end_no_connection);
    tcase_add_test(t, the_executor_is_given_back_exactly_once);
    tcase_add_test(t, log_lines_come_with_the_users_pointer);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
