/* The public server handle: makes the parts, starts their threads, waits for the end, takes the parts down.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <swamp/status.h>
#include "server.h"
#include "../store/store.h"
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../util/random.h"

#define READY_WAIT_MS 5000 /* DESIGN 6: with the store down, listen after 5 s */
#define CLOSE_WAIT_MS 5000 /* FACTS: on stop wait for each connection's CLOSED, at most 5 s */

/* ---- what the core says, on the loop's thread ---- */

static void
open_listener(void *arg)
{
    swamp_server *server = arg;
    pthread_mutex_lock(&server->lock);
    int now = !server->listening && !server->ended;
    server->listening = 1;
    pthread_mutex_unlock(&server->lock);
    if (now && server->listener)
        swamp__listener_open(server->listener, server->instance);
    pthread_mutex_lock(&server->lock);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void
core_ready(void *user)
{
    open_listener(user);
}

static void
core_ended(void *user, int status)
{
    swamp_server *server = user;
    if (server->listener)
        swamp__listener_close(server->listener);
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
        .trust_proxy = (given->flags & SWAMP_SERVER_TRUST_PROXY) != 0,
        .allowed_origins = given->allowed_origins,
        .max_connections = (int)given->max_connections,
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

static int
make_parts(swamp_server *server)
{
    int timeout_ms = (int)server->settings.given.store_timeout_ms;
    int rc = make_loop(server);
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

static int
start_threads(swamp_server *server)
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
static void
take_down(swamp_server *server)
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

/* ---- public ---- */

void
swamp_server_options_init(swamp_server_options *options, size_t size)
{
    if (!options)
        return;
    memset(options, 0, size);
    options->size = size;
}

/* server.h: the host's part is given back exactly once, also when no server comes of it. */
static void
give_back_executor(const swamp_server_options *options)
{
    int has_one = options && options->size >= offsetof(swamp_server_options, log);
    const swamp_executor *executor = has_one ? options->executor : NULL;
    if (executor && executor->size >= sizeof(*executor) && executor->destroy)
        executor->destroy(options->executor_user);
}

int
swamp_server_new(swamp_server **out, const swamp_server_options *options, char **error)
{
    char why[SWAMP__ERROR_SIZE] = "out and options must be given";
    swamp_server *server = out && options ? swamp__calloc(1, sizeof(*server)) : NULL;
    int rc = out && options ? SWAMP_E_NOMEM : SWAMP_E_INVALID;
    pthread_condattr_t monotonic;

    if (server)
        rc = swamp__settings_read(&server->settings, options, why, sizeof(why));
    if (rc != SWAMP_OK) {
        swamp__free(server);
        give_back_executor(options);
        if (error)
            *error = swamp__strdup(rc == SWAMP_E_NOMEM ? "out of memory" : why);
        return rc;
    }
    const swamp_server_options *given = &server->settings.given;
    server->log = (swamp__log){given->log, given->log_user, (int)given->log_level};
    server->store = given->store ? swamp__store_ref(given->store) : NULL;
    if (given->executor)
        memcpy(&server->executor, given->executor,
               given->executor->size < sizeof(server->executor) ? given->executor->size
                                                                : sizeof(server->executor));
    swamp__id_v4(server->instance_id, swamp__random_u64(), swamp__random_u64());
    swamp__error_init(&server->error);
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *out = server;
    return SWAMP_OK;
}

/* Under the lock: waits for a change until due_ms (INT64_MAX: for ever); 0 when the time is over. */
static int
wait_change(swamp_server *server, int64_t due_ms)
{
    if (due_ms == INT64_MAX)
        return pthread_cond_wait(&server->changed, &server->lock) == 0;
    struct timespec until = {.tv_sec = due_ms / 1000, .tv_nsec = (long)(due_ms % 1000) * 1000000};
    return pthread_cond_timedwait(&server->changed, &server->lock, &until) != ETIMEDOUT;
}

int
swamp_server_start(swamp_server *server)
{
    if (!server)
        return SWAMP_E_INVALID;
    pthread_mutex_lock(&server->lock);
    int fresh = server->state == SWAMP__SERVER_NEW;
    if (fresh)
        server->state = SWAMP__SERVER_DOWN; /* until the parts stand, for other threads */
    pthread_mutex_unlock(&server->lock);
    if (!fresh)
        return swamp__error_set(&server->error, SWAMP_E_STATE,
                                "the server was started before; make a new handle");

    int rc = make_parts(server);
    if (rc == SWAMP_OK)
        rc = start_threads(server);
    if (rc != SWAMP_OK) {
        swamp__error_set(&server->error, rc, "the server could not be started: %s", swamp_status_text(rc));
        take_down(server);
        return rc;
    }
    pthread_mutex_lock(&server->lock);
    server->state = SWAMP__SERVER_UP;
    int64_t due_ms = swamp__clock_monotonic_ms() + READY_WAIT_MS;
    while (!server->listening && !server->ended && wait_change(server, due_ms))
        ;
    pthread_mutex_unlock(&server->lock);
    return swamp__home_call(server->home, open_listener, server); /* no effect where core_ready was first */
}

int
swamp_server_wait(swamp_server *server, int timeout_ms)
{
    if (!server)
        return SWAMP_E_INVALID;
    int64_t due_ms = timeout_ms < 0 ? INT64_MAX : swamp__clock_monotonic_ms() + timeout_ms;
    pthread_mutex_lock(&server->lock);
    while (!server->ended && server->state == SWAMP__SERVER_UP && wait_change(server, due_ms))
        ;
    int status = server->ended ? server->ended : server->state == SWAMP__SERVER_UP ? SWAMP_OK : SWAMP_END;
    pthread_mutex_unlock(&server->lock);
    return status;
}

typedef struct stop_call {
    swamp_server *server;
    int64_t drain_timeout_ms;
    size_t connections, host_runs;
} stop_call;

static void
stop_core(void *arg)
{
    stop_call *call = arg;
    swamp__instance_stop(call->server->instance, call->drain_timeout_ms);
}

static void
count_core(void *arg)
{
    stop_call *call = arg;
    swamp_server *server = call->server;
    call->connections = server->listener ? swamp__listener_connections(server->listener) : 0;
    call->host_runs = swamp__instance_host_runs(server->instance);
}

/* The core has ended: let the last bytes and close frames out, then take the parts down. */
static int
finish_stop(swamp_server *server)
{
    stop_call call = {.server = server};
    int64_t due_ms = swamp__clock_monotonic_ms() + CLOSE_WAIT_MS;
    const struct timespec pause = {.tv_nsec = 10 * 1000000};

    while (swamp__home_call(server->home, count_core, &call) == SWAMP_OK && call.connections > 0 &&
           swamp__clock_monotonic_ms() < due_ms)
        nanosleep(&pause, NULL);
    int64_t held = (int64_t)call.host_runs;
    take_down(server);

    pthread_mutex_lock(&server->lock);
    server->state = SWAMP__SERVER_DOWN;
    int ended = server->ended;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    if (ended == SWAMP_E_FENCED)
        return SWAMP_E_FENCED;
    if (held > 0)
        return swamp__error_set(&server->error, SWAMP_E_TIMEOUT,
                                "the host still holds %lld runs; their handles stay valid, finish them",
                                (long long)held);
    return SWAMP_OK;
}

int
swamp_server_stop(swamp_server *server, int drain_timeout_ms)
{
    stop_call call = {.server = server, .drain_timeout_ms = drain_timeout_ms};
    swamp__home *home;

    if (!server)
        return SWAMP_E_INVALID;
    if (swamp__pool_is_here(server))
        return SWAMP_E_REENTRANT;
    if (swamp__server_home(server, &home) == SWAMP_OK) {
        int here = swamp__home_is_here(home);
        if (!here)
            swamp__home_call(home, stop_core, &call); /* also for a second call: a shorter time holds */
        swamp__home_unref(home);
        if (here)
            return SWAMP_E_REENTRANT;
    }
    pthread_mutex_lock(&server->lock);
    while (server->state == SWAMP__SERVER_UP && !server->ended)
        wait_change(server, INT64_MAX);
    int mine = server->state == SWAMP__SERVER_UP;
    server->state = mine                                 ? SWAMP__SERVER_STOPPING
                    : server->state == SWAMP__SERVER_NEW ? SWAMP__SERVER_DOWN
                                                         : server->state;
    while (!mine && server->state == SWAMP__SERVER_STOPPING)
        wait_change(server, INT64_MAX);
    int ended = server->ended;
    pthread_mutex_unlock(&server->lock);
    if (mine)
        return finish_stop(server);
    return ended == SWAMP_E_FENCED ? ended : SWAMP_OK;
}

void
swamp_server_free(swamp_server *server)
{
    if (!server)
        return;
    (void)swamp_server_stop(server, 0);
    if (server->executor.size && server->executor.destroy)
        server->executor.destroy(server->settings.given.executor_user);
    swamp_store_free(server->store);
    swamp__settings_free(&server->settings);
    swamp__error_destroy(&server->error);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    swamp__free(server);
}

int
swamp__server_home(swamp_server *server, swamp__home **home)
{
    pthread_mutex_lock(&server->lock);
    int up = server->state == SWAMP__SERVER_UP;
    if (up)
        *home = swamp__home_ref(server->home);
    pthread_mutex_unlock(&server->lock);
    return up ? SWAMP_OK : SWAMP_E_STATE;
}

static int
copy_text(const char *text, char *buf, size_t cap)
{
    if (!buf || strlen(text) >= cap)
        return SWAMP_E_TOO_BIG;
    strcpy(buf, text);
    return SWAMP_OK;
}

int
swamp_server_url(swamp_server *server, char *buf, size_t cap)
{
    if (!server)
        return SWAMP_E_INVALID;
    pthread_mutex_lock(&server->lock);
    int rc = SWAMP_E_STATE;
    if (server->state == SWAMP__SERVER_UP)
        rc = copy_text(server->listener ? swamp__listener_url(server->listener) : "", buf, cap);
    pthread_mutex_unlock(&server->lock);
    return rc;
}

int
swamp_server_instance_id(swamp_server *server, char *buf, size_t cap)
{
    return server ? copy_text(server->instance_id, buf, cap) : SWAMP_E_INVALID;
}

int
swamp_server_error(swamp_server *server, char *buf, size_t cap)
{
    if (!server || !buf || cap == 0)
        return SWAMP_E_INVALID;
    swamp__error_get(&server->error, buf, cap);
    return SWAMP_OK;
}
