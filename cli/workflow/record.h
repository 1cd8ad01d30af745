/* The host's members of RUN (PROTOCOL 4): workflowId, workflowName, jobs with their steps. */
#ifndef SWAMP_CLI_WORKFLOW_RECORD_H
#define SWAMP_CLI_WORKFLOW_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include "../text.h"
#include "plan.h"

#define RECORD_ERROR_MAX 1024 /* bytes of a step's error */

/* What the plan does not know of a job or step. */
typedef struct record_mark {
    int64_t started_ms; /* 0: not begun */
    int64_t ended_ms;   /* 0: not ended */
    char *error;        /* of a step that failed */
} record_mark;

typedef struct record {
    const workflow *flow;
    record_mark *jobs;
    record_mark **steps; /* by job, then by step */
} record;

void record_begin(record *r, const workflow *flow);
void record_end(record *r);

/* Keeps words, cut to RECORD_ERROR_MAX between two characters. */
void record_fail(record *r, size_t job, size_t step, const char *words);
const char *record_error(const record *r, size_t job, size_t step);

/* Appends the object; p NULL: the run has not begun, everything is pending. */
void record_write(const record *r, const plan *p, text *out);

#endif
