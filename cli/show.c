/* A run's events as lines for a person, without state: one event, one line or none. */
#include <string.h>
#include "out.h"
#include "show.h"
#include "term.h"

void
show_add_words(text *out, const char *words)
{
    if (words)
        term_add_words(out, words, strlen(words));
}

void
show_add_elapsed(text *out, int64_t ms)
{
    if (ms < 60000)
        text_addf(out, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
    else if (ms < 3600000)
        text_addf(out, "%lld m %02lld s", (long long)(ms / 60000), (long long)(ms / 1000 % 60));
    else
        text_addf(out, "%lld h %02lld m", (long long)(ms / 3600000), (long long)(ms / 60000 % 60));
}

const char *
show_interruption(const char *reason)
{
    static const struct {
        const char *reason, *words;
    } known[] = {
        {"instance_dead", "instance died"},
        {"instance_shutdown", "instance was stopped"},
        {"instance_fenced", "instance was declared dead"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].reason, reason) == 0)
            return known[i].words;
    return reason[0] ? reason : "instance died";
}

/* "build", "build/compile". */
static void
add_place(text *out, const json *event)
{
    const char *step = json_get_string(event, "stepId");
    show_add_words(out, json_get_string(event, "jobId"));
    if (step) {
        text_add(out, "/");
        show_add_words(out, step);
    }
}

/* Templates: %p the place, %{member} a member's text, %e error or error.message. */
static const struct {
    const char *kind, *words;
} templates[] = {
    {"started", "started %{workflowName}"},
    {"job_started", "%p: started"},
    {"step_started", "%p: started"},
    {"method_output", "%p | %{line}"},
    {"step_completed", "%p: succeeded"},
    {"step_failed", "%p: failed: %e"},
    {"step_skipped", "%p: skipped (%{reason})"},
    {"job_completed", "%p: %{status}"},
    {"job_skipped", "%p: skipped"},
    {"error", "error: %e"},
    /* other servers' and method runs' */
    {"executing", "executing %{modelName} %{methodName}"},
    {"suspended", "suspended"},
    {"validating_inputs", ""},
    {"evaluating_workflow", ""},
    {"evaluating_expressions", ""},
    {"resolving_model", ""},
    {"model_resolved", ""},
    {"method_executing", ""},
    {"run.accepted", ""},
    {"completed", ""}, /* the last line is the follower's */
    {"cancelled", ""},
};

static void
add_error(text *out, const json *event)
{
    const json *error = json_get(event, "error");
    const char *message = json_get_string(error, "message");
    show_add_words(out, message ? message : json_string(error));
}

static void
fill_template(text *out, const char *words, const json *event)
{
    while (*words) {
        if (words[0] != '%') {
            size_t len = strcspn(words, "%");
            text_add_bytes(out, words, len);
            words += len;
        } else if (words[1] == 'p') {
            add_place(out, event);
            words += 2;
        } else if (words[1] == 'e') {
            add_error(out, event);
            words += 2;
        } else { /* %{name} */
            char name[32] = "";
            size_t len = strcspn(words + 2, "}");
            memcpy(name, words + 2, len < sizeof(name) ? len : sizeof(name) - 1);
            show_add_words(out, json_get_string(event, name));
            words += len + 3;
        }
    }
}

void
show_add_event(text *out, const json *event)
{
    const char *kind = json_get_string(event, "kind");
    if (!kind)
        return;
    for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
        if (strcmp(templates[i].kind, kind) == 0) {
            fill_template(out, templates[i].words, event);
            if (strcmp(kind, "step_failed") == 0 && json_get_true(event, "allowedFailure"))
                text_add(out, " (allowed)");
            return;
        }
    }
    /* a kind of other servers: its name is better than nothing */
    text_add(out, "(");
    show_add_words(out, kind);
    text_add(out, ")");
}

void
show_add_cause(text *out, const json *run)
{
    const json *jobs = json_get(run, "jobs");
    for (const json *job = jobs ? jobs->first : NULL; job; job = job->next) {
        const json *steps = json_get(job, "steps");
        for (const json *step = steps ? steps->first : NULL; step; step = step->next) {
            const char *status = json_get_string(step, "status"), *error = json_get_string(step, "error");
            if (!status || strcmp(status, "failed") != 0 || json_get_true(step, "allowedFailure"))
                continue;
            text_add(out, "job ");
            show_add_words(out, json_get_string(job, "name"));
            text_add(out, ", step ");
            show_add_words(out, json_get_string(step, "name"));
            text_add(out, error ? ": " : "");
            show_add_words(out, error);
            return;
        }
    }
}

void
show_rows(const json *rows, const char *heading, void (*row)(const json *value))
{
    const json *first = rows && rows->type == JSON_ARRAY ? rows->first : NULL;
    text line = {0};

    if (first && !out_is_json() && !out_is_quiet())
        out_line("%s", heading);
    for (const json *value = first; value; value = value->next) {
        if (!out_is_json()) {
            row(value);
            continue;
        }
        text_clear(&line);
        json_write(value, &line);
        out_json(line.bytes, line.len);
    }
    text_free(&line);
}
