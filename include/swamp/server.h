/* The server: an instance that hosts runs, behind one handle. */
#ifndef SWAMP_SERVER_H
#define SWAMP_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/attributes.h>
#include <swamp/log.h>
#include <swamp/run.h>
#include <swamp/store.h>

SWAMP_BEGIN_DECLS

/* One instance. Its id is fresh for every handle. */
typedef struct swamp_server swamp_server;

/* Callbacks over swamp_server_next(), called on a small pool of threads, several at once, never on the network thread. */
typedef struct swamp_executor {
    size_t size;
    /*
     * Required. The same contract as a loop over swamp_server_next(): the work is the callee's, who answers it with
     * swamp_work_answer() exactly once, here or later from any thread. CANCEL has a thread of its own.
     */
    void (*work)(swamp_work *work, void *user);
    /* Optional: runs once, after the last call of work, when the server is freed or cannot be made. */
    void (*destroy)(void *user);
} swamp_executor;

#define SWAMP_SERVER_LOCAL 1u    /* flags: no port; its runs can be reached by swamp_session_local() only */
#define SWAMP_SERVER_INSECURE 2u /* flags: an address other than loopback is allowed */
/* 4u is kept for X-Forwarded-For, and refused until logs name clients. */
#define SWAMP_SERVER_OBSERVER                                                                                \
    8u /* flags: with LOCAL; no heartbeat, no runs, reaps nothing: answers questions only */

/* How the network thread waits. */
#define SWAMP_LOOP_AUTO 0u  /* libev for max_connections above 500 where it is installed, else poll */
#define SWAMP_LOOP_POLL 1u  /* costs more with each connection, from some 500 on */
#define SWAMP_LOOP_LIBEV 2u /* swamp_server_start() fails where it is not installed */

/* An option that is off: only in members that say what off means. */
#define SWAMP_OFF 0xffffffffu

/*
 * Zero means the default in every member, which stands beside it. Set size with sizeof, or
 * swamp_server_options_init(). The unit is in the name. A value out of its range is refused, and the line says
 * which values are allowed.
 */
typedef struct swamp_server_options {
    size_t size;
    swamp_store *store; /* NULL: no control plane; a reference is taken */
    const char *host;   /* address to bind; NULL: 127.0.0.1 */
    const char
        *advertise_url; /* how clients elsewhere reach this instance; NULL: what swamp_server_url() says */
    const char *version_text; /* for server.version; NULL: the library's version */
    const char *git_sha;      /* for server.version; NULL: "unknown" */
    const char *cert_file;    /* PEM; with key_file: TLS */
    const char *key_file;
    const char *allowed_origins;    /* comma-separated; loopback and this host are always allowed */
    const swamp_executor *executor; /* NULL: the host calls swamp_server_next() */
    void *executor_user;
    swamp_log_fn log; /* NULL: nothing is logged */
    void *log_user;
    uint32_t log_level;             /* SWAMP_LOG_INFO: lines of this level and graver ones */
    uint32_t flags;                 /* SWAMP_SERVER_... */
    uint32_t port;                  /* 0: any free one */
    uint32_t loop;                  /* SWAMP_LOOP_AUTO */
    uint32_t executor_threads;      /* 4, and one more for CANCEL */
    uint32_t heartbeat_interval_ms; /* 10,000: how often this instance shows that it lives */
    uint32_t stale_ttl_ms; /* 30,000 without a beat: others declare it dead; at least twice the interval */
    uint32_t reconciliation_interval_ms; /* 30,000: how often runs of dead instances are looked for */
    uint32_t drain_grace_ms;   /* 5,000 between /ready's 503 and the refusal of new runs; SWAMP_OFF: none */
    uint32_t linger_ms;        /* 300,000: an ended run can still be attached to; SWAMP_OFF: not at all */
    uint32_t idle_timeout_ms;  /* 30,000 of silence: connection given up; pinged at half; SWAMP_OFF: never */
    uint32_t stall_timeout_ms; /* 60,000 without bytes taken: close code 4001; SWAMP_OFF: never */
    uint32_t history_retention_s; /* 2,592,000 (30 days), then an ended run's record goes; SWAMP_OFF: never */
    uint32_t max_run_duration_s;  /* SWAMP_OFF; then the run is cancelled, reason "max_run_duration" */
    uint32_t max_runs;            /* 100 that have not ended: more are refused, code global_cap */
    uint32_t max_runs_per_principal;      /* SWAMP_OFF; the same for each principal, code principal_cap */
    uint32_t max_connections;             /* 10,000: more get HTTP 429 */
    uint32_t max_requests_per_connection; /* 100 active ones: more get the code too_many_requests */
    uint32_t run_log_events;              /* 100,000 events kept of each run; older ones become a gap */
    uint32_t store_timeout_ms;            /* 5,000: one question to the store */
    uint64_t run_log_bytes;               /* 16 MiB of events kept of each run; 256 KiB at least */
    uint64_t all_logs_bytes;              /* 1 GiB of events kept of all runs together */
} swamp_server_options;

/**
 * Zero an options struct and set its size.
 *
 * @param      options  the struct
 * @param      size     sizeof(swamp_server_options) as the caller was compiled with
 * @return none
 * @thread any
 * @since  0.1
 */
SWAMP_API void swamp_server_options_init(swamp_server_options *options, size_t size);

/**
 * Make a server; does no I/O.
 *
 * @param[out] out      new server; unchanged on failure; caller frees with swamp_server_free()
 * @param      options  borrowed for the call, copied; NULL is an error
 * @param[out] error    on failure one line that names the option, its value and what is allowed, if not NULL;
 *                      caller frees with swamp_free()
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_server_new(swamp_server **out, const swamp_server_options *options,
                                               char **error);

/**
 * Bind the address, write the first heartbeat, read the control plane, then listen.
 *
 * Returns when the server listens; with the store down, after 5 s, and /ready answers "starting" until it is back.
 *
 * @param      server  a server not yet started
 * @return SWAMP_OK; SWAMP_E_ADDRESS (port in use, no such address, not loopback), SWAMP_E_TLS, SWAMP_E_NOMEM,
 *         SWAMP_E_IO (no thread or descriptor to be had), SWAMP_E_STATE (started or stopped before, or stopped
 *         meanwhile), SWAMP_E_UNSUPPORTED (loop); swamp_server_error() has the line. A server whose start failed
 *         cannot be started again
 * @thread owner
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_server_start(swamp_server *server);

/**
 * Say where the server listens, such as "http://127.0.0.1:9090"; "" for a server without a port.
 *
 * @param      server  a started server
 * @param[out] buf     zero-terminated text
 * @param      cap     its bytes
 * @return SWAMP_OK; SWAMP_E_STATE (not started, or stopped), SWAMP_E_TOO_BIG (buf is left as it is)
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_server_url(swamp_server *server, char *buf, size_t cap);

/**
 * Name the instance.
 *
 * @param      server  the server
 * @param[out] buf     zero-terminated text, 37 bytes
 * @param      cap     its bytes
 * @return SWAMP_OK; SWAMP_E_TOO_BIG
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_server_instance_id(swamp_server *server, char *buf, size_t cap);

/**
 * Say what failed last on this handle: one line, what to do about it.
 *
 * @param      server  the server
 * @param[out] buf     zero-terminated text, cut to cap; "" when nothing failed
 * @param      cap     its bytes
 * @return SWAMP_OK
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_server_error(swamp_server *server, char *buf, size_t cap);

/**
 * Wait until the server has ended.
 *
 * @param      server      a started server
 * @param      timeout_ms  -1: for ever
 * @return SWAMP_OK: still running; SWAMP_END: stopped; SWAMP_E_FENCED: declared dead, make a new handle;
 *         SWAMP_E_STATE: not started
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_server_wait(swamp_server *server, int timeout_ms);

/**
 * Stop a server: drain grace, notice to the clients, wait for runs, cancel the rest, final records, close.
 *
 * May be called again from another thread with a shorter time, which then holds (0: cancel at once).
 *
 * @param      server            the server; one not started ends at once
 * @param      drain_timeout_ms  how long runs may go on; -1: as long as they want
 * @return SWAMP_OK; SWAMP_E_TIMEOUT (the host still holds runs: their handles stay valid),
 *         SWAMP_E_FENCED, SWAMP_E_REENTRANT (from an executor's or log callback)
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_server_stop(swamp_server *server, int drain_timeout_ms);

/**
 * Free a server; stops it at once when it still runs, which takes up to 10 s where the host does not answer.
 *
 * Runs that the host still holds stay valid: swamp_run_emit() then gives SWAMP_E_CLOSED. Other threads may be
 * asleep in a call on this handle: they return first. Inside a callback it is legal and deferred.
 *
 * @param      server  the server; NULL is fine
 * @return none
 * @thread owner
 * @since  0.1
 */
SWAMP_API void swamp_server_free(swamp_server *server);

/**
 * Take the next piece of work.
 *
 * Several threads may wait at once. CANCEL comes before everything else but the START of its own run; with several
 * threads it may be taken while another one still looks at that START. Not for servers with an executor.
 *
 * @param      server      a started server
 * @param      timeout_ms  0: do not wait; -1: for ever
 * @param[out] out         the work; unchanged unless SWAMP_WORK is returned; freed by swamp_work_answer()
 * @return SWAMP_WORK; SWAMP_OK: nothing yet; SWAMP_END: stopped or declared dead; SWAMP_E_STATE (not started, or a
 *         server with an executor)
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_server_next(swamp_server *server, int timeout_ms, swamp_work **out);

/**
 * Ask a run of this or another instance to end.
 *
 * Does not wait; the run's viewers see it end.
 *
 * @param      server  a started server
 * @param      run_id  the run
 * @param      reason  a person's words, of which 512 bytes at least are kept; NULL for none
 * @return SWAMP_OK: asked, also where no such run exists; SWAMP_E_INVALID (no run can have this id), SWAMP_E_STATE
 *         (not started, or stopped), SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_server_cancel(swamp_server *server, const char *run_id, const char *reason);

SWAMP_END_DECLS

#endif
