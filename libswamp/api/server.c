/* The public server handle: new, start, wait for the end, stop, free; what it says of itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "server.h"
#include "../store/store.h"
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../util/options.h"
#include "../util/random.h"

#define READY_WAIT_MS 5000 /* DESIGN 6: with the store down, listen after 5 s */
#define CLOSE_WAIT_MS 5000 /* FACTS: on stop wait for each connection's CLOSED, at most 5 s */

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
        (void)swamp__options_read(&server->executor, sizeof(server->executor),
                                  given->executor); /* was checked */
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

/* A call that may sleep holds the handle: swamp_server_free() waits until all of them have left. */
void
swamp__server_enter(swamp_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->callers++;
    pthread_mutex_unlock(&server->lock);
}

void
swamp__server_leave(swamp_server *server)
{
    pthread_mutex_lock(&server->lock);
    if (--server->callers == 0)
        pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

int
swamp__server_reach(swamp_server *server, swamp__server_door *out)
{
    pthread_mutex_lock(&server->lock);
    int up = server->state == SWAMP__SERVER_UP;
    if (up)
        *out = (swamp__server_door){swamp__home_ref(server->home), server->instance,
                                    swamp__loop_world(server->loop)};
    pthread_mutex_unlock(&server->lock);
    return up ? SWAMP_OK : SWAMP_E_STATE;
}

/* 1 in a callback: on one of the executor's threads, on the network thread, or inside a start or stop (log). */
static int
is_own_thread(swamp_server *server)
{
    swamp__server_door door;
    pthread_mutex_lock(&server->lock);
    int busy = (server->state == SWAMP__SERVER_STARTING || server->state == SWAMP__SERVER_STOPPING) &&
               pthread_equal(server->busy, pthread_self());
    pthread_mutex_unlock(&server->lock);
    if (busy || swamp__pool_is_here(server))
        return 1;
    if (swamp__server_reach(server, &door) != SWAMP_OK)
        return 0;
    int here = swamp__home_is_here(door.home);
    swamp__home_unref(door.home);
    return here;
}

static int
begin_start(swamp_server *server)
{
    pthread_mutex_lock(&server->lock);
    int fresh = server->state == SWAMP__SERVER_NEW;
    if (fresh) {
        server->state = SWAMP__SERVER_STARTING;
        server->busy = pthread_self();
    }
    pthread_mutex_unlock(&server->lock);
    if (fresh)
        return SWAMP_OK;
    swamp__error_clear(&server->error);
    return swamp__error_set(&server->error, SWAMP_E_STATE,
                            "the server was started or stopped before; make a new handle");
}

static void
set_state(swamp_server *server, int state)
{
    pthread_mutex_lock(&server->lock);
    server->state = state;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* Until the core is ready, or has been given time enough; another thread may stop the server meanwhile. */
static int
finish_start(swamp_server *server)
{
    swamp__server_door door;
    if (swamp__server_reach(server, &door) != SWAMP_OK)
        return SWAMP_E_STATE;
    int64_t due_ms = swamp__clock_monotonic_ms() + READY_WAIT_MS;
    pthread_mutex_lock(&server->lock);
    while (!server->listening && !server->ended && server->state == SWAMP__SERVER_UP &&
           wait_change(server, due_ms))
        ;
    pthread_mutex_unlock(&server->lock);
    int rc =
        swamp__home_call(door.home, swamp__parts_listen, server); /* no effect where the core was first */
    swamp__home_unref(door.home);
    return rc == SWAMP_OK ? rc : SWAMP_E_STATE;
}

int
swamp_server_start(swamp_server *server)
{
    if (!server)
        return SWAMP_E_INVALID;
    int rc = begin_start(server);
    if (rc != SWAMP_OK)
        return rc;
    rc = swamp__parts_make(server);
    if (rc == SWAMP_OK)
        rc = swamp__parts_start(server);
    if (rc != SWAMP_OK) {
        swamp__error_set(&server->error, rc, "the server could not be started: %s", swamp_status_text(rc));
        swamp__parts_take_down(server);
        set_state(server, SWAMP__SERVER_DOWN);
        return rc;
    }
    swamp__server_enter(server);
    set_state(server, SWAMP__SERVER_UP);
    rc = finish_start(server);
    if (rc != SWAMP_OK)
        swamp__error_set(&server->error, rc, "the server was stopped while it started");
    swamp__server_leave(server);
    return rc;
}

int
swamp_server_wait(swamp_server *server, int timeout_ms)
{
    if (!server)
        return SWAMP_E_INVALID;
    int64_t due_ms = timeout_ms < 0 ? INT64_MAX : swamp__clock_monotonic_ms() + timeout_ms;
    swamp__server_enter(server);
    pthread_mutex_lock(&server->lock);
    while (!server->ended && (server->state == SWAMP__SERVER_STARTING || server->state == SWAMP__SERVER_UP) &&
           wait_change(server, due_ms))
        ;
    int status = SWAMP_END;
    if (server->ended)
        status = server->ended;
    else if (server->state == SWAMP__SERVER_NEW)
        status = SWAMP_E_STATE;
    else if (server->state == SWAMP__SERVER_STARTING || server->state == SWAMP__SERVER_UP)
        status = SWAMP_OK;
    pthread_mutex_unlock(&server->lock);
    swamp__server_leave(server);
    return status;
}

typedef struct stop_call {
    swamp_server *server;
    int64_t drain_timeout_ms;
    size_t host_runs;
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
    call->host_runs = swamp__instance_host_runs(call->server->instance);
}

/* The core has ended: let the last bytes and close frames out, then take the parts down. */
static void
finish_stop(swamp_server *server)
{
    stop_call call = {.server = server};
    int64_t due_ms = swamp__clock_monotonic_ms() + CLOSE_WAIT_MS;

    pthread_mutex_lock(&server->lock);
    while (!server->emptied && wait_change(server, due_ms))
        ;
    pthread_mutex_unlock(&server->lock);
    swamp__home_call(server->home, count_core, &call);
    server->held = call.host_runs;
    swamp__parts_take_down(server);
    set_state(server, SWAMP__SERVER_DOWN);
}

/* Under the lock: until the core has ended and its parts are down, by this call or another. 1: by this one. */
static int
wait_end(swamp_server *server)
{
    while (server->state == SWAMP__SERVER_STARTING || (server->state == SWAMP__SERVER_UP && !server->ended))
        wait_change(server, INT64_MAX);
    int mine = server->state == SWAMP__SERVER_UP;
    if (mine) {
        server->state = SWAMP__SERVER_STOPPING;
        server->busy = pthread_self();
    } else if (server->state == SWAMP__SERVER_NEW) {
        server->state = SWAMP__SERVER_DOWN;
    }
    while (!mine && server->state == SWAMP__SERVER_STOPPING)
        wait_change(server, INT64_MAX);
    return mine;
}

static int
stop_result(swamp_server *server)
{
    pthread_mutex_lock(&server->lock);
    int fenced = server->ended == SWAMP_E_FENCED;
    size_t held = server->held;
    pthread_mutex_unlock(&server->lock);
    if (fenced || held == 0)
        return fenced ? SWAMP_E_FENCED : SWAMP_OK;
    swamp__error_clear(&server->error);
    return swamp__error_set(&server->error, SWAMP_E_TIMEOUT,
                            "the host still holds %zu runs; their handles stay valid, finish them", held);
}

/* Not from a thread of the server's own. */
static int
stop_and_wait(swamp_server *server, int drain_timeout_ms)
{
    stop_call call = {.server = server, .drain_timeout_ms = drain_timeout_ms};
    swamp__server_door door;

    pthread_mutex_lock(&server->lock);
    while (server->state == SWAMP__SERVER_STARTING)
        wait_change(server, INT64_MAX);
    pthread_mutex_unlock(&server->lock);
    if (swamp__server_reach(server, &door) == SWAMP_OK) {
        swamp__home_call(door.home, stop_core, &call); /* also for a second call: a shorter time holds */
        swamp__home_unref(door.home);
    }
    pthread_mutex_lock(&server->lock);
    int mine = wait_end(server);
    pthread_mutex_unlock(&server->lock);
    if (mine)
        finish_stop(server);
    return stop_result(server);
}

int
swamp_server_stop(swamp_server *server, int drain_timeout_ms)
{
    if (!server)
        return SWAMP_E_INVALID;
    if (is_own_thread(server))
        return SWAMP_E_REENTRANT;
    swamp__server_enter(server);
    int rc = stop_and_wait(server, drain_timeout_ms);
    swamp__server_leave(server);
    return rc;
}

static void *
free_elsewhere(void *server)
{
    swamp_server_free(server);
    return NULL;
}

/* STYLE 6: legal in a callback, and deferred: the calling thread is one of those that must end first. */
static void
free_later(swamp_server *server)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_elsewhere, server) == 0)
        pthread_detach(thread);
    else
        swamp__log_write(&server->log, SWAMP_LOG_ERROR,
                         "instance %s goes on: there is no thread left to free it", server->instance_id);
}

void
swamp_server_free(swamp_server *server)
{
    if (!server)
        return;
    if (is_own_thread(server)) {
        free_later(server);
        return;
    }
    (void)swamp_server_stop(server, 0);
    pthread_mutex_lock(&server->lock);
    while (server->callers > 0)
        wait_change(server, INT64_MAX);
    pthread_mutex_unlock(&server->lock);
    if (server->executor.size && server->executor.destroy)
        server->executor.destroy(server->settings.given.executor_user);
    swamp_store_free(server->store);
    swamp__settings_free(&server->settings);
    swamp__error_destroy(&server->error);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    swamp__free(server);
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
