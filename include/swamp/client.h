/* The client: a connection context that carries any number of resumable sessions. */
#ifndef SWAMP_CLIENT_H
#define SWAMP_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/attributes.h>
#include <swamp/event.h>
#include <swamp/log.h>
#include <swamp/server.h>

SWAMP_BEGIN_DECLS

/* A network thread and what all its sessions share. Sessions may outlive it, but then only end. */
typedef struct swamp_client swamp_client;

/* One run as seen by one viewer, across any number of connections and instances. */
typedef struct swamp_session swamp_session;

/* Zero means the default in every member, which stands beside it. Times are in milliseconds. */
typedef struct swamp_client_options {
    size_t size;
    const char *url;          /* ws, wss, http or https */
    const char *token;        /* "NAME.SECRET", sent over TLS or to loopback only; NULL: none */
    const char *ca_cert_file; /* PEM; NULL: the system's */
    swamp_log_fn log;         /* NULL: nothing is logged */
    void *log_user;
    uint32_t log_level;          /* SWAMP_LOG_INFO */
    uint32_t connect_timeout_ms; /* 10,000: one attempt, upgrade included */
    uint32_t idle_timeout_ms;    /* 30,000: connection given up; pinged at half of it */
    uint32_t request_timeout_ms; /* 30,000: an answer to an attach or a single request */
} swamp_client_options;

/* The limits of PROTOCOL.md 7. Zero means the default in every member, which stands beside it. Times are in
 * milliseconds. */
typedef struct swamp_session_options {
    size_t size;
    const char *epoch;             /* attach: with after_seq; NULL: not checked */
    uint64_t after_seq;            /* attach: the last event already seen */
    uint64_t queue_bytes;          /* 8 MiB: undelivered events; then the socket is not read */
    uint32_t max_dials;            /* 5 in a row without any answer to run.attach */
    uint32_t retry_min_ms;         /* 1,000 */
    uint32_t retry_first_ms;       /* 2,000: the first upper bound */
    uint32_t retry_max_ms;         /* 15,000: the highest upper bound */
    uint32_t settle_ms;            /* 10,000 attached: the delay falls back to its start */
    uint32_t max_elsewhere;        /* 10 in a row, and ... */
    uint32_t elsewhere_give_up_ms; /* ... 90,000 where the server names no TTL, else 2 x TTL + 10,000 */
    uint32_t elsewhere_min_ms;     /* 1,000 */
    uint32_t elsewhere_max_ms;     /* 2,000 */
    uint32_t dial_address_after;  /* 3: from the third elsewhere in a row the address is dialled; SWAMP_OFF */
    uint32_t history_poll_min_ms; /* 1,000 */
    uint32_t history_poll_max_ms; /* 2,000 */
    uint32_t history_give_up_ms;  /* 60,000 where the server names no TTL, else 2 x TTL */
    uint32_t max_not_found;       /* 5 */
    uint32_t give_up_ms;          /* 300,000: unavailable and draining */
    /* 120,000: an answer to run.attach, which a server may withhold for 2 x TTL */
    uint32_t answer_timeout_ms;
} swamp_session_options;

/* Sugar over swamp_session_next(): NULL members are skipped; called on the caller's thread. */
typedef struct swamp_session_callbacks {
    size_t size;
    void (*on_event)(const swamp_event *event, void *user); /* RUN and ACCEPTED */
    void (*on_attached)(const swamp_event *event, void *user);
    void (*on_elsewhere)(const swamp_event *event, void *user);
    void (*on_interrupted)(const swamp_event *event, void *user);
    void (*on_reconnecting)(const swamp_event *event, void *user);
    void (*on_gap)(const swamp_event *event, void *user);
    void (*on_draining)(const swamp_event *event, void *user);
    void (*on_done)(const swamp_event *event, void *user);
    void (*on_error)(const swamp_event *event, void *user);
    void *user;
} swamp_session_callbacks;

/**
 * Zero an options struct and set its size.
 *
 * @param      options  the struct
 * @param      size     sizeof(swamp_client_options) as the caller was compiled with
 * @return none
 * @thread any
 * @since  0.1
 */
SWAMP_API void swamp_client_options_init(swamp_client_options *options, size_t size);

/**
 * Zero an options struct and set its size.
 *
 * @param      options  the struct
 * @param      size     sizeof(swamp_session_options) as the caller was compiled with
 * @return none
 * @thread any
 * @since  0.1
 */
SWAMP_API void swamp_session_options_init(swamp_session_options *options, size_t size);

/**
 * Make a client; starts its network thread, connects nowhere yet.
 *
 * A token with any byte outside visible ASCII (0x21 to 0x7e), or of more than 512 bytes, is refused, and not shown in the error.
 *
 * @param[out] out      new client; unchanged on failure; caller frees with swamp_client_free()
 * @param      options  borrowed for the call, copied; NULL is an error
 * @param[out] error    on failure one line that says what to do, if not NULL; caller frees with swamp_free()
 * @return SWAMP_OK; SWAMP_E_INVALID (url, token), SWAMP_E_TLS (CA file), SWAMP_E_NOMEM, SWAMP_E_IO
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_client_new(swamp_client **out, const swamp_client_options *options,
                                               char **error);

/**
 * Free a client; its sessions, once their queues are empty, and waiting requests return SWAMP_E_CLOSED.
 *
 * @param      client  the client; NULL is fine
 * @return none
 * @thread owner
 * @since  0.1
 */
SWAMP_API void swamp_client_free(swamp_client *client);

/**
 * Start a run and follow it.
 *
 * @param[out] out           new session; unchanged on failure; caller frees with swamp_session_free()
 * @param      client        the client
 * @param      type          "workflow.run" or "model.method.run"
 * @param      payload_json  a JSON object; borrowed for the call, copied
 * @param      options       borrowed for the call, copied; NULL means defaults
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_JSON, SWAMP_E_RULES, SWAMP_E_TOO_BIG (1 MiB), SWAMP_E_CLOSED, SWAMP_E_NOMEM;
 *         swamp_client_error() has the line
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_session_start(swamp_session **out, swamp_client *client, const char *type,
                                                  const char *payload_json,
                                                  const swamp_session_options *options);

/**
 * Follow a run that exists.
 *
 * @param[out] out               new session; unchanged on failure; caller frees with swamp_session_free()
 * @param      client            the client
 * @param      run_id_or_cursor  a run's id, or a text from swamp_session_cursor()
 * @param      options           borrowed for the call, copied; NULL means defaults; after_seq and epoch override a cursor
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_CLOSED, SWAMP_E_NOMEM; swamp_client_error() has the line
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_session_attach(swamp_session **out, swamp_client *client,
                                                   const char *run_id_or_cursor,
                                                   const swamp_session_options *options);

/**
 * Start a run on a server of this process, without a port, and follow it.
 *
 * @param[out] out           new session; unchanged on failure; caller frees with swamp_session_free()
 * @param      server        a started server
 * @param      type          "workflow.run" or "model.method.run"
 * @param      payload_json  a JSON object; borrowed for the call, copied
 * @param      options       borrowed for the call, copied; NULL means defaults
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_JSON, SWAMP_E_RULES, SWAMP_E_TOO_BIG (1 MiB), SWAMP_E_STATE (not
 *         started, stopped, an observer), SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_session_local(swamp_session **out, swamp_server *server, const char *type,
                                                  const char *payload_json,
                                                  const swamp_session_options *options);

/**
 * Take the next event.
 *
 * @param      session     the session; one thread at a time
 * @param      timeout_ms  0: do not wait; -1: for ever
 * @param[out] out         the event; unchanged unless SWAMP_EVENT is returned; caller frees with swamp_event_free()
 * @return SWAMP_EVENT; SWAMP_OK: nothing yet; SWAMP_END: the last event was taken; SWAMP_E_CLOSED (the client or the
 *         server was freed, and all that had come was taken); SWAMP_E_NOMEM (too little memory to begin: nothing
 *         was sent)
 * @thread owner
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_session_next(swamp_session *session, int timeout_ms, swamp_event **out);

/**
 * Give a descriptor that is readable while swamp_session_next() has something, for the host's own loop.
 *
 * @param      session  the session
 * @return a descriptor owned by the session, gone with it: poll it for reading, nothing else; SWAMP_E_IO (no
 *         descriptor was to be had; swamp_session_next() works without)
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_session_fd(swamp_session *session);

/**
 * Take events until there is none within timeout_ms, and call the callbacks for them.
 *
 * swamp_session_free() inside a callback is legal and deferred.
 *
 * @param      session     the session
 * @param      timeout_ms  how long to wait for the next event; 0: do not wait; -1: until the end
 * @param      callbacks   borrowed for the call
 * @return SWAMP_OK: nothing more within the time; SWAMP_END; SWAMP_E_CLOSED (the client, the server or, in a
 *         callback, the session was freed); SWAMP_E_NOMEM; SWAMP_E_INVALID; SWAMP_E_REENTRANT (inside a callback of
 *         this session)
 * @thread owner
 * @since  0.1
 */
SWAMP_API int swamp_session_dispatch(swamp_session *session, int timeout_ms,
                                     const swamp_session_callbacks *callbacks);

/**
 * Give the place after the last event taken, as text from which another process can go on.
 *
 * @param      session  the session
 * @param[out] buf      zero-terminated printable text, at most 400 bytes; "" before the run has an id
 * @param      cap      its bytes
 * @return SWAMP_OK; SWAMP_E_TOO_BIG
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_session_cursor(swamp_session *session, char *buf, size_t cap);

/**
 * Ask the run to end; goes on across connections until a server has taken it.
 *
 * @param      session  the session
 * @param      reason   a person's words, of which 512 bytes at least are kept; NULL for none
 * @return SWAMP_OK: asked; SWAMP_E_STATE (the session has ended), SWAMP_E_CLOSED, SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_session_cancel(swamp_session *session, const char *reason);

/**
 * Free a session and close its connection; the run goes on.
 *
 * @param      session  the session; NULL is fine
 * @return none
 * @thread owner
 * @since  0.1
 */
SWAMP_API void swamp_session_free(swamp_session *session);

/**
 * Send one request and wait for its one answer.
 *
 * @param      client        the client
 * @param      type          such as "workflow.history.get", "run.cancel", "cluster.instances"
 * @param      payload_json  a JSON object; NULL for none; borrowed for the call
 * @param      timeout_ms    1 or more; connection included
 * @param[out] out           ANSWER, or ERROR with the server's code; unchanged on failure; caller frees with swamp_event_free()
 * @return SWAMP_EVENT; SWAMP_E_CONNECT, SWAMP_E_TIMEOUT, SWAMP_E_UNAUTHORIZED, SWAMP_E_PROTOCOL, SWAMP_E_INVALID,
 *         SWAMP_E_CLOSED, SWAMP_E_NOMEM, SWAMP_E_REENTRANT (log callback); swamp_client_error() has the line
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_client_request(swamp_client *client, const char *type,
                                                   const char *payload_json, int timeout_ms,
                                                   swamp_event **out);

/**
 * Send one request to a server of this process, without a port, and wait for its one answer.
 *
 * @param      server        a started server
 * @param      type          as for swamp_client_request()
 * @param      payload_json  a JSON object; NULL for none; borrowed for the call
 * @param      timeout_ms    1 or more
 * @param[out] out           as for swamp_client_request()
 * @return SWAMP_EVENT; SWAMP_E_TIMEOUT, SWAMP_E_INVALID, SWAMP_E_STATE, SWAMP_E_NOMEM, SWAMP_E_REENTRANT (log callback)
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_server_request(swamp_server *server, const char *type,
                                                   const char *payload_json, int timeout_ms,
                                                   swamp_event **out);

/**
 * Say what failed last on this handle: one line, what to do about it.
 *
 * @param      client  the client
 * @param[out] buf     zero-terminated text, cut to cap; "" when nothing failed
 * @param      cap     its bytes
 * @return SWAMP_OK
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_client_error(swamp_client *client, char *buf, size_t cap);

SWAMP_END_DECLS

#endif
