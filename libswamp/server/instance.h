/* One instance without I/O: registry, membership, connections, requests, planned stop. What api/ and the
 * simulator own. */
#ifndef SWAMP_SERVER_INSTANCE_H
#define SWAMP_SERVER_INSTANCE_H

#include <stdint.h>
#include "../run/life.h"
#include "../run/membership.h"
#include "../store/question.h"
#include "../util/world.h"
#include "work.h"

typedef struct swamp__instance swamp__instance;
typedef struct swamp__conn swamp__conn;

/* All values are set: defaults were filled in by api/. Texts are copied. */
typedef struct swamp__instance_options {
    char instance_id[SWAMP__ID_SIZE];
    const char *hostname, *address, *version, *git_sha; /* address "": not advertised */
    int64_t pid;
    int local, observer;
    int64_t heartbeat_interval_ms, stale_ttl_ms, reconciliation_interval_ms;
    int64_t drain_grace_ms, linger_ms, idle_timeout_ms, stall_timeout_ms;
    int64_t retention_ms;                                                   /* 0: for ever */
    int64_t max_run_duration_ms;                                            /* 0: off */
    size_t max_runs, max_runs_per_principal, max_connections, max_requests; /* per_principal 0: off */
    size_t run_log_bytes, run_log_events, all_logs_bytes;
} swamp__instance_options;

typedef struct swamp__instance_events {
    void (*ready)(void *user); /* first heartbeat and first read are done: listen. At once without a store. */
    void (*ended)(
        void *user,
        int status); /* SWAMP_END: stopped; SWAMP_E_FENCED; all connections are closed or asked to close */
    void (*wake)(void *user); /* any thread: call swamp__instance_collect() on the core's thread soon */
    void *user;
} swamp__instance_events;

/*
 * `questions` goes to the store thread, `beats` to the heartbeat thread; both have timeout_ms 0 when no store
 * is configured. World, askers and desk are borrowed and outlive the instance. SWAMP_OK, SWAMP_E_NOMEM.
 */
int swamp__instance_new(swamp__instance **out, const swamp__instance_options *options,
                        const swamp__world *world, const swamp__asker *questions, const swamp__asker *beats,
                        const swamp__work_desk *desk, const swamp__instance_events *events);
void swamp__instance_start(swamp__instance *instance);
/* The core's half of every wake-up: runs that the host's threads touched, in order. */
void swamp__instance_collect(swamp__instance *instance);
/* Planned stop (DESIGN 6); again with a shorter time: that one holds. drain_timeout_ms -1: no bound. */
void swamp__instance_stop(swamp__instance *instance, int64_t drain_timeout_ms);
size_t swamp__instance_host_runs(const swamp__instance *instance); /* runs that the host still holds */
/* No question may be under way: the askers were closed and have answered everything. Connections must be gone. */
void swamp__instance_free(swamp__instance *instance);
void swamp__instance_cancel(swamp__instance *instance, const char *run_id,
                            const char *reason); /* swamp_server_cancel() */

/* What the transport of a connection does for it. Called on the core's thread; none of them calls back at once. */
typedef struct swamp__transport {
    void (*want_write)(void *peer); /* call swamp__conn_fill() when the peer can take bytes */
    void (*close)(void *peer, int code,
                  const char *reason);     /* close frame, then the end; swamp__conn_free() follows */
    void (*pause)(void *peer, int paused); /* stop or go on reading */
    uint64_t (*taken)(void *peer);         /* bytes that the peer has taken so far; NULL: not known */
} swamp__transport;

/* A connection was upgraded: SWAMP_OK; SWAMP_E_BUSY (too many: 429), SWAMP_E_CLOSED, SWAMP_E_NOMEM. */
int swamp__conn_new(swamp__conn **out, swamp__instance *instance, const swamp__transport *transport,
                    void *peer, const char *principal);
void swamp__conn_message(swamp__conn *conn, const char *text, size_t len, int binary); /* one whole message */
void swamp__conn_alive(swamp__conn *conn); /* any bytes or pong came from the peer */
/*
 * The peer can take bytes: everything given before was taken. Appends whole WebSocket frames to `out`, up to
 * SWAMP__BATCH_BYTES or one larger frame. Returns 1 if there is more to come. No allocation but the growth of
 * `out`.
 */
int swamp__conn_fill(swamp__conn *conn, swamp__buf *out);
void swamp__conn_free(swamp__conn *conn); /* the transport is gone; runs go on */

/* HTTP beside the WebSocket (PROTOCOL 8). The answer may come at once or later; `done` is called exactly once. */
typedef struct swamp__http_answer {
    int status;               /* 200, 403, 404, 503 */
    const char *content_type; /* static */
    swamp__buf body;
} swamp__http_answer;

typedef struct swamp__http_request {
    const char *method, *path; /* borrowed for the call */
    void (*done)(void *user,
                 const swamp__http_answer *answer); /* not called any more after swamp__http_abandon() */
    void *user;
} swamp__http_request;

/* Returns a token for swamp__http_abandon(), or NULL when done was called already. */
void *swamp__http_ask(swamp__instance *instance, const swamp__http_request *request);
void swamp__http_abandon(void *token); /* the peer went away */

/* Counters for /ready, doctor and tests. */
typedef struct swamp__instance_stats {
    size_t connections, runs, viewers;
    uint64_t store_failures, watches_restarted, deaths_declared, runs_reaped;
} swamp__instance_stats;
void swamp__instance_stats_get(const swamp__instance *instance, swamp__instance_stats *out);

#endif
