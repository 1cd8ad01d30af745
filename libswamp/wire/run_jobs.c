/* The jobs and steps of a RUN: copied member by member, so that only what must change loses its bytes. */
#include "run_jobs.h"

#include <swamp/status.h>
#include "../util/utf8.h"
#include "limits.h"

#define SHORT_ERROR_MAX 100

struct rewrite {
    swamp__buf *out;
    swamp__buf text; /* one decoded error */
    int form;
    int ending;
};

static void
put_comma(swamp__buf *out)
{
    char last = out->len ? out->data[out->len - 1] : 0;
    if (last != '{' && last != '[')
        swamp__buf_text(out, ",");
}

static void
put_pair(swamp__buf *out, swamp__json key, swamp__json value)
{
    put_comma(out);
    swamp__buf_append(out, key.at, key.len);
    swamp__buf_text(out, ":");
    swamp__buf_append(out, value.at, value.len);
}

/* Decoded text is never longer than its JSON: most errors are copied without a look inside. */
static void
put_error(struct rewrite *rewrite, swamp__json key, swamp__json value)
{
    size_t max = rewrite->form >= SWAMP__JOBS_SHORT_ERRORS ? SHORT_ERROR_MAX : SWAMP__STEP_ERROR_MAX;

    if (value.type != SWAMP__JSON_STRING || value.len - 2 <= max) {
        put_pair(rewrite->out, key, value);
        return;
    }
    swamp__buf_clear(&rewrite->text);
    if (swamp__json_decode(value, &rewrite->text) != SWAMP_OK) {
        swamp__json_put_member(rewrite->out, "error", "");
        return;
    }
    if (rewrite->text.len <= max) {
        put_pair(rewrite->out, key, value);
        return;
    }
    put_comma(rewrite->out);
    swamp__buf_text(rewrite->out, "\"error\":");
    swamp__json_put_string_n(rewrite->out, rewrite->text.data,
                             swamp__utf8_cut(rewrite->text.data, rewrite->text.len, max));
}

/* PROTOCOL 4: nothing is running any more; what never began is skipped. */
static const char *
ended_step(swamp__json status)
{
    if (swamp__json_equals(status, "running"))
        return "failed";
    return swamp__json_equals(status, "pending") ? "skipped" : NULL;
}

static void
put_step(struct rewrite *rewrite, swamp__json step)
{
    swamp__json_iter iter;
    swamp__json key, value;

    put_comma(rewrite->out);
    if (step.type != SWAMP__JSON_OBJECT) {
        swamp__buf_append(rewrite->out, step.at, step.len);
        return;
    }
    swamp__buf_text(rewrite->out, "{");
    swamp__json_enter(step, &iter);
    while (swamp__json_next_member(&iter, &key, &value)) {
        const char *ended = NULL;
        if (rewrite->ending && swamp__json_equals(key, "status"))
            ended = ended_step(value);
        if (ended)
            swamp__json_put_member(rewrite->out, "status", ended);
        else if (swamp__json_equals(key, "error"))
            put_error(rewrite, key, value);
        else
            put_pair(rewrite->out, key, value);
    }
    swamp__buf_text(rewrite->out, "}");
}

static int
has_succeeded(swamp__json step)
{
    swamp__json status;
    return swamp__json_find(step, "status", &status) && swamp__json_equals(status, "succeeded");
}

/* Returns how many were left out. */
static int64_t
put_steps(struct rewrite *rewrite, swamp__json key, swamp__json steps)
{
    swamp__json_iter iter;
    swamp__json step;
    int64_t omitted = 0;

    if (steps.type != SWAMP__JSON_ARRAY) {
        put_pair(rewrite->out, key, steps);
        return 0;
    }
    put_comma(rewrite->out);
    swamp__buf_text(rewrite->out, "\"steps\":[");
    swamp__json_enter(steps, &iter);
    while (swamp__json_next_element(&iter, &step)) {
        if (rewrite->form >= SWAMP__JOBS_NO_SUCCEEDED_STEPS && has_succeeded(step))
            omitted++;
        else
            put_step(rewrite, step);
    }
    swamp__buf_text(rewrite->out, "]");
    return omitted;
}

static int
has_begun(swamp__json job)
{
    swamp__json steps, step, status;
    swamp__json_iter iter;

    if (!swamp__json_find(job, "steps", &steps) || steps.type != SWAMP__JSON_ARRAY)
        return 0;
    swamp__json_enter(steps, &iter);
    while (swamp__json_next_element(&iter, &step))
        if (swamp__json_find(step, "status", &status) && !swamp__json_equals(status, "pending") &&
            !swamp__json_equals(status, "skipped"))
            return 1;
    return 0;
}

static const char *
ended_job(swamp__json job, swamp__json status)
{
    if (swamp__json_equals(status, "running"))
        return "failed";
    if (!swamp__json_equals(status, "pending"))
        return NULL;
    return has_begun(job) ? "failed" : "skipped";
}

static void
put_job(struct rewrite *rewrite, swamp__json job)
{
    swamp__json_iter iter;
    swamp__json key, value;
    int bare = rewrite->form >= SWAMP__JOBS_BARE;
    int64_t omitted = 0, before = 0;

    if (job.type != SWAMP__JSON_OBJECT) {
        if (!bare) {
            put_comma(rewrite->out);
            swamp__buf_append(rewrite->out, job.at, job.len);
        }
        return;
    }
    put_comma(rewrite->out);
    swamp__buf_text(rewrite->out, "{");
    swamp__json_enter(job, &iter);
    while (swamp__json_next_member(&iter, &key, &value)) {
        if (swamp__json_equals(key, "status")) {
            const char *ended = rewrite->ending ? ended_job(job, value) : NULL;
            if (ended)
                swamp__json_put_member(rewrite->out, "status", ended);
            else
                put_pair(rewrite->out, key, value);
        } else if (swamp__json_equals(key, "name")) {
            put_pair(rewrite->out, key, value);
        } else if (bare) {
            continue;
        } else if (swamp__json_equals(key, "steps")) {
            omitted += put_steps(rewrite, key, value);
        } else if (swamp__json_equals(key, "stepsOmitted") && value.type == SWAMP__JSON_NUMBER) {
            /* A document that was shrunk before: the counts add up. */
            (void)swamp__json_i64(value, &before);
        } else {
            put_pair(rewrite->out, key, value);
        }
    }
    if (before > 0 && before < INT32_MAX)
        omitted += before;
    if (omitted)
        swamp__json_put_member_i64(rewrite->out, "stepsOmitted", omitted);
    swamp__buf_text(rewrite->out, "}");
}

int
swamp__run_jobs_write(swamp__buf *out, swamp__json jobs, int form, int ending)
{
    struct rewrite rewrite = {.out = out, .form = form, .ending = ending};
    swamp__json_iter iter;
    swamp__json job;

    swamp__buf_init(&rewrite.text);
    swamp__buf_text(out, "[");
    if (jobs.type == SWAMP__JSON_ARRAY && form < SWAMP__JOBS_NONE) {
        swamp__json_enter(jobs, &iter);
        while (swamp__json_next_element(&iter, &job))
            put_job(&rewrite, job);
    }
    swamp__buf_text(out, "]");
    int rc = swamp__buf_status(&rewrite.text);
    swamp__buf_free(&rewrite.text);
    return rc == SWAMP_OK ? swamp__buf_status(out) : rc;
}
