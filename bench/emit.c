/*
 * What swamp_run_emit() costs the host's thread, steady: the log is full, each event drives out an old one.
 *
 * Usage: emit [--viewers 0|1] [--size BYTES] [--events N a round] [--rounds N]
 * The viewer is another process that reads and throws away. Prints one JSON object: the median of the rounds.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host.h"
#include "wire.h"

#define ROUNDS_MAX 100

/* In the other process: everything is known once the parent has written its port and the run's id. */
static void
watch(int from_parent, int to_parent)
{
    struct {
        int port;
        char run_id[64];
    } place;
    static char bytes[256 * 1024];
    char text[BENCH_CLIENT_MAX];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(from_parent, &place, sizeof(place)) != sizeof(place))
        _exit(1);
    int fd = bench_connect(place.port, 0, 0);
    size_t len = bench_put_upgrade(text, place.port, "/");
    if (fd < 0 || send(fd, text, len, 0) != (ssize_t)len || recv(fd, bytes, sizeof(bytes), 0) <= 0)
        bench_die("viewer");
    len = bench_put_attach(text, "request-000000", place.run_id, 0);
    if (send(fd, text, len, 0) != (ssize_t)len || recv(fd, bytes, sizeof(bytes), 0) <= 0)
        bench_die("viewer");
    if (write(to_parent, "!", 1) == 1)
        while (recv(fd, bytes, sizeof(bytes), 0) > 0)
            ;
    _exit(0);
}

static void
start_viewer(const int to_child[2], const int from_child[2], swamp_server *server, const swamp_run *run)
{
    struct {
        int port;
        char run_id[64];
    } place;
    char url[128], answer;

    memset(&place, 0, sizeof(place));
    bench_check(swamp_server_url(server, url, sizeof(url)), server, "url");
    place.port = atoi(strrchr(url, ':') + 1);
    snprintf(place.run_id, sizeof(place.run_id), "%s", swamp_run_id(run));
    if (write(to_child[1], &place, sizeof(place)) != sizeof(place) || read(from_child[0], &answer, 1) != 1)
        bench_die("viewer");
}

static void
emit_rounds(swamp_run *run, const bench_event *event, long events, size_t rounds)
{
    uint64_t cpu[ROUNDS_MAX], wall[ROUNDS_MAX];

    for (size_t r = 0; r < rounds; r++) {
        uint64_t start_ns = bench_now_ns(), cpu_ns = bench_thread_cpu_ns();
        for (long i = 0; i < events; i++)
            bench_check(swamp_run_emit(run, event->text, event->len), NULL, "emit");
        cpu[r] = (bench_thread_cpu_ns() - cpu_ns) / (uint64_t)events;
        wall[r] = (bench_now_ns() - start_ns) / (uint64_t)events;
    }
    uint64_t cpu_ns = bench_percentile(cpu, rounds, 50), wall_ns = bench_percentile(wall, rounds, 50);
    printf("{\"emit_cpu_ns\":%llu,\"emit_wall_ns\":%llu,\"least_cpu_ns\":%llu}\n", (unsigned long long)cpu_ns,
           (unsigned long long)wall_ns, (unsigned long long)cpu[0]); /* sorted by now */
}

int
main(int argc, char **argv)
{
    long events = bench_number(argc, argv, "events", 100000),
         viewers = bench_number(argc, argv, "viewers", 0);
    size_t rounds = (size_t)bench_number(argc, argv, "rounds", 11);
    int to_child[2], from_child[2];
    pid_t child = 0;
    bench_event event;

    if (rounds < 1 || rounds > ROUNDS_MAX || events < 1 || viewers > 1) {
        fprintf(stderr, "--rounds: 1 to %d; --events: 1 or more; --viewers: 0 or 1\n", ROUNDS_MAX);
        return 2;
    }
    if (viewers) { /* forked before the library starts its threads */
        if (pipe(to_child) < 0 || pipe(from_child) < 0 || (child = fork()) < 0)
            bench_die("fork");
        if (child == 0)
            watch(to_child[0], from_child[1]);
    }
    swamp_server *server = bench_start_server(argc, argv, NULL);
    swamp_run *run = bench_start_run(server);
    if (viewers)
        start_viewer(to_child, from_child, server, run);
    bench_event_make(&event, (size_t)bench_number(argc, argv, "size", 200));
    for (long i = 0; i < 120000; i++) /* until the log is full */
        bench_check(swamp_run_emit(run, event.text, event.len), server, "emit");
    emit_rounds(run, &event, events, rounds);

    if (child) {
        if (waitpid(child, NULL, WNOHANG) != 0) {
            fprintf(stderr, "the viewer ended meanwhile\n");
            return 1;
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    (void)swamp_run_finish(run, SWAMP_RUN_SUCCEEDED, NULL, 0, NULL, 0);
    (void)swamp_server_stop(server, 0);
    swamp_server_free(server);
    free(event.text);
    return 0;
}
