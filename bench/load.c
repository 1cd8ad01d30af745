/*
 * Viewers of one run: attaches them, checks the number of each event, and measures.
 *
 * Usage: load --port N --run ID [--viewers N] [--events N that each shall get] [--dialect NAME, viewers.h]
 *        [--server PID]  whose CPU time and memory are measured
 *        [--start PID]   who emits, if not the server itself
 *        [--after SEQ]   who attaches has seen that much
 *        [--latency]     how long an event took from the emit
 *        [--late]        the events are there already: attaching counts as well, and nobody is signalled
 *        [--stalled N]   as many more viewers, which read nothing once attached
 *        [--idle N --idle-run ID]  as many more viewers, of a run that has no events
 *        [--hold MS]     what the attached viewers cost while nothing happens
 *        [--serial N]    before all that: connect, attach and hang up, one at a time
 * Who emits is sent SIGUSR2 when all are attached. Prints one JSON object. A wrong number or an unknown frame
 * ends it with status 1.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common.h"
#include "viewers.h"

typedef struct cost {
    uint64_t cpu_ns, own_ns;
    size_t rss;
} cost;

static void
take_cost(pid_t server, cost *out)
{
    out->cpu_ns = bench_other_cpu_ns(server);
    out->own_ns = bench_process_cpu_ns();
    out->rss = bench_other_rss_bytes(server);
}

static void
print_one_at_a_time(viewers *all, const char *run_id, size_t times)
{
    uint64_t *list = calloc(times + 1, sizeof(*list));
    if (!list)
        bench_die("calloc");
    for (size_t i = 0; i < times; i++) {
        viewer v = {.run_id = run_id};
        uint64_t start_ns = bench_now_ns();
        viewers_dial(all, &v);
        for (size_t before = all->attached; all->attached == before;)
            viewers_turn(all);
        list[i] = bench_now_ns() - start_ns;
        close(v.fd);
        free(v.rest);
    }
    all->attached = all->done = 0;
    printf(",\"attach_p50_us\":%.1f,\"attach_p99_us\":%.1f", (double)bench_percentile(list, times, 50) / 1e3,
           (double)bench_percentile(list, times, 99) / 1e3);
    free(list);
}

/* Returns the most memory that the server had meanwhile. Without a starter, the events are there once they
 * are asked for. */
static size_t
deliver(viewers *all, size_t readers, pid_t server, pid_t starter)
{
    size_t peak = 0;
    uint64_t looked_ns = 0;
    if (starter)
        kill(starter, SIGUSR2);
    else
        (void)viewers_attach(all);
    while (all->done < readers) {
        viewers_turn(all);
        if (bench_now_ns() - looked_ns < 20000000)
            continue;
        looked_ns = bench_now_ns();
        size_t rss = bench_other_rss_bytes(server);
        peak = rss > peak ? rss : peak;
    }
    size_t rss = bench_other_rss_bytes(server);
    return rss > peak ? rss : peak;
}

static void
print_deliveries(viewers *all, size_t readers, pid_t server, pid_t starter)
{
    cost before, after;
    take_cost(server, &before);
    uint64_t start_ns = bench_now_ns();
    size_t peak = deliver(all, readers, server, starter);
    double seconds = (double)(bench_now_ns() - start_ns) / 1e9, count = (double)all->deliveries;
    take_cost(server, &after);
    double cpu_s = (double)(after.cpu_ns - before.cpu_ns) / 1e9;
    printf(
        ",\"deliveries\":%.0f,\"seconds\":%.4f,\"per_second\":%.0f,\"server_cpu_s\":%.4f,\"load_cpu_s\":%.4f,"
        "\"cpu_ns_a_delivery\":%.1f,\"cpu_percent\":%.2f,\"gaps\":%llu,\"missed\":%llu,\"rss_grown\":%ld",
        count, seconds, count / seconds, cpu_s, (double)(after.own_ns - before.own_ns) / 1e9,
        cpu_s * 1e9 / count, cpu_s * 100 / seconds, (unsigned long long)all->gaps,
        (unsigned long long)all->missed, (long)peak - (long)before.rss);
    if (all->latencies)
        printf(",\"p50_us\":%.1f,\"p99_us\":%.1f",
               (double)bench_percentile(all->latencies, all->latency_count, 50) / 1e3,
               (double)bench_percentile(all->latencies, all->latency_count, 99) / 1e3);
}

static void
print_idle(const viewers *all, long hold_ms, size_t rss_before, pid_t server)
{
    struct timespec hold = {hold_ms / 1000, hold_ms % 1000 * 1000000};
    uint64_t cpu_ns = bench_other_cpu_ns(server);
    nanosleep(&hold, NULL);
    size_t rss = bench_other_rss_bytes(server);
    printf(",\"rss\":%zu,\"rss_a_viewer\":%.0f,\"idle_cpu_percent\":%.3f", rss,
           all->count ? ((double)rss - (double)rss_before) / (double)all->count : 0,
           (double)(bench_other_cpu_ns(server) - cpu_ns) / (double)hold_ms / 1e4);
}

/* Who watches what, and in which dialect. Returns those who shall get all events. */
static size_t
make_viewers(viewers *all, int argc, char **argv, const char *run_id)
{
    size_t readers = (size_t)bench_number(argc, argv, "viewers", 1);
    size_t watching = readers + (size_t)bench_number(argc, argv, "stalled", 0);

    viewers_init(all, watching + (size_t)bench_number(argc, argv, "idle", 0));
    all->port = (int)bench_number(argc, argv, "port", 0);
    uint64_t after = (uint64_t)bench_number(argc, argv, "after", 0);
    all->events = (uint64_t)bench_number(argc, argv, "events", 0);
    all->speaks = dialect_by_name(bench_text(argc, argv, "dialect", "swamp"));
    if (!all->speaks) {
        fprintf(stderr, "--dialect: swamp, echo, plain, nats or socketio\n");
        exit(2);
    }
    if (bench_flag(argc, argv, "latency")) {
        all->latency_max = readers * (size_t)all->events;
        all->latencies = calloc(all->latency_max + 1, sizeof(*all->latencies));
        if (!all->latencies)
            bench_die("calloc");
    }
    all->events += all->events ? after : 0;
    for (size_t i = 0; i < all->count; i++) {
        all->list[i].seq = i < watching ? after : 0;
        all->list[i].stalled = i >= readers && i < watching;
        all->list[i].run_id = i < watching ? run_id : bench_text(argc, argv, "idle-run", run_id);
    }
    return readers;
}

int
main(int argc, char **argv)
{
    size_t serial = (size_t)bench_number(argc, argv, "serial", 0);
    int late = bench_flag(argc, argv, "late");
    long hold_ms = bench_number(argc, argv, "hold", 0);
    const char *run_id = bench_text(argc, argv, "run", "none");
    pid_t server = (pid_t)bench_number(argc, argv, "server", 0);
    viewers all;

    bench_many_descriptors();
    size_t readers = make_viewers(&all, argc, argv, run_id), rss_before = bench_other_rss_bytes(server);
    printf("{\"viewers\":%zu", readers);
    if (serial)
        print_one_at_a_time(&all, run_id, serial);
    if (!late)
        printf(",\"attach_all_ms\":%.2f", viewers_attach(&all));
    if (hold_ms)
        print_idle(&all, hold_ms, rss_before, server);
    if (all.events)
        print_deliveries(&all, readers, server, late ? 0 : (pid_t)bench_number(argc, argv, "start", server));
    printf("}\n");
    viewers_free(&all);
    return 0;
}
