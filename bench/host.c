/* A host with the library in it, for the programs that measure the library. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
bench_check(int rc, swamp_server *server, const char *what)
{
    char line[256] = "";
    if (rc >= 0)
        return;
    if (server)
        swamp_server_error(server, line, sizeof(line));
    fprintf(stderr, "%s: %s %s\n", what, swamp_status_name(rc), line);
    exit(1);
}

static void
log_line(int level, const char *line, void *user)
{
    (void)level;
    (void)user;
    fprintf(stderr, "%s\n", line);
}

swamp_store *
bench_open_store(const char *path)
{
    swamp_store *store = NULL;
    char *error = NULL;
    int rc = path ? swamp_store_sqlite_open(&store, path, NULL, &error) : SWAMP_E_INVALID;
    if (error)
        fprintf(stderr, "%s\n", error);
    bench_check(rc, NULL, "store");
    return store;
}

static void
choose_store(const char *path, swamp_store **out)
{
    if (path)
        *out = bench_open_store(path);
    else
        bench_check(swamp_store_memory_open(out), NULL, "store");
}

swamp_server *
bench_start_server(int argc, char **argv, swamp_store *store)
{
    swamp_server_options options = {.size = sizeof(options)};
    swamp_server *server;
    char *error = NULL, url[64];

    options.port = (uint32_t)bench_number(argc, argv, "port", 0);
    snprintf(url, sizeof(url), "ws://127.0.0.1:%u", options.port);
    options.advertise_url = options.port ? url : NULL;
    options.max_connections = (uint32_t)bench_number(argc, argv, "connections", 0);
    options.run_log_events = (uint32_t)bench_number(argc, argv, "log-events", 0);
    options.run_log_bytes = (uint64_t)bench_number(argc, argv, "log-bytes", 0);
    options.log = log_line;
    options.log_level = SWAMP_LOG_WARN;
    options.heartbeat_interval_ms = (uint32_t)bench_number(argc, argv, "beat", 0);
    options.stale_ttl_ms = 5 * options.heartbeat_interval_ms;
    const char *loop = bench_text(argc, argv, "loop", "");
    options.loop = strcmp(loop, "poll") == 0    ? SWAMP_LOOP_POLL
                   : strcmp(loop, "libev") == 0 ? SWAMP_LOOP_LIBEV
                                                : SWAMP_LOOP_AUTO;
    options.store = store;
    if (!store)
        choose_store(bench_text(argc, argv, "store", NULL), &options.store);
    int rc = swamp_server_new(&server, &options, &error);
    if (error)
        fprintf(stderr, "%s\n", error);
    bench_check(rc, NULL, "server");
    if (!store)
        swamp_store_free(options.store);
    bench_check(swamp_server_start(server), server, "start");
    return server;
}

swamp_run *
bench_start_run(swamp_server *server)
{
    static const char known[] = "{\"resourceName\":\"bench\",\"workflowId\":\"bench\"}";
    swamp_session *session;
    swamp_work *work;
    swamp_run *run = NULL;

    bench_check(
        swamp_session_local(&session, server, "workflow.run", "{\"workflowIdOrName\":\"bench\"}", NULL),
        server, "run");
    while (!run) {
        if (swamp_server_next(server, -1, &work) != SWAMP_WORK)
            bench_check(SWAMP_E_CLOSED, server, "work");
        int is_start = swamp_work_kind(work) == SWAMP_WORK_START;
        if (is_start)
            bench_check(swamp_work_run(work, &run), server, "run");
        bench_check(swamp_work_answer(work, SWAMP_OK, is_start ? NULL : known, is_start ? 0 : strlen(known)),
                    server, "answer");
    }
    swamp_session_free(session);
    return run;
}
