/* Questions that any instance answers: history, search, version (PROTOCOL 2). */
#include "inner.h"

typedef struct query {
    swamp__job job; /* first */
    char name[SWAMP__ID_MAX * 4 + 1];
    swamp__history_query list;
    swamp__buf found;
    size_t matches;
} query;

static void
take_answer(swamp__ask *ask)
{
    query *asked = (query *)ask;
    if (asked->job.user)
        asked->job.told(&asked->job, asked->job.user);
    swamp__buf_free(&asked->found);
    swamp__free(asked);
}

/* NULL: out of memory, which was said. */
static query *
new_query(swamp__ticket *ticket, void (*work)(swamp__question *question, swamp_store *store),
          void (*told)(swamp__job *job, void *user))
{
    query *asked = swamp__calloc(1, sizeof *asked);
    if (!asked) {
        swamp__ticket_error(ticket, "internal_error", "out of memory");
        return NULL;
    }
    swamp__buf_init(&asked->found);
    asked->job.ask.question.work = work;
    asked->job.ask.answered = take_answer;
    swamp__ticket_await(ticket, &asked->job, told);
    return asked;
}

/* Answers with {"payload":{MEMBER: found}}. */
static void
answer_with(swamp__ticket *ticket, const char *type, const char *member, const swamp__buf *found)
{
    swamp__buf inside;
    swamp__buf_init(&inside);
    swamp__json_put_string(&inside, member);
    swamp__buf_text(&inside, ":");
    swamp__buf_append(&inside, found->data, found->len);
    inside.failed |= found->failed;
    swamp__ticket_payload(ticket, type, &inside);
    swamp__buf_free(&inside);
}

/* workflow.history.get */

static void
read_history(swamp__question *question, swamp_store *store)
{
    query *asked = (query *)question;
    question->status =
        swamp__history_get(store, asked->name, question->timeout_ms, &asked->found, &asked->matches);
}

static void
answer_history(swamp__ticket *ticket, int status, const swamp__buf *found, size_t matches)
{
    if (status == SWAMP_OK) {
        answer_with(ticket, "workflow.history.get", "data", found);
    } else if (status == SWAMP_ABSENT) {
        swamp__ticket_error(ticket, "not_found", "no such run or workflow");
    } else if (status == SWAMP_CONFLICT) {
        swamp__buf message;
        swamp__buf_init(&message);
        swamp__buf_text(&message, "ambiguous: ");
        swamp__buf_u64(&message, matches);
        swamp__buf_text(&message, " runs have such an id; give more of it");
        swamp__ticket_error(ticket, "invalid_request",
                            swamp__buf_status(&message) == SWAMP_OK ? message.data : "ambiguous");
        swamp__buf_free(&message);
    } else {
        swamp__ticket_retry(ticket, "unavailable", "the history cannot be read now");
    }
}

static void
tell_history(swamp__job *job, void *user)
{
    const query *asked = (query *)job;
    answer_history(swamp__ticket_unbind(user), job->ask.question.status, &asked->found, asked->matches);
}

void
swamp__query_history_get(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    if (!instance->has_store) {
        swamp__buf found;
        swamp__buf_init(&found);
        size_t matches;
        int rc = swamp__here_history_get(instance, request->name, &found, &matches);
        answer_history(ticket, rc, &found, matches);
        swamp__buf_free(&found);
        return;
    }
    query *asked = new_query(ticket, read_history, tell_history);
    if (!asked)
        return;
    memcpy(asked->name, request->name, sizeof asked->name);
    swamp__instance_ask(instance, &asked->job.ask);
}

/* run.history */

static void
read_list(swamp__question *question, swamp_store *store)
{
    query *asked = (query *)question;
    asked->list.timeout_ms = question->timeout_ms;
    question->status = swamp__history_list(store, &asked->list, &asked->found);
}

static void
tell_list(swamp__job *job, void *user)
{
    swamp__ticket *ticket = swamp__ticket_unbind(user);
    if (job->ask.question.status == SWAMP_OK)
        answer_with(ticket, "run.history", "runs", &((query *)job)->found);
    else
        swamp__ticket_retry(ticket, "unavailable", "the history cannot be read now");
}

void
swamp__query_run_history(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    if (!instance->has_store) {
        swamp__buf rows;
        swamp__buf_init(&rows);
        if (swamp__here_history_list(instance, request, &rows) == SWAMP_OK)
            answer_with(ticket, "run.history", "runs", &rows);
        else
            swamp__ticket_error(ticket, "internal_error", "out of memory");
        swamp__buf_free(&rows);
        return;
    }
    query *asked = new_query(ticket, read_list, tell_list);
    if (!asked)
        return;
    memcpy(asked->name, request->workflow, sizeof asked->name);
    asked->list = (swamp__history_query){.only_active = request->only_active,
                                         .all = request->all,
                                         .limit = request->limit ? request->limit : SWAMP__HISTORY_LIMIT,
                                         .workflow = asked->name};
    swamp__instance_ask(instance, &asked->job.ask);
}

/* cluster.instances */

static void
tell_instances(swamp__job *job, void *user)
{
    swamp__ticket *ticket = swamp__ticket_unbind(user);
    if (job->ask.question.status == SWAMP_OK)
        answer_with(ticket, "cluster.instances", "instances", &((swamp__instances_job *)job)->rows);
    else
        swamp__ticket_retry(ticket, "unavailable", "the instances cannot be read now");
}

void
swamp__query_instances(swamp__ticket *ticket, const swamp__request *request)
{
    (void)request;
    swamp__instance *instance = ticket->conn->instance;
    if (!instance->has_store) {
        swamp__buf rows;
        swamp__buf_init(&rows);
        swamp__instances_put_self(instance, &rows);
        answer_with(ticket, "cluster.instances", "instances", &rows);
        swamp__buf_free(&rows);
        return;
    }
    swamp__instances_job *job = swamp__instances_ask(instance);
    if (!job) {
        swamp__ticket_error(ticket, "internal_error", "out of memory");
        return;
    }
    swamp__ticket_await(ticket, &job->job, tell_instances);
}

/* server.version */

void
swamp__query_version(swamp__ticket *ticket, const swamp__request *request)
{
    (void)request;
    const swamp__instance_options *options = &ticket->conn->instance->options;
    swamp__buf inside;
    swamp__buf_init(&inside);
    swamp__buf_text(&inside, "\"version\":");
    swamp__json_put_string(&inside, options->version);
    swamp__json_put_member(&inside, "gitSha", options->git_sha);
    swamp__ticket_payload(ticket, "server.version", &inside);
    swamp__buf_free(&inside);
}

/* workflow.search: the host has the list. */

typedef struct search {
    swamp__errand errand;  /* first */
    swamp__ticket *ticket; /* NULL: gone */
    swamp__buf query;      /* as JSON text */
} search;

static void
abandon_search(swamp__ticket *ticket)
{
    search *asked = ticket->job;
    asked->ticket = NULL;
}

static void
free_search(search *asked)
{
    swamp__buf_free(&asked->query);
    swamp__free(asked);
}

static void
take_results(swamp__errand *errand, const swamp_work *work)
{
    search *asked = (search *)errand;
    swamp__ticket *ticket = swamp__ticket_unbind(asked->ticket);
    if (ticket && work && work->status == SWAMP_OK) {
        swamp__buf data;
        swamp__buf_init(&data);
        swamp__buf_text(&data, "{\"query\":");
        swamp__buf_append(&data, asked->query.data, asked->query.len);
        swamp__json_put_member_raw(&data, "results", work->json, work->json_len);
        swamp__buf_text(&data, "}");
        answer_with(ticket, "workflow.search", "data", &data);
        swamp__buf_free(&data);
    } else if (ticket) {
        swamp__ticket_error(ticket, "internal_error", "the list could not be made");
    }
    free_search(asked);
}

void
swamp__query_search(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    search *asked = swamp__calloc(1, sizeof *asked);
    if (!asked) {
        swamp__ticket_error(ticket, "internal_error", "out of memory");
        return;
    }
    swamp__buf_init(&asked->query);
    if (request->query.type == SWAMP__JSON_STRING)
        swamp__buf_append(&asked->query, request->query.at, request->query.len);
    else
        swamp__buf_text(&asked->query, "\"\"");
    asked->errand.answered = take_results;
    int has_payload = request->payload.type == SWAMP__JSON_OBJECT;
    int rc = swamp__buf_status(&asked->query);
    if (rc == SWAMP_OK)
        rc = swamp__errand_send(instance, &asked->errand,
                                swamp__work_new(instance->desk, SWAMP_WORK_SEARCH, request->type_text,
                                                has_payload ? request->payload.at : NULL,
                                                request->payload.len, "", ticket->conn->principal, NULL));
    if (rc != SWAMP_OK) {
        free_search(asked);
        swamp__ticket_error(ticket, "internal_error", "out of memory");
        return;
    }
    asked->ticket = ticket;
    swamp__ticket_bind(ticket, asked, abandon_search);
}
