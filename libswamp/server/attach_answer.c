/* What an attach is answered: a viewer where the run is here, else one frame that says where it is or what became of it. */
#include "inner.h"

void
swamp__attach_say_not_found(swamp__ticket *ticket)
{
    swamp__ticket_error(ticket, "not_found", "no such run");
}

void
swamp__attach_say_unavailable(swamp__ticket *ticket)
{
    swamp__ticket_retry(ticket, "unavailable", "the run cannot be looked up now");
}

void
swamp__attach_say_interrupted(swamp__ticket *ticket, const char *run_id, const char *owner,
                              const char *reason)
{
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_interrupted(&text, ticket->id, run_id, owner, reason,
                              ticket->conn->instance->options.stale_ttl_ms);
    swamp__ticket_answer(ticket, &text);
    swamp__buf_free(&text);
}

void
swamp__attach_say_elsewhere(swamp__ticket *ticket, const char *run_id, const char *owner)
{
    swamp__instance *instance = ticket->conn->instance;
    const swamp__watch *watch = swamp__membership_find(&instance->membership, owner);
    swamp__answer_elsewhere_info info = {.run_id = run_id,
                                         .instance_id = owner,
                                         .retry_after_ms = SWAMP__RETRY_AFTER_MS,
                                         .owner_seen_ms_ago = -1,
                                         .stale_ttl_ms = -1};
    if (watch) {
        info.address = watch->record.address;
        info.owner_seen_ms_ago = swamp__membership_unchanged_ms(&instance->membership, watch);
        info.stale_ttl_ms = watch->stale_ttl_ms;
    }
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_elsewhere(&text, ticket->id, &info);
    swamp__ticket_answer(ticket, &text);
    swamp__buf_free(&text);
}

/* PROTOCOL 6.1. The viewer is made in the same breath as the state is read: no event and no end falls in between. */
static void
attach_here(swamp__ticket *ticket, swamp_run *run, const char *epoch, uint64_t after_seq)
{
    pthread_mutex_lock(&run->lock);
    uint64_t first_seq = swamp__event_log_first(run->log), head_seq = swamp__event_log_head(run->log);
    pthread_mutex_unlock(&run->lock);
    if (epoch && strcmp(epoch, run->epoch) != 0) {
        swamp__ticket_error(ticket, "epoch_mismatch", "the run's events are of another epoch");
        return;
    }
    if (after_seq > head_seq) {
        swamp__ticket_error(ticket, "seq_out_of_range", "afterSeq is beyond the run's last event");
        return;
    }
    swamp__answer_attached_info info = {.run_id = run->id,
                                        .kind = run->kind,
                                        .started_at = run->started_at,
                                        .epoch = run->epoch,
                                        .state = swamp__run_status_text(run),
                                        .interrupt_reason = swamp__run_recorded_reason(run),
                                        .first_seq = first_seq,
                                        .head_seq = head_seq};
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_attached(&text, ticket->id, &info);
    swamp__conn_put(ticket->conn, &text);
    swamp__buf_free(&text);
    if (swamp__viewer_new(run, ticket, after_seq, 1) != SWAMP_OK)
        swamp__attach_say_unavailable(ticket);
}

/* Runs that this instance knows; 0: it does not. */
int
swamp__attach_from_registry(swamp__ticket *ticket, const char *run_id, const char *epoch, uint64_t after_seq)
{
    swamp__instance *instance = ticket->conn->instance;
    swamp_run *run = swamp__registry_find(instance->registry, run_id);
    if (!run)
        return 0;
    switch (run->state) {
    case SWAMP__RUN_LOST:
        swamp__attach_say_interrupted(ticket, run_id, instance->options.instance_id, "instance_fenced");
        break;
    case SWAMP__RUN_ADMITTED: /* nobody was told of it yet */
        swamp__attach_say_unavailable(ticket);
        break;
    case SWAMP__RUN_CLEANING:
        swamp__attach_say_not_found(ticket);
        break;
    default:
        attach_here(ticket, run, epoch, after_seq);
    }
    return 1;
}
