/*
 * Viewers: raw epoll connections that attach to one run, check the number of each event, and measure.
 *
 * Usage: load --port N --run ID [--viewers N] [--events N that each shall get] [--server PID]
 *        [--latency]     how long an event took from the emit
 *        [--stalled N]   as many more viewers, which read nothing once attached
 *        [--hold MS]     what the attached viewers cost while nothing happens
 *        [--serial N]    before all that: connect, attach and hang up, one at a time
 *        [--retry]       the server may not be there yet; any answer will do instead of run.attached
 * With --server, the server is sent SIGUSR1 when all are attached, and its CPU time and memory are measured.
 * Prints one JSON object. A wrong number or an unknown frame ends it with status 1.
 */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES (256 * 1024)
#define GIVE_UP_MS 60000 /* nothing came for so long */

#define CONNECTING 0
#define UPGRADING 1
#define ATTACHING 2
#define WATCHING 3
#define DONE 4

typedef struct viewer {
    int fd, number, state, stalled;
    uint64_t seq;        /* of the last event */
    unsigned char *rest; /* the beginning of a frame whose end has not come */
    size_t rest_len;
} viewer;

typedef struct load {
    int port, epoll_fd, retry;
    const char *run_id;
    pid_t server;
    viewer *viewers;
    size_t viewer_count, attached, done;
    uint64_t events; /* that each viewer shall get */
    uint64_t deliveries, gaps, missed;
    uint64_t *latencies;
    size_t latency_count, latency_max;
    unsigned char *space;
} load;

static void
fail(const viewer *v, const char *what, const unsigned char *text, size_t len)
{
    fprintf(stderr, "viewer %d after seq %llu: %s: %.*s\n", v->number, (unsigned long long)v->seq, what,
            (int)(len > 300 ? 300 : len), (const char *)text);
    exit(1);
}

static void
say(viewer *v, const char *bytes, size_t len)
{
    if (send(v->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
        fail(v, "cannot send", (const unsigned char *)strerror(errno), strlen(strerror(errno)));
}

static void
dial(load *l, viewer *v)
{
    v->fd = bench_connect(l->port, 1);
    while (v->fd < 0 && l->retry) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
        v->fd = bench_connect(l->port, 1);
    }
    if (v->fd < 0)
        bench_die("connect");
    v->state = CONNECTING;
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = v};
    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, v->fd, &event);
}

static void
became_connected(load *l, viewer *v)
{
    char bytes[BENCH_CLIENT_MAX];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = v};
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(v->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error && l->retry) {
        close(v->fd);
        dial(l, v);
        return;
    }
    if (error)
        fail(v, "cannot connect", (const unsigned char *)strerror(error), strlen(strerror(error)));
    epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, v->fd, &event);
    say(v, bytes, bench_put_upgrade(bytes, l->port));
    v->state = UPGRADING;
}

static void
attach(load *l, viewer *v)
{
    char bytes[BENCH_CLIENT_MAX], id[32];
    snprintf(id, sizeof(id), "request-%06d", v->number);
    say(v, bytes, bench_put_attach(bytes, id, l->run_id, v->seq));
    v->state = ATTACHING;
}

static void
became_attached(load *l, viewer *v)
{
    v->state = WATCHING;
    l->attached++;
    if (v->stalled)
        epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, v->fd, NULL);
}

static int
starts_with(const unsigned char *text, size_t len, const char *with)
{
    size_t size = strlen(with);
    return len >= size && memcmp(text, with, size) == 0;
}

/* The number N of a text that ends with :N followed by `behind` bytes. */
static uint64_t
number_before(const unsigned char *end, size_t behind)
{
    uint64_t number = 0, unit = 1;
    for (const unsigned char *at = end - behind - 1; *at >= '0' && *at <= '9'; at--, unit *= 10)
        number += (uint64_t)(*at - '0') * unit;
    return number;
}

static void
keep_latency(load *l, const unsigned char *text, size_t len, uint64_t now_ns)
{
    const unsigned char *at = memmem(text, len < 256 ? len : 256, "\"at\":\"", 6);
    if (!at || l->latency_count == l->latency_max)
        return;
    uint64_t emitted_ns = number_before(at + 6 + BENCH_AT_DIGITS, 0);
    l->latencies[l->latency_count++] = now_ns > emitted_ns ? now_ns - emitted_ns : 0;
}

/* {"type":"run.gap",...,"gap":{"runId":R,"fromSeq":A,"toSeq":B,...}} */
static void
take_gap(load *l, viewer *v, const unsigned char *text, size_t len)
{
    unsigned long long from = 0, to = 0;
    const char *at = memmem(text, len, "\"fromSeq\":", 10);
    if (!at || sscanf(at, "\"fromSeq\":%llu,\"toSeq\":%llu", &from, &to) != 2 || from != v->seq + 1 ||
        to < from)
        fail(v, "a wrong gap", text, len);
    v->seq = to;
    l->gaps++;
    l->missed += to - from + 1;
}

static void
take_frame(load *l, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns)
{
    if (starts_with(text, len, "{\"type\":\"event\"")) {
        uint64_t seq = number_before(text + len, 2);
        if (v->state != WATCHING || seq != v->seq + 1)
            fail(v, "a wrong number", text + (len > 40 ? len - 40 : 0), len > 40 ? 40 : len);
        v->seq = seq;
        l->deliveries++;
        if (l->latencies)
            keep_latency(l, text, len, now_ns);
    } else if (v->state == ATTACHING && (starts_with(text, len, "{\"type\":\"run.attached\"") || l->retry)) {
        became_attached(l, v);
    } else if (starts_with(text, len, "{\"type\":\"run.gap\"")) {
        take_gap(l, v, text, len);
    } else if (!starts_with(text, len, "{\"type\":\"done\"")) {
        fail(v, "an unexpected frame", text, len);
    }
    if (v->state == WATCHING && l->events && v->seq >= l->events) {
        v->state = DONE;
        l->done++;
    }
}

/* A server answers the upgrade and says nothing else before it is asked. */
static void
take_upgrade(load *l, viewer *v, const unsigned char *text, size_t len)
{
    if (len < 4 || memcmp(text + len - 4, "\r\n\r\n", 4) != 0)
        return;
    if (!starts_with(text, len, "HTTP/1.1 101 "))
        fail(v, "no upgrade", text, len);
    v->rest_len = 0;
    attach(l, v);
}

static void
keep_rest(viewer *v, const unsigned char *at, size_t len)
{
    v->rest_len = len;
    if (!len)
        return;
    v->rest = realloc(v->rest, len);
    if (!v->rest)
        bench_die("realloc");
    memcpy(v->rest, at, len);
}

static void
take_bytes(load *l, viewer *v, const unsigned char *at, size_t len)
{
    uint64_t now_ns = l->latencies ? bench_now_ns() : 0;
    size_t header, frame;
    while ((frame = bench_frame(at, len, &header)) != 0) {
        int code = at[0] & 0x0f;
        if (code == 8)
            fail(v, "closed", at + header + 2, frame - header - 2);
        if (code == 9) {
            const char pong[] = "\x8a\x80\0\0\0"; /* masked with zeros, empty */
            say(v, pong, 6);
        } else if (code == 1) {
            take_frame(l, v, at + header, frame - header, now_ns);
        }
        at += frame;
        len -= frame;
    }
    keep_rest(v, at, len);
}

static void
read_some(load *l, viewer *v)
{
    size_t before = v->rest_len;
    if (before)
        memcpy(l->space, v->rest, before);
    ssize_t len = recv(v->fd, l->space + before, READ_BYTES, 0);
    if (len < 0 && errno == EAGAIN)
        return;
    if (len <= 0)
        fail(v, "the connection ended", (const unsigned char *)"", 0);
    if (v->state == UPGRADING)
        take_upgrade(l, v, l->space, before + (size_t)len);
    else
        take_bytes(l, v, l->space, before + (size_t)len);
}

static void
turn(load *l)
{
    struct epoll_event ready[256];
    int count = epoll_wait(l->epoll_fd, ready, 256, GIVE_UP_MS);
    if (count == 0) {
        fprintf(stderr, "nothing came: %zu of %zu attached, %zu done\n", l->attached, l->viewer_count,
                l->done);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        viewer *v = ready[i].data.ptr;
        if (v->state == CONNECTING)
            became_connected(l, v);
        else
            read_some(l, v);
    }
}

static uint64_t
take_one_at_a_time(load *l, size_t times, uint64_t *p99_ns)
{
    uint64_t *list = calloc(times + 1, sizeof(*list));
    if (!list)
        bench_die("calloc");
    for (size_t i = 0; i < times; i++) {
        viewer v = {.number = 0};
        uint64_t start_ns = bench_now_ns();
        dial(l, &v);
        for (size_t before = l->attached; l->attached == before;)
            turn(l);
        list[i] = bench_now_ns() - start_ns;
        close(v.fd);
        free(v.rest);
    }
    l->attached = l->done = 0;
    *p99_ns = bench_percentile(list, times, 99);
    uint64_t middle_ns = bench_percentile(list, times, 50);
    free(list);
    return middle_ns;
}

static double
attach_all(load *l)
{
    uint64_t start_ns = bench_now_ns();
    for (size_t i = 0; i < l->viewer_count; i++)
        dial(l, &l->viewers[i]);
    while (l->attached < l->viewer_count)
        turn(l);
    return (double)(bench_now_ns() - start_ns) / 1e6;
}

static void
print_deliveries(load *l, size_t readers)
{
    uint64_t cpu_ns = bench_other_cpu_ns(l->server), own_ns = bench_process_cpu_ns();
    size_t rss = bench_other_rss_bytes(l->server), peak = rss;
    uint64_t start_ns = bench_now_ns(), looked_ns = start_ns;
    if (l->server)
        kill(l->server, SIGUSR1);
    while (l->done < readers) {
        turn(l);
        if (bench_now_ns() - looked_ns > 20000000) {
            looked_ns = bench_now_ns();
            size_t now = bench_other_rss_bytes(l->server);
            peak = now > peak ? now : peak;
        }
    }
    double seconds = (double)(bench_now_ns() - start_ns) / 1e9;
    size_t now = bench_other_rss_bytes(l->server);
    double cpu_s = (double)(bench_other_cpu_ns(l->server) - cpu_ns) / 1e9;
    printf(
        ",\"deliveries\":%llu,\"seconds\":%.4f,\"per_second\":%.0f,\"server_cpu_s\":%.4f,\"load_cpu_s\":%.4f,"
        "\"cpu_ns_a_delivery\":%.1f,\"gaps\":%llu,\"missed\":%llu,\"rss_grown\":%ld",
        (unsigned long long)l->deliveries, seconds, (double)l->deliveries / seconds, cpu_s,
        (double)(bench_process_cpu_ns() - own_ns) / 1e9, cpu_s * 1e9 / (double)l->deliveries,
        (unsigned long long)l->gaps, (unsigned long long)l->missed,
        (long)(now > peak ? now : peak) - (long)rss);
    if (l->latencies)
        printf(",\"p50_us\":%.1f,\"p99_us\":%.1f",
               (double)bench_percentile(l->latencies, l->latency_count, 50) / 1e3,
               (double)bench_percentile(l->latencies, l->latency_count, 99) / 1e3);
}

static void
print_idle(load *l, long hold_ms, size_t rss_before)
{
    struct timespec hold = {hold_ms / 1000, hold_ms % 1000 * 1000000};
    uint64_t cpu_ns = bench_other_cpu_ns(l->server);
    nanosleep(&hold, NULL);
    printf(",\"rss\":%zu,\"rss_a_viewer\":%.0f,\"idle_cpu_percent\":%.3f", bench_other_rss_bytes(l->server),
           ((double)bench_other_rss_bytes(l->server) - (double)rss_before) / (double)l->viewer_count,
           (double)(bench_other_cpu_ns(l->server) - cpu_ns) / (double)hold_ms / 1e4);
}

int
main(int argc, char **argv)
{
    size_t readers = (size_t)bench_number(argc, argv, "viewers", 1);
    size_t stalled = (size_t)bench_number(argc, argv, "stalled", 0);
    size_t serial = (size_t)bench_number(argc, argv, "serial", 0);
    long hold_ms = bench_number(argc, argv, "hold", 0);
    load l = {.port = (int)bench_number(argc, argv, "port", 0),
              .retry = bench_flag(argc, argv, "retry"),
              .run_id = bench_text(argc, argv, "run", "none"),
              .server = (pid_t)bench_number(argc, argv, "server", 0),
              .viewer_count = readers + stalled,
              .events = (uint64_t)bench_number(argc, argv, "events", 0)};

    bench_many_descriptors();
    l.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l.space = malloc(2 * READ_BYTES);
    l.viewers = calloc(l.viewer_count + 1, sizeof(*l.viewers));
    if (bench_flag(argc, argv, "latency")) {
        l.latency_max = readers * (size_t)l.events;
        l.latencies = calloc(l.latency_max + 1, sizeof(*l.latencies));
    }
    if (!l.space || !l.viewers || (bench_flag(argc, argv, "latency") && !l.latencies))
        bench_die("malloc");
    for (size_t i = 0; i < l.viewer_count; i++)
        l.viewers[i] = (viewer){.number = (int)i, .stalled = i >= readers};

    size_t rss_before = bench_other_rss_bytes(l.server);
    printf("{\"viewers\":%zu", readers);
    if (serial) {
        uint64_t p99_ns, p50_ns = take_one_at_a_time(&l, serial, &p99_ns);
        printf(",\"attach_p50_us\":%.1f,\"attach_p99_us\":%.1f", (double)p50_ns / 1e3, (double)p99_ns / 1e3);
    }
    printf(",\"attach_all_ms\":%.2f", attach_all(&l));
    if (hold_ms)
        print_idle(&l, hold_ms, rss_before);
    if (l.events)
        print_deliveries(&l, readers);
    printf("}\n");
    for (size_t i = 0; i < l.viewer_count; i++)
        free(l.viewers[i].rest);
    free(l.viewers);
    free(l.latencies);
    free(l.space);
    return 0;
}
