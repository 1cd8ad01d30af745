/* The host's side of runs: work that the server asks for, and handles of the runs that the host executes. */
#ifndef SWAMP_RUN_H
#define SWAMP_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/attributes.h>

SWAMP_BEGIN_DECLS

/* A piece of work for the host. Got from swamp_server_next(), given back by swamp_work_answer(), also after the
 * server is gone. */
typedef struct swamp_work swamp_work;

/* A run that the host executes: from START until swamp_run_finish(). */
typedef struct swamp_run swamp_run;

/* Kinds of work. */
#define SWAMP_WORK_RESOLVE 1 /* is this name known? answer before any work is done */
#define SWAMP_WORK_SEARCH 2  /* list what can be run */
#define SWAMP_WORK_START 3   /* execute the run, then call swamp_run_finish() */
#define SWAMP_WORK_CANCEL 4  /* end the run soon, then call swamp_run_finish() as for any end */

/* How a run ended. */
#define SWAMP_RUN_SUCCEEDED 1
#define SWAMP_RUN_FAILED 2
#define SWAMP_RUN_CANCELLED 3

/**
 * Say what kind of work this is.
 *
 * @param      work  the work
 * @return SWAMP_WORK_RESOLVE, _SEARCH, _START or _CANCEL
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_work_kind(const swamp_work *work);

/**
 * Name the request's type: "workflow.run", "model.method.run", "workflow.search"; "" for CANCEL.
 *
 * @param      work  the work
 * @return borrowed from work, never NULL
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_work_type(const swamp_work *work);

/**
 * Give the request's payload, a JSON object exactly as the client sent it.
 *
 * @param      work  the work; RESOLVE, START and SEARCH have one, CANCEL has "{}"
 * @param[out] len   its bytes, if not NULL
 * @return borrowed from work, zero-terminated, never NULL
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_work_payload(const swamp_work *work, size_t *len);

/**
 * Name the run: RESOLVE (the id that it will have), START and CANCEL; "" for SEARCH.
 *
 * @param      work  the work
 * @return borrowed from work, never NULL
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_work_run_id(const swamp_work *work);

/**
 * Name who asked: "user:x" or, without authentication, "anonymous".
 *
 * @param      work  the work
 * @return borrowed from work, never NULL
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_work_principal(const swamp_work *work);

/**
 * Say why a run is to end: CANCEL only, "" for other kinds.
 *
 * A person's words, or "instance_shutdown", "instance_fenced", "max_run_duration".
 *
 * @param      work  the work
 * @return borrowed from work, never NULL
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_work_reason(const swamp_work *work);

/**
 * Get the run's handle: START and CANCEL.
 *
 * The handle is the same for START and CANCEL of one run, and lives until swamp_run_finish().
 *
 * @param      work  the work
 * @param[out] out   the run; unchanged on failure; ended by swamp_run_finish(), never freed otherwise
 * @return SWAMP_OK; SWAMP_E_STATE (no START or CANCEL); SWAMP_E_CLOSED (CANCEL of a run already finished)
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_work_run(const swamp_work *work, swamp_run **out);

/**
 * Answer a piece of work, and free it.
 *
 * RESOLVE: SWAMP_OK with {"resourceName", "workflowId", "run": {host's members of RUN}} admits the run (the two
 *   texts of at most 256 bytes; without a workflowId the resourceName is it; "run" may be left out);
 *   SWAMP_E_NOT_FOUND or SWAMP_E_REFUSED with a JSON array of events, which the client gets, then "done":
 *   nothing runs and nothing is recorded.
 * SEARCH: SWAMP_OK with the JSON array of results.
 * START: SWAMP_OK as soon as the run was taken on, with NULL; a failure ends the run as failed.
 * CANCEL: SWAMP_OK with NULL.
 *
 * @param      work    consumed, whatever is returned
 * @param      status  SWAMP_OK or a negative status
 * @param      json    see above; borrowed for the call; NULL for none
 * @param      len     its bytes
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_JSON, SWAMP_E_RULES (the client gets internal_error), SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_work_answer(swamp_work *work, int status, const char *json, size_t len);

/**
 * Name a run.
 *
 * @param      run  the run
 * @return its id, a UUID; borrowed from run
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_run_id(const swamp_run *run);

/**
 * Append an event to a run and let its viewers have it.
 *
 * The event is checked strictly, gets its sequence number, and is copied. Never blocks on the network.
 * Events of one run emitted by several threads get their numbers in the order in which the calls got in.
 *
 * @param      run         the run
 * @param      event_json  a JSON object without a member "seq"; borrowed for the call
 * @param      len         its bytes, at most 256 KiB
 * @return SWAMP_OK; SWAMP_E_INVALID (no object, or it has a seq), SWAMP_E_JSON, SWAMP_E_RULES, SWAMP_E_TOO_BIG,
 *         SWAMP_E_NOMEM, SWAMP_E_FENCED (the run was taken away: finish it), SWAMP_E_CLOSED
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_run_emit(swamp_run *run, const char *event_json, size_t len);

/**
 * Give the run's progress for history.
 *
 * The last one wins; written at most once a second. Members that the library owns (id, status, times,
 * instanceId, interruptReason) are ignored.
 *
 * @param      run       the run
 * @param      run_json  a JSON object with the host's members of RUN; borrowed for the call
 * @param      len       its bytes
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_JSON, SWAMP_E_RULES, SWAMP_E_TOO_BIG (1 MiB), SWAMP_E_NOMEM,
 *         SWAMP_E_FENCED, SWAMP_E_CLOSED
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_run_update(swamp_run *run, const char *run_json, size_t len);

/**
 * End a run; must be called exactly once for each START, whatever happened.
 *
 * The last event is withheld until the final record is committed; then the viewers get it and "done".
 * Does not wait for that. The handle is consumed and may not be used again. In last_event_json a member
 * "run" with the value null is replaced by the final RUN as it was recorded. A last event that is refused is
 * replaced by {"kind":"completed","run":RUN}, whose status says failed; a run that the server ends by itself gets
 * that, or {"kind":"cancelled","run":RUN}.
 *
 * @param      run              consumed, whatever is returned
 * @param      status           SWAMP_RUN_SUCCEEDED, _FAILED, _CANCELLED
 * @param      last_event_json  the last event; borrowed for the call; NULL for none
 * @param      last_len         its bytes
 * @param      run_json         as for swamp_run_update(); NULL: what was last given
 * @param      run_len          its bytes
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_JSON, SWAMP_E_RULES, SWAMP_E_TOO_BIG (the run still ends, as failed and
 *         without that text), SWAMP_E_NOMEM (as before); SWAMP_E_FENCED (the end was not recorded: the run was taken
 *         away), SWAMP_E_CLOSED (nor was it: the server's stop had ended the run, or the server was freed)
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_run_finish(swamp_run *run, int status, const char *last_event_json, size_t last_len,
                               const char *run_json, size_t run_len);

SWAMP_END_DECLS

#endif
