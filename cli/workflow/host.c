/* RESOLVE, SEARCH, START and CANCEL (swamp/run.h) over a catalogue and a list of executions. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "catalog.h"
#include "events.h"
#include "execute.h"
#include "host.h"
#include "record.h"
#include "../memory.h"

/* A cancel that overtook its START: each comes on a thread of its own (swamp/server.h, swamp_executor). */
typedef struct early_cancel {
    char *run_id;
    char *reason;
} early_cancel;

struct workflow_host {
    workflow_catalog *catalog;
    swamp_log_fn log; /* may be NULL */
    void *log_user;
    pthread_mutex_t lock; /* for all below */
    execution **runs;
    size_t count;
    early_cancel *early;
    size_t early_count;
};

workflow_host *
workflow_host_new(const char *dir, swamp_log_fn log, void *log_user)
{
    workflow_host *host = memory_new(1, sizeof(*host));
    host->log = log;
    host->log_user = log_user;
    host->catalog = workflow_catalog_new(dir, log, log_user);
    pthread_mutex_init(&host->lock, NULL);
    return host;
}

void
workflow_host_free(workflow_host *host)
{
    if (!host)
        return;
    for (size_t i = 0; i < host->count; i++) /* all are told before one is waited for */
        execution_cancel(host->runs[i], "instance_shutdown");
    for (size_t i = 0; i < host->count; i++)
        execution_free(host->runs[i]);
    free(host->runs);
    while (host->early_count > 0) {
        free(host->early[--host->early_count].run_id);
        free(host->early[host->early_count].reason);
    }
    free(host->early);
    workflow_catalog_free(host->catalog);
    pthread_mutex_destroy(&host->lock);
    free(host);
}

size_t
workflow_host_count(workflow_host *host, size_t *broken)
{
    size_t count = workflow_catalog_count(host->catalog);
    *broken = workflow_catalog_broken(host->catalog);
    return count;
}

void
workflow_host_hurry(workflow_host *host)
{
    pthread_mutex_lock(&host->lock);
    for (size_t i = 0; i < host->count; i++)
        execution_kill(host->runs[i], "instance_shutdown");
    pthread_mutex_unlock(&host->lock);
}

/* ---- what a request asks for ---- */

typedef struct request {
    json *payload;
    workflow *flow;
    input_values values;
    text refusal; /* not empty: the events that say why not */
    int status;   /* for the answer */
} request;

static void
add_refusal(request *r, const char *code, const char *message, int status)
{
    r->status = status;
    event_plain(&r->refusal, "validating_inputs");
    text_add(&r->refusal, ",");
    event_error(&r->refusal, code, message);
}

static void
refuse_name(request *r, workflow_host *host, const char *name)
{
    text message = {0};
    size_t broken = workflow_catalog_broken(host->catalog);
    char *mistake = workflow_catalog_mistake(host->catalog, name);
    if (mistake) {
        add_refusal(r, "validation_failed", mistake, SWAMP_E_REFUSED);
        free(mistake);
        return;
    }
    text_addf(&message, "there is no workflow '%.80s'", name);
    if (broken)
        text_addf(&message, "; %zu workflow file%s mistakes and cannot be run: see `swamp workflow validate`",
                  broken, broken == 1 ? " has" : "s have");
    add_refusal(r, "workflow_not_found", message.bytes, SWAMP_E_NOT_FOUND);
    text_free(&message);
}

static void
read_request(workflow_host *host, const swamp_work *work, request *r)
{
    size_t len;
    const char *payload = swamp_work_payload(work, &len), *name;
    char *error = NULL;
    if (strcmp(swamp_work_type(work), "workflow.run") != 0) {
        event_error(&r->refusal, "model_not_found", "this server runs workflows only; it has no models");
        r->status = SWAMP_E_NOT_FOUND;
        return;
    }
    r->payload = json_read(payload, len, &error, NULL);
    name = json_get_string(r->payload, "workflowIdOrName");
    r->flow = name ? workflow_catalog_find(host->catalog, name) : NULL;
    if (!name)
        add_refusal(r, "validation_failed", error ? error : "'workflowIdOrName' is missing", SWAMP_E_REFUSED);
    else if (!r->flow)
        refuse_name(r, host, name);
    else if (!inputs_check(r->flow, json_get(r->payload, "inputs"), &r->values, &error))
        add_refusal(r, "validation_failed", error, SWAMP_E_REFUSED);
    free(error);
}

static void
free_request(request *r)
{
    json_free(r->payload);
    workflow_unref(r->flow);
    input_values_free(&r->values);
    text_free(&r->refusal);
}

/* ---- the work ---- */

static void
resolve(workflow_host *host, swamp_work *work)
{
    request r = {0};
    text answer = {0};
    read_request(host, work, &r);
    if (r.refusal.len > 0) {
        text_addf(&answer, "[%s]", r.refusal.bytes);
    } else {
        record run;
        text_add(&answer, "{\"resourceName\":");
        text_add_json(&answer, r.flow->name);
        text_add(&answer, ",\"workflowId\":");
        text_add_json(&answer, r.flow->id);
        text_add(&answer, ",\"run\":");
        record_begin(&run, r.flow);
        record_write(&run, NULL, &answer);
        record_end(&run);
        text_add(&answer, "}");
    }
    swamp_work_answer(work, r.status, answer.bytes, answer.len);
    text_free(&answer);
    free_request(&r);
}

static void
search(workflow_host *host, swamp_work *work)
{
    size_t len;
    const char *bytes = swamp_work_payload(work, &len);
    json *payload = json_read(bytes, len, NULL, NULL);
    text results = {0};
    workflow_catalog_search(host->catalog, json_get_string(payload, "query"), &results);
    swamp_work_answer(work, SWAMP_OK, results.bytes, results.len);
    text_free(&results);
    json_free(payload);
}

static int
emit(void *run, const char *event, size_t len)
{
    return swamp_run_emit(run, event, len);
}

static int
update(void *run, const char *progress, size_t len)
{
    return swamp_run_update(run, progress, len);
}

static int
finish(void *run, int status, const char *last, size_t last_len, const char *progress, size_t len)
{
    return swamp_run_finish(run, status, last, last_len, progress, len);
}

/* The reason of a cancel that came before, or NULL; the caller frees it. Under the lock. */
static char *
take_early(workflow_host *host, const char *run_id)
{
    for (size_t i = 0; i < host->early_count; i++)
        if (strcmp(host->early[i].run_id, run_id) == 0) {
            char *reason = host->early[i].reason;
            free(host->early[i].run_id);
            host->early[i] = host->early[--host->early_count];
            return reason;
        }
    return NULL;
}

/* A run that was admitted and cannot be begun: its file was changed in between, or no thread could be had. */
static void
finish_unbegun(workflow_host *host, swamp_run *run, const char *why)
{
    text last = {0};
    if (host->log) {
        text_addf(&last, "run %s was admitted but could not begin: %s", swamp_run_id(run), why);
        host->log(SWAMP_LOG_WARN, last.bytes, host->log_user);
        text_clear(&last);
    }
    pthread_mutex_lock(&host->lock);
    free(take_early(host, swamp_run_id(run)));
    pthread_mutex_unlock(&host->lock);
    event_completed(&last);
    swamp_run_finish(run, SWAMP_RUN_FAILED, last.bytes, last.len, NULL, 0);
    text_free(&last);
}

/* Lets go of the runs that have ended; under the lock. */
static void
sweep(workflow_host *host)
{
    for (size_t i = host->count; i-- > 0;)
        if (execution_is_done(host->runs[i])) {
            execution_free(host->runs[i]);
            host->runs[i] = host->runs[--host->count];
        }
}

static void
begin(workflow_host *host, request *r, swamp_run *run)
{
    execute_sink sink = {emit, update, finish, run};
    pthread_mutex_lock(&host->lock); /* held over the start: a CANCEL that comes now must find the run */
    sweep(host);
    char *reason = take_early(host, swamp_run_id(run));
    execution *e = execution_start(r->flow, &r->values, swamp_run_id(run), &sink);
    if (e) {
        if (reason)
            execution_cancel(e, reason);
        host->runs = memory_grow(host->runs, host->count + 1, sizeof(*host->runs));
        host->runs[host->count++] = e;
    }
    pthread_mutex_unlock(&host->lock);
    free(reason);
    if (!e)
        finish_unbegun(host, run, "no thread could be made");
}

static void
start(workflow_host *host, swamp_work *work)
{
    request r = {0};
    swamp_run *run;
    int rc = swamp_work_run(work, &run);
    if (rc != SWAMP_OK) {
        swamp_work_answer(work, rc, NULL, 0);
        return;
    }
    read_request(host, work, &r);
    if (r.refusal.len > 0)
        finish_unbegun(host, run, r.refusal.bytes);
    else
        begin(host, &r, run);
    swamp_work_answer(work, SWAMP_OK, NULL, 0);
    free_request(&r);
}

static void
keep_early(workflow_host *host, const swamp_work *work)
{
    swamp_run *run;
    if (swamp_work_run(work, &run) != SWAMP_OK)
        return; /* not early but late: the run has finished */
    host->early = memory_grow(host->early, host->early_count + 1, sizeof(*host->early));
    host->early[host->early_count].run_id = memory_copy(swamp_work_run_id(work));
    host->early[host->early_count++].reason = memory_copy(swamp_work_reason(work));
}

static void
cancel(workflow_host *host, swamp_work *work)
{
    int found = 0;
    pthread_mutex_lock(&host->lock);
    for (size_t i = 0; i < host->count; i++)
        if (strcmp(execution_run_id(host->runs[i]), swamp_work_run_id(work)) == 0) {
            execution_cancel(host->runs[i], swamp_work_reason(work));
            found = 1;
        }
    if (!found)
        keep_early(host, work);
    pthread_mutex_unlock(&host->lock);
    swamp_work_answer(work, SWAMP_OK, NULL, 0);
}

static void
do_work(swamp_work *work, void *user)
{
    switch (swamp_work_kind(work)) {
    case SWAMP_WORK_RESOLVE:
        resolve(user, work);
        break;
    case SWAMP_WORK_SEARCH:
        search(user, work);
        break;
    case SWAMP_WORK_START:
        start(user, work);
        break;
    default:
        cancel(user, work);
    }
}

static void
destroy(void *user)
{
    workflow_host_free(user);
}

const swamp_executor *
workflow_host_executor(void)
{
    static const swamp_executor executor = {sizeof(executor), do_work, destroy};
    return &executor;
}
