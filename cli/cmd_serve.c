/* `swamp serve`: one instance after another on one port, until it is asked to stop. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd.h"
#include "out.h"
#include "outcome.h"
#include "serve.h"
#include "signals.h"
#include "store.h"
#include "workflow/host.h"

#define HOUR_MS 3600000

/* One instance: from a handle's birth to its end. */
struct instance {
    const struct args *args;
    swamp_server *server;
    int id_file; /* -1: none is wanted */
    pthread_t waiter, stopper;
    int drain_ms;
    pthread_mutex_t lock;
    int status; /* of swamp_server_wait(): SWAMP_OK while it runs */
    int stop_status, stop_over;
};

/* ---- what is written when it listens ---- */

/* What is wrong with a file is said by the look itself. */
static void
say_workflows(const struct args *args, workflow_host *host)
{
    size_t broken, count = workflow_host_count(host, &broken);
    int level = count > 0 ? SWAMP_LOG_INFO : SWAMP_LOG_WARN;
    text line = {0};

    if (count > 0)
        text_addf(&line, "%zu workflow%s loaded from %s", count, TEXT_PLURAL(count),
                  args_text(args, "workflows"));
    else
        text_addf(&line,
                  "no workflow was loaded from %s: put workflow files there, which needs no restart, or "
                  "name another folder with --workflows",
                  args_text(args, "workflows"));
    if (broken > 0)
        text_addf(&line, "; %zu file%s cannot be run", broken, TEXT_PLURAL(broken));
    if ((uint32_t)level <= serve_log_level(args))
        serve_log(level, line.bytes, serve_log_user(args));
    text_free(&line);
}

static int
announce(struct instance *one)
{
    const struct args *args = one->args;
    char url[512] = "", id[64] = "";
    text line = {0};

    swamp_server_url(one->server, url, sizeof(url));
    swamp_server_instance_id(one->server, id, sizeof(id));
    int code = serve_id_write(args, one->id_file, id);
    if (code != 0)
        return code;
    if (serve_log_user(args)) {
        text_add(&line, "{\"message\":\"listening\",\"url\":");
        text_add_json(&line, url);
        text_add(&line, ",\"instanceId\":");
        text_add_json(&line, id);
        text_add(&line, ",\"store\":");
        text_add_json(&line, args_text(args, "store"));
        text_add(&line, "}");
    } else {
        text_addf(&line, "swamp serve: listening on %s (instance %s, store %s)", url, id,
                  args_text(args, "store"));
    }
    out_bytes(line.bytes, line.len);
    text_free(&line);
    return 0;
}

/* At the start and every hour: nobody shall forget it. */
static void
warn_insecure(const struct instance *one)
{
    text line = {0};
    text_addf(&line, "--insecure: %s is open to everybody who can reach it, without authentication%s",
              args_text(one->args, "host"),
              args_text(one->args, "cert-file") ? "" : " and without encryption");
    serve_log(SWAMP_LOG_WARN, line.bytes, serve_log_user(one->args));
    text_free(&line);
}

/* ---- its threads: each waits for one thing, and pokes the main thread ---- */

static void *
wait_for_end(void *arg)
{
    struct instance *one = arg;
    int status = swamp_server_wait(one->server, -1);
    pthread_mutex_lock(&one->lock);
    one->status = status;
    pthread_mutex_unlock(&one->lock);
    signals_poke();
    return NULL;
}

static void *
stop_slowly(void *arg)
{
    struct instance *one = arg;
    int status = swamp_server_stop(one->server, one->drain_ms);
    pthread_mutex_lock(&one->lock);
    one->stop_status = status;
    one->stop_over = 1;
    pthread_mutex_unlock(&one->lock);
    signals_poke();
    return NULL;
}

static int
is_over(struct instance *one, int stopping)
{
    pthread_mutex_lock(&one->lock);
    int over = stopping ? one->stop_over : one->status != SWAMP_OK;
    pthread_mutex_unlock(&one->lock);
    return over;
}

/* The first signal: a planned stop. The second: no more time for the runs. The third: signals.c. */
static void
obey(struct instance *one, int count, int *stopping)
{
    void *log = serve_log_user(one->args);
    if (count > 0 && !*stopping) {
        serve_log(SWAMP_LOG_INFO,
                  "stopping: new runs are taken for the grace, then the runs have their time; once more "
                  "cancels them now",
                  log);
        if (pthread_create(&one->stopper, NULL, stop_slowly, one) == 0)
            *stopping = 1;
        count--;
    }
    if (count > 0 && *stopping == 1) {
        serve_log(
            SWAMP_LOG_WARN,
            "stopping at once: runs that go on are cancelled and their ends recorded, for which a store "
            "that does not answer has up to a minute; once more ends this process without that",
            log);
        *stopping = 2;
        (void)swamp_server_stop(one->server,
                                0); /* the first call's time falls to 0, and both return together */
    }
}

/* Until the end. SWAMP_OK: stopped as asked; SWAMP_E_FENCED; SWAMP_E_TIMEOUT. */
static int
run_instance(struct instance *one, int signal_fd, int insecure)
{
    struct pollfd fd = {.fd = signal_fd, .events = POLLIN};
    int stopping = 0, number;

    if (pthread_create(&one->waiter, NULL, wait_for_end, one) != 0)
        return SWAMP_E_NOMEM;
    if (insecure)
        warn_insecure(one);
    while (!is_over(one, stopping)) {
        if (poll(&fd, 1, insecure ? HOUR_MS : -1) == 0)
            warn_insecure(one);
        obey(one, signals_take(&number), &stopping);
    }
    if (stopping)
        pthread_join(one->stopper, NULL);
    pthread_join(one->waiter, NULL);
    if (stopping) /* whoever asked for a stop gets no new instance, also when this one was dead meanwhile */
        return one->stop_status == SWAMP_E_FENCED ? SWAMP_OK : one->stop_status;
    return one->status == SWAMP_E_FENCED ? SWAMP_E_FENCED : SWAMP_OK;
}

static int
fail_start(const struct args *args, int rc, const char *why)
{
    int code = outcome_of_error("", rc, 0);
    /* the library names its options, the person has given flags */
    if (rc == SWAMP_E_INVALID && strncmp(why, "host ", 5) == 0)
        return out_fail(
            code, NULL,
            "--host is \"%s\", which others can reach: allow that with --insecure, or use 127.0.0.1",
            args_text(args, "host"));
    if (rc == SWAMP_E_INVALID && strncmp(why, "advertise_url ", 14) == 0)
        return out_fail(code, NULL, "--advertise is \"%s\": allowed is a ws, wss, http or https URL",
                        args_text(args, "advertise"));
    if (rc == SWAMP_E_ADDRESS)
        return out_fail(code, NULL, "--host is \"%s\", --port is \"%s\": %s", args_text(args, "host"),
                        args_text(args, "port"), why);
    if (rc == SWAMP_E_TLS)
        return out_fail(code, NULL, "--cert-file is \"%s\", --key-file is \"%s\": %s",
                        args_text(args, "cert-file"), args_text(args, "key-file"), why);
    return out_fail(code, NULL, "the instance could not be started: %s", why);
}

static int
start_instance(struct instance *one, const swamp_server_options *options)
{
    char why[512] = "", *words = NULL;
    int rc = swamp_server_new(&one->server, options, &words), code = 0;

    if (rc == SWAMP_OK && (rc = swamp_server_start(one->server)) != SWAMP_OK)
        swamp_server_error(one->server, why, sizeof(why));
    if (rc != SWAMP_OK)
        code = fail_start(one->args, rc, words ? words : why[0] ? why : swamp_status_text(rc));
    swamp_free(words);
    return code;
}

/* The port that was given is kept when another instance follows, also where it was "any". */
static void
keep_port(struct instance *one, swamp_server_options *options)
{
    char url[512];
    const char *colon =
        swamp_server_url(one->server, url, sizeof(url)) == SWAMP_OK ? strrchr(url, ':') : NULL;
    unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;
    if (port > 0 && port <= UINT16_MAX)
        options->port = (uint32_t)port;
}

/* One life. 0 and *again: it was declared dead, and the next one takes its place (DESIGN 6). */
static int
live_once(const struct args *args, swamp_server_options *options, int id_file, int signal_fd, int *again)
{
    struct instance one = {
        .args = args, .id_file = id_file, .drain_ms = (int)args_number(args, "drain-timeout")};
    int code, number, rc = SWAMP_OK;

    *again = 0;
    pthread_mutex_init(&one.lock, NULL);
    code = start_instance(&one, options);
    if (code == 0) {
        keep_port(&one, options);
        say_workflows(args, options->executor_user);
        code = announce(&one);
    }
    if (code == 0)
        rc = run_instance(&one, signal_fd, (options->flags & SWAMP_SERVER_INSECURE) != 0);
    swamp_server_free(
        one.server); /* waits for the commands of a fenced one: seconds, in which a stop may come */
    pthread_mutex_destroy(&one.lock);
    *again = rc == SWAMP_E_FENCED && signals_take(&number) == 0;
    if (code == 0 && rc == SWAMP_E_FENCED && !*again)
        serve_log(SWAMP_LOG_INFO,
                  "stopped: this instance was declared dead, and its runs were ended as interrupted",
                  serve_log_user(args));
    else if (code == 0 && rc == SWAMP_E_FENCED)
        serve_log(
            SWAMP_LOG_WARN,
            "this instance was declared dead by another one and its runs were ended as interrupted; going on "
            "as a new instance; was the machine paused, or the store out of reach?",
            serve_log_user(args));
    else if (code == 0 && rc == SWAMP_E_TIMEOUT)
        code = out_fail(OUTCOME_FAILED, NULL,
                        "stopped, but some commands had not ended; look for left-over processes");
    else if (code == 0 && rc != SWAMP_OK)
        code = out_fail(OUTCOME_FAILED, NULL, "stopped: %s", swamp_status_text(rc));
    return code;
}

int
cmd_serve(const struct args *args)
{
    swamp_server_options options;
    swamp_store *store = NULL;
    int again = 1, id_file = -1, signal_fd = signals_watch();
    int code = serve_read_options(args, &options);

    if (code == 0)
        code = serve_id_open(args, &id_file);
    if (code == 0)
        code = store_open(&store, args_text(args, "store"), serve_log, serve_log_level(args));
    options.store = store;
    while (code == 0 && again) {
        options.executor = workflow_host_executor();
        options.executor_user =
            workflow_host_new(args_text(args, "workflows"), serve_log, serve_log_user(args));
        code = live_once(args, &options, id_file, signal_fd, &again);
    }
    swamp_store_free(store);
    serve_id_close(&id_file);
    return code;
}
