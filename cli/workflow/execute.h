/* Executes one run of a workflow on a thread of its own, and tells a sink what happens. */
#ifndef SWAMP_CLI_WORKFLOW_EXECUTE_H
#define SWAMP_CLI_WORKFLOW_EXECUTE_H

#include <stddef.h>
#include "inputs.h"
#include "workflow.h"

/* Where the run is told; swamp_run_emit(), _update() and _finish() with their statuses, or a test. */
typedef struct execute_sink {
    int (*emit)(void *user, const char *json, size_t len);
    int (*update)(void *user, const char *json, size_t len);
    /* Called exactly once, last of all; status is SWAMP_RUN_SUCCEEDED, _FAILED or _CANCELLED. */
    int (*finish)(void *user, int status, const char *last, size_t last_len, const char *run, size_t run_len);
    void *user;
} execute_sink;

typedef struct execution execution;

/*
 * Starts the thread. Takes a reference to flow, and values over; run_id is copied. Once emit or update give a
 * negative status (SWAMP_E_FENCED: the run was taken away), everything that runs is ended and nothing is
 * started. NULL: no thread could be made; nothing was called, values were freed.
 */
execution *execution_start(workflow *flow, input_values *values, const char *run_id,
                           const execute_sink *sink);

const char *execution_run_id(const execution *e);
/* Any thread, returns at once: TERM to what runs, KILL after 5 s, then finish with CANCELLED. First reason wins. */
void execution_cancel(execution *e, const char *reason);
/* The same for who cannot wait: KILL at once, also after a cancel. */
void execution_kill(execution *e, const char *reason);
int execution_is_done(execution *e); /* finish has returned: execution_free() will not wait */
void execution_free(execution *e);   /* waits for the end; NULL is fine */

#endif
