/* One allocation fails, each in turn, of all that a server on SQLite and its client on a socket do in one run: it is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/swamp.h>
#include "../../libswamp/util/alloc.h"
#include "../contract/scratch.h"
#include "../support/brief_host.h"
#include "tap.h"

#define CASES 16 /* processes that share the allocations out among them */
#define BOUND_MS 30000

static char *folder;

/* A call either works or says that memory is missing, and then it has made nothing. */
static int
worked(int rc, const void *made, unsigned long n, const char *what)
{
    ck_assert_msg(rc == SWAMP_OK || rc == SWAMP_E_NOMEM, "allocation %lu: %s gave %s", n, what,
                  swamp_status_name(rc));
    ck_assert_msg((rc == SWAMP_OK) == (made != NULL), "allocation %lu: %s gave %s and %p", n, what,
                  swamp_status_name(rc), made);
    return rc == SWAMP_OK;
}

/* To its end, which is told: DONE, or ERROR. Its cursor after the first event; *success: the run's end was told. */
static void
follow(swamp_session *session, char *cursor, size_t cap, unsigned long n, int *success)
{
    swamp_event *event;
    uint64_t seq = 0;
    int rc, type = 0, error = 0;
    while ((rc = swamp_session_next(session, BOUND_MS, &event)) == SWAMP_EVENT) {
        type = swamp_event_type(event);
        if (type == SWAMP_EVENT_RUN && swamp_event_seq(event) > 0) {
            ck_assert_msg(seq == 0 || swamp_event_seq(event) == seq + 1, "allocation %lu: an event was lost",
                          n);
            seq = swamp_event_seq(event);
            if (cursor && !*cursor)
                swamp_session_cursor(session, cursor, cap);
        }
        if (type == SWAMP_EVENT_GAP)
            seq = 0;
        if (type == SWAMP_EVENT_ERROR)
            error = swamp_event_error(event);
        if (type == SWAMP_EVENT_DONE)
            *success = 1;
        swamp_event_free(event);
    }
    if (rc == SWAMP_E_NOMEM && type == 0) /* not even begun */
        return;
    ck_assert_msg(rc == SWAMP_END, "allocation %lu: the session gave %s after %d", n, swamp_status_name(rc),
                  type);
    ck_assert_msg(type == SWAMP_EVENT_DONE || (type == SWAMP_EVENT_ERROR && error < 0),
                  "allocation %lu: the last event is %d, error %d", n, type, error);
}

static int
use_client(swamp_client *client, unsigned long n)
{
    swamp_session_options options = {.size = sizeof options,
                                     .retry_min_ms = 5,
                                     .retry_first_ms = 5,
                                     .retry_max_ms = 10,
                                     .history_poll_min_ms = 5,
                                     .history_poll_max_ms = 10,
                                     .history_give_up_ms = 2000,
                                     .give_up_ms = 2000,
                                     .answer_timeout_ms = 2000};
    swamp_session *session = NULL;
    swamp_event *event = NULL;
    char cursor[512] = "";
    int done = 0, attached = 0;
    int rc = swamp_session_start(&session, client, "workflow.run", "{\"workflowIdOrName\":\"w\"}", &options);
    if (!worked(rc, session, n, "session_start"))
        return 0;
    follow(session, cursor, sizeof cursor, n, &done);
    swamp_session_free(session);
    session = NULL;
    if (!cursor[0])
        return 0;
    rc = swamp_session_attach(&session, client, cursor, &options);
    if (!worked(rc, session, n, "session_attach"))
        return 0;
    follow(session, NULL, 0, n, &attached);
    swamp_session_free(session);
    rc = swamp_client_request(client, "run.history", "{}", BOUND_MS, &event);
    ck_assert_msg((rc == SWAMP_EVENT) == (event != NULL) && rc != SWAMP_E_TIMEOUT,
                  "allocation %lu: request gave %s", n, swamp_status_name(rc));
    swamp_event_free(event);
    return done && attached && rc == SWAMP_EVENT;
}

static int
use_server(swamp_server *server, unsigned long n)
{
    char url[128];
    swamp_client_options options = {
        .size = sizeof options, .request_timeout_ms = 2000, .connect_timeout_ms = 2000};
    swamp_client *client = NULL;
    char *error = NULL;
    int rc = swamp_server_start(server);
    ck_assert_msg(rc == SWAMP_OK || rc == SWAMP_E_NOMEM, "allocation %lu: server_start gave %s", n,
                  swamp_status_name(rc));
    if (rc != SWAMP_OK)
        return 0;
    ck_assert_int_ge(swamp_server_url(server, url, sizeof url), SWAMP_OK);
    options.url = url;
    rc = swamp_client_new(&client, &options, &error);
    swamp_free(error);
    if (!worked(rc, client, n, "client_new"))
        return 0;
    int good = use_client(client, n);
    swamp_client_free(client);
    return good;
}

/* 1: all of it went well. */
static int
live(unsigned long n)
{
    char path[SCRATCH_PATH_MAX];
    swamp_executor executor = {sizeof executor, brief_host_work, NULL};
    swamp_server_options options = {.size = sizeof options,
                                    .executor = &executor,
                                    .executor_threads = 1,
                                    .heartbeat_interval_ms = 200,
                                    .stale_ttl_ms = 5000,
                                    .drain_grace_ms = SWAMP_OFF};
    swamp_server *server = NULL;
    char *error = NULL;
    int good = 0;
    int rc = swamp_store_sqlite_open(&options.store, scratch_path(path, folder, "store.db"), NULL, &error);
    if (worked(rc, options.store, n, "store_sqlite_open")) {
        rc = swamp_server_new(&server, &options, error ? NULL : &error);
        if (worked(rc, server, n, "server_new"))
            good = use_server(server, n);
        swamp_server_free(server);
        swamp_store_free(options.store);
    }
    swamp_free(error);
    return good;
}

static void
check_allocation(unsigned long n, int *over)
{
    unsigned long before = swamp__alloc_count();
    folder = scratch_make();
    swamp__alloc_fail_at(n, 0);
    int good = live(n);
    *over = swamp__alloc_count() - before < n;
    swamp__alloc_fail_at(0, 0);
    ck_assert_msg(good || !*over, "nothing failed, and not all went well");
    scratch_remove(folder);
}

/* SWAMP_OOM_EVERY=5 takes every fifth allocation only; absent: each. Fewer still where tests are thinned. */
static unsigned long
read_every(void)
{
    const char *text = getenv("SWAMP_OOM_EVERY");
    unsigned long every = text ? strtoul(text, NULL, 10) : 1;
    return (every ? every : 1) * (unsigned long)tap_thin();
}

/* Threads make the numbers differ from life to life: each number is met, and so are all places, in many lives. */
START_TEST(an_allocation_that_fails_anywhere_is_told)
{
    unsigned long every = read_every();
    int over = 0;
    for (unsigned long n = 1 + (unsigned long)_i * every; !over; n += CASES * every)
        check_allocation(n, &over);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("oom_socket");
    TCase *t = tcase_create("socket");
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, an_allocation_that_fails_anywhere_is_told, 0, CASES);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
