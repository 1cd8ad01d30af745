/* The parts behind a server handle: made, started, told by the core, taken down in the order of their needs. */
#include <stdio.h>
#include <swamp/status.h>
#include "server.h"
#include "../store/store.h"

/* ---- what the core says, on the loop's thread ---- */

/* Whoever looks for the cause of a busy core wants to know, and cannot see it from outside. */
static void
say_loop(const swamp_server *server)
{
    const swamp_server_options *given = &server->settings.given;
    if (swamp__loop_kind(server->loop) == SWAMP_LOOP_LIBEV)
        swamp__log_write(&server->log, SWAMP_LOG_INFO, "network loop: libev");
    else if (given->loop == SWAMP_LOOP_AUTO && given->max_connections > SWAMP__POLL_CONNECTIONS_MAX)
        swamp__log_write(&server->log, SWAMP_LOG_INFO,
                         "network loop: poll; with more than %d connections libev takes less CPU: install "
                         "libwebsockets' plug-in for it (libwebsockets-evlib-ev)",
                         SWAMP__POLL_CONNECTIONS_MAX);
    else
        swamp__log_write(&server->log, SWAMP_LOG_INFO, "network loop: poll");
}

void
swamp__parts_listen(void *arg)
{
    swamp_server *server = arg;
    pthread_mutex_lock(&server->lock);
    int now = !server->listening && !server->ended;
    server->listening = 1;
    pthread_mutex_unlock(&server->lock);
    if (now && server->listener) {
        say_loop(server);
        swamp__listener_open(server->listener, server->instance);
    }
    pthread_mutex_lock(&server->lock);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void
core_ready(void *user)
{
    swamp__parts_listen(user);
}

/* The last bytes and close frames are out: a stop waits for it. */
static void
connections_gone(void *user)
{
    swamp_server *server = user;
    pthread_mutex_lock(&server->lock);
    server->emptied = 1;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void
core_ended(void *user, int status)
{
    swamp_server *server = user;
    if (server->listener)
        swamp__listener_close(server->listener);
    else
        connections_gone(server);
    swamp__desk_end(
        server->desk); /* no more work will come: who waits for some learns of the end, also of a fence */
    if (status == SWAMP_E_FENCED)
        swamp__error_set(
            &server->error, status,
            "instance %s was declared dead by another instance; its runs were ended, make a new handle",
            server->instance_id);
    pthread_mutex_lock(&server->lock);
    server->ended = status;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void
core_wakes(void *user)
{
    swamp_server *server = user;
    swamp__loop_wake(server->loop);
}

/* One wake-up for everything that other threads bring. */
static void
loop_woken(void *user)
{
    swamp_server *server = user;
    swamp__asker_collect(&server->beats);
    swamp__asker_collect(&server->questions);
    swamp__desk_collect(server->desk);
    swamp__instance_collect(server->instance);
}

static void
begin_core(void *arg)
{
    swamp_server *server = arg;
    swamp__instance_start(server->instance);
}

/* ---- making and taking down the parts ---- */

static int
make_loop(swamp_server *server)
{
    const swamp_server_options *given = &server->settings.given;
    const char *why = "";
    swamp__loop_options options = {
        .role = SWAMP__LOOP_SERVER,
        .kind = (int)given->loop,
        .max_connections = (int)given->max_connections,
        .cert_file = given->cert_file,
        .key_file = given->key_file,
        .log = &server->log,
        .woken = loop_woken,
        .user = server,
    };
    int rc = swamp__loop_new(&server->loop, &options, &why);
    if (rc != SWAMP_OK)
        return swamp__error_set(&server->error, rc, "the network loop could not be made: %s", why);
    return SWAMP_OK;
}

static int
make_listener(swamp_server *server)
{
    const swamp_server_options *given = &server->settings.given;
    char line[SWAMP__ERROR_SIZE];
    swamp__listen_options options = {
        .host = given->host,
        .port = (int)given->port,
        .allow_foreign = (given->flags & SWAMP_SERVER_INSECURE) != 0,
        .allowed_origins = given->allowed_origins,
        .max_connections = (int)given->max_connections,
        .emptied = connections_gone,
        .user = server,
    };
    if (given->flags & SWAMP_SERVER_LOCAL)
        return SWAMP_OK;
    int rc = swamp__listener_new(&server->listener, server->loop, &options, line, sizeof(line));
    return rc == SWAMP_OK ? rc : swamp__error_set(&server->error, rc, "%s", line);
}

static int
make_core(swamp_server *server)
{
    const swamp_server_options *given = &server->settings.given;
    swamp__instance_events events = {core_ready, core_ended, core_wakes, server};
    swamp__instance_options options;
    const char *address = given->advertise_url;

    /* without --advertise a loopback address is still one that all clients of this machine can reach */
    if (!address)
        address = server->listener ? swamp__listener_url(server->listener) : "";
    swamp__settings_for_instance(&server->settings, server->instance_id, address, &options);
    return swamp__instance_new(&server->instance, &options, swamp__loop_world(server->loop),
                               &server->questions.asker, &server->beats.asker, &server->desk->face, &events);
}

int
swamp__parts_make(swamp_server *server)
{
    int timeout_ms = (int)server->settings.given.store_timeout_ms;
    int rc = make_loop(server);
    if (server->store)
        swamp__unreadable_set_log(swamp__store_unreadable(server->store), &server->log);
    if (rc == SWAMP_OK)
        rc = make_listener(server);
    if (rc == SWAMP_OK && !(server->desk = swamp__desk_new(server->loop)))
        rc = SWAMP_E_NOMEM;
    if (rc == SWAMP_OK)
        rc = swamp__asker_init(&server->questions, server->store, server->loop, timeout_ms);
    if (rc == SWAMP_OK)
        rc = swamp__asker_init(&server->beats, server->store, server->loop, timeout_ms);
    return rc == SWAMP_OK ? make_core(server) : rc;
}

int
swamp__parts_start(swamp_server *server)
{
    int rc = swamp__asker_start(&server->questions);
    if (rc == SWAMP_OK)
        rc = swamp__asker_start(&server->beats);
    if (rc == SWAMP_OK)
        rc = swamp__loop_start(server->loop);
    if (rc == SWAMP_OK && !(server->home = swamp__home_new(server->loop)))
        rc = SWAMP_E_NOMEM;
    if (rc == SWAMP_OK)
        rc = swamp__pool_start(server);
    if (rc == SWAMP_OK)
        rc = swamp__home_call(server->home, begin_core, server);
    return rc;
}

static void
collect_all(swamp_server *server)
{
    size_t count;
    do { /* an answer may lead to the next question, which is then answered with SWAMP_E_CLOSED */
        count = swamp__asker_collect(&server->beats) + swamp__asker_collect(&server->questions) +
                swamp__desk_collect(server->desk);
    } while (count > 0);
}

static void
collect_on_loop(void *arg)
{
    collect_all(arg);
}

/* In the order in which they depend on each other; fine on a server that was only half made. */
void
swamp__parts_take_down(swamp_server *server)
{
    if (server->desk)
        swamp__desk_end(server->desk);
    swamp__pool_join(server);
    if (server->instance) {
        swamp__asker_close(&server->questions);
        swamp__asker_close(&server->beats);
    }
    if (server->home) { /* the loop runs */
        swamp__home_call(server->home, collect_on_loop, server);
        swamp__home_close(server->home);
    }
    if (server->loop)
        swamp__loop_stop(server->loop);
    if (server->store)
        swamp__unreadable_unset_log(swamp__store_unreadable(server->store), &server->log);
    if (server->instance) {
        collect_all(server);
        swamp__instance_free(server->instance);
    }
    if (server->questions.loop)
        swamp__asker_destroy(&server->questions);
    if (server->beats.loop)
        swamp__asker_destroy(&server->beats);
    if (server->desk)
        swamp__desk_close(server->desk);
    swamp__home_unref(server->home);
    swamp__listener_free(server->listener);
    swamp__loop_free(server->loop);
    server->instance = NULL;
    server->desk = NULL;
    server->home = NULL;
    server->listener = NULL;
    server->loop = NULL;
}
