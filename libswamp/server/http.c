/* HTTP beside the WebSocket (PROTOCOL 8): health, readiness, the list of instances, cancelling. */
#include <stdio.h>
#include "inner.h"
#include "../store/unreadable.h"

/* An answer that waits for the store. */
typedef struct pending {
    swamp__http_request request; /* its texts are not kept */
    int abandoned;
    char execution_type[16];
    char run_id[65];
} pending;

static void
answer(const swamp__http_request *request, int status, const char *type, swamp__buf *body)
{
    swamp__http_answer out = {.status = status, .content_type = type, .body = *body};
    if (swamp__buf_status(body) != SWAMP_OK) {
        out.status = 503;
        out.body.len = 0;
    }
    request->done(request->user, &out);
    swamp__buf_free(body);
}

/* {"status":STATUS,MEMBER:VALUE}, the value NULL: without. */
static void
answer_status(const swamp__http_request *request, int http, const char *status, const char *member,
              const char *value)
{
    swamp__buf body;
    swamp__buf_init(&body);
    swamp__buf_text(&body, "{");
    swamp__json_put_member(&body, "status", status);
    swamp__json_put_member(&body, member, value);
    swamp__buf_text(&body, "}");
    answer(request, http, "application/json", &body);
}

static void *
answer_health(swamp__instance *instance, const swamp__http_request *request, const char *rest)
{
    (void)rest;
    answer_status(request, 200, "ok", "version", instance->options.version);
    return NULL;
}

/* `unreadableRecords`: each was named in the log once; more than none is a finding for whoever watches the instances. */
static void
answer_joined(const swamp__instance *instance, const swamp__http_request *request)
{
    swamp__unreadable *unreadable = instance->questions->unreadable;
    uint64_t count = unreadable ? swamp__unreadable_count(unreadable) : 0;
    int degraded = swamp__instance_degraded(instance);
    swamp__buf body;
    swamp__buf_init(&body);
    swamp__buf_text(&body, "{");
    swamp__json_put_member(&body, "status", degraded ? "degraded" : "ready");
    if (degraded)
        swamp__json_put_member(&body, "reason", "the store does not answer");
    else
        swamp__json_put_member(&body, "instanceId", instance->options.instance_id);
    if (count)
        swamp__json_put_member_i64(&body, "unreadableRecords", (int64_t)count);
    swamp__buf_text(&body, "}");
    answer(request, 200, "application/json", &body);
}

/* A store fault after start is 200: running runs can still be attached, and 503 everywhere would leave no backend. */
static void *
answer_ready(swamp__instance *instance, const swamp__http_request *request, const char *rest)
{
    (void)rest;
    if (instance->phase != SWAMP__PHASE_RUNNING || instance->fenced)
        answer_status(request, 503, "draining", "", NULL);
    else if (!instance->joined)
        answer_status(request, 503, "starting", "", NULL);
    else
        answer_joined(instance, request);
    return NULL;
}

static void
answer_unavailable(const swamp__http_request *request)
{
    answer_status(request, 503, "unavailable", "message", "the store does not answer");
}

static pending *
new_pending(const swamp__http_request *request)
{
    pending *waiting = swamp__calloc(1, sizeof *waiting);
    if (!waiting) {
        answer_unavailable(request);
        return NULL;
    }
    waiting->request = *request;
    return waiting;
}

static void
answer_instances(const swamp__http_request *request, const swamp__buf *rows)
{
    swamp__buf body;
    swamp__buf_init(&body);
    swamp__buf_text(&body, "{\"instances\":");
    swamp__buf_append(&body, rows->data, rows->len);
    swamp__buf_text(&body, "}");
    body.failed |= rows->failed;
    answer(request, 200, "application/json", &body);
}

static void
tell_instances(swamp__job *job, void *user)
{
    pending *waiting = user;
    if (waiting->abandoned)
        ;
    else if (job->ask.question.status == SWAMP_OK)
        answer_instances(&waiting->request, &((swamp__instances_job *)job)->rows);
    else
        answer_unavailable(&waiting->request);
    swamp__free(waiting);
}

static void *
ask_instances(swamp__instance *instance, const swamp__http_request *request, const char *rest)
{
    (void)rest;
    if (!instance->has_store) {
        swamp__buf rows;
        swamp__buf_init(&rows);
        swamp__instances_put_self(instance, &rows);
        answer_instances(request, &rows);
        swamp__buf_free(&rows);
        return NULL;
    }
    pending *waiting = new_pending(request);
    if (!waiting)
        return NULL;
    swamp__instances_job *job = swamp__instances_ask(instance);
    if (!job) {
        answer_unavailable(request);
        swamp__free(waiting);
        return NULL;
    }
    job->job.told = tell_instances;
    job->job.user = waiting;
    return waiting;
}

static void
answer_cancelled(const swamp__http_request *request, const char *execution_type, const char *run_id)
{
    swamp__buf body;
    swamp__buf_init(&body);
    swamp__buf_text(&body, "{\"status\":\"cancelled\"");
    swamp__json_put_member(&body, "executionType", execution_type);
    swamp__json_put_member(&body, "executionId", run_id);
    swamp__buf_text(&body, "}");
    answer(request, 200, "application/json", &body);
}

static void
answer_no_run(const swamp__http_request *request)
{
    answer_status(request, 404, "not_found", "message", "no such run is active");
}

static void
tell_cancelled(swamp__job *job, void *user)
{
    pending *waiting = user;
    if (waiting->abandoned)
        ;
    else if (job->ask.question.status == SWAMP_OK)
        answer_cancelled(&waiting->request, waiting->execution_type, waiting->run_id);
    else if (job->ask.question.status >= 0)
        answer_no_run(&waiting->request);
    else
        answer_unavailable(&waiting->request);
    swamp__free(waiting);
}

static void *
ask_cancel(swamp__instance *instance, const swamp__http_request *request, const char *rest)
{
    const char *execution_type = strncmp(rest, "workflow-run/", 13) == 0 ? "workflow-run" : "method-run";
    const char *run_id = strchr(rest, '/') + 1;
    if (!swamp__id_is_key_segment(run_id)) {
        answer_no_run(request);
        return NULL;
    }
    swamp_run *run = swamp__registry_find(instance->registry, run_id);
    if (run && run->state != SWAMP__RUN_CLEANING) {
        if (swamp__cancel_run(instance, run, "", NULL))
            answer_cancelled(request, execution_type, run_id);
        else
            answer_no_run(request);
        return NULL;
    }
    if (!instance->has_store) {
        answer_no_run(request);
        return NULL;
    }
    pending *waiting = new_pending(request);
    if (!waiting)
        return NULL;
    snprintf(waiting->execution_type, sizeof waiting->execution_type, "%s", execution_type);
    snprintf(waiting->run_id, sizeof waiting->run_id, "%s", run_id);
    swamp__cancel_job *job = swamp__cancel_elsewhere(instance, run_id, "http", "");
    if (!job) {
        answer_unavailable(request);
        swamp__free(waiting);
        return NULL;
    }
    job->job.told = tell_cancelled;
    job->job.user = waiting;
    return waiting;
}

/* GET stands for HEAD, too. A path ending in '/' and longer than that is a prefix; `rest` is what follows `base`. */
static const struct route {
    const char *method, *path;
    size_t base; /* bytes of the path that `rest` does not repeat */
    void *(*ask)(swamp__instance *instance, const swamp__http_request *request, const char *rest);
} routes[] = {
    {"GET", "/health", 0, answer_health},
    {"GET", "/", 0, answer_health},
    {"GET", "/ready", 0, answer_ready},
    {"GET", "/api/v1/cluster/instances", 0, ask_instances},
    {"POST", "/api/v1/cancel/workflow-run/", 15, ask_cancel},
    {"POST", "/api/v1/cancel/method-run/", 15, ask_cancel},
};

static int
path_matches(const struct route *route, const char *path)
{
    size_t len = strlen(route->path);
    if (route->base)
        return strncmp(path, route->path, len) == 0;
    return strncmp(path, route->path, len) == 0 && (path[len] == '\0' || path[len] == '?');
}

void *
swamp__http_ask(swamp__instance *instance, const swamp__http_request *request)
{
    const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (strcmp(routes[i].method, method) == 0 && path_matches(&routes[i], request->path))
            return routes[i].ask(instance, request, request->path + routes[i].base);
    swamp__buf body;
    swamp__buf_init(&body);
    swamp__buf_text(&body, "not found\n");
    answer(request, 404, "text/plain", &body);
    return NULL;
}

void
swamp__http_abandon(void *token)
{
    pending *waiting = token;
    waiting->abandoned = 1;
}
