/* One function an event; members in PROTOCOL 4's order. Jobs and steps are named by their names. */
#include "events.h"

/* {"kind":K */
static void
begin(text *out, const char *kind)
{
    text_addf(out, "{\"kind\":\"%s\"", kind);
}

static void
add_member(text *out, const char *key, const char *words)
{
    text_addf(out, ",\"%s\":", key);
    text_add_json(out, words);
}

static void
end(text *out)
{
    text_add(out, "}");
}

static void
begin_step(text *out, const char *kind, const workflow_job *job, const workflow_step *step)
{
    begin(out, kind);
    add_member(out, "jobId", job->node.name);
    add_member(out, "stepId", step->node.name);
}

void
event_plain(text *out, const char *kind)
{
    begin(out, kind);
    end(out);
}

void
event_started(text *out, const char *run_id, const workflow *flow)
{
    begin(out, "started");
    add_member(out, "runId", run_id);
    add_member(out, "workflowName", flow->name);
    text_add(out, ",\"jobs\":[");
    for (size_t i = 0; i < flow->job_count; i++) {
        const workflow_job *job = &flow->jobs[i];
        text_add(out, i ? ",{\"id\":" : "{\"id\":");
        text_add_json(out, job->node.name);
        text_addf(out, ",\"stepCount\":%zu,\"dependsOn\":[", job->step_count);
        for (size_t k = 0; k < job->node.need_count; k++) {
            text_add(out, k ? "," : "");
            text_add_json(out, job->node.needs[k].name);
        }
        text_add(out, "]}");
    }
    text_add(out, "]");
    end(out);
}

void
event_job(text *out, const char *kind, const workflow_job *job)
{
    begin(out, kind);
    add_member(out, "jobId", job->node.name);
    end(out);
}

void
event_job_completed(text *out, const workflow_job *job, int failed)
{
    begin(out, "job_completed");
    add_member(out, "jobId", job->node.name);
    add_member(out, "status", failed ? "failed" : "succeeded");
    end(out);
}

void
event_step(text *out, const char *kind, const workflow_job *job, const workflow_step *step)
{
    begin_step(out, kind, job, step);
    end(out);
}

void
event_step_failed(text *out, const workflow_job *job, const workflow_step *step, const char *error)
{
    begin_step(out, "step_failed", job, step);
    add_member(out, "error", error);
    if (step->allow_failure)
        text_add(out, ",\"allowedFailure\":true");
    end(out);
}

void
event_step_skipped(text *out, const workflow_job *job, const workflow_step *step)
{
    begin_step(out, "step_skipped", job, step);
    add_member(out, "reason", "dependency");
    end(out);
}

void
event_model_resolved(text *out, const workflow_job *job, const workflow_step *step)
{
    begin_step(out, "model_resolved", job, step);
    add_member(out, "modelName", step->model_name);
    add_member(out, "modelType", "command/shell");
    add_member(out, "modelId", step->model_name); /* there is no model store: its name is all it has */
    add_member(out, "methodName", "execute");
    end(out);
}

void
event_method_executing(text *out, const workflow_job *job, const workflow_step *step)
{
    begin_step(out, "method_executing", job, step);
    add_member(out, "modelName", step->model_name);
    add_member(out, "methodName", "execute");
    end(out);
}

void
event_method_output(text *out, const workflow_job *job, const workflow_step *step, int is_stderr,
                    const char *bytes, size_t len)
{
    begin_step(out, "method_output", job, step);
    add_member(out, "modelName", step->model_name);
    add_member(out, "methodName", "execute");
    add_member(out, "stream", is_stderr ? "stderr" : "stdout");
    text_add(out, ",\"line\":");
    text_add_json_part(out, bytes, len);
    end(out);
}

void
event_completed(text *out)
{
    begin(out, "completed");
    text_add(out, ",\"run\":null");
    end(out);
}

void
event_cancelled(text *out, const char *reason)
{
    begin(out, "cancelled");
    text_add(out, ",\"run\":null");
    if (*reason)
        add_member(out, "reason", reason);
    end(out);
}

void
event_error(text *out, const char *code, const char *message)
{
    begin(out, "error");
    text_addf(out, ",\"error\":{\"code\":\"%s\",\"message\":", code);
    text_add_json_part(out, message, text_fit(message, EVENT_MESSAGE_MAX));
    text_add(out, "}");
    end(out);
}
