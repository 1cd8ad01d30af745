/* From a message to the one who answers it: tickets of active requests, and the table of request types. */
#include "inner.h"

swamp__ticket *
swamp__ticket_new(swamp__conn *conn, const swamp__request *request)
{
    size_t id_size = strlen(request->id) + 1;
    swamp__ticket *ticket = swamp__calloc(1, sizeof *ticket + id_size);
    if (!ticket)
        return NULL;
    ticket->conn = conn;
    ticket->type = request->type;
    memcpy(ticket->id, request->id, id_size);
    swamp__list_push(&conn->tickets, &ticket->link);
    conn->ticket_count++;
    return ticket;
}

void
swamp__ticket_bind(swamp__ticket *ticket, void *job, void (*abandoned)(swamp__ticket *ticket))
{
    ticket->job = job;
    ticket->abandoned = abandoned;
}

swamp__ticket *
swamp__ticket_unbind(swamp__ticket *ticket)
{
    if (ticket) {
        ticket->job = NULL;
        ticket->abandoned = NULL;
        ticket->run_id = NULL; /* it was the job's */
    }
    return ticket;
}

static void
abandon_job(swamp__ticket *ticket)
{
    swamp__job *job = ticket->job;
    job->user = NULL;
}

void
swamp__ticket_await(swamp__ticket *ticket, swamp__job *job, void (*told)(swamp__job *job, void *user))
{
    job->told = told;
    job->user = ticket;
    swamp__ticket_bind(ticket, job, abandon_job);
}

void
swamp__ticket_close(swamp__ticket *ticket)
{
    ticket->conn->ticket_count--;
    swamp__link_remove(&ticket->link);
    swamp__stop_poke(ticket->conn->instance);
    swamp__free(ticket);
}

void
swamp__ticket_error(swamp__ticket *ticket, const char *code, const char *message)
{
    swamp__conn_error(ticket->conn, ticket->id, code, message, NULL);
    swamp__ticket_close(ticket);
}

void
swamp__ticket_retry(swamp__ticket *ticket, const char *code, const char *message)
{
    swamp__answer_error_extra extra = {.retry_after_ms = SWAMP__RETRY_AFTER_MS};
    swamp__conn_error(ticket->conn, ticket->id, code, message, &extra);
    swamp__ticket_close(ticket);
}

void
swamp__ticket_answer(swamp__ticket *ticket, const swamp__buf *text)
{
    swamp__conn_put(ticket->conn, text);
    swamp__ticket_close(ticket);
}

void
swamp__ticket_members(swamp__ticket *ticket, const char *type, const swamp__buf *members)
{
    swamp__buf text;
    swamp__buf_init(&text);
    if (swamp__buf_status(members) == SWAMP_OK)
        swamp__answer_plain(&text, type, ticket->id, members->data, members->len);
    else
        text.failed = 1;
    swamp__ticket_answer(ticket, &text);
    swamp__buf_free(&text);
}

void
swamp__ticket_payload(swamp__ticket *ticket, const char *type, const swamp__buf *members)
{
    swamp__buf inside;
    swamp__buf_init(&inside);
    swamp__buf_text(&inside, "\"payload\":{");
    swamp__buf_append(&inside, members->data, members->len);
    swamp__buf_text(&inside, "}");
    inside.failed |= members->failed;
    swamp__ticket_members(ticket, type, &inside);
    swamp__buf_free(&inside);
}

swamp__ticket *
swamp__ticket_find(swamp__conn *conn, const char *id)
{
    for (swamp__link *link = swamp__list_first(&conn->tickets); link;
         link = swamp__list_next(&conn->tickets, link)) {
        swamp__ticket *ticket = SWAMP__OF(link, swamp__ticket, link);
        if (strcmp(ticket->id, id) == 0)
            return ticket;
    }
    return NULL;
}

/* Who answers what (PROTOCOL 2). Each one answers and closes the ticket, now or later. */
static const struct route {
    int type;
    void (*ask)(swamp__ticket *ticket, const swamp__request *request);
} routes[] = {
    {SWAMP__REQ_WORKFLOW_RUN, swamp__start_ask},
    {SWAMP__REQ_METHOD_RUN, swamp__start_ask},
    {SWAMP__REQ_ATTACH, swamp__attach_ask},
    {SWAMP__REQ_RUN_CANCEL, swamp__cancel_ask},
    {SWAMP__REQ_HISTORY_GET, swamp__query_history_get},
    {SWAMP__REQ_SEARCH, swamp__query_search},
    {SWAMP__REQ_RUN_HISTORY, swamp__query_run_history},
    {SWAMP__REQ_INSTANCES, swamp__query_instances},
    {SWAMP__REQ_VERSION, swamp__query_version},
};

static void
route_request(swamp__conn *conn, const swamp__request *request)
{
    if (request->type == SWAMP__REQ_CANCEL) { /* its id is that of another request */
        swamp__cancel_frame(conn, request);
        return;
    }
    if (swamp__ticket_find(conn, request->id)) {
        swamp__conn_error(conn, request->id, "duplicate_id", "a request with this id is active", NULL);
        return;
    }
    if (conn->ticket_count >= conn->instance->options.max_requests) {
        swamp__conn_error(conn, request->id, "too_many_requests",
                          "too many active requests on this connection", NULL);
        return;
    }
    swamp__ticket *ticket = swamp__ticket_new(conn, request);
    if (!ticket) {
        swamp__conn_error(conn, request->id, "internal_error", "out of memory", NULL);
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (routes[i].type == request->type) {
            routes[i].ask(ticket, request);
            return;
        }
    }
    swamp__ticket_error(ticket, "invalid_request", "this type cannot be answered here");
}

void
swamp__request_take(swamp__conn *conn, const char *text, size_t len, int binary)
{
    swamp__request request;
    const char *message = "";
    if (binary) {
        swamp__conn_error(conn, "unknown", "invalid_request", "a message must be text", NULL);
        return;
    }
    int rc = swamp__request_read(text, len, &request, &message);
    if (rc == SWAMP_OK) {
        route_request(conn, &request);
    } else if (rc == SWAMP_E_NOMEM) {
        swamp__conn_error(conn, "unknown", "internal_error", "out of memory", NULL);
    } else {
        swamp__buf refusal;
        swamp__buf_init(&refusal);
        swamp__request_put_refusal(&refusal, &request, message);
        swamp__conn_put(conn, &refusal);
        swamp__buf_free(&refusal);
    }
}
