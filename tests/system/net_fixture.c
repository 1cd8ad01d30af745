/* A loop of net/ with a listener: see net_fixture.h. */
#include "net_fixture.h"

#include <check.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/server.h>
#include <swamp/status.h>

typedef struct errand {
    swamp__task task;
    void (*run)(void *user);
    void *user;
    sem_t done;
} errand;

int
net_kind(int i)
{
    return i == 0 ? SWAMP_LOOP_POLL : SWAMP_LOOP_LIBEV;
}

static void
do_errand(swamp__task *task)
{
    errand *it = SWAMP__OF(task, errand, task);

    it->run(it->user);
    sem_post(&it->done);
}

void
net_on_loop(swamp__loop *loop, void (*run)(void *user), void *user)
{
    errand it = {.task = {.run = do_errand}, .run = run, .user = user};

    sem_init(&it.done, 0, 0);
    ck_assert_int_eq(swamp__loop_post(loop, &it.task), SWAMP_OK);
    sem_wait(&it.done);
    sem_destroy(&it.done);
}

swamp__loop *
net_loop(int i, int role, const char *ca_cert_file)
{
    swamp__loop_options options = {
        .role = role, .kind = net_kind(i), .max_connections = 100, .ca_cert_file = ca_cert_file};
    swamp__loop *loop = NULL;
    const char *why = "";

    ck_assert_msg(swamp__loop_new(&loop, &options, &why) == SWAMP_OK, "%s", why);
    ck_assert_int_eq(swamp__loop_kind(loop), net_kind(i));
    ck_assert_int_eq(swamp__loop_start(loop), SWAMP_OK);
    return loop;
}

static void
count_line(int level, const char *line, void *user)
{
    net_fixture *fixture = user;

    pthread_mutex_lock(&fixture->core.lock);
    fixture->log_lines++;
    pthread_cond_broadcast(&fixture->core.changed);
    pthread_mutex_unlock(&fixture->core.lock);
}

static void
open_listener(void *user)
{
    net_fixture *fixture = user;

    swamp__listener_open(fixture->listener, &fixture->core);
}

static void
close_listener(void *user)
{
    net_fixture *fixture = user;

    swamp__listener_close(fixture->listener);
}

static void
start(net_fixture *fixture, int i, const char *cert_file, const char *key_file, void (*woken)(void *user))
{
    swamp__loop_options options = {.role = SWAMP__LOOP_SERVER,
                                   .kind = net_kind(i),
                                   .max_connections = 100,
                                   .cert_file = cert_file,
                                   .key_file = key_file,
                                   .log = &fixture->log,
                                   .woken = woken,
                                   .user = fixture};
    swamp__listen_options listen_options = {.host = "127.0.0.1", .max_connections = 100};
    const char *why = "";
    char error[256];

    memset(fixture, 0, sizeof(*fixture));
    fixture->log = (swamp__log){.fn = count_line, .user = fixture, .level = SWAMP_LOG_WARN};
    ck_assert_msg(swamp__loop_new(&fixture->loop, &options, &why) == SWAMP_OK, "%s", why);
    core_init(&fixture->core, fixture->loop);
    ck_assert_msg(swamp__listener_new(&fixture->listener, fixture->loop, &listen_options, error,
                                      sizeof(error)) == SWAMP_OK,
                  "%s", error);
    fixture->port = atoi(strrchr(swamp__listener_url(fixture->listener), ':') + 1);
    ck_assert_int_eq(swamp__loop_start(fixture->loop), SWAMP_OK);
    net_on_loop(fixture->loop, open_listener, fixture);
}

void
net_start(net_fixture *fixture, int i, const char *cert_file, const char *key_file)
{
    start(fixture, i, cert_file, key_file, NULL);
}

void
net_start_woken(net_fixture *fixture, int i, void (*woken)(void *user))
{
    start(fixture, i, NULL, NULL, woken);
}

void
net_stop(net_fixture *fixture)
{
    net_on_loop(fixture->loop, close_listener, fixture);
    swamp__loop_stop(fixture->loop);
    ck_assert_uint_eq(swamp__listener_connections(fixture->listener), 0);
    swamp__listener_free(fixture->listener);
    swamp__loop_free(fixture->loop);
    core_destroy(&fixture->core);
}
