/*
 * The physical limit: a bare epoll + writev server that does nothing but write finished WebSocket frames.
 *
 * Usage: limit [--port N] [--size BYTES] [--events N] [--rate N, 0: all at once] [--frames N a write]
 * Prints its port, then waits for SIGUSR2 to let the events out. It knows no protocol: whatever the first
 * frame of a connection asks is answered as a run.attach would be, the id taken from between its quotes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>
#include "common.h"
#include "wire.h"

#define FRAMES_MAX 256
#define PREFIX_MAX 320
#define RUN_ID "00000000-0000-7000-8000-000000000000"

typedef struct viewer {
    int fd;
    int upgraded, attached, wants_write;
    size_t next; /* the event that it gets next */
    size_t skip; /* bytes of that one's frame which have gone */
    size_t prefix_len;
    char prefix[PREFIX_MAX]; /* {"type":"event","id":"...","event": */
    struct viewer *other;    /* all viewers, in a list */
} viewer;

/* The events as they go out, finished: the text with its seq, and the frame's closing brace. */
typedef struct finished {
    char *text;
    size_t len;
} finished;

static finished *events;
static size_t event_count, out_count; /* out: those that viewers may have */
static size_t frames_a_write;
static long rate;
static viewer *viewers;
static int epoll_fd;

static void
make_events(size_t size)
{
    bench_event event;
    bench_event_make(&event, size);
    events = calloc(event_count, sizeof(*events));
    if (!events)
        bench_die("calloc");
    for (size_t i = 0; i < event_count; i++) {
        events[i].text = malloc(event.len + BENCH_SEQ_MAX + 1);
        if (!events[i].text)
            bench_die("malloc");
        events[i].len = bench_event_number(&event, i + 1, events[i].text);
        events[i].text[events[i].len++] = '}'; /* the frame's */
    }
}

/* Stamps them only where there is a rate: flat out nobody asks how long an event took. */
static void
let_out(size_t count)
{
    bench_event stamp;
    count = count < event_count ? count : event_count;
    for (; rate && out_count < count; out_count++) {
        stamp.at = strstr(events[out_count].text, "\"at\":\"") + 6;
        bench_event_stamp(&stamp, bench_now_ns());
    }
    out_count = count;
}

static void
want_write(viewer *v, int wants)
{
    struct epoll_event event = {.events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = v};
    if (v->wants_write != wants)
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, v->fd, &event);
    v->wants_write = wants;
}

static void
forget(viewer *v)
{
    viewer **at = &viewers;
    while (*at != v)
        at = &(*at)->other;
    *at = v->other;
    close(v->fd);
    free(v);
}

/* Moves the cursor over what the kernel took. */
static void
take_bytes(viewer *v, const struct iovec *parts, size_t taken)
{
    size_t frame = parts[0].iov_len + parts[1].iov_len;
    for (size_t i = 0; taken >= frame && taken; i += 2) {
        taken -= frame;
        v->next++;
        v->skip = 0;
        frame = taken ? parts[i + 2].iov_len + parts[i + 3].iov_len : 1;
    }
    v->skip += taken;
}

static void
write_some(viewer *v)
{
    static unsigned char heads[FRAMES_MAX][WS_HEADER_MAX + PREFIX_MAX];
    static struct iovec parts[2 * FRAMES_MAX];
    size_t frames = 0;
    for (; frames < frames_a_write && v->next + frames < out_count; frames++) {
        finished *event = &events[v->next + frames];
        size_t header = ws_header_put(heads[frames], BENCH_TEXT, v->prefix_len + event->len, NULL);
        memcpy(heads[frames] + header, v->prefix, v->prefix_len);
        parts[2 * frames] = (struct iovec){heads[frames], header + v->prefix_len};
        parts[2 * frames + 1] = (struct iovec){event->text, event->len};
    }
    if (frames && v->skip) {
        size_t of_head = v->skip < parts[0].iov_len ? v->skip : parts[0].iov_len;
        parts[0].iov_base = (char *)parts[0].iov_base + of_head;
        parts[0].iov_len -= of_head;
        parts[1].iov_base = (char *)parts[1].iov_base + (v->skip - of_head);
        parts[1].iov_len -= v->skip - of_head;
    }
    if (frames) {
        ssize_t taken = writev(v->fd, parts, (int)(2 * frames));
        if (taken < 0 && errno != EAGAIN) {
            want_write(v, 0); /* gone: its end is read next */
            return;
        }
        if (taken > 0)
            take_bytes(v, parts, (size_t)taken);
    }
    want_write(v, v->next < out_count);
}

static void
answer_upgrade(viewer *v)
{
    size_t len = strlen(bench_upgraded);
    if (send(v->fd, bench_upgraded, len, MSG_NOSIGNAL) == (ssize_t)len)
        v->upgraded = 1;
}

static void
answer_attach(viewer *v, const char *text)
{
    char answer[WS_HEADER_MAX + PREFIX_MAX], frame[WS_HEADER_MAX + PREFIX_MAX], id[64] = "";
    const char *at = strstr(text, "\"id\":\"");
    if (!at || sscanf(at, "\"id\":\"%63[^\"]", id) != 1)
        return;
    v->prefix_len =
        (size_t)snprintf(v->prefix, sizeof(v->prefix), "{\"type\":\"event\",\"id\":\"%s\",\"event\":", id);
    size_t len = (size_t)snprintf(answer, sizeof(answer),
                                  "{\"type\":\"run.attached\",\"id\":\"%s\",\"payload\":{\"runId\":\"" RUN_ID
                                  "\",\"kind\":\"workflow-run\",\"headSeq\":0,\"state\":\"running\"}}",
                                  id);
    size_t header = ws_header_put((unsigned char *)frame, BENCH_TEXT, len, NULL);
    memcpy(frame + header, answer, len);
    if (send(v->fd, frame, header + len, MSG_NOSIGNAL) != (ssize_t)(header + len))
        return;
    v->attached = 1;
    write_some(v);
}

/* Requests are far smaller than a segment, so each comes whole. */
static void
read_some(viewer *v)
{
    char bytes[2048];
    ssize_t len = recv(v->fd, bytes, sizeof(bytes) - 1, 0);
    if (len <= 0 && !(len < 0 && errno == EAGAIN)) {
        forget(v);
        return;
    }
    if (len <= 0)
        return;
    for (ssize_t i = 0; i < len; i++) /* strstr() shall see past the mask of zeros */
        if (!bytes[i])
            bytes[i] = ' ';
    bytes[len] = 0;
    if (!v->upgraded)
        answer_upgrade(v);
    else if (!v->attached)
        answer_attach(v, bytes);
}

static void
accept_all(int listener)
{
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        viewer *v = calloc(1, sizeof(*v));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = v};
        if (!v)
            bench_die("calloc");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        v->fd = fd;
        v->other = viewers;
        viewers = v;
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static int
open_listener(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof(address);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4096) < 0)
        bench_die("listen");
    getsockname(fd, (struct sockaddr *)&address, &size);
    printf("%d " RUN_ID "\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static uint64_t started_ns;

static void
begin(int timer_fd)
{
    started_ns = bench_now_ns();
    if (!rate) {
        let_out(event_count);
    } else {
        long ns = 1000000000 / rate;
        struct itimerspec each = {{ns / 1000000000, ns % 1000000000}, {0, 1}};
        timerfd_settime(timer_fd, 0, &each, NULL);
    }
}

static void
tick(int timer_fd)
{
    uint64_t times;
    if (read(timer_fd, &times, sizeof(times)) == sizeof(times))
        let_out(out_count + times);
}

static void
serve(int signal_fd, int timer_fd, int listener)
{
    int *special[3] = {&signal_fd, &timer_fd, &listener};
    for (int i = 0; i < 3; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = special[i]};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, *special[i], &event);
    }
    for (;;) {
        struct epoll_event ready[256];
        int count = epoll_wait(epoll_fd, ready, 256, -1);
        for (int i = 0; i < count; i++) {
            void *which = ready[i].data.ptr;
            struct signalfd_siginfo info;
            if (which == &signal_fd && read(signal_fd, &info, sizeof(info)) == sizeof(info))
                begin(timer_fd);
            else if (which == &timer_fd)
                tick(timer_fd);
            else if (which == &listener)
                accept_all(listener);
            else if (which != &signal_fd && ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_some(which);
            else if (which != &signal_fd)
                write_some(which);
            viewer *v = which == &signal_fd || which == &timer_fd ? viewers : NULL;
            for (; v; v = v->other)
                if (v->attached && !v->wants_write)
                    write_some(v);
        }
    }
}

int
main(int argc, char **argv)
{
    sigset_t signals;

    event_count = (size_t)bench_number(argc, argv, "events", 100000);
    frames_a_write = (size_t)bench_number(argc, argv, "frames", 64);
    rate = bench_number(argc, argv, "rate", 0);
    if (frames_a_write < 1 || frames_a_write > FRAMES_MAX) {
        fprintf(stderr, "--frames: 1 to %d\n", FRAMES_MAX);
        return 2;
    }
    bench_many_descriptors();
    make_events((size_t)bench_number(argc, argv, "size", 200));
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    serve(signalfd(-1, &signals, SFD_NONBLOCK), timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK),
          open_listener((int)bench_number(argc, argv, "port", 0)));
}
