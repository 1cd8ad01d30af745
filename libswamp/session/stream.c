/* Actions while a run is followed: its id, attached, events in order, holes and gaps, the end (PROTOCOL 7). */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../wire/document.h"
#include "machine.h"

void
swamp__act_learn_id(swamp__session *session, const swamp__news *news)
{
    snprintf(session->place.run_id, sizeof session->place.run_id, "%s", news->answer->run_id);
    session->goal = SWAMP__AT_ATTACHING; /* from here on a lost link means run.attach */
    swamp__session_answered(session);
    swamp__backoff_attached(&session->backoff, swamp__now_ms(session->world));
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_ACCEPTED});
    swamp__session_send_cancel(session);
}

/* Both counters to zero; the delay does not fall back yet (backoff.c). */
void
swamp__act_resume(swamp__session *session, const swamp__news *news)
{
    const swamp__answer *answer = news->answer;
    swamp__place *place = &session->place;
    swamp__session_answered(session);
    session->elsewheres = 0;
    session->not_founds = 0;
    swamp__backoff_attached(&session->backoff, swamp__now_ms(session->world));
    if (answer->epoch[0])
        snprintf(place->epoch, sizeof place->epoch, "%s", answer->epoch);
    snprintf(place->state, sizeof place->state, "%s", answer->run_status);
    if (answer->interrupt_reason[0]) /* the last event may have been seen before this session, or be gone */
        snprintf(place->interrupt_reason, sizeof place->interrupt_reason, "%s", answer->interrupt_reason);
    place->head = answer->head_seq > 0 ? (uint64_t)answer->head_seq : 0;
    place->epoch_tried = 0;
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_ATTACHED, .status = answer->run_status});
}

/* The run's last event brings its RUN. A nested workflow's RUN has another id and says nothing of this run. */
static int
keep_end(swamp__session *session, const swamp__answer *answer)
{
    swamp__json run;
    char id[SWAMP__ID_MAX * 4 + 1], reason[32];
    if (strcmp(answer->kind, "completed") != 0 && strcmp(answer->kind, "cancelled") != 0 &&
        strcmp(answer->kind, "error") != 0)
        return SWAMP_OK;
    if (!swamp__json_find(answer->event, "run", &run)) {
        session->place.terminal_seen = 1;
        return SWAMP_OK;
    }
    if (swamp__json_member_text(run, "id", id, sizeof id) == SWAMP_OK && session->place.run_id[0] &&
        strcmp(id, session->place.run_id) != 0)
        return SWAMP_OK;
    session->place.terminal_seen = 1;
    swamp__json_member_text(run, "interruptReason", reason, sizeof reason);
    return swamp__place_keep_run(&session->place, answer->run_status, reason, run.at, run.len);
}

void
swamp__act_deliver(swamp__session *session, const swamp__news *news)
{
    const swamp__answer *answer = news->answer;
    swamp__place_advance(&session->place, answer->seq);
    swamp__backoff_reset(&session->backoff);
    swamp__session_expect(session, 0); /* an old server names the run later than in its first event */
    if (keep_end(session, answer) < 0) {
        swamp__session_no_memory(session);
        return;
    }
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_RUN,
                                                .kind = answer->kind,
                                                .seq = answer->seq,
                                                .json = answer->event.at,
                                                .json_len = answer->event.len});
}

void
swamp__act_drop(swamp__session *session, const swamp__news *news)
{
    (void)session;
    (void)news;
}

/* On a new link: on this one the old stream would go on beside the new one. Delayed, so that no server is
 * hammered. */
static void
attach_anew(swamp__session *session)
{
    swamp__backoff_lost(&session->backoff, swamp__now_ms(session->world));
    swamp__session_wait(session, swamp__backoff_next(&session->backoff, session->world));
}

void
swamp__act_reattach_hole(swamp__session *session, const swamp__news *news)
{
    (void)news;
    session->place.hole_tried = session->place.last + 1;
    attach_anew(session);
}

void
swamp__act_reattach_garbled(swamp__session *session, const swamp__news *news)
{
    (void)news;
    session->place.garbled_tried = session->place.last + 1;
    attach_anew(session);
}

/* Events from .. to cannot be had; the place goes behind them before the application is told, so its cursor
 * does too. */
static void
pass(swamp__session *session, uint64_t from, uint64_t to, const char *reason)
{
    swamp__place_advance(&session->place, to);
    swamp__session_tell_gap(session, from, to, reason);
}

void
swamp__act_deliver_after_hole(swamp__session *session, const swamp__news *news)
{
    pass(session, session->place.last + 1, news->answer->seq - 1, "lost");
    swamp__act_deliver(session, news);
}

void
swamp__act_pass_gap(swamp__session *session, const swamp__news *news)
{
    const swamp__answer *answer = news->answer;
    uint64_t next = session->place.last + 1;
    uint64_t from = answer->from_seq > 0 ? (uint64_t)answer->from_seq : 0;
    uint64_t to = answer->to_seq > 0 ? (uint64_t)answer->to_seq : 0;
    if (to < next || from > to)
        return;
    if (from > next)
        pass(session, next, from - 1, "lost");
    pass(session, from > next ? from : next, to, answer->reason[0] ? answer->reason : "evicted");
}

/* What was seen belongs to another epoch: its numbers mean nothing in this one. */
void
swamp__act_start_over(swamp__session *session, const swamp__news *news)
{
    (void)news;
    uint64_t last = session->place.last;
    swamp__session_answered(session);
    swamp__place_start_over(&session->place);
    if (last > 0)
        swamp__session_tell_gap(session, 1, last, "epoch");
    swamp__session_send_attach(session);
}

void
swamp__act_finish(swamp__session *session, const swamp__news *news)
{
    (void)news;
    const swamp__place *place = &session->place;
    const char *status = place->status;
    if (!status[0] && swamp__run_status_is_final(place->state))
        status = place->state;
    swamp__session_done(session, status, place->interrupt_reason, place->run_json, place->run_json_len);
}

void
swamp__act_finish_short(swamp__session *session, const swamp__news *news)
{
    pass(session, session->place.last + 1, session->place.head, "lost");
    swamp__act_finish(session, news);
}

void
swamp__act_tell_draining(swamp__session *session, const swamp__news *news)
{
    swamp__session_tell(
        session, &(swamp__told){.type = SWAMP_EVENT_DRAINING,
                                .retry_after_ms = news->retry_after_ms > 0 ? news->retry_after_ms : 0});
}
