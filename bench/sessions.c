/*
 * Real sessions of the library's client, all cut at one moment: when do they dial, and when are they back?
 *
 * Usage: sessions --port N --runs ID,ID,... [--viewers N]
 * Once all are attached, cuts each TCP connection of this process under the library: a session that found its
 * run behind another address than the balancer's is cut, too. Prints one JSON object.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "host.h"

#define RUNS_MAX 16
#define GIVE_UP_MS 90000
#define WINDOW_NS 100000000u /* 100 ms */
#define ANSWERS_MAX 32       /* of one session, on its way back */

typedef struct member {
    swamp_session *session;
    int attached; /* since the start, or since the cut */
} member;

typedef struct crowd {
    member *members;
    size_t count, attached;
    int epoll_fd;
    uint64_t cut_ns;   /* 0: not yet */
    uint64_t *back;    /* of each session: when it was first attached again, since the cut */
    uint64_t *answers; /* when a dial was answered, by whatever instance */
    size_t answer_count;
} crowd;

static void
take_event(crowd *c, member *who, const swamp_event *event)
{
    uint64_t now_ns = bench_now_ns();
    int type = swamp_event_type(event);
    if (type == SWAMP_EVENT_ERROR || type == SWAMP_EVENT_DONE || type == SWAMP_EVENT_INTERRUPTED) {
        fprintf(stderr, "a session ended: event type %d, %s\n", type,
                swamp_event_message(event) ? swamp_event_message(event) : "");
        exit(1);
    }
    if (type != SWAMP_EVENT_ATTACHED && type != SWAMP_EVENT_ELSEWHERE)
        return;
    if (c->cut_ns && c->answer_count < c->count * ANSWERS_MAX)
        c->answers[c->answer_count++] = now_ns - c->cut_ns;
    if (type != SWAMP_EVENT_ATTACHED || who->attached)
        return;
    who->attached = 1;
    if (c->cut_ns)
        c->back[c->attached] = now_ns - c->cut_ns;
    c->attached++;
}

static void
wait_for_all(crowd *c)
{
    c->attached = 0;
    for (size_t i = 0; i < c->count; i++)
        c->members[i].attached = 0;
    while (c->attached < c->count) {
        struct epoll_event ready[256];
        int count = epoll_wait(c->epoll_fd, ready, 256, GIVE_UP_MS);
        if (count == 0) {
            fprintf(stderr, "nothing came: %zu of %zu attached\n", c->attached, c->count);
            exit(1);
        }
        for (int i = 0; i < count; i++) {
            member *who = ready[i].data.ptr;
            swamp_event *event;
            while (swamp_session_next(who->session, 0, &event) == SWAMP_EVENT) {
                take_event(c, who, event);
                swamp_event_free(event);
            }
        }
    }
}

static void
start_all(crowd *c, swamp_client *client, char *runs)
{
    const char *ids[RUNS_MAX];
    size_t run_count = 0;
    for (char *id = strtok(runs, ","); id && run_count < RUNS_MAX; id = strtok(NULL, ","))
        ids[run_count++] = id;
    if (!run_count) {
        fprintf(stderr, "--runs ID,ID,...\n");
        exit(2);
    }
    for (size_t i = 0; i < c->count; i++) {
        member *who = &c->members[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = who};
        bench_check(swamp_session_attach(&who->session, client, ids[i % run_count], NULL), NULL, "attach");
        epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, swamp_session_fd(who->session), &event);
    }
}

static void
cut_all(crowd *c)
{
    struct sockaddr_in peer;
    c->cut_ns = bench_now_ns();
    for (int fd = 3; fd < getdtablesize(); fd++) {
        socklen_t size = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET)
            shutdown(fd, SHUT_RDWR);
    }
}

/* The most answers within any 100 ms; the list is sorted. */
static size_t
find_peak(const uint64_t *list, size_t count)
{
    size_t peak = 0;
    for (size_t first = 0, i = 0; i < count; i++) {
        while (list[i] - list[first] >= WINDOW_NS)
            first++;
        peak = i - first + 1 > peak ? i - first + 1 : peak;
    }
    return peak;
}

static void
print_result(crowd *c)
{
    uint64_t middle_ns = bench_percentile(c->back, c->count, 50); /* sorts them, as the next two calls */
    uint64_t late_ns = bench_percentile(c->back, c->count, 99);
    (void)bench_percentile(c->answers, c->answer_count, 50);
    printf("{\"viewers\":%zu,\"back_p50_ms\":%.1f,\"back_p99_ms\":%.1f,\"back_last_ms\":%.1f,\"answers\":%zu,"
           "\"peak_percent\":%.2f}\n",
           c->count, (double)middle_ns / 1e6, (double)late_ns / 1e6, (double)c->back[c->count - 1] / 1e6,
           c->answer_count, 100.0 * (double)find_peak(c->answers, c->answer_count) / (double)c->count);
}

int
main(int argc, char **argv)
{
    swamp_client_options options = {.size = sizeof(options)};
    crowd c = {.count = (size_t)bench_number(argc, argv, "viewers", 1000),
               .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    char url[64], *error = NULL, *runs = strdup(bench_text(argc, argv, "runs", ""));
    swamp_client *client;

    bench_many_descriptors();
    c.members = calloc(c.count + 1, sizeof(*c.members));
    c.back = calloc(c.count + 1, sizeof(*c.back));
    c.answers = calloc(c.count * ANSWERS_MAX + 1, sizeof(*c.answers));
    if (!c.members || !c.back || !c.answers || !runs || c.epoll_fd < 0)
        bench_die("sessions");
    snprintf(url, sizeof(url), "ws://127.0.0.1:%ld", bench_number(argc, argv, "port", 0));
    options.url = url;
    bench_check(swamp_client_new(&client, &options, &error), NULL, error ? error : "client");
    start_all(&c, client, runs);
    wait_for_all(&c);
    cut_all(&c);
    wait_for_all(&c);
    print_result(&c);
    for (size_t i = 0; i < c.count; i++)
        swamp_session_free(c.members[i].session);
    swamp_client_free(client);
    free(c.members);
    free(c.back);
    free(c.answers);
    free(runs);
    return 0;
}
