/* A host with a server of its own, and shorthands for sessions: the public interface only. */
#include <stdio.h>
#include <stdlib.h>
#include "fixture.h"

void
host_options(swamp_server_options *options)
{
    swamp_server_options_init(options, sizeof(*options));
    options->heartbeat_interval_ms = 200;
    options->stale_ttl_ms = 2000;
    options->reconciliation_interval_ms = 200;
    options->drain_grace_ms = SWAMP_OFF;
}

int
emit_text(swamp_run *run, const char *line)
{
    char event[4096];
    snprintf(event, sizeof(event), "{\"kind\":\"method_output\",\"line\":\"%s\"}", line);
    return swamp_run_emit(run, event, strlen(event));
}

int
finish_now(swamp_run *run, int status)
{
    const char *last = "{\"kind\":\"completed\",\"run\":null}";
    return swamp_run_finish(run, status, last, strlen(last), NULL, 0);
}

static void
play(host *h, swamp_run *run, const char *payload)
{
    int events = strstr(payload, "\"many\"") ? h->many : 5;
    char line[4000];
    size_t pad = h->pad > 0 ? (size_t)h->pad : 1;

    if (strstr(payload, "\"hold\"")) {
        pthread_mutex_lock(&h->lock);
        if (h->held_count < HELD_MAX)
            h->held[h->held_count++] = run;
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_unlock(&h->lock);
        return;
    }
    memset(line, 'x', sizeof(line));
    line[pad < sizeof(line) ? pad : sizeof(line) - 1] = '\0';
    for (int i = 0; i < events; i++)
        if (emit_text(run, line) != SWAMP_OK)
            break;
    finish_now(run, SWAMP_RUN_SUCCEEDED);
}

static void
obey_cancel(host *h, swamp_work *work)
{
    swamp_run *run;
    pthread_mutex_lock(&h->lock);
    h->cancels++;
    snprintf(h->reason, sizeof(h->reason), "%s", swamp_work_reason(work));
    int found = 0;
    if (h->obey && swamp_work_run(work, &run) == SWAMP_OK) {
        for (size_t i = 0; i < h->held_count; i++) {
            if (h->held[i] != run)
                continue;
            h->held[i] = h->held[--h->held_count];
            found = 1;
            break;
        }
    }
    if (found)
        finish_now(run, SWAMP_RUN_CANCELLED);
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    swamp_work_answer(work, SWAMP_OK, NULL, 0);
}

void
do_work(host *h, swamp_work *work)
{
    const char *unknown =
        "[{\"kind\":\"error\",\"error\":{\"code\":\"workflow_not_found\",\"message\":\"no\"}}]";
    const char *list = "[{\"id\":\"count\",\"name\":\"count\",\"jobCount\":0,\"hasInputs\":false}]";
    const char *payload = swamp_work_payload(work, NULL);
    swamp_run *run = NULL;

    switch (swamp_work_kind(work)) {
    case SWAMP_WORK_RESOLVE:
        if (strstr(payload, "\"unknown\""))
            swamp_work_answer(work, SWAMP_E_NOT_FOUND, unknown, strlen(unknown));
        else
            answer_known(work);
        break;
    case SWAMP_WORK_SEARCH:
        swamp_work_answer(work, SWAMP_OK, list, strlen(list));
        break;
    case SWAMP_WORK_START: {
        char copy[512];
        snprintf(copy, sizeof(copy), "%s", payload);
        int rc = swamp_work_run(work, &run);
        swamp_work_answer(work, SWAMP_OK, NULL, 0);
        if (rc == SWAMP_OK)
            play(h, run, copy);
        break;
    }
    default:
        obey_cancel(h, work);
    }
}

static void
executor_work(swamp_work *work, void *user)
{
    do_work(user, work);
}

static void
executor_destroy(void *user)
{
    ((host *)user)->destroyed++;
}

static void *
pull(void *user)
{
    host *h = user;
    swamp_work *work;
    while (swamp_server_next(h->server, -1, &work) == SWAMP_WORK)
        do_work(h, work);
    return NULL;
}

void
host_init(host *h)
{
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    h->executor = (swamp_executor){sizeof(h->executor), executor_work, executor_destroy};
    if (!h->store)
        ck_assert_int_eq(swamp_store_memory_open(&h->store), SWAMP_OK);
}

void
host_start(host *h, const swamp_server_options *given, int with_executor)
{
    swamp_server_options options = *given;
    char *error = NULL;

    host_init(h);
    options.store = h->store;
    options.executor = with_executor ? &h->executor : NULL;
    options.executor_user = h;
    int rc = swamp_server_new(&h->server, &options, &error);
    ck_assert_msg(rc == SWAMP_OK, "%s", error ? error : "no text");
    rc = swamp_server_start(h->server);
    if (rc != SWAMP_OK)
        swamp_server_error(h->server, h->url, sizeof(h->url));
    ck_assert_msg(rc == SWAMP_OK, "%s: %s", swamp_status_name(rc), h->url);
    ck_assert_int_eq(swamp_server_url(h->server, h->url, sizeof(h->url)), SWAMP_OK);
    h->pulls = !with_executor;
    if (h->pulls)
        ck_assert_int_eq(pthread_create(&h->puller, NULL, pull, h), 0);
}

void
host_begin(host *h, uint32_t flags, int with_executor)
{
    swamp_server_options options;

    host_options(&options);
    options.flags = flags;
    host_start(h, &options, with_executor);
}

swamp_server *
local_server(void)
{
    swamp_server_options options;
    swamp_server *server = NULL;

    host_options(&options);
    options.flags = SWAMP_SERVER_LOCAL;
    ck_assert_int_eq(swamp_server_new(&server, &options, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
    return server;
}

swamp_work *
next_work(swamp_server *server, int kind)
{
    swamp_work *work = NULL;

    ck_assert_int_eq(swamp_server_next(server, LONG_MS, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_kind(work), kind);
    return work;
}

void
answer_known(swamp_work *resolve)
{
    static const char known[] = "{\"resourceName\":\"wf\",\"workflowId\":\"wf\"}";

    ck_assert_int_eq(swamp_work_answer(resolve, SWAMP_OK, known, sizeof(known) - 1), SWAMP_OK);
}

void
declare_dead(swamp_server *server, swamp_store *store, char *id, size_t cap)
{
    char key[128];
    swamp_store_op op = {.key = key, .action = SWAMP_STORE_REMOVE, .condition = SWAMP_STORE_PRESENT};

    ck_assert_int_eq(swamp_server_instance_id(server, id, cap), SWAMP_OK);
    snprintf(key, sizeof(key), "heartbeats/%s", id);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, NULL, NULL), SWAMP_OK);
}

swamp_run *
host_take(host *h)
{
    pthread_mutex_lock(&h->lock);
    while (h->held_count == 0)
        pthread_cond_wait(&h->changed, &h->lock); /* libcheck's own time-out is the bound */
    swamp_run *run = h->held[--h->held_count];
    pthread_mutex_unlock(&h->lock);
    return run;
}

void
host_wait_cancels(host *h, int cancels)
{
    pthread_mutex_lock(&h->lock);
    while (h->cancels < cancels)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

void
host_stop(host *h)
{
    swamp_server_stop(h->server, 0);
    if (h->pulls)
        pthread_join(h->puller, NULL);
    swamp_server_free(h->server);
    swamp_store_free(h->store);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}

swamp_client *
client_of(const char *url)
{
    swamp_client_options options;
    swamp_client *client = NULL;
    swamp_client_options_init(&options, sizeof(options));
    options.url = url;
    ck_assert_int_eq(swamp_client_new(&client, &options, NULL), SWAMP_OK);
    return client;
}

void
session_options(swamp_session_options *options)
{
    swamp_session_options_init(options, sizeof(*options));
    options->retry_min_ms = 20;
    options->retry_first_ms = 50;
    options->retry_max_ms = 200;
    options->max_dials = 50;
    options->history_poll_min_ms = 20;
    options->history_poll_max_ms = 50;
    options->elsewhere_min_ms = 20;
    options->elsewhere_max_ms = 50;
}

static swamp_session *
open_with(swamp_client *client, swamp_server *server, const char *workflow)
{
    swamp_session_options options;
    swamp_session *session = NULL;
    char payload[256];
    session_options(&options);
    snprintf(payload, sizeof(payload), "{\"workflowIdOrName\":\"%s\"}", workflow);
    int rc = client ? swamp_session_start(&session, client, "workflow.run", payload, &options)
                    : swamp_session_local(&session, server, "workflow.run", payload, &options);
    ck_assert_int_eq(rc, SWAMP_OK);
    return session;
}

swamp_session *
start_remote(swamp_client *client, const char *workflow)
{
    return open_with(client, NULL, workflow);
}

swamp_session *
start_local(swamp_server *server, const char *workflow)
{
    return open_with(NULL, server, workflow);
}

swamp_session *
attach_to(swamp_client *client, const char *run_or_cursor)
{
    swamp_session_options options;
    swamp_session *session = NULL;
    session_options(&options);
    ck_assert_int_eq(swamp_session_attach(&session, client, run_or_cursor, &options), SWAMP_OK);
    return session;
}

swamp_event *
next_of(swamp_session *session, int type)
{
    for (;;) {
        swamp_event *event = NULL;
        int rc = swamp_session_next(session, LONG_MS, &event);
        ck_assert_msg(rc == SWAMP_EVENT, "%s while waiting for %d", swamp_status_name(rc), type);
        if (swamp_event_type(event) == type)
            return event;
        ck_assert_msg(swamp_event_type(event) < SWAMP_EVENT_DONE, "ended by %d %s %s while waiting for %d",
                      swamp_event_type(event), swamp_event_code(event), swamp_event_message(event), type);
        swamp_event_free(event);
    }
}

void
expect_end(swamp_session *session)
{
    swamp_event *event = NULL;
    ck_assert_int_eq(swamp_session_next(session, LONG_MS, &event), SWAMP_END);
    ck_assert_ptr_null(event);
}

void
read_all(swamp_session *session, int *events, int *gaps, char *status, size_t cap)
{
    uint64_t last = 0;
    int rc;
    swamp_event *event;

    *events = *gaps = 0;
    while ((rc = swamp_session_next(session, LONG_MS, &event)) == SWAMP_EVENT) {
        int type = swamp_event_type(event);
        if (type == SWAMP_EVENT_RUN) {
            ck_assert_uint_eq(swamp_event_seq(event), last + 1);
            last = swamp_event_seq(event);
            ++*events;
        } else if (type == SWAMP_EVENT_GAP) {
            ck_assert_uint_eq(swamp_event_from_seq(event), last + 1);
            last = swamp_event_to_seq(event);
            ++*gaps;
        } else if (type == SWAMP_EVENT_DONE) {
            snprintf(status, cap, "%s", swamp_event_status(event));
        } else if (type == SWAMP_EVENT_ERROR) {
            snprintf(status, cap, "%s", swamp_event_code(event));
        }
        swamp_event_free(event);
    }
    ck_assert_int_eq(rc, SWAMP_END);
}
