/* The end of an instance as a table: planned stop (DESIGN 6), and the fence, which enters it at CLOSING. */
#include "inner.h"

#define CANCEL_WAIT_MS 10000 /* for the host to end what it was asked to cancel */
#define END_WAIT_MS 10000    /* for the final records of runs that were ended without the host */
#define CLOSE_WAIT_MS 10000  /* for viewers to take what is left */
#define FORGET_WAIT_MS 5000
#define LEAVE_WAIT_MS 10000

#define BOUND_GRACE -1 /* computed: see bound_of() */
#define BOUND_DRAIN -2
#define BOUND_NONE -3

static int
never(const swamp__instance *instance)
{
    (void)instance;
    return 0;
}

static int
no_runs(const swamp__instance *instance)
{
    return instance->registry->unfinished == 0 && instance->start_count == 0;
}

static int
no_connections(const swamp__instance *instance)
{
    swamp__list *list = (swamp__list *)&instance->conns;
    for (swamp__link *link = swamp__list_first(list); link; link = swamp__list_next(list, link))
        if (!SWAMP__OF(link, swamp__conn, link)->closing)
            return 0;
    return 1;
}

static int
find_forgettable(const char *key, void *value, void *user)
{
    (void)key;
    const swamp_run *run = value;
    int *found = user;
    *found |= run->state == SWAMP__RUN_FINISHED && !run->host_has_it;
    return *found;
}

/* Also the keys of admissions that were never confirmed: what other instances' reapers would find. */
static int
all_forgotten(const swamp__instance *instance)
{
    int found = instance->life.cleaning && !instance->fenced;
    swamp__map_each(instance->registry->runs, find_forgettable, &found);
    return !found;
}

static int
has_left(const swamp__instance *instance)
{
    return instance->left;
}

static void
say_drain(swamp__conn *conn)
{
    swamp__instance *instance = conn->instance;
    int64_t left_ms = -1;
    if (instance->drain_deadline_ms != INT64_MAX) {
        left_ms = instance->drain_deadline_ms - swamp__now_ms(instance->world);
        left_ms = left_ms > 0 ? left_ms : 0;
    }
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_drain(&text, SWAMP__RETRY_AFTER_MS, left_ms);
    swamp__conn_put(conn, &text);
    swamp__buf_free(&text);
}

static void
for_each_conn(swamp__instance *instance, void (*fn)(swamp__conn *conn))
{
    for (swamp__link *link = swamp__list_first(&instance->conns), *next; link; link = next) {
        next = swamp__list_next(&instance->conns, link);
        fn(SWAMP__OF(link, swamp__conn, link));
    }
}

static void
nothing(swamp__instance *instance)
{
    (void)instance;
}

static void
tell_clients(swamp__instance *instance)
{
    swamp__start_refuse_all(instance);
    for_each_conn(instance, say_drain);
}

static int
cancel_one(const char *key, void *value, void *user)
{
    (void)key;
    swamp__instance *instance = user;
    swamp_run *run = value;
    int asked_before = run->cancel_asked;
    if (swamp__cancel_run(instance, run, "instance_shutdown", "instance_shutdown") && !asked_before &&
        run->state != SWAMP__RUN_FINISHING)
        instance->stop_cancelled++;
    return 0;
}

static void
cancel_all(swamp__instance *instance)
{
    swamp__map_each(instance->registry->runs, cancel_one, instance);
}

static int
end_one(const char *key, void *value, void *user)
{
    (void)key;
    swamp__instance *instance = user;
    swamp_run *run = value;
    if (run->state == SWAMP__RUN_RUNNING || run->state == SWAMP__RUN_ADMITTED)
        swamp__life_end(&instance->life, run, SWAMP_RUN_CANCELLED, "instance_shutdown");
    return 0;
}

static void
end_all(swamp__instance *instance)
{
    swamp__map_each(instance->registry->runs, end_one, instance);
}

static void
close_if_drained(swamp__conn *conn)
{
    if (swamp__conn_drained(conn))
        swamp__conn_close(conn, 1001, "shutdown; come back, to any instance");
}

static void
close_now(swamp__conn *conn)
{
    swamp__conn_close(conn, 1001, "shutdown; come back, to any instance");
}

static int
forget_one(const char *key, void *value, void *user)
{
    (void)key;
    swamp__instance *instance = user;
    if (((swamp_run *)value)->state == SWAMP__RUN_FINISHED)
        swamp__life_forget(&instance->life, value);
    return 0;
}

static void
forget_all(swamp__instance *instance)
{
    for_each_conn(instance, close_now); /* those that were not drained in time */
    if (!instance->fenced)              /* else the keys are the reaper's */
        swamp__map_each(instance->registry->runs, forget_one, instance);
}

static void
take_left(void *user)
{
    swamp__instance *instance = user;
    instance->left = 1;
    swamp__stop_poke(instance);
}

static void
leave(swamp__instance *instance)
{
    swamp__ticks_stop(instance);
    if (instance->has_membership && !instance->fenced)
        swamp__membership_leave(&instance->membership, take_left, instance);
    else
        instance->left = 1;
}

static void
tell_ended(swamp__instance *instance)
{
    if (!instance->fenced && !instance->options.observer)
        swamp__log_write(instance->world->log, SWAMP_LOG_INFO, "stopped, runs cancelled for it: %zu",
                         instance->stop_cancelled);
    instance->on.ended(instance->on.user, instance->fenced ? SWAMP_E_FENCED : SWAMP_END);
}

static const struct row {
    void (*enter)(swamp__instance *instance);
    int (*is_over)(const swamp__instance *instance); /* then on to `next` */
    int64_t bound_ms;                                /* after so long on to `late`, whatever is_over says */
    int next, late;
} rows[] = {
    [SWAMP__PHASE_RUNNING] = {nothing, never, BOUND_NONE, 0, 0},
    [SWAMP__PHASE_GRACE] = {nothing, never, BOUND_GRACE, 0, SWAMP__PHASE_DRAINING},
    [SWAMP__PHASE_DRAINING] = {tell_clients, no_runs, BOUND_DRAIN, SWAMP__PHASE_CLOSING,
                               SWAMP__PHASE_CANCELLING},
    [SWAMP__PHASE_CANCELLING] = {cancel_all, no_runs, CANCEL_WAIT_MS, SWAMP__PHASE_CLOSING,
                                 SWAMP__PHASE_ENDING},
    [SWAMP__PHASE_ENDING] = {end_all, no_runs, END_WAIT_MS, SWAMP__PHASE_CLOSING, SWAMP__PHASE_CLOSING},
    [SWAMP__PHASE_CLOSING] = {nothing, no_connections, CLOSE_WAIT_MS, SWAMP__PHASE_FORGETTING,
                              SWAMP__PHASE_FORGETTING},
    [SWAMP__PHASE_FORGETTING] = {forget_all, all_forgotten, FORGET_WAIT_MS, SWAMP__PHASE_LEAVING,
                                 SWAMP__PHASE_LEAVING},
    [SWAMP__PHASE_LEAVING] = {leave, has_left, LEAVE_WAIT_MS, SWAMP__PHASE_STOPPED, SWAMP__PHASE_STOPPED},
    [SWAMP__PHASE_STOPPED] = {tell_ended, never, BOUND_NONE, 0, 0},
};

/* The moment at which a phase is late; INT64_MAX: never. */
static int64_t
late_at_ms(const swamp__instance *instance)
{
    int64_t bound_ms = rows[instance->phase].bound_ms;
    switch (bound_ms) {
    case BOUND_NONE:
        return INT64_MAX;
    case BOUND_DRAIN:
        return instance->drain_deadline_ms;
    case BOUND_GRACE: /* for balancers: an instance without a port has none */
        bound_ms = instance->options.local ? 0 : instance->options.drain_grace_ms;
        if (instance->drain_deadline_ms - instance->phase_since_ms < bound_ms)
            return instance->drain_deadline_ms;
        break;
    default:
        break;
    }
    return instance->phase_since_ms + bound_ms;
}

static void
enter_phase(swamp__instance *instance, int phase)
{
    instance->phase = phase;
    instance->phase_since_ms = swamp__now_ms(instance->world);
    rows[phase].enter(instance);
}

/* Who was declared dead writes nothing more: the runs are lost, their host and viewers are told, the rest closes. */
static int
tell_host_of_fence(const char *key, void *value, void *user)
{
    (void)key;
    swamp_run *run = value;
    if (run->state == SWAMP__RUN_LOST && run->host_has_it)
        swamp__cancel_hand_out(user, run, "instance_fenced");
    return 0;
}

static void
enter_fence(swamp__instance *instance)
{
    swamp__log_write(instance->world->log, SWAMP_LOG_ERROR,
                     "instance %s was declared dead: its runs are interrupted; a new handle must take over",
                     instance->options.instance_id);
    instance->fence_seen = 1;
    swamp__ticks_stop(instance);
    swamp__start_refuse_all(instance);
    swamp__life_fence(&instance->life);
    swamp__map_each(instance->registry->runs, tell_host_of_fence, instance);
    if (instance->phase < SWAMP__PHASE_CLOSING)
        enter_phase(instance, SWAMP__PHASE_CLOSING);
}

static void
look_at_table(swamp__timer *timer)
{
    swamp__instance *instance = SWAMP__OF(timer, swamp__instance, stop_timer);
    int64_t now_ms = swamp__now_ms(instance->world);
    if (instance->fenced && !instance->fence_seen)
        enter_fence(instance);
    for (;;) {
        const struct row *row = &rows[instance->phase];
        if (instance->phase == SWAMP__PHASE_CLOSING)
            for_each_conn(instance, close_if_drained);
        if (row->is_over(instance))
            enter_phase(instance, row->next);
        else if (late_at_ms(instance) <= now_ms)
            enter_phase(instance, row->late);
        else
            break;
    }
    int64_t due_ms = late_at_ms(instance);
    if (due_ms != INT64_MAX && (!swamp__timer_is_set(timer) || timer->due_ms > due_ms))
        swamp__timer_set(instance->world->timers, timer, due_ms);
}

int
swamp__stop_init(swamp__instance *instance)
{
    instance->drain_deadline_ms = INT64_MAX;
    return swamp__timer_init(instance->world->timers, &instance->stop_timer, look_at_table);
}

void
swamp__stop_poke(swamp__instance *instance)
{
    int busy = instance->phase != SWAMP__PHASE_RUNNING && instance->phase != SWAMP__PHASE_STOPPED;
    if (busy || (instance->fenced && !instance->fence_seen))
        swamp__timer_set(instance->world->timers, &instance->stop_timer, swamp__now_ms(instance->world));
}

void
swamp__stop_fence(swamp__instance *instance)
{
    /* From LEAVING on the heartbeat is gone by its own hand. */
    if (instance->fenced || instance->phase >= SWAMP__PHASE_LEAVING)
        return;
    instance->fenced = 1;
    if (instance->has_membership) /* whichever write told it: no beat and no verdict from here on */
        swamp__membership_fence(&instance->membership);
    swamp__stop_poke(instance);
}

void
swamp__stop_greet(swamp__conn *conn)
{
    if (conn->instance->phase >= SWAMP__PHASE_DRAINING)
        say_drain(conn);
}

void
swamp__instance_stop(swamp__instance *instance, int64_t drain_timeout_ms)
{
    int64_t now_ms = swamp__now_ms(instance->world);
    int64_t deadline_ms = drain_timeout_ms < 0 ? INT64_MAX : now_ms + drain_timeout_ms;
    if (deadline_ms < instance->drain_deadline_ms)
        instance->drain_deadline_ms = deadline_ms;
    if (instance->phase == SWAMP__PHASE_RUNNING)
        enter_phase(instance, SWAMP__PHASE_GRACE);
    swamp__stop_poke(instance);
}
