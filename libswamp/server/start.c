/* Starting a run (DESIGN 6.1 to 6.3): asked, resolved by the host, admitted by the store, accepted, started. */
/*
 * Nothing is done before the host knows the name, and nothing is told before the store has the record.
 *
 *   RESOLVING --host knows it--> ADMITTING --committed--> run.accepted, START
 *       |                            |
 *       | refused: events, done      | store: unavailable, the run never starts
 */
#include "inner.h"

typedef struct start {
    swamp__errand errand; /* first; RESOLVE */
    swamp__link link;     /* in instance->starts */
    swamp__instance *instance;
    swamp__ticket *ticket; /* NULL: the client is gone */
    swamp_run *run;        /* ADMITTING; borrowed from the registry, which keeps it until admitted() */
    const char *type;
    char *principal, *payload;
    size_t payload_len;
    char run_id[SWAMP__ID_SIZE];
} start;

static void
free_start(start *asked)
{
    if (!asked)
        return;
    swamp__ticket_unbind(asked->ticket);
    swamp__errand_forget(&asked->errand);
    if (swamp__link_linked(&asked->link)) {
        swamp__link_remove(&asked->link);
        asked->instance->start_count--;
    }
    swamp__free(asked->principal);
    swamp__free(asked->payload);
    swamp__free(asked);
}

void
swamp__start_free_all(swamp__instance *instance)
{
    for (swamp__link *link; (link = swamp__list_first(&instance->starts));)
        free_start(SWAMP__OF(link, start, link));
}

/* The connection is gone. While resolving nothing has happened yet; from admission on the run goes its way. */
static void
abandon_start(swamp__ticket *ticket)
{
    start *asked = ticket->job;
    asked->ticket = NULL;
    if (!asked->run)
        free_start(asked);
}

void
swamp__start_cancel(swamp__ticket *ticket)
{
    if (ticket->abandoned != abandon_start) { /* accepted: the ticket's job is a viewer */
        swamp__viewer_cancel(ticket);
        return;
    }
    start *asked = ticket->job;
    if (asked->run) {
        (void)swamp__cancel_run(asked->instance, asked->run, "", NULL);
        return;
    }
    free_start(asked); /* the host may still resolve the name; nobody listens */
    swamp__ticket_error(ticket, "cancelled", "cancelled before the run was accepted");
}

/* Takes the ticket away from the start, for its last answer. */
static swamp__ticket *
take_ticket(start *asked)
{
    swamp__ticket *ticket = swamp__ticket_unbind(asked->ticket);
    asked->ticket = NULL;
    return ticket;
}

static void
refuse(start *asked, const char *code, const char *message)
{
    swamp__ticket *ticket = take_ticket(asked);
    if (ticket)
        swamp__ticket_error(ticket, code, message);
    free_start(asked);
}

static void
refuse_for_now(start *asked, const char *code, const char *message)
{
    swamp__ticket *ticket = take_ticket(asked);
    if (ticket)
        swamp__ticket_retry(ticket, code, message);
    free_start(asked);
}

/* Why no run can start now; NULL: it can. Both codes promise that it never will from this request (PROTOCOL 3). */
static const char *
why_closed(const swamp__instance *instance, const char **message)
{
    if (instance->fenced || instance->options.observer) {
        *message = "this instance takes no runs";
        return "unavailable";
    }
    if (instance->phase >= SWAMP__PHASE_DRAINING) {
        *message = "this instance is stopping; start the run again";
        return "draining";
    }
    if (!instance->joined) {
        *message = "this instance is starting; start the run again";
        return "unavailable";
    }
    return NULL;
}

/* Starts that the host has not yet resolved count too, or a burst would get past the caps. */
static size_t
count_resolving(const swamp__instance *instance, const char *principal)
{
    size_t count = 0;
    swamp__list *list = (swamp__list *)&instance->starts;
    for (swamp__link *link = swamp__list_first(list); link; link = swamp__list_next(list, link)) {
        const start *asked = SWAMP__OF(link, start, link);
        if (!asked->run && (!principal || strcmp(asked->principal, principal) == 0))
            count++;
    }
    return count;
}

static const char *
which_cap(swamp__instance *instance, const char *principal)
{
    const swamp__instance_options *options = &instance->options;
    if (instance->registry->unfinished + count_resolving(instance, NULL) >= options->max_runs)
        return "global_cap";
    if (options->max_runs_per_principal && swamp__registry_count_principal(instance->registry, principal) +
                                                   count_resolving(instance, principal) >=
                                               options->max_runs_per_principal)
        return "principal_cap";
    return NULL;
}

/* The refusal's events under the request's id, numbered from 1, then done: no run, no record (PROTOCOL 4,
 * `error`). */
static int
put_refusal_events(swamp__conn *conn, const char *id, const char *json, size_t len)
{
    swamp__json events, event;
    swamp__json_iter iter;
    if (swamp__json_check(json, len, SWAMP__JSON_STRICT, &events) != SWAMP_OK ||
        events.type != SWAMP__JSON_ARRAY)
        return SWAMP_E_INVALID;
    int64_t seq = 0;
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__json_enter(events, &iter);
    while (swamp__json_next_element(&iter, &event)) {
        swamp__json own_seq;
        if (event.type != SWAMP__JSON_OBJECT || swamp__json_find(event, "seq", &own_seq)) {
            swamp__buf_free(&text);
            return SWAMP_E_INVALID;
        }
        swamp__buf_clear(&text);
        swamp__answer_event_open(&text, id);
        swamp__buf_append(&text, event.at, event.len - 1);
        while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
            text.len--;
        swamp__json_put_member_i64(&text, "seq", ++seq);
        swamp__buf_text(&text, "}}");
        swamp__conn_put(conn, &text);
    }
    swamp__buf_clear(&text);
    swamp__answer_done(&text, id);
    swamp__conn_put(conn, &text);
    swamp__buf_free(&text);
    return SWAMP_OK;
}

static void
take_refusal(start *asked, const swamp_work *work)
{
    if (work->status != SWAMP_E_NOT_FOUND && work->status != SWAMP_E_REFUSED) {
        refuse(asked, "internal_error", "the request could not be resolved");
        return;
    }
    if (!work->json) {
        refuse(asked, work->status == SWAMP_E_NOT_FOUND ? "not_found" : "workflow_execution_failed",
               work->status == SWAMP_E_NOT_FOUND ? "no such workflow or model" : "the run was refused");
        return;
    }
    if (put_refusal_events(asked->ticket->conn, asked->ticket->id, work->json, work->json_len) != SWAMP_OK) {
        refuse(asked, "internal_error", "the refusal could not be read");
        return;
    }
    swamp__ticket_close(take_ticket(asked));
    free_start(asked);
}

static int
read_resource(swamp_run *run, const swamp_work *work)
{
    swamp__json answer, host;
    char resource_name[257], workflow_id[257];
    if (swamp__json_check(work->json, work->json_len, SWAMP__JSON_STRICT, &answer) != SWAMP_OK)
        return SWAMP_E_INVALID;
    if (swamp__json_member_text(answer, "resourceName", resource_name, sizeof resource_name) != SWAMP_OK ||
        swamp__json_member_text(answer, "workflowId", workflow_id, sizeof workflow_id) < 0)
        return SWAMP_E_INVALID;
    if (swamp__json_find(answer, "run", &host)) {
        if (host.type != SWAMP__JSON_OBJECT)
            return SWAMP_E_INVALID;
        run->run_json = swamp__strndup(host.at, host.len);
        run->run_json_len = host.len;
        if (!run->run_json)
            return SWAMP_E_NOMEM;
    }
    return swamp__run_set_resource(run, resource_name, workflow_id[0] ? workflow_id : resource_name);
}

static int
register_run(start *asked, const swamp_work *work)
{
    swamp__instance *instance = asked->instance;
    swamp__run_new facts = {.kind = asked->ticket->type == SWAMP__REQ_WORKFLOW_RUN ? "workflow-run"
                                                                                   : "method-run",
                            .request_type = asked->type,
                            .principal = asked->principal,
                            .payload = asked->payload,
                            .payload_len = asked->payload_len,
                            .run_id = asked->run_id};
    swamp_run *run;
    int rc = swamp__registry_add(instance->registry, instance->world, &facts, &run);
    if (rc != SWAMP_OK)
        return rc;
    rc = read_resource(run, work);
    if (rc == SWAMP_OK)
        rc = swamp__viewers_init_run(instance, run);
    if (rc != SWAMP_OK) {
        swamp__registry_remove(instance->registry, run);
        return rc;
    }
    asked->run = run;
    return SWAMP_OK;
}

static void
take_resolved(swamp__errand *errand, const swamp_work *work)
{
    start *asked = (start *)errand;
    swamp__instance *instance = asked->instance;
    const char *message, *code = why_closed(instance, &message);
    if (work->status != SWAMP_OK) {
        take_refusal(asked, work);
        return;
    }
    if (code) {
        refuse_for_now(asked, code, message);
        return;
    }
    if (register_run(asked, work) != SWAMP_OK) {
        refuse(asked, "internal_error", "the run could not be set up");
        return;
    }
    swamp__life_admit(&instance->life, asked->run);
}

static int
send_resolve(start *asked)
{
    swamp__instance *instance = asked->instance;
    asked->errand.answered = take_resolved;
    return swamp__errand_send(instance, &asked->errand,
                              swamp__work_new(instance->desk, SWAMP_WORK_RESOLVE, asked->type, asked->payload,
                                              asked->payload_len, asked->run_id, asked->principal, NULL));
}

static start *
new_start(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    const swamp__world *world = instance->world;
    start *asked = swamp__calloc(1, sizeof *asked);
    if (!asked)
        return NULL;
    asked->instance = instance;
    asked->type = request->type_text;
    asked->principal = swamp__strdup(ticket->conn->principal);
    asked->payload = swamp__strndup(request->payload.at, request->payload.len);
    asked->payload_len = request->payload.len;
    if (!asked->principal || !asked->payload) {
        free_start(asked);
        return NULL;
    }
    swamp__id_v7(asked->run_id, world->unix_ms(world->self), world->random(world->self),
                 world->random(world->self));
    asked->ticket = ticket;
    swamp__ticket_bind(ticket, asked, abandon_start);
    swamp__list_push(&instance->starts, &asked->link);
    instance->start_count++;
    return asked;
}

void
swamp__start_refuse_all(swamp__instance *instance)
{
    const char *message, *code = why_closed(instance, &message);
    for (swamp__link *link = swamp__list_first(&instance->starts), *next; code && link; link = next) {
        start *asked = SWAMP__OF(link, start, link);
        next = swamp__list_next(&instance->starts, link);
        if (!asked->run)
            refuse_for_now(asked, code, message);
    }
}

void
swamp__start_ask(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    const char *message, *code = why_closed(instance, &message);
    if (code) {
        swamp__ticket_retry(ticket, code, message);
        return;
    }
    code = which_cap(instance, ticket->conn->principal);
    if (code) {
        swamp__ticket_error(ticket, code, "too many runs; try again when one has ended");
        return;
    }
    start *asked = new_start(ticket, request);
    if (!asked)
        swamp__ticket_retry(ticket, "unavailable", "out of memory");
    else if (send_resolve(asked) != SWAMP_OK)
        refuse_for_now(asked, "unavailable", "out of memory");
}

/* The host took START, or could not: then the run ends as failed. */
typedef struct taken_on {
    swamp__errand errand; /* first */
    swamp_run *run;       /* a reference */
} taken_on;

static void
take_started(swamp__errand *errand, const swamp_work *work)
{
    taken_on *taken = (taken_on *)errand;
    if (work && work->status != SWAMP_OK)
        swamp__life_end(&errand->instance->life, taken->run, SWAMP_RUN_FAILED, NULL);
    swamp__run_unref(taken->run);
    swamp__free(taken);
}

static int
send_start(swamp__instance *instance, swamp_run *run)
{
    taken_on *taken = swamp__calloc(1, sizeof *taken);
    if (!taken)
        return SWAMP_E_NOMEM;
    taken->errand.answered = take_started;
    taken->run = swamp__run_ref(run);
    swamp_work *work = swamp__work_new(instance->desk, SWAMP_WORK_START, run->request_type, run->payload,
                                       run->payload_len, run->id, run->principal, run);
    if (!work) {
        swamp__run_unref(run);
        swamp__free(taken);
        return SWAMP_E_NOMEM;
    }
    swamp__life_started(&instance->life, run); /* before another thread can have finished it */
    return swamp__errand_send(instance, &taken->errand, work);
}

static void
tell_accepted(start *asked)
{
    swamp__ticket *ticket = take_ticket(asked);
    if (!ticket)
        return; /* the client went away: the run may or may not exist, and it does */
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_accepted(&text, ticket->id, asked->run->id);
    swamp__conn_put(ticket->conn, &text);
    swamp__buf_free(&text);
    if (swamp__viewer_new(asked->run, ticket, 0, 0) != SWAMP_OK)
        swamp__ticket_retry(ticket, "unavailable", "out of memory; attach to the run");
}

static start *
find_start(swamp__instance *instance, const swamp_run *run)
{
    for (swamp__link *link = swamp__list_first(&instance->starts); link;
         link = swamp__list_next(&instance->starts, link)) {
        start *asked = SWAMP__OF(link, start, link);
        if (asked->run == run)
            return asked;
    }
    return NULL;
}

void
swamp__start_admitted(swamp__instance *instance, swamp_run *run, int status)
{
    start *asked = find_start(instance, run);
    if (status != SWAMP_OK) {
        if (asked)
            refuse_for_now(asked, "unavailable", "the run could not be recorded and will not start");
        return;
    }
    if (asked) {
        tell_accepted(asked);
        free_start(asked);
    }
    swamp__ticks_runs(instance);
    if (run->state != SWAMP__RUN_RUNNING)
        return; /* fenced in between: its viewers were told */
    if (send_start(instance, run) != SWAMP_OK) {
        swamp__life_end(&instance->life, run, SWAMP_RUN_FAILED, NULL);
        return;
    }
    if (run->cancel_asked) /* while the admission was under way */
        swamp__cancel_hand_out(instance, run, run->cancel_reason ? run->cancel_reason : "");
}
