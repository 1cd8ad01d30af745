/* History of a run as this host sees it; id, status and times of the run are the library's. */
#include <stdlib.h>
#include <string.h>
#include "record.h"
#include "../memory.h"

void
record_begin(record *r, const workflow *flow)
{
    r->flow = flow;
    r->jobs = memory_new(flow->job_count, sizeof(*r->jobs));
    r->steps = memory_new(flow->job_count, sizeof(*r->steps));
    for (size_t i = 0; i < flow->job_count; i++)
        r->steps[i] = memory_new(flow->jobs[i].step_count, sizeof(**r->steps));
}

void
record_end(record *r)
{
    for (size_t i = 0; i < r->flow->job_count; i++) {
        for (size_t k = 0; k < r->flow->jobs[i].step_count; k++)
            free(r->steps[i][k].error);
        free(r->steps[i]);
    }
    free(r->steps);
    free(r->jobs);
}

void
record_fail(record *r, size_t job, size_t step, const char *words)
{
    free(r->steps[job][step].error);
    r->steps[job][step].error = memory_copy_part(words, text_fit(words, RECORD_ERROR_MAX));
}

const char *
record_error(const record *r, size_t job, size_t step)
{
    return r->steps[job][step].error ? r->steps[job][step].error : "";
}

static const char *
state_name(int state)
{
    switch (state) {
    case PLAN_RUNNING:
        return "running";
    case PLAN_SUCCEEDED:
        return "succeeded";
    case PLAN_FAILED:
        return "failed";
    case PLAN_SKIPPED:
        return "skipped";
    default:
        return "pending";
    }
}

static void
write_common(const char *name, int state, const record_mark *mark, text *out)
{
    text_add(out, "{\"name\":");
    text_add_json(out, name);
    text_addf(out, ",\"status\":\"%s\"", state_name(state));
    if (mark->ended_ms)
        text_addf(out, ",\"duration\":%lld", (long long)(mark->ended_ms - mark->started_ms));
}

static void
write_step(const record *r, const plan *p, size_t job, size_t step, text *out)
{
    const workflow_step *what = &r->flow->jobs[job].steps[step];
    const record_mark *mark = &r->steps[job][step];
    int state = p ? plan_step_state(p, job, step) : PLAN_WAITING;
    write_common(what->node.name, state, mark, out);
    if (mark->error) {
        text_add(out, ",\"error\":");
        text_add_json(out, mark->error);
    }
    if (state == PLAN_FAILED && what->allow_failure)
        text_add(out, ",\"allowedFailure\":true");
    text_add(out, "}");
}

void
record_write(const record *r, const plan *p, text *out)
{
    text_add(out, "{\"workflowId\":");
    text_add_json(out, r->flow->id);
    text_add(out, ",\"workflowName\":");
    text_add_json(out, r->flow->name);
    text_add(out, ",\"jobs\":[");
    for (size_t i = 0; i < r->flow->job_count; i++) {
        const workflow_job *job = &r->flow->jobs[i];
        text_add(out, i ? "," : "");
        write_common(job->node.name, p ? plan_job_state(p, i) : PLAN_WAITING, &r->jobs[i], out);
        text_add(out, ",\"steps\":[");
        for (size_t k = 0; k < job->step_count; k++) {
            text_add(out, k ? "," : "");
            write_step(r, p, i, k, out);
        }
        text_add(out, "]}");
    }
    text_add(out, "]}");
}
