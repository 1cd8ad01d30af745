/* The life of a run as the store sees it: the state machine around the writes of life_write.c. */
#include "life.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "life_write.h"

/* clang-format off */
/*
 * One row a case. "Ask" puts a write to the store; its outcomes DONE, NOT, UNKNOWN ... are those of
 * life_write.h. "Wait" sets run->timer, whose meaning is that of the state. Without a store, admission and end
 * are answered by a timer of 0 ms: never before the call that asked has returned.
 *
 *  state      what comes                       what is done                                       then
 *  ---------  -------------------------------- -------------------------------------------------- ---------
 *  ADMITTED   life_admit                       ask admission                                      ADMITTED
 *             DONE                             on.admitted(OK)                                    RUNNING
 *             DONE, and life_end was called    ask final, on.admitted(OK)                         FINISHING
 *             NOT written                      on.admitted(error), on.gone                        GONE
 *             UNKNOWN                          on.admitted(error), wait (back-off), ask cleaning  CLEANING
 *             FENCED, or fenced meanwhile      on.admitted(FENCED), on.gone, on.fenced            GONE
 *             the instance ends                on.admitted(CLOSED), on.gone                       GONE
 *  CLEANING   DONE (keys removed), FENCED      on.gone                                            GONE
 *             ABSENT                           the lost write may yet come: wait, ask once more   CLEANING
 *             ABSENT again                     on.gone                                            GONE
 *             NOT, UNKNOWN                     wait (back-off), ask cleaning                      CLEANING
 *  RUNNING    host emits                       on.changed                                         RUNNING
 *             host updates                     ask progress, 1 s after the last one or later      RUNNING
 *             progress NOT, UNKNOWN, STALE     the same again                                     RUNNING
 *             progress FENCED                  on.changed, on.fenced                              LOST
 *             max_run_duration                 on.overdue                                         RUNNING
 *             finish, life_end                 ask final (after a progress under way), on.changed FINISHING
 *  FINISHING  DONE                             append the last event, on.changed, wait (linger)   FINISHED
 *             NOT, UNKNOWN                     wait (back-off), ask final: as long as it takes    FINISHING
 *             FENCED                           drop the last event, on.changed, on.fenced         LOST
 *  FINISHED   linger over, life_forget, budget ask forget, once the host's reference is back      FINISHED
 *             forget DONE, FENCED              on.gone                                            GONE
 *             forget NOT, UNKNOWN              wait (back-off), ask forget                        FINISHED
 *  LOST       host's finish, no viewers left   on.gone                                            GONE
 *
 * life_fence: RUNNING and FINISHING become LOST (on.changed), and no write follows: an ADMITTED run's answer
 * counts as FENCED, the keys of CLEANING and FINISHED ones are the reaper's now. What a write that was under way
 * says of a run that is LOST is not looked at: its viewers were told of the interruption, and history tells them
 * the rest.
 */
/* clang-format on */

#define PROGRESS_EVERY_MS 1000
#define LEAVE_AGAIN_MS 100

static const swamp__life_kind admission_kind, cleaning_kind, progress_kind, final_kind, forget_kind;

static int
has_store(const swamp__life *life)
{
    return life->asker->timeout_ms != 0;
}

static void
wait_ms(swamp__life *life, swamp_run *run, int64_t ms)
{
    swamp__timer_set(life->world->timers, &run->timer, swamp__now_ms(life->world) + ms);
}

static void
tell_changed(swamp__life *life, swamp_run *run)
{
    pthread_mutex_lock(&run->lock);
    run->told_seq = swamp__event_log_head(run->log);
    pthread_mutex_unlock(&run->lock);
    life->on.changed(life->on.user, run);
}

static void
tell_fenced(swamp__life *life)
{
    if (!life->fenced)
        life->on.fenced(life->on.user);
}

static void
leave(swamp__life *life, swamp_run *run)
{
    if (run->state == SWAMP__RUN_CLEANING)
        life->cleaning--;
    life->on.gone(life->on.user, run);
    swamp__registry_remove(life->registry, run);
}

/* A run stays as long as the host holds it (life_visit comes again), and a lost one until its viewers were told. */
static void
leave_if_free(swamp__life *life, swamp_run *run)
{
    if (run->host_has_it)
        return;
    if (run->state == SWAMP__RUN_LOST && run->viewer_count)
        wait_ms(life, run, LEAVE_AGAIN_MS);
    else
        leave(life, run);
}

static void
lose(swamp__life *life, swamp_run *run)
{
    pthread_mutex_lock(&run->lock);
    run->closed = SWAMP_E_FENCED;
    pthread_mutex_unlock(&run->lock);
    swamp__timer_unset(life->world->timers, &run->duration_timer);
    run->interrupt_reason = "instance_fenced";
    swamp__registry_set_state(life->registry, run, SWAMP__RUN_LOST);
    wait_ms(life, run, 0); /* leaves by the timer: not in the midst of a walk over the registry */
    tell_changed(life, run);
}

/* ADMITTED */

static void begin_finish(swamp__life *life, swamp_run *run);

static void
begin_running(swamp__life *life, swamp_run *run)
{
    swamp__registry_set_state(life->registry, run, SWAMP__RUN_RUNNING);
    pthread_mutex_lock(&run->lock);
    int ended = run->finish_called;
    pthread_mutex_unlock(&run->lock);
    if (ended)
        begin_finish(life, run);
    life->on.admitted(life->on.user, run, SWAMP_OK);
}

static void
refuse(swamp__life *life, swamp_run *run, int status)
{
    life->on.admitted(life->on.user, run, status);
    leave(life, run);
}

static void
begin_cleaning(swamp__life *life, swamp_run *run)
{
    swamp__registry_set_state(life->registry, run, SWAMP__RUN_CLEANING);
    life->cleaning++;
    life->on.admitted(life->on.user, run, SWAMP_E_UNKNOWN);
    swamp__life_wait_backoff(life, run);
}

static void
take_admission(swamp__life *life, swamp_run *run, swamp__life_write *write)
{
    if (life->fenced || write->outcome == SWAMP__WRITE_FENCED) {
        refuse(life, run, SWAMP_E_FENCED);
        tell_fenced(life);
    } else if (write->outcome == SWAMP__WRITE_DONE) {
        run->active_revision = run->history_revision = write->revision;
        begin_running(life, run);
    } else if (write->outcome == SWAMP__WRITE_UNKNOWN) {
        begin_cleaning(life, run);
    } else {
        refuse(life, run, write->question.status);
    }
}

/* The timer of ADMITTED: there is no store to ask, or no memory to ask with. */
static void
admitted_without_asking(swamp__life *life, swamp_run *run)
{
    if (has_store(life))
        refuse(life, run, SWAMP_E_NOMEM);
    else
        begin_running(life, run);
}

/* CLEANING */

static void
try_cleaning(swamp__life *life, swamp_run *run)
{
    if (life->fenced)
        leave(life, run);
    else
        swamp__life_ask(life, run, &cleaning_kind);
}

static void
take_cleaning(swamp__life *life, swamp_run *run, swamp__life_write *write)
{
    if (write->outcome == SWAMP__WRITE_DONE) {
        leave(life, run);
    } else if (write->outcome == SWAMP__WRITE_FENCED) {
        leave(life, run);
        tell_fenced(life);
    } else if (write->outcome == SWAMP__WRITE_ABSENT && run->seen_absent) {
        leave(life, run);
    } else if (write->outcome == SWAMP__WRITE_ABSENT) {
        /* A store may still be at work on the commit whose answer was lost; after so long it is not. */
        run->seen_absent = 1;
        wait_ms(life, run, 2 * (int64_t)life->asker->timeout_ms);
    } else {
        swamp__life_wait_backoff(life, run);
    }
}

/* RUNNING */

static void
try_progress(swamp__life *life, swamp_run *run)
{
    int64_t next_ms = run->progress_at_ms + PROGRESS_EVERY_MS, now_ms = swamp__now_ms(life->world);
    if (!has_store(life) || !run->progress_pending || run->writing)
        return;
    if (run->progress_at_ms && now_ms < next_ms) {
        swamp__timer_set(life->world->timers, &run->timer, next_ms);
        return;
    }
    run->progress_at_ms = now_ms;
    run->progress_pending = 0;
    swamp__life_ask(life, run, &progress_kind);
}

static void
take_progress(swamp__life *life, swamp_run *run, swamp__life_write *write)
{
    if (write->outcome == SWAMP__WRITE_DONE || write->outcome == SWAMP__WRITE_STALE)
        run->history_revision = write->revision;
    if (write->outcome == SWAMP__WRITE_FENCED) {
        lose(life, run);
        tell_fenced(life);
        return;
    }
    if (write->outcome != SWAMP__WRITE_DONE)
        run->progress_pending = 1; /* or something newer that came meanwhile */
    if (run->state == SWAMP__RUN_FINISHING)
        swamp__life_ask(life, run, &final_kind);
    else
        try_progress(life, run);
}

/* FINISHING */

static void
begin_finish(swamp__life *life, swamp_run *run)
{
    swamp__timer_unset(life->world->timers, &run->timer);
    swamp__timer_unset(life->world->timers, &run->duration_timer);
    run->status = run->finish_status;
    run->tries = 0;
    run->finishing_at_ms = swamp__now_ms(life->world);
    run->finished_at_unix_ms =
        life->world->unix_ms(life->world->self); /* once: every try writes the same bytes */
    swamp__registry_set_state(life->registry, run, SWAMP__RUN_FINISHING);
    if (!has_store(life))
        wait_ms(life, run, 0);
    else if (!run->writing)
        swamp__life_ask(life, run, &final_kind);
}

static int
append_last_event(swamp_run *run)
{
    if (!run->last_event)
        return SWAMP_OK;
    swamp__buf event;
    swamp__buf_init(&event);
    swamp__run_splice(&event, run->last_event, run->last_event_len, run->final_json, run->final_len);
    int rc = swamp__buf_status(&event);
    if (rc == SWAMP_OK) {
        pthread_mutex_lock(&run->lock);
        rc = swamp__run_append(run, event.data, event.len);
        pthread_mutex_unlock(&run->lock);
    }
    swamp__buf_free(&event);
    return rc;
}

/* The end is recorded: now it may be told (DESIGN 2). */
static void
conclude(swamp__life *life, swamp_run *run)
{
    run->final_recorded = 1;
    if (append_last_event(run) != SWAMP_OK) {
        swamp__life_wait_backoff(life,
                                 run); /* no memory: the viewers wait for it, as for a store that is down */
        return;
    }
    swamp__free(run->last_event);
    run->last_event = NULL;
    /* The final RUN is all that is asked for from now on, and is never larger than a store's value. */
    swamp__free(run->run_json);
    run->run_json = run->final_json;
    run->run_json_len = run->final_len;
    run->final_json = NULL;
    run->tries = 0;
    run->finished_at_ms = swamp__now_ms(life->world);
    swamp__registry_set_state(life->registry, run, SWAMP__RUN_FINISHED);
    wait_ms(life, run, life->linger_ms);
    tell_changed(life, run);
}

static void
try_final(swamp__life *life, swamp_run *run)
{
    if (run->final_recorded)
        conclude(life, run);
    else if (has_store(life))
        swamp__life_ask(life, run, &final_kind);
    else if (swamp__life_build_final(life, run) == SWAMP_OK)
        conclude(life, run);
    else
        swamp__life_wait_backoff(life, run);
}

static void
take_final(swamp__life *life, swamp_run *run, swamp__life_write *write)
{
    if (write->value.len) { /* built once, kept for the next try and for the last event */
        run->final_len = write->value.len;
        run->final_json = swamp__buf_steal(&write->value);
    }
    if (write->outcome == SWAMP__WRITE_DONE) {
        conclude(life, run);
    } else if (write->outcome == SWAMP__WRITE_FENCED) {
        lose(life, run);
        tell_fenced(life);
    } else {
        swamp__life_wait_backoff(life, run);
    }
}

/* FINISHED */

static void
try_forget(swamp__life *life, swamp_run *run)
{
    run->forgetting = 1;
    if (run->writing || run->host_has_it)
        return;
    if (has_store(life) && !life->fenced)
        swamp__life_ask(life, run, &forget_kind); /* first the key, then the run: see PROTOCOL 6.4 */
    else
        leave(life, run);
}

static void
take_forget(swamp__life *life, swamp_run *run, swamp__life_write *write)
{
    if (write->outcome == SWAMP__WRITE_DONE) {
        leave(life, run);
    } else if (write->outcome == SWAMP__WRITE_FENCED) {
        leave(life, run);
        tell_fenced(life);
    } else {
        swamp__life_wait_backoff(life, run);
    }
}

/* The tables: what a timer means in each state, and what each kind of write leads to. */

static void (*const on_timer[])(swamp__life *, swamp_run *) = {
    [SWAMP__RUN_ADMITTED] = admitted_without_asking,
    [SWAMP__RUN_RUNNING] = try_progress,
    [SWAMP__RUN_FINISHING] = try_final,
    [SWAMP__RUN_FINISHED] = try_forget,
    [SWAMP__RUN_LOST] = leave_if_free,
    [SWAMP__RUN_CLEANING] = try_cleaning,
};

static const swamp__life_kind admission_kind = {"admission", swamp__write_admission, take_admission, refuse};
static const swamp__life_kind cleaning_kind = {"clean-up", swamp__write_cleaning, take_cleaning, NULL};
static const swamp__life_kind progress_kind = {"progress", swamp__write_progress, take_progress, NULL};
static const swamp__life_kind final_kind = {"end", swamp__write_final, take_final, NULL};
static const swamp__life_kind forget_kind = {"leaving", swamp__write_forget, take_forget, NULL};

/* What comes from outside. */

static void
timer_fired(swamp__timer *timer)
{
    swamp_run *run = SWAMP__OF(timer, swamp_run, timer);
    on_timer[run->state](run->life, run);
}

static void
duration_is_over(swamp__timer *timer)
{
    swamp_run *run = SWAMP__OF(timer, swamp_run, duration_timer);
    run->life->on.overdue(run->life->on.user, run);
}

void
swamp__life_admit(swamp__life *life, swamp_run *run)
{
    assert(run->state == SWAMP__RUN_ADMITTED && !run->life);
    run->life = life;
    run->timer.fire = timer_fired;
    run->duration_timer.fire = duration_is_over;
    if (has_store(life))
        swamp__life_ask(life, run, &admission_kind);
    else
        wait_ms(life, run, 0);
}

void
swamp__life_started(swamp__life *life, swamp_run *run)
{
    assert(run->state == SWAMP__RUN_RUNNING && !run->host_has_it);
    swamp__run_ref(run);
    run->host_has_it = 1;
    if (life->max_duration_ms)
        swamp__timer_set(life->world->timers, &run->duration_timer,
                         swamp__now_ms(life->world) + life->max_duration_ms);
}

/* What the mailbox held. */
typedef struct run_mail {
    int has_progress, has_ended, has_events;
} run_mail;

static run_mail
take_mail(swamp_run *run)
{
    run_mail mail;
    char *older = NULL;
    pthread_mutex_lock(&run->lock);
    mail.has_progress = run->update != NULL;
    if (run->update) {
        older = run->run_json;
        run->run_json = run->update;
        run->run_json_len = run->update_len;
        run->update = NULL;
    }
    mail.has_ended = run->finish_called;
    mail.has_events = swamp__event_log_head(run->log) != run->told_seq;
    if (run->host_done)
        run->host_has_it = 0;
    pthread_mutex_unlock(&run->lock);
    swamp__free(older);
    return mail;
}

/* For swamp__registry_fit(): the events are gone already, so nothing is lost by going. */
static void
forget_for_budget(void *user, swamp_run *run)
{
    swamp__life_forget(user, run);
}

void
swamp__life_visit(swamp__life *life, swamp_run *run)
{
    if (run->state == SWAMP__RUN_GONE)
        return;
    run_mail mail = take_mail(run);
    int tell = mail.has_events;

    switch (run->state) {
    case SWAMP__RUN_RUNNING:
        run->progress_pending |= mail.has_progress;
        if (mail.has_ended) {
            begin_finish(life, run);
            tell = 1;
        } else {
            try_progress(life, run);
        }
        break;
    case SWAMP__RUN_FINISHED:
        if (run->forgetting && !swamp__timer_is_set(&run->timer) && !run->writing)
            wait_ms(life, run, 0); /* only the host's reference was waited for */
        break;
    case SWAMP__RUN_LOST:
        wait_ms(life, run, 0);
        break;
    default: /* ADMITTED: an end waits for the answer */
        break;
    }
    if (tell)
        tell_changed(life, run);
    if (life->all_logs_bytes)
        swamp__registry_fit(life->registry, life->all_logs_bytes, forget_for_budget, life);
}

static int
fence_run(const char *key, void *value, void *user)
{
    swamp_run *run = value;
    (void)key;
    if (run->state == SWAMP__RUN_RUNNING || run->state == SWAMP__RUN_FINISHING)
        lose(user, run);
    return 0;
}

void
swamp__life_fence(swamp__life *life)
{
    if (life->fenced)
        return;
    life->fenced = 1;
    swamp__map_each(life->registry->runs, fence_run, life);
}

void
swamp__life_end(swamp__life *life, swamp_run *run, int status, const char *interrupt_reason)
{
    if (swamp__run_post_end(run, status) && interrupt_reason)
        run->interrupt_reason = interrupt_reason;
    if (!interrupt_reason && run->host_has_it) {
        run->host_has_it = 0;
        swamp__run_unref(run);
    }
    swamp__run_touch(run); /* the rest is done by life_visit, as for the host's own end */
}

void
swamp__life_forget(swamp__life *life, swamp_run *run)
{
    if (run->state == SWAMP__RUN_FINISHED && !run->forgetting)
        wait_ms(life, run, 0);
}
