/* History from the registry alone: what an instance without a store still knows of its own runs. */
#include "../wire/document.h"
#include "inner.h"

/* What a text may mean, as in history.c: a run's id, else its workflow's name, else a part of one id only. */
typedef struct find {
    const char *text;
    size_t len;
    swamp_run *exact, *named, *prefixed, *suffixed;
    size_t prefixes, suffixes;
} find;

static int
match_run(const char *key, void *value, void *user)
{
    find *wanted = user;
    swamp_run *run = value;
    size_t len = strlen(key);
    if (run->state == SWAMP__RUN_ADMITTED || run->state == SWAMP__RUN_CLEANING)
        return 0;
    if (strcmp(key, wanted->text) == 0) {
        wanted->exact = run;
        return 1;
    }
    /* By name the latest: ids are in the order of time. */
    if (run->resource_name && strcmp(run->resource_name, wanted->text) == 0 &&
        (!wanted->named || strcmp(run->id, wanted->named->id) > 0))
        wanted->named = run;
    if (wanted->len >= SWAMP__HISTORY_PREFIX_MIN && strncmp(key, wanted->text, wanted->len) == 0) {
        wanted->prefixed = run;
        wanted->prefixes++;
    }
    if (wanted->len >= SWAMP__HISTORY_SUFFIX_MIN && len > wanted->len &&
        strcmp(key + len - wanted->len, wanted->text) == 0) {
        wanted->suffixed = run;
        wanted->suffixes++;
    }
    return 0;
}

/* The run that is meant; NULL: none, or *matches says how many. */
static const swamp_run *
find_run(swamp__instance *instance, const char *text, size_t *matches)
{
    find wanted = {.text = text, .len = strlen(text)};
    swamp__map_each(instance->registry->runs, match_run, &wanted);
    if (wanted.exact || wanted.named)
        return wanted.exact ? wanted.exact : wanted.named;
    *matches = wanted.prefixes ? wanted.prefixes : wanted.suffixes;
    if (*matches > 1)
        return NULL;
    return wanted.prefixed ? wanted.prefixed : wanted.suffixed;
}

int
swamp__here_history_get(swamp__instance *instance, const char *id_or_name, swamp__buf *out, size_t *matches)
{
    *matches = 0;
    const swamp_run *run = find_run(instance, id_or_name, matches);
    if (!run)
        return *matches ? SWAMP_CONFLICT : SWAMP_ABSENT;
    swamp__run_owned owned = {.id = run->id,
                              .status = swamp__run_status_text(run),
                              .instance_id = instance->options.instance_id,
                              .interrupt_reason = swamp__run_recorded_reason(run),
                              .initiated_by = run->principal,
                              .resource_name = run->resource_name,
                              .workflow_id = run->workflow_id,
                              .started_at_unix_ms = run->started_at_unix_ms,
                              .finished_at_unix_ms = run->finished_at_unix_ms};
    return swamp__run_build(out, &owned, run->run_json, run->run_json_len, SWAMP_STORE_VALUE_MAX);
}

/* The runs that a list asks for, in the registry's order: oldest first. */
typedef struct wanted_runs {
    const swamp__request *request;
    const swamp_run **runs; /* NULL: only counted */
    size_t count;
} wanted_runs;

static int
is_wanted(const swamp__request *request, const swamp_run *run)
{
    if (run->state == SWAMP__RUN_ADMITTED || run->state == SWAMP__RUN_CLEANING)
        return 0;
    if (request->only_active && run->state == SWAMP__RUN_FINISHED)
        return 0;
    return !request->workflow[0] ||
           (run->resource_name && strcmp(run->resource_name, request->workflow) == 0);
}

static int
take_wanted(const char *key, void *value, void *user)
{
    (void)key;
    wanted_runs *wanted = user;
    if (!is_wanted(wanted->request, value))
        return 0;
    if (wanted->runs)
        wanted->runs[wanted->count] = value;
    wanted->count++;
    return 0;
}

/* PROTOCOL 4: null where it does not apply; an ended run has no process that could be stale. */
static void
put_members(const swamp__instance *instance, const swamp_run *run, swamp__buf *row)
{
    const swamp__instance_options *options = &instance->options;
    int is_active = run->state != SWAMP__RUN_FINISHED;
    int is_workflow = strncmp(run->kind, "workflow", 8) == 0;
    char heartbeat_at[SWAMP__ISO_SIZE];
    swamp__json_put_member(row, "id", run->id);
    swamp__json_put_member(row, "runKind", run->kind);
    swamp__buf_text(row, ",\"modelType\":null,\"methodName\":null");
    if (is_workflow && run->resource_name)
        swamp__json_put_member(row, "workflowName", run->resource_name);
    else
        swamp__buf_text(row, ",\"workflowName\":null");
    if (is_active) {
        swamp__json_put_member_i64(row, "pid", options->pid);
        swamp__json_put_member(row, "hostname", options->hostname);
    } else {
        swamp__buf_text(row, ",\"pid\":null,\"hostname\":null");
    }
    swamp__json_put_member(row, "status", swamp__run_status_text(run));
    swamp__json_put_member(row, "startedAt", run->started_at);
    if (is_active) {
        swamp__clock_iso(instance->world->unix_ms(instance->world->self), heartbeat_at);
        swamp__json_put_member(row, "heartbeatAt", heartbeat_at);
        swamp__buf_text(row, ",\"stale\":false");
    } else {
        swamp__buf_text(row, ",\"heartbeatAt\":null,\"stale\":null");
    }
    swamp__json_put_member(row, "initiatedBy", run->principal);
}

int
swamp__here_history_list(swamp__instance *instance, const swamp__request *request, swamp__buf *out)
{
    wanted_runs wanted = {.request = request};
    size_t limit = request->limit ? request->limit : SWAMP__HISTORY_LIMIT;
    swamp__map_each(instance->registry->runs, take_wanted, &wanted);
    wanted.runs = swamp__calloc(wanted.count + 1, sizeof *wanted.runs);
    if (!wanted.runs)
        return SWAMP_E_NOMEM;
    wanted.count = 0;
    swamp__map_each(instance->registry->runs, take_wanted, &wanted);
    swamp__buf_text(out, "[");
    for (size_t i = 0; i < wanted.count && i < limit; i++) { /* the newest first */
        swamp__buf_text(out, i ? ",{" : "{");
        put_members(instance, wanted.runs[wanted.count - 1 - i], out);
        swamp__buf_text(out, "}");
    }
    swamp__buf_text(out, "]");
    swamp__free(wanted.runs);
    return swamp__buf_status(out);
}
