/* One allocation fails, each in turn, from the making of a server to the end of a run: refused or told, never lost. */
#include <string.h>
#include <swamp/swamp.h>
#include "../../../libswamp/util/alloc.h"
#include "../../support/brief_host.h"
#include "tap.h"

#define ROUNDS                                                                                               \
    170 /* more than there are allocations, 135 to 145 by how the threads meet: the last rounds see no failure */
#define BOUND_MS 30000

/* Until the end: DONE or ERROR is told, in whatever way memory was missing. */
static void
follow(swamp_server *server)
{
    swamp_session_options options = {
        .size = sizeof(options), .retry_min_ms = 10, .retry_first_ms = 10, .retry_max_ms = 10};
    swamp_session *session = NULL;
    swamp_event *event;
    int rc, type = 0;

    rc = swamp_session_local(&session, server, "workflow.run", "{\"workflowIdOrName\":\"w\"}", &options);
    if (rc != SWAMP_OK) {
        ck_assert_int_eq(rc, SWAMP_E_NOMEM);
        ck_assert_ptr_null(session);
        return;
    }
    while ((rc = swamp_session_next(session, BOUND_MS, &event)) == SWAMP_EVENT) {
        type = swamp_event_type(event);
        swamp_event_free(event);
    }
    ck_assert_msg((rc == SWAMP_E_NOMEM && type == 0) || (rc == SWAMP_END && type >= SWAMP_EVENT_DONE),
                  "%s after %d", swamp_status_name(rc), type);
    swamp_session_free(session);
}

START_TEST(an_allocation_that_fails_is_told)
{
    unsigned long n = ROUNDS - (unsigned long)(_i * tap_thin());
    int is_last = n == ROUNDS; /* it counts, and how many heartbeats there are is a matter of time */
    swamp_executor executor = {sizeof(executor), brief_host_work, NULL};
    swamp_server_options options = {.size = sizeof(options),
                                    .flags = SWAMP_SERVER_LOCAL,
                                    .executor = &executor,
                                    .executor_threads = 1,
                                    .heartbeat_interval_ms = is_last ? 60000 : 100,
                                    .stale_ttl_ms = is_last ? 180000 : 5000};
    swamp_server *server = NULL;
    char *error = NULL;

    ck_assert_int_eq(swamp_store_memory_open(&options.store), SWAMP_OK);
    swamp__alloc_fail_at(n, 0);
    int rc = swamp_server_new(&server, &options, &error);
    if (rc == SWAMP_OK) {
        rc = swamp_server_start(server);
        ck_assert_msg(rc == SWAMP_OK || rc == SWAMP_E_NOMEM, "%s", swamp_status_name(rc));
        if (rc == SWAMP_OK)
            follow(server);
        swamp_server_free(server);
        if (is_last)
            ck_assert_uint_lt(swamp__alloc_count(), n);
    } else {
        ck_assert_int_eq(rc, SWAMP_E_NOMEM);
        ck_assert_ptr_null(server);
    }
    swamp__alloc_fail_at(0, 0);
    swamp_free(error);
    swamp_store_free(options.store);
}
END_TEST

START_TEST(a_client_that_cannot_be_made_is_refused_whole)
{
    swamp_client_options options = {.size = sizeof(options), .url = "http://127.0.0.1:1"};
    swamp_client *client = NULL;
    swamp_session *session = NULL;
    swamp_event *event = NULL;

    swamp__alloc_fail_at((unsigned long)_i, 0);
    int rc = swamp_client_new(&client, &options, NULL);
    if (rc == SWAMP_OK) {
        rc = swamp_session_attach(&session, client, "run", NULL);
        ck_assert(rc == SWAMP_OK || rc == SWAMP_E_NOMEM);
        rc = swamp_client_request(client, "server.version", NULL, 50, &event);
        ck_assert_msg(rc == SWAMP_E_CONNECT || rc == SWAMP_E_NOMEM || rc == SWAMP_E_TIMEOUT, "%s",
                      swamp_status_name(rc));
        swamp_client_free(client);
        swamp_session_free(session);
    } else {
        ck_assert_int_eq(rc, SWAMP_E_NOMEM);
        ck_assert_ptr_null(client);
    }
    swamp__alloc_fail_at(0, 0);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("memory");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, an_allocation_that_fails_is_told, 0, (ROUNDS + tap_thin() - 1) / tap_thin());
    tcase_add_loop_test(t, a_client_that_cannot_be_made_is_refused_whole, 1, 40);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
