/*
 * The library under load: an embedded server with synthetic runs.
 *
 * Usage: server [--port N] [--runs N, of which --silent N have no events]
 *        [--size BYTES] [--events N of each run] [--rate N a second, 0: flat out]
 *        [--before N events that each run has had when the port is printed]
 *        [--log-events N] [--log-bytes N] [--connections N] [--loop poll|libev] [--store FILE] [--beat MS]
 * Prints its port and the runs' ids on one line, then waits for SIGUSR2 to emit. After that it prints what an
 * emit cost. Ends on SIGTERM.
 */
#include "host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS_MAX 64

/* A log that is full drives an old event out for each new one, and asks the kernel for no more memory. */
static void
emit_before(swamp_run *run, long events, size_t size)
{
    bench_event event;
    bench_event_make(&event, size);
    for (long i = 0; i < events; i++)
        bench_check(swamp_run_emit(run, event.text, event.len), NULL, "emit");
    free(event.text);
}

static void
emit_all(swamp_run **runs, long run_count, long events, long rate, size_t size)
{
    bench_event event;
    bench_event_make(&event, size);
    uint64_t start_ns = bench_now_ns(), cpu_ns = bench_thread_cpu_ns();
    for (long i = 0; i < events; i++) {
        bench_pace(start_ns, (uint64_t)i, rate);
        if (rate) /* flat out nobody asks how long an event took */
            bench_event_stamp(&event, bench_now_ns());
        for (long r = 0; r < run_count; r++)
            bench_check(swamp_run_emit(runs[r], event.text, event.len), NULL, "emit");
    }
    double calls = (double)events * (double)run_count;
    printf("{\"emit_cpu_ns\":%.0f,\"emit_wall_ns\":%.0f}\n", (double)(bench_thread_cpu_ns() - cpu_ns) / calls,
           (double)(bench_now_ns() - start_ns) / calls);
    fflush(stdout);
    free(event.text);
}

int
main(int argc, char **argv)
{
    long run_count = bench_number(argc, argv, "runs", 1), events = bench_number(argc, argv, "events", 100000);
    size_t size = (size_t)bench_number(argc, argv, "size", 200);
    swamp_run *runs[RUNS_MAX];
    sigset_t signals;
    char url[128];
    int number;

    if (run_count < 1 || run_count > RUNS_MAX) {
        fprintf(stderr, "--runs: 1 to %d\n", RUNS_MAX);
        return 2;
    }
    sigemptyset(&signals); /* before any thread is made, so that only sigwait() below gets them */
    sigaddset(&signals, SIGUSR2);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    bench_many_descriptors();
    swamp_server *server = bench_start_server(argc, argv, NULL);
    bench_check(swamp_server_url(server, url, sizeof(url)), server, "url");
    printf("%s", strrchr(url, ':') + 1);
    for (long i = 0; i < run_count; i++) {
        runs[i] = bench_start_run(server);
        emit_before(runs[i], bench_number(argc, argv, "before", 0), size);
        printf(" %s", swamp_run_id(runs[i]));
    }
    printf("\n");
    fflush(stdout);

    while (sigwait(&signals, &number) == 0 && number == SIGUSR2)
        emit_all(runs, run_count - bench_number(argc, argv, "silent", 0), events,
                 bench_number(argc, argv, "rate", 0), size);
    for (long i = 0; i < run_count; i++)
        (void)swamp_run_finish(runs[i], SWAMP_RUN_SUCCEEDED, NULL, 0, NULL, 0);
    (void)swamp_server_stop(server, 0);
    swamp_server_free(server);
    return 0;
}
