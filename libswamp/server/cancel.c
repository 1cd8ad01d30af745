/* Cancelling: by the host for a run of this instance, by a record for one of another (PROTOCOL 2, `cancel`,
 * `run.cancel`). */
#include "inner.h"

/* Runs of this instance. */

static void
ignore_answer(swamp__errand *errand, const swamp_work *work)
{
    (void)work;
    swamp__free(errand);
}

void
swamp__cancel_hand_out(swamp__instance *instance, swamp_run *run, const char *reason)
{
    swamp_work *work =
        swamp__work_new(instance->desk, SWAMP_WORK_CANCEL, "", NULL, 0, run->id, run->principal, run);
    if (work) {
        work->reason = swamp__strdup(reason);
        swamp__errand *errand = swamp__calloc(1, sizeof *errand);
        if (errand && work->reason) {
            errand->answered = ignore_answer;
            if (swamp__errand_send(instance, errand, work) == SWAMP_OK)
                return;
        }
        swamp__free(errand);
        swamp__work_free(work);
    }
    run->cancel_asked = 0; /* the next request tries again */
}

int
swamp__cancel_run(swamp__instance *instance, swamp_run *run, const char *reason, const char *interrupt_reason)
{
    if (run->state != SWAMP__RUN_ADMITTED && run->state != SWAMP__RUN_RUNNING)
        return run->state == SWAMP__RUN_FINISHING;
    if (run->cancel_asked) /* who was first says why it ends */
        return 1;
    run->cancel_asked = 1;
    if (interrupt_reason && !run->interrupt_reason)
        run->interrupt_reason = interrupt_reason;
    swamp__free(run->cancel_reason);
    run->cancel_reason = swamp__strdup(reason);
    if (run->state == SWAMP__RUN_RUNNING) /* else CANCEL follows START */
        swamp__cancel_hand_out(instance, run, reason);
    return 1;
}

static void
cancel_anywhere(swamp__instance *instance, const char *run_id, const char *requested_by, const char *reason)
{
    swamp_run *run = swamp__registry_find(instance->registry, run_id);
    if (run)
        (void)swamp__cancel_run(instance, run, reason, NULL);
    else if (instance->has_store)
        (void)swamp__cancel_elsewhere(instance, run_id, requested_by, reason);
}

void
swamp__instance_cancel(swamp__instance *instance, const char *run_id, const char *reason)
{
    cancel_anywhere(instance, run_id, "host", reason ? reason : "");
}

/* Runs of another instance. */

static void
leave_request(swamp__question *question, swamp_store *store)
{
    swamp__cancel_job *job = (swamp__cancel_job *)question;
    swamp__instance *instance = job->job.ask.instance;
    /* an observer has no heartbeat, so it cannot have been declared dead either */
    const char *me = instance->options.observer ? NULL : instance->options.instance_id;
    question->status =
        swamp__history_cancel(store, me, job->run_id, job->requested_by, job->reason, job->asked_unix_ms,
                              question->timeout_ms, job->owner, job->status);
}

static void
take_left(swamp__ask *ask)
{
    swamp__job *job = (swamp__job *)ask;
    if (job->user)
        job->told(job, job->user);
    swamp__free(job);
}

swamp__cancel_job *
swamp__cancel_elsewhere(swamp__instance *instance, const char *run_id, const char *requested_by,
                        const char *reason)
{
    if (!swamp__id_is_key_segment(run_id))
        return NULL;
    swamp__cancel_job *job = swamp__calloc(1, sizeof *job);
    if (!job)
        return NULL;
    memcpy(job->run_id, run_id, strlen(run_id) + 1);
    swamp__instance_copy_text(job->requested_by, sizeof job->requested_by, requested_by);
    swamp__instance_copy_text(job->reason, sizeof job->reason, reason);
    job->asked_unix_ms = instance->world->unix_ms(instance->world->self);
    job->job.ask.question.work = leave_request;
    job->job.ask.answered = take_left;
    swamp__instance_ask(instance, &job->job.ask);
    return job;
}

/* `cancel`: no answer of its own; the run really ends, and its viewers see it. */

void
swamp__cancel_frame(swamp__conn *conn, const swamp__request *request)
{
    swamp__ticket *ticket = swamp__ticket_find(conn, request->id);
    if (!ticket) {
        cancel_anywhere(conn->instance, request->id, conn->principal, "");
        return;
    }
    switch (ticket->type) {
    case SWAMP__REQ_WORKFLOW_RUN:
    case SWAMP__REQ_METHOD_RUN:
        swamp__start_cancel(ticket);
        break;
    case SWAMP__REQ_ATTACH:
        if (ticket->run_id) /* it waits for the run's whereabouts */
            cancel_anywhere(conn->instance, ticket->run_id, conn->principal, "");
        else
            swamp__viewer_cancel(ticket);
        break;
    default: /* a question cannot be cancelled; its answer is on the way */
        break;
    }
}

/* `run.cancel` */

static void
answer_cancel(swamp__ticket *ticket, const char *run_id, int accepted, const char *status,
              const char *instance_id)
{
    swamp__buf members;
    swamp__buf_init(&members);
    swamp__buf_text(&members, "\"runId\":");
    swamp__json_put_string(&members, run_id);
    swamp__buf_text(&members, accepted ? ",\"accepted\":true" : ",\"accepted\":false");
    swamp__json_put_member(&members, "status", status);
    swamp__json_put_member(&members, "instanceId", instance_id);
    /* A new frame with an id: its members stand at the top, never in a `payload` (PROTOCOL, introduction). */
    swamp__ticket_members(ticket, "run.cancel", &members);
    swamp__buf_free(&members);
}

static void
tell_cancelled(swamp__job *job, void *user)
{
    const swamp__cancel_job *left = (swamp__cancel_job *)job;
    swamp__ticket *ticket = swamp__ticket_unbind(user);
    switch (job->ask.question.status) {
    case SWAMP_OK:
        answer_cancel(ticket, left->run_id, 1, "running", left->owner);
        break;
    case SWAMP_END:
        answer_cancel(ticket, left->run_id, 0, left->status, left->owner[0] ? left->owner : NULL);
        break;
    case SWAMP_ABSENT:
        swamp__ticket_error(ticket, "not_found", "no such run");
        break;
    default:
        swamp__ticket_retry(ticket, "unavailable", "the run cannot be reached now");
    }
}

void
swamp__cancel_ask(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    swamp_run *run = swamp__registry_find(instance->registry, request->run_id);
    if (run && run->state == SWAMP__RUN_LOST) {
        swamp__ticket_retry(ticket, "unavailable", "the run was taken away from this instance");
        return;
    }
    if (run && run->state != SWAMP__RUN_CLEANING) {
        int accepted = swamp__cancel_run(instance, run, request->reason, NULL);
        answer_cancel(ticket, run->id, accepted, swamp__run_status_text(run), instance->options.instance_id);
        return;
    }
    if (!instance->has_store || !swamp__id_is_key_segment(request->run_id)) {
        swamp__ticket_error(ticket, "not_found", "no such run");
        return;
    }
    swamp__cancel_job *job =
        swamp__cancel_elsewhere(instance, request->run_id, ticket->conn->principal, request->reason);
    if (!job) {
        swamp__ticket_retry(ticket, "unavailable", "out of memory");
        return;
    }
    swamp__ticket_await(ticket, &job->job, tell_cancelled);
}
