/* What an instance does by the clock: reaping after the dead, cancel requests, retention; and what membership
 * tells it. */
#include <stdio.h>
#include "inner.h"

#define REAP_RUNS 100
#define RETAIN_RUNS 100
#define RETAIN_EVERY_MS 600000
#define RETAIN_MORE_MS 1000

static int
is_caretaker(const swamp__instance *instance)
{
    return instance->has_membership && instance->joined && !instance->options.observer && !instance->fenced &&
           instance->phase < SWAMP__PHASE_LEAVING;
}

/* Reaping (PROTOCOL 5): at once after a death, and on every tick. */

typedef struct reap_ask {
    swamp__ask ask; /* first */
    swamp__reap reap;
} reap_ask;

static void
do_reap(swamp__question *question, swamp_store *store)
{
    reap_ask *asked = (reap_ask *)question;
    asked->reap.timeout_ms = question->timeout_ms;
    question->status = swamp__reap_dead(store, &asked->reap);
}

static void
say_ended(const swamp__instance *instance, const swamp__reap *reap)
{
    size_t named = reap->ended < SWAMP__REAPED_NAMED ? reap->ended : SWAMP__REAPED_NAMED, len = 0;
    char ids[SWAMP__REAPED_NAMED * sizeof reap->ended_ids[0] + 64];
    for (size_t i = 0; i < named; i++)
        len += (size_t)snprintf(ids + len, sizeof ids - len, "%s%s", i ? ", " : "", reap->ended_ids[i]);
    if (reap->ended > named)
        snprintf(ids + len, sizeof ids - len, " and %zu more", reap->ended - named);
    swamp__log_write(instance->world->log, SWAMP_LOG_INFO,
                     "ended as interrupted: %s; their instances are dead", ids);
}

static void
take_reaped(swamp__ask *ask)
{
    reap_ask *asked = (reap_ask *)ask;
    swamp__instance *instance = ask->instance;
    int again = instance->reap_again;
    instance->reaping = instance->reap_again = 0;
    instance->runs_reaped += asked->reap.ended;
    if (asked->reap.ended)
        say_ended(instance, &asked->reap);
    if (ask->question.status == SWAMP_OK && asked->reap.more) {
        memcpy(instance->reap_after, asked->reap.after, sizeof instance->reap_after);
        again = 1;
    } else {
        instance->reap_after[0] = '\0';
    }
    if (again && ask->question.status == SWAMP_OK)
        swamp__ticks_reap(instance);
    swamp__free(asked);
}

void
swamp__ticks_reap(swamp__instance *instance)
{
    if (!is_caretaker(instance))
        return;
    if (instance->reaping) {
        instance->reap_again = 1;
        return;
    }
    reap_ask *asked = swamp__calloc(1, sizeof *asked);
    if (!asked)
        return; /* the next tick tries again */
    asked->reap.me = instance->options.instance_id;
    asked->reap.unix_ms = instance->world->unix_ms(instance->world->self);
    asked->reap.max_runs = REAP_RUNS;
    memcpy(asked->reap.after, instance->reap_after, sizeof asked->reap.after);
    asked->ask.question.work = do_reap;
    asked->ask.answered = take_reaped;
    instance->reaping = 1;
    swamp__instance_ask(instance, &asked->ask);
}

static void
reconcile(swamp__timer *timer)
{
    swamp__instance *instance = SWAMP__OF(timer, swamp__instance, reconcile_timer);
    int64_t interval_ms = instance->options.reconciliation_interval_ms;
    swamp__ticks_reap(instance);
    /* Spread, so that the instances of a cluster do not all look at one moment. */
    int64_t wait_ms = swamp__world_uniform(instance->world, interval_ms - interval_ms / 10, interval_ms);
    swamp__timer_set(instance->world->timers, timer, swamp__now_ms(instance->world) + wait_ms);
}

/* Cancel requests that other instances left, while there are runs that they could be for. */

typedef struct request_found {
    swamp__link link;
    char run_id[65];
    char reason[SWAMP__REASON_MAX + 1];
} request_found;

typedef struct poll_ask {
    swamp__ask ask; /* first */
    swamp__list found;
} poll_ask;

static void
note_request(void *user, const char *run_id, const char *reason, const char *requested_by)
{
    (void)requested_by;
    poll_ask *asked = user;
    request_found *found = swamp__calloc(1, sizeof *found);
    if (!found || strlen(run_id) >= sizeof found->run_id) {
        swamp__free(found); /* out of memory: the record stays, the next look finds it */
        return;
    }
    memcpy(found->run_id, run_id, strlen(run_id) + 1);
    swamp__instance_copy_text(found->reason, sizeof found->reason, reason);
    swamp__list_push(&asked->found, &found->link);
}

static void
do_poll(swamp__question *question, swamp_store *store)
{
    poll_ask *asked = (poll_ask *)question;
    question->status = swamp__history_cancel_requests(store, asked->ask.instance->options.instance_id,
                                                      question->timeout_ms, note_request, asked);
}

static void
take_polled(swamp__ask *ask)
{
    poll_ask *asked = (poll_ask *)ask;
    swamp__instance *instance = ask->instance;
    instance->polling = 0;
    for (swamp__link *link; (link = swamp__list_pop(&asked->found));) {
        request_found *found = SWAMP__OF(link, request_found, link);
        swamp_run *run = swamp__registry_find(instance->registry, found->run_id);
        if (run) /* the record goes with the run's final commit; asking the host twice is harmless */
            (void)swamp__cancel_run(instance, run, found->reason, NULL);
        swamp__free(found);
    }
    swamp__free(asked);
}

static void
ask_poll(swamp__instance *instance)
{
    if (instance->polling || !is_caretaker(instance))
        return;
    poll_ask *asked = swamp__calloc(1, sizeof *asked);
    if (!asked)
        return;
    swamp__list_init(&asked->found);
    asked->ask.question.work = do_poll;
    asked->ask.answered = take_polled;
    instance->polling = 1;
    swamp__instance_ask(instance, &asked->ask);
}

static void
set_poll(swamp__instance *instance)
{
    swamp__timer_set(instance->world->timers, &instance->poll_timer,
                     swamp__now_ms(instance->world) + SWAMP__CANCEL_POLL_MS);
}

static void
poll_requests(swamp__timer *timer)
{
    swamp__instance *instance = SWAMP__OF(timer, swamp__instance, poll_timer);
    if (!instance->registry->unfinished)
        return; /* set again by the next admission */
    swamp__viewers_tick(instance);
    ask_poll(instance);
    set_poll(instance);
}

void
swamp__ticks_runs(swamp__instance *instance)
{
    if (instance->has_store && !swamp__timer_is_set(&instance->poll_timer))
        set_poll(instance);
}

/* Retention */

typedef struct retain_ask {
    swamp__ask ask; /* first */
    int64_t older_than_unix_ms;
    size_t removed;
} retain_ask;

static void
set_retain(swamp__instance *instance, int64_t wait_ms)
{
    swamp__timer_set(instance->world->timers, &instance->retain_timer,
                     swamp__now_ms(instance->world) + wait_ms);
}

static void
do_retain(swamp__question *question, swamp_store *store)
{
    retain_ask *asked = (retain_ask *)question;
    question->status =
        swamp__retain(store, asked->ask.instance->options.instance_id, asked->older_than_unix_ms, RETAIN_RUNS,
                      question->timeout_ms, &asked->removed);
}

static void
take_retained(swamp__ask *ask)
{
    retain_ask *asked = (retain_ask *)ask;
    swamp__instance *instance = ask->instance;
    instance->retaining = 0;
    if (is_caretaker(instance) && ask->question.status == SWAMP_OK && asked->removed == RETAIN_RUNS)
        set_retain(instance, RETAIN_MORE_MS);
    swamp__free(asked);
}

static void
retain(swamp__timer *timer)
{
    swamp__instance *instance = SWAMP__OF(timer, swamp__instance, retain_timer);
    set_retain(instance, RETAIN_EVERY_MS);
    if (instance->retaining || !is_caretaker(instance))
        return;
    retain_ask *asked = swamp__calloc(1, sizeof *asked);
    if (!asked)
        return;
    asked->older_than_unix_ms =
        instance->world->unix_ms(instance->world->self) - instance->options.retention_ms;
    asked->ask.question.work = do_retain;
    asked->ask.answered = take_retained;
    instance->retaining = 1;
    swamp__instance_ask(instance, &asked->ask);
}

/* Life */

int
swamp__ticks_init(swamp__instance *instance)
{
    swamp__timers *timers = instance->world->timers;
    int rc = swamp__timer_init(timers, &instance->reconcile_timer, reconcile);
    if (rc == SWAMP_OK)
        rc = swamp__timer_init(timers, &instance->poll_timer, poll_requests);
    if (rc == SWAMP_OK)
        rc = swamp__timer_init(timers, &instance->retain_timer, retain);
    return rc;
}

void
swamp__ticks_start(swamp__instance *instance)
{
    if (!is_caretaker(instance))
        return;
    swamp__timer_set(instance->world->timers, &instance->reconcile_timer, swamp__now_ms(instance->world));
    if (instance->options.retention_ms > 0)
        set_retain(instance, swamp__world_uniform(instance->world, 0, RETAIN_EVERY_MS));
}

void
swamp__ticks_stop(swamp__instance *instance)
{
    swamp__timer_unset(instance->world->timers, &instance->reconcile_timer);
    swamp__timer_unset(instance->world->timers, &instance->poll_timer);
    swamp__timer_unset(instance->world->timers, &instance->retain_timer);
}
