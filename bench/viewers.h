/* Many WebSocket clients in one thread: each asks for a run in its server's dialect and checks each event. */
#ifndef SWAMP_BENCH_VIEWERS_H
#define SWAMP_BENCH_VIEWERS_H

#include <stddef.h>
#include <stdint.h>

#define VIEWER_NEW 0
#define VIEWER_REFUSED 1 /* nobody listens: dialled again in the next turn */
#define VIEWER_CONNECTING 2
#define VIEWER_UPGRADING 3
#define VIEWER_HELD 4 /* upgraded; the run's id is not known yet */
#define VIEWER_ASKING 5
#define VIEWER_WATCHING 6
#define VIEWER_DONE 7

typedef struct viewer {
    int fd, number, state;
    int stalled;         /* reads nothing once attached */
    const char *run_id;  /* NULL: held after the upgrade */
    uint64_t seq;        /* of the last event */
    unsigned char *rest; /* the beginning of what has not come whole */
    size_t rest_len;
    /* In a dialect whose messages know no frames: bytes of the frame still to come, and the beginning of a
     * message. */
    uint64_t frame_left;
    unsigned char *stream;
    size_t stream_len;
} viewer;

typedef struct viewers viewers;

/* How a server is asked, and what its messages mean. */
typedef struct dialect {
    const char *name, *path;
    /* What a viewer says once upgraded, as one frame; NULL: it is attached by then. Returns its bytes. */
    size_t (*ask)(const viewer *v, char *to);
    /* One frame's payload, or what has come of it where `streams`; tells viewers_attached() and
     * viewers_event(). */
    void (*take)(viewers *all, viewer *v, const unsigned char *text, size_t len, uint64_t now_ns);
    int streams;
} dialect;

struct viewers {
    int port, epoll_fd;
    int retry; /* whoever is refused or cut dials again without waiting */
    const dialect *speaks;
    viewer *list;
    size_t count, attached, done, refused;
    uint64_t events; /* that each shall get; 0: as many as come */
    uint64_t deliveries, gaps, missed, refusals;
    uint64_t *latencies; /* from the emit to here; NULL: not kept */
    size_t latency_count, latency_max;
    unsigned char *space;
};

/* Zeroes, allocates; the caller sets port, dialect and each viewer's run. Ends the program when there is
 * no memory. */
void viewers_init(viewers *all, size_t count);
void viewers_free(viewers *all);

/* Dials all, a thousand of them at once, and returns when all are attached, after so many ms. */
double viewers_attach(viewers *all);
void viewers_dial(viewers *all, viewer *v);
void viewers_dial_again(viewers *all, viewer *v); /* hangs up first */
void viewers_ask(viewers *all, viewer *v);
/* One turn of the loop: at most 1 ms with retry; else ends the program when nothing comes for a minute. */
void viewers_turn(viewers *all);

/* For dialects. */
void viewers_attached(viewers *all, viewer *v);
void viewers_event(viewers *all, viewer *v, uint64_t seq, const unsigned char *text, size_t len,
                   uint64_t now_ns);
void viewers_say(viewer *v, const char *bytes, size_t len);
_Noreturn void viewers_fail(const viewer *v, const char *what, const unsigned char *text, size_t len);

/* swamp, echo, plain (one event a frame: npm ws, nchan), nats, socketio; NULL: no such one. */
const dialect *dialect_by_name(const char *name);

#endif
