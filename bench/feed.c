/*
 * Publishes the synthetic events to a server that takes them from outside: NATS or nchan.
 *
 * Usage: feed --to nats|nchan --port N [--events N] [--size BYTES] [--rate N a second, 0: flat out]
 * Prints "ready" once connected, and waits for SIGUSR2. Ends when the server has hung up, or on SIGTERM.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common.h"
#include "wire.h"

#define BATCH_BYTES (64 * 1024)

/* What the server says is thrown away, but read: else it would stop reading in its turn. */
static void
read_away(int fd)
{
    static char bytes[BATCH_BYTES];
    if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) == 0) {
        fprintf(stderr, "the server has hung up\n");
        exit(1);
    }
}

static void
send_all(int fd, const char *at, size_t len)
{
    while (len > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLIN | POLLOUT};
        if (poll(&ready, 1, -1) < 0)
            bench_die("poll");
        if (ready.revents & (POLLIN | POLLHUP | POLLERR))
            read_away(fd);
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        at += sent > 0 ? sent : 0;
        len -= sent > 0 ? (size_t)sent : 0;
    }
}

/* One event as the server wants it published; returns its bytes. */
static size_t
put_event(int to_nats, const char *text, size_t len, char *to)
{
    if (!to_nats)
        return bench_put_said(to, BENCH_TEXT, text, len);
    size_t line = (size_t)sprintf(to, "PUB bench %zu\r\n", len);
    memcpy(to + line, text, len);
    memcpy(to + line + len, "\r\n", 2);
    return line + len + 2;
}

static void
feed(int fd, int to_nats, uint64_t events, size_t size, long rate)
{
    bench_event event;
    bench_event_make(&event, size);
    size_t largest = event.len + BENCH_SEQ_MAX + 64, filled = 0;
    char *text = malloc(largest), *batch = malloc(BATCH_BYTES + largest);
    if (!text || !batch)
        bench_die("malloc");
    uint64_t start_ns = bench_now_ns();
    for (uint64_t i = 0; i < events; i++) {
        bench_pace(start_ns, i, rate);
        bench_event_stamp(&event, bench_now_ns());
        filled += put_event(to_nats, text, bench_event_number(&event, i + 1, text), batch + filled);
        if (rate || filled >= BATCH_BYTES || i + 1 == events) {
            send_all(fd, batch, filled);
            filled = 0;
        }
    }
    free(text);
    free(batch);
}

static int
open_publisher(int to_nats, int port)
{
    static const char connect_line[] = "CONNECT {\"verbose\":false,\"pedantic\":false}\r\n";
    char text[BENCH_CLIENT_MAX], answer[1024];
    int fd = bench_connect(port, 0, 0);
    if (fd < 0)
        bench_die("connect");
    size_t len = to_nats ? (size_t)sprintf(text, "%s", connect_line) : bench_put_upgrade(text, port, "/pub");
    if (send(fd, text, len, 0) != (ssize_t)len || recv(fd, answer, sizeof(answer), 0) <= 0)
        bench_die("publisher");
    return fd;
}

int
main(int argc, char **argv)
{
    int to_nats = strcmp(bench_text(argc, argv, "to", ""), "nats") == 0, number;
    int port = (int)bench_number(argc, argv, "port", 0);
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int fd = open_publisher(to_nats, port);
    printf("ready\n");
    fflush(stdout);
    if (sigwait(&signals, &number) == 0)
        feed(fd, to_nats, (uint64_t)bench_number(argc, argv, "events", 1000),
             (size_t)bench_number(argc, argv, "size", 200), bench_number(argc, argv, "rate", 0));
    for (struct pollfd ready = {.fd = fd, .events = POLLIN}; poll(&ready, 1, -1) > 0;)
        read_away(fd); /* ends the program at the end of the connection */
    return 0;
}
