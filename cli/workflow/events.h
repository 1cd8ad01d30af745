/* The JSON of a workflow run's events: exactly the kinds and members of PROTOCOL 4, and no others. */
#ifndef SWAMP_CLI_WORKFLOW_EVENTS_H
#define SWAMP_CLI_WORKFLOW_EVENTS_H

#include <stddef.h>
#include "../text.h"
#include "workflow.h"

#define EVENT_MESSAGE_MAX 200 /* PROTOCOL 3 */

/* Each appends one object to out. */
void event_plain(text *out, const char *kind); /* validating_inputs, evaluating_workflow */
void event_started(text *out, const char *run_id, const workflow *flow);
void event_job(text *out, const char *kind, const workflow_job *job);
void event_job_completed(text *out, const workflow_job *job, int failed);
void event_step(text *out, const char *kind, const workflow_job *job, const workflow_step *step);
void event_step_failed(text *out, const workflow_job *job, const workflow_step *step, const char *error);
void event_step_skipped(text *out, const workflow_job *job, const workflow_step *step);
void event_model_resolved(text *out, const workflow_job *job, const workflow_step *step);
void event_method_executing(text *out, const workflow_job *job, const workflow_step *step);
void event_method_output(text *out, const workflow_job *job, const workflow_step *step, int is_stderr,
                         const char *bytes, size_t len);
void event_completed(text *out);                     /* "run": null, which the library fills in */
void event_cancelled(text *out, const char *reason); /* the same; reason may be empty */
void event_error(text *out, const char *code, const char *message);

#endif
