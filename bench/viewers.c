/* Many WebSocket clients in one thread: see viewers.h. */
#include "viewers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common.h"
#include "wire.h"

#define READ_BYTES (256 * 1024)
#define REST_MAX (2 * 1024 * 1024) /* no message of a benchmark is larger */
#define GIVE_UP_MS 60000           /* nothing came for so long */
#define AT_ONCE_MAX                                                                                          \
    1000 /* more on their way to one listener are dropped by the kernel, for a second or more */

void
viewers_fail(const viewer *v, const char *what, const unsigned char *text, size_t len)
{
    fprintf(stderr, "viewer %d after seq %llu: %s: %.*s\n", v->number, (unsigned long long)v->seq, what,
            (int)(len > 300 ? 300 : len), (const char *)text);
    exit(1);
}

static _Noreturn void
fail_with_errno(const viewer *v, const char *what, int error)
{
    const char *text = strerror(error);
    viewers_fail(v, what, (const unsigned char *)text, strlen(text));
}

void
viewers_init(viewers *all, size_t count)
{
    memset(all, 0, sizeof(*all));
    all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    all->count = count;
    all->list = calloc(count + 1, sizeof(*all->list));
    all->space = malloc(REST_MAX + READ_BYTES);
    if (all->epoll_fd < 0 || !all->list || !all->space)
        bench_die("viewers");
    for (size_t i = 0; i < count; i++)
        all->list[i].number = (int)i;
}

void
viewers_free(viewers *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].rest);
        free(all->list[i].stream);
    }
    free(all->list);
    free(all->latencies);
    free(all->space);
    close(all->epoll_fd);
}

void
viewers_say(viewer *v, const char *bytes, size_t len)
{
    if (send(v->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
        fail_with_errno(v, "cannot send", errno);
}

void
viewers_dial(viewers *all, viewer *v)
{
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = v};
    v->fd = bench_connect(all->port, v->number, 1);
    if (v->fd < 0 && !all->retry)
        fail_with_errno(v, "cannot connect", errno);
    if (v->fd < 0) {
        all->refused += v->state != VIEWER_REFUSED;
        all->refusals++;
        v->state = VIEWER_REFUSED;
        return;
    }
    v->state = VIEWER_CONNECTING;
    epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, v->fd, &event);
}

void
viewers_dial_again(viewers *all, viewer *v)
{
    if (v->state >= VIEWER_WATCHING)
        all->attached--;
    close(v->fd);
    v->rest_len = v->stream_len = 0;
    v->frame_left = 0;
    viewers_dial(all, v);
}

static void
dial_refused(viewers *all)
{
    for (size_t i = 0; i < all->count; i++) {
        viewer *v = &all->list[i];
        if (v->state != VIEWER_REFUSED)
            continue;
        viewers_dial(all, v);
        all->refused -= v->state != VIEWER_REFUSED;
    }
}

void
viewers_ask(viewers *all, viewer *v)
{
    char bytes[BENCH_CLIENT_MAX];
    v->state = v->run_id ? VIEWER_ASKING : VIEWER_HELD;
    if (v->run_id && all->speaks->ask)
        viewers_say(v, bytes, all->speaks->ask(v, bytes));
    else if (v->run_id)
        viewers_attached(all, v);
}

static void
become_connected(viewers *all, viewer *v)
{
    char bytes[BENCH_CLIENT_MAX];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = v};
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(v->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error && all->retry) {
        all->refusals++;
        viewers_dial_again(all, v);
        return;
    }
    if (error)
        fail_with_errno(v, "cannot connect", error);
    epoll_ctl(all->epoll_fd, EPOLL_CTL_MOD, v->fd, &event);
    viewers_say(v, bytes, bench_put_upgrade(bytes, all->port, all->speaks->path));
    v->state = VIEWER_UPGRADING;
}

void
viewers_attached(viewers *all, viewer *v)
{
    v->state = VIEWER_WATCHING;
    all->attached++;
    if (v->stalled)
        epoll_ctl(all->epoll_fd, EPOLL_CTL_DEL, v->fd, NULL);
}

static void
keep_latency(viewers *all, const unsigned char *text, size_t len, uint64_t now_ns)
{
    const unsigned char *at = memmem(text, len < 256 ? len : 256, "\"at\":\"", 6);
    uint64_t emitted_ns = 0;
    if (!at || all->latency_count == all->latency_max)
        return;
    for (int i = 0; i < BENCH_AT_DIGITS; i++)
        emitted_ns = emitted_ns * 10 + (uint64_t)(at[6 + i] - '0');
    all->latencies[all->latency_count++] = now_ns > emitted_ns ? now_ns - emitted_ns : 0;
}

void
viewers_event(viewers *all, viewer *v, uint64_t seq, const unsigned char *text, size_t len, uint64_t now_ns)
{
    if (v->state != VIEWER_WATCHING || seq != v->seq + 1)
        viewers_fail(v, "a wrong number", text + (len > 40 ? len - 40 : 0), len > 40 ? 40 : len);
    v->seq = seq;
    all->deliveries++;
    if (all->latencies)
        keep_latency(all, text, len, now_ns);
}

static void
keep_rest(viewer *v, const unsigned char *at, size_t len)
{
    v->rest_len = len;
    if (!len)
        return;
    v->rest = realloc(v->rest, len);
    if (!v->rest || len > REST_MAX)
        bench_die("realloc");
    memcpy(v->rest, at, len);
}

static void
take_payload(viewers *all, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns)
{
    all->speaks->take(all, v, text, len, now_ns);
    if (v->state == VIEWER_WATCHING && all->events && v->seq >= all->events) {
        v->state = VIEWER_DONE;
        all->done++;
    }
}

static void
take_frame(viewers *all, viewer *v, int code, const unsigned char *text, size_t len, uint64_t now_ns)
{
    char pong[BENCH_CLIENT_MAX];
    if (code == 8)
        viewers_fail(v, "closed", text, len);
    if (code == 9)
        viewers_say(v, pong, bench_put_said(pong, BENCH_PONG, (const char *)text, len));
    else if (code <= 2)
        take_payload(all, v, text, len, now_ns);
}

/* Takes the frame at `at`, or the piece of one that is there where frames mean nothing. Returns the bytes
 * used; 0: it is not whole yet. */
static size_t
take_piece(viewers *all, viewer *v, const unsigned char *at, size_t len, uint64_t now_ns)
{
    uint64_t payload;
    if (v->frame_left) {
        size_t piece = v->frame_left < len ? (size_t)v->frame_left : len;
        v->frame_left -= piece;
        take_payload(all, v, at, piece, now_ns);
        return piece;
    }
    size_t header = ws_header_read(at, len, &payload);
    int code = header ? at[0] & 0x0f : 0;
    if (header && code <= 2 && all->speaks->streams) {
        v->frame_left = payload;
        return header;
    }
    if (!header || len - header < payload)
        return 0;
    take_frame(all, v, code, at + header, (size_t)payload, now_ns);
    return header + (size_t)payload;
}

static void
take_bytes(viewers *all, viewer *v, const unsigned char *at, size_t len)
{
    uint64_t now_ns = all->latencies ? bench_now_ns() : 0;
    size_t used;
    while (len > 0 && (used = take_piece(all, v, at, len, now_ns)) > 0) {
        at += used;
        len -= used;
    }
    keep_rest(v, at, len);
}

static void
take_upgrade(viewers *all, viewer *v, const unsigned char *text, size_t len)
{
    const unsigned char *end = memmem(text, len, "\r\n\r\n", 4);
    if (!end) {
        keep_rest(v, text, len);
        return;
    }
    if (memcmp(text, "HTTP/1.1 101 ", 13) != 0)
        viewers_fail(v, "no upgrade", text, len);
    viewers_ask(all, v);
    take_bytes(all, v, end + 4, len - (size_t)(end + 4 - text));
}

static void
read_some(viewers *all, viewer *v)
{
    size_t before = v->rest_len;
    if (before)
        memcpy(all->space, v->rest, before);
    ssize_t len = recv(v->fd, all->space + before, READ_BYTES, 0);
    if (len < 0 && errno == EAGAIN)
        return;
    if (len <= 0 && all->retry)
        viewers_dial_again(all, v);
    else if (len <= 0)
        viewers_fail(v, "the connection ended", (const unsigned char *)"", 0);
    else if (v->state == VIEWER_UPGRADING)
        take_upgrade(all, v, all->space, before + (size_t)len);
    else
        take_bytes(all, v, all->space, before + (size_t)len);
}

void
viewers_turn(viewers *all)
{
    struct epoll_event ready[256];
    int count = epoll_wait(all->epoll_fd, ready, 256, all->retry ? 1 : GIVE_UP_MS);
    if (count == 0 && !all->retry) {
        fprintf(stderr, "nothing came: %zu of %zu attached, %zu done\n", all->attached, all->count,
                all->done);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        viewer *v = ready[i].data.ptr;
        if (v->state == VIEWER_CONNECTING)
            become_connected(all, v);
        else
            read_some(all, v);
    }
    if (all->refused)
        dial_refused(all);
}

double
viewers_attach(viewers *all)
{
    uint64_t start_ns = bench_now_ns();
    for (size_t dialled = 0; all->attached < all->count; viewers_turn(all))
        for (; dialled < all->count && dialled < all->attached + AT_ONCE_MAX; dialled++)
            viewers_dial(all, &all->list[dialled]);
    return (double)(bench_now_ns() - start_ns) / 1e6;
}
