/* How each server is asked for a run, and what its messages mean: a row for each at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common.h"
#include "viewers.h"
#include "wire.h"

static int
starts_with(const unsigned char *text, size_t len, const char *with)
{
    size_t size = strlen(with);
    return len >= size && memcmp(text, with, size) == 0;
}

/* The number N of a text that ends with N followed by `behind` bytes: all events end with "seq":N}. */
static uint64_t
number_before(const unsigned char *text, size_t len, size_t behind)
{
    uint64_t number = 0, unit = 1;
    for (size_t at = len - behind; at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9'; at--, unit *= 10)
        number += (uint64_t)(text[at - 1] - '0') * unit;
    return number;
}

/* swamp: {"type":"event","id":...,"event":{...,"seq":N}} */

static size_t
ask_swamp(const viewer *v, char *to)
{
    char id[32];
    snprintf(id, sizeof(id), "request-%06d", v->number);
    return bench_put_attach(to, id, v->run_id, v->seq);
}

/* {"type":"run.gap",...,"gap":{"runId":R,"fromSeq":A,"toSeq":B,...}} */
static void
take_gap(viewers *all, viewer *v, const unsigned char *text, size_t len)
{
    unsigned long long from = 0, to = 0;
    const char *at = memmem(text, len, "\"fromSeq\":", 10);
    if (!at || sscanf(at, "\"fromSeq\":%llu,\"toSeq\":%llu", &from, &to) != 2 || from != v->seq + 1 ||
        to < from)
        viewers_fail(v, "a wrong gap", text, len);
    v->seq = to;
    all->gaps++;
    all->missed += to - from + 1;
}

static void
take_swamp(viewers *all, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns)
{
    if (starts_with(text, len, "{\"type\":\"event\""))
        viewers_event(all, v, number_before(text, len, 2), text, len, now_ns);
    else if (v->state == VIEWER_ASKING && starts_with(text, len, "{\"type\":\"run.attached\""))
        viewers_attached(all, v);
    else if (starts_with(text, len, "{\"type\":\"run.gap\""))
        take_gap(all, v, text, len);
    else if (!starts_with(text, len, "{\"type\":\"done\""))
        viewers_fail(v, "an unexpected frame", text, len);
}

/* echo: the same question, and whatever comes back. */

static void
take_echo(viewers *all, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns)
{
    (void)now_ns;
    if (!starts_with(text, len, "{\"type\":\"run.attach\"") || v->state != VIEWER_ASKING)
        viewers_fail(v, "no echo", text, len);
    viewers_attached(all, v);
}

/* plain: a frame is an event. */

static void
take_plain(viewers *all, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns)
{
    viewers_event(all, v, number_before(text, len, 1), text, len, now_ns);
}

/* socketio: "0{...}" opens, "40" asks, "40{...}" is attached, 42["event",{...}] is an event, "2" a ping. */

static size_t
ask_socketio(const viewer *v, char *to)
{
    (void)v;
    return bench_put_said(to, BENCH_TEXT, "40", 2);
}

static void
take_socketio(viewers *all, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns)
{
    char pong[BENCH_CLIENT_MAX];
    if (starts_with(text, len, "42"))
        viewers_event(all, v, number_before(text, len, 2), text, len, now_ns);
    else if (starts_with(text, len, "40"))
        viewers_attached(all, v);
    else if (starts_with(text, len, "2"))
        viewers_say(v, pong, bench_put_said(pong, BENCH_TEXT, "3", 1));
    else if (!starts_with(text, len, "0"))
        viewers_fail(v, "an unexpected packet", text, len);
}

/* nats: lines and payloads, split over frames anywhere: "MSG subject sid size\r\n" payload "\r\n". */

static size_t
ask_nats(const viewer *v, char *to)
{
    static const char text[] = "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB bench 1\r\nPING\r\n";
    (void)v;
    return bench_put_said(to, BENCH_TEXT, text, sizeof(text) - 1);
}

/* The bytes of the protocol message at `at`; 0: it is not whole. */
static size_t
take_nats_message(viewers *all, viewer *v, const unsigned char *at, size_t len, uint64_t now_ns)
{
    char pong[BENCH_CLIENT_MAX];
    const unsigned char *end = memchr(at, '\n', len);
    if (!end)
        return 0;
    size_t line = (size_t)(end - at) + 1;
    if (starts_with(at, line, "MSG ")) {
        size_t size = (size_t)number_before(at, line, 2);
        if (len < line + size + 2)
            return 0;
        viewers_event(all, v, number_before(at + line, size, 1), at + line, size, now_ns);
        return line + size + 2;
    }
    if (starts_with(at, line, "PONG") && v->state == VIEWER_ASKING)
        viewers_attached(all, v);
    else if (starts_with(at, line, "PING"))
        viewers_say(v, pong, bench_put_said(pong, BENCH_TEXT, "PONG\r\n", 6));
    else if (!starts_with(at, line, "INFO ") && !starts_with(at, line, "PONG"))
        viewers_fail(v, "an unexpected line", at, line);
    return line;
}

static void
take_nats(viewers *all, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns)
{
    size_t before = v->stream_len, used;
    if (before) {
        v->stream = realloc(v->stream, before + len);
        if (!v->stream)
            bench_die("realloc");
        memcpy(v->stream + before, text, len);
        text = v->stream;
        len += before;
    }
    while (len > 0 && (used = take_nats_message(all, v, text, len, now_ns)) > 0) {
        text += used;
        len -= used;
    }
    v->stream_len = len;
    if (!len)
        return;
    unsigned char *rest = malloc(len);
    if (!rest)
        bench_die("malloc");
    memcpy(rest, text, len); /* may lie in what is freed next */
    free(v->stream);
    v->stream = rest;
}

static const dialect dialects[] = {
    {"swamp", "/", ask_swamp, take_swamp, 0},
    {"echo", "/", ask_swamp, take_echo, 0},
    {"plain", "/sub", NULL, take_plain, 0},
    {"socketio", "/socket.io/?EIO=4&transport=websocket", ask_socketio, take_socketio, 0},
    {"nats", "/", ask_nats, take_nats, 1},
};

const dialect *
dialect_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(*dialects); i++)
        if (strcmp(dialects[i].name, name) == 0)
            return &dialects[i];
    return NULL;
}
