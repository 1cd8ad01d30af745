/*
 * kill -9: a server with many viewers is killed and started again at the same port; no viewer waits.
 *
 * Usage: storm --program PATH [--viewers N]
 * Starts the server itself. Prints one JSON object: after how many ms all were attached, since the exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"
#include "viewers.h"

#define GIVE_UP_NS 60000000000u

typedef struct child {
    pid_t pid;
    int out, port;
    char line[256]; /* "PORT RUN\n", as far as it has come */
    size_t len;
    char run_id[64];
} child;

static void
start(child *c, const char *program, const char *port)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC) < 0 || (c->pid = fork()) < 0)
        bench_die("fork");
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        execl(program, program, "--port", port, "--events", "1", (char *)NULL);
        bench_die(program);
    }
    close(out[1]);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    c->out = out[0];
    c->len = 0;
}

/* 1: its line has come. */
static int
has_said(child *c)
{
    ssize_t got = read(c->out, c->line + c->len, sizeof(c->line) - 1 - c->len);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        bench_die("the server");
    c->len += got > 0 ? (size_t)got : 0;
    c->line[c->len] = 0;
    return strchr(c->line, '\n') && sscanf(c->line, "%d %63s", &c->port, c->run_id) == 2;
}

static void
name_run(viewers *all, const char *run_id)
{
    for (size_t i = 0; i < all->count; i++) {
        all->list[i].run_id = run_id;
        if (run_id && all->list[i].state == VIEWER_HELD)
            viewers_ask(all, &all->list[i]);
    }
}

/* Kills the server, starts another, and waits until all are attached to its run. Returns the ms since the
 * exec. */
static double
kill_and_start(viewers *all, child *c, const char *program)
{
    char port[16];
    snprintf(port, sizeof(port), "%d", c->port);
    name_run(all, NULL);
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->out);
    for (size_t i = 0; i < all->count; i++)
        viewers_dial_again(all, &all->list[i]);
    uint64_t start_ns = bench_now_ns(), took_ns = 0;
    start(c, program, port);
    for (int known = 0; all->attached < all->count; took_ns = bench_now_ns() - start_ns) {
        if (!known && (known = has_said(c)))
            name_run(all, c->run_id);
        viewers_turn(all);
        if (took_ns > GIVE_UP_NS) {
            fprintf(stderr, "%zu of %zu are attached again\n", all->attached, all->count);
            exit(1);
        }
    }
    return (double)took_ns / 1e6;
}

int
main(int argc, char **argv)
{
    const char *program = bench_text(argc, argv, "program", NULL);
    viewers all;
    child c;

    if (!program) {
        fprintf(stderr, "--program PATH\n");
        return 2;
    }
    bench_many_descriptors();
    viewers_init(&all, (size_t)bench_number(argc, argv, "viewers", 1000));
    all.speaks = dialect_by_name("swamp");
    start(&c, program, "0");
    while (!has_said(&c))
        usleep(1000);
    all.port = c.port;
    name_run(&all, c.run_id);
    double first_ms = viewers_attach(&all);
    all.retry = 1;
    double again_ms = kill_and_start(&all, &c, program);
    printf("{\"viewers\":%zu,\"attach_all_ms\":%.2f,\"again_ms\":%.2f,\"refusals\":%llu}\n", all.count,
           first_ms, again_ms, (unsigned long long)all.refusals);
    kill(c.pid, SIGKILL);
    waitpid(c.pid, NULL, 0);
    viewers_free(&all);
    return 0;
}
