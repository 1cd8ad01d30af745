/* One instance: construction, start, the core's half of every wake-up, and what run/ tells it. */
#include "inner.h"

/* Questions */

static void
take_answer(swamp__question *question)
{
    swamp__ask *ask = (swamp__ask *)question;
    swamp__instance *instance = ask->instance;
    swamp__link_remove(&ask->link);
    int fenced = question->status == SWAMP_E_FENCED;
    /* a record that cannot be read is not a store that does not answer */
    instance->store_failing = question->status < 0 && question->status != SWAMP_E_CLOSED &&
                              question->status != SWAMP_E_CORRUPT && !fenced;
    instance->store_failures += (uint64_t)instance->store_failing;
    /*
     * PROTOCOL 5, fencing: whichever write was refused. Not one that was asked before joining: it may have been
     * refused before the first heartbeat was written, though its answer comes after.
     */
    if (fenced && ask->of_joined)
        swamp__stop_fence(instance);
    ask->answered(ask);
}

void
swamp__instance_ask(swamp__instance *instance, swamp__ask *ask)
{
    ask->instance = instance;
    ask->of_joined = instance->joined;
    ask->question.done = take_answer;
    ask->question.timeout_ms = instance->questions->timeout_ms;
    ask->question.deadline_ms = swamp__now_ms(instance->world) + instance->questions->timeout_ms;
    swamp__list_push(&instance->asked, &ask->link);
    instance->questions->ask(instance->questions->self, &ask->question);
}

int
swamp__instance_degraded(const swamp__instance *instance)
{
    if (!instance->has_membership)
        return 0;
    const swamp__membership *m = &instance->membership;
    /* A beat written after the last failure shows that the store takes writes again: no run may ever tell. */
    if (instance->store_failing ||
        (instance->life.store_failures && m->last_good_beat_ms <= instance->life.failed_ms))
        return 1;
    return !m->observer && swamp__now_ms(instance->world) - m->last_good_beat_ms > 2 * m->me.interval_ms;
}

/* What the runs tell. */

static void
run_admitted(void *user, swamp_run *run, int status)
{
    swamp__start_admitted(user, run, status);
    swamp__stop_poke(user);
}

static void
run_changed(void *user, swamp_run *run)
{
    swamp__viewers_changed(user, run);
    swamp__stop_poke(user);
}

static void
was_fenced(void *user)
{
    swamp__stop_fence(user);
}

static void
run_overdue(void *user, swamp_run *run)
{
    (void)swamp__cancel_run(user, run, "max_run_duration", "max_run_duration");
}

static void
run_gone(void *user, swamp_run *run)
{
    swamp__viewers_gone(user, run);
    swamp__stop_poke(user);
}

static void
init_life(swamp__instance *instance)
{
    instance->life = (swamp__life){
        .world = instance->world,
        .asker = instance->questions,
        .registry = instance->registry,
        .instance_id = instance->options.instance_id,
        .on = {run_admitted, run_changed, was_fenced, run_overdue, run_gone, instance},
        .linger_ms = instance->options.linger_ms,
        .max_duration_ms = instance->options.max_run_duration_ms,
        .all_logs_bytes = instance->options.all_logs_bytes,
    };
}

/* What membership tells. */

static void
has_joined(void *user)
{
    swamp__instance *instance = user;
    instance->joined = 1;
    swamp__ticks_start(instance);
    swamp__attach_joined(instance);
    instance->on.ready(instance->on.user);
}

static void
owner_changed(void *user, const swamp__watch *watch)
{
    swamp__attach_owner_changed(user, watch);
}

static void
owner_dead(void *user, const char *instance_id)
{
    swamp__attach_owner_dead(user, instance_id);
    swamp__ticks_reap(user);
}

/* A store thread that answers nothing is as good as dead, and so is the instance (DESIGN 3, heartbeat). */
static int
is_healthy(void *user)
{
    swamp__instance *instance = user;
    swamp__link *oldest = swamp__list_first(&instance->asked);
    if (!oldest)
        return 1;
    const swamp__ask *ask = SWAMP__OF(oldest, swamp__ask, link);
    return swamp__now_ms(instance->world) <= ask->question.deadline_ms + instance->options.stale_ttl_ms;
}

static void
describe_self(void *user, swamp__heartbeat_record *record)
{
    const swamp__instance *instance = user;
    record->active_runs = (int64_t)instance->registry->unfinished;
    record->draining = instance->phase != SWAMP__PHASE_RUNNING;
}

void
swamp__instance_copy_text(char *out, size_t cap, const char *text)
{
    size_t len = swamp__utf8_cut(text, strlen(text), cap - 1);
    memcpy(out, text, len);
    out[len] = '\0';
}

static int
init_membership(swamp__instance *instance)
{
    const swamp__instance_options *options = &instance->options;
    swamp__membership *m = &instance->membership;
    m->world = instance->world;
    m->beats = instance->beats;
    m->on = (swamp__membership_events){has_joined, owner_changed, owner_dead, was_fenced,
                                       is_healthy, describe_self, instance};
    m->observer = options->observer;
    swamp__instance_copy_text(m->me.instance_id, sizeof m->me.instance_id, options->instance_id);
    swamp__instance_copy_text(m->me.hostname, sizeof m->me.hostname, options->hostname);
    swamp__instance_copy_text(m->me.started_at, sizeof m->me.started_at, instance->started_at);
    if (strlen(options->address) < sizeof m->me.address) /* a cut address would be another one */
        swamp__instance_copy_text(m->me.address, sizeof m->me.address, options->address);
    m->me.pid = options->pid;
    m->me.interval_ms = options->heartbeat_interval_ms;
    m->me.stale_ttl_ms = options->stale_ttl_ms;
    m->me.local = options->local;
    int rc = swamp__membership_init(m);
    instance->has_membership = rc == SWAMP_OK;
    return rc;
}

/* Construction */

static int
copy_options(swamp__instance *instance, const swamp__instance_options *options)
{
    swamp__instance_options *own = &instance->options;
    *own = *options;
    own->hostname = swamp__strdup(options->hostname ? options->hostname : "");
    own->address = swamp__strdup(options->address ? options->address : "");
    own->version = swamp__strdup(options->version ? options->version : "");
    own->git_sha = swamp__strdup(options->git_sha ? options->git_sha : "");
    return own->hostname && own->address && own->version && own->git_sha ? SWAMP_OK : SWAMP_E_NOMEM;
}

static int
init_parts(swamp__instance *instance, const swamp__instance_options *options)
{
    int rc = copy_options(instance, options);
    if (rc != SWAMP_OK)
        return rc;
    instance->registry = swamp__registry_new(options->run_log_bytes, options->run_log_events,
                                             instance->on.wake, instance->on.user);
    if (!instance->registry)
        return SWAMP_E_NOMEM;
    init_life(instance);
    rc = swamp__stop_init(instance);
    if (rc == SWAMP_OK)
        rc = swamp__ticks_init(instance);
    if (rc == SWAMP_OK)
        rc = swamp__attach_init(instance);
    if (rc == SWAMP_OK && instance->has_store)
        rc = init_membership(instance);
    return rc;
}

int
swamp__instance_new(swamp__instance **out, const swamp__instance_options *options, const swamp__world *world,
                    const swamp__asker *questions, const swamp__asker *beats, const swamp__work_desk *desk,
                    const swamp__instance_events *events)
{
    swamp__instance *instance = swamp__calloc(1, sizeof *instance);
    if (!instance)
        return SWAMP_E_NOMEM;
    instance->world = world;
    instance->questions = questions;
    instance->beats = beats;
    instance->desk = desk;
    instance->on = *events;
    instance->has_store = questions->timeout_ms != 0;
    swamp__clock_iso(world->unix_ms(world->self), instance->started_at);
    swamp__list_init(&instance->conns);
    swamp__list_init(&instance->asked);
    swamp__list_init(&instance->errands);
    swamp__list_init(&instance->starts);
    swamp__list_init(&instance->held);
    swamp__list_init(&instance->withheld);
    int rc = init_parts(instance, options);
    if (rc != SWAMP_OK) {
        swamp__instance_free(instance);
        return rc;
    }
    *out = instance;
    return SWAMP_OK;
}

void
swamp__instance_start(swamp__instance *instance)
{
    if (instance->has_membership) {
        swamp__membership_start(&instance->membership);
        return;
    }
    instance->joined = 1;
    instance->on.ready(instance->on.user);
}

void
swamp__instance_collect(swamp__instance *instance)
{
    for (swamp_run *run; (run = swamp__registry_take(instance->registry));) {
        swamp__life_visit(&instance->life, run);
        swamp__run_unref(run);
    }
}

static int
count_host_run(const char *key, void *value, void *user)
{
    (void)key;
    *(size_t *)user += (size_t)(((const swamp_run *)value)->host_has_it != 0);
    return 0;
}

size_t
swamp__instance_host_runs(const swamp__instance *instance)
{
    size_t count = 0;
    swamp__map_each(instance->registry->runs, count_host_run, &count);
    return count;
}

static int
destroy_flush_timer(const char *key, void *value, void *user)
{
    (void)key;
    swamp__viewers_gone(user, value);
    return 0;
}

/* Work that the host still has will be answered to nobody. */
static void
drop_errands(swamp__instance *instance)
{
    swamp__start_free_all(instance);
    for (swamp__link *link; (link = swamp__list_first(&instance->errands));) {
        swamp__errand *errand = SWAMP__OF(link, swamp__errand, link);
        swamp__errand_forget(errand);
        errand->answered(errand, NULL);
    }
}

void
swamp__instance_free(swamp__instance *instance)
{
    if (!instance)
        return;
    assert(swamp__list_empty(&instance->conns) && swamp__list_empty(&instance->asked));
    swamp__timers *timers = instance->world->timers;
    drop_errands(instance);
    if (instance->has_membership)
        swamp__membership_destroy(&instance->membership);
    if (instance->registry)
        swamp__map_each(instance->registry->runs, destroy_flush_timer, instance);
    swamp__registry_free(instance->registry);
    swamp__attach_destroy(instance);
    swamp__timer_destroy(timers, &instance->reconcile_timer);
    swamp__timer_destroy(timers, &instance->poll_timer);
    swamp__timer_destroy(timers, &instance->retain_timer);
    swamp__timer_destroy(timers, &instance->stop_timer);
    swamp__free((char *)instance->options.hostname);
    swamp__free((char *)instance->options.address);
    swamp__free((char *)instance->options.version);
    swamp__free((char *)instance->options.git_sha);
    swamp__free(instance);
}

void
swamp__instance_stats_get(const swamp__instance *instance, swamp__instance_stats *out)
{
    *out = (swamp__instance_stats){
        .connections = instance->conn_count,
        .runs = instance->registry->unfinished,
        .viewers = instance->viewer_count,
        .store_failures = instance->store_failures,
        .watches_restarted = instance->membership.watches_restarted,
        .deaths_declared = instance->membership.deaths_declared,
        .runs_reaped = instance->runs_reaped,
    };
}
