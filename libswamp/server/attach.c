/* run.attach (PROTOCOL 6): answered here, looked up in the store, or withheld while nobody can say who lives. */
/*
 * Runs of this instance are answered at once; for others the store is asked, once for all who ask for one run
 * at a time.
 *
 *   held      --joined--> looking                  --5 s--> unavailable
 *   looking   --by outcome--> answered | withheld
 *   withheld  --owner's record changed--> run.elsewhere   --death committed--> looking
 *             --2 x staleTtl--> run.elsewhere
 */
#include "inner.h"

#define ROUNDS_MAX 3

/* One request that waits. Its ticket's job. */
typedef struct attach {
    swamp__link link; /* of held, withheld, or a look-up's list: whichever it waits in */
    swamp__instance *instance;
    swamp__ticket *ticket;
    char run_id[65];
    char epoch[257];
    int has_epoch;
    uint64_t after_seq;
    int64_t held_until_ms;
    char owner[65];     /* withheld */
    uint64_t revision;  /* withheld: the owner's record when it was */
    int64_t give_up_ms; /* 0: not yet withheld */
    int rounds;         /* look-ups so far without a watch over the owner */
    swamp__timer timer; /* withheld */
} attach;

/* One reading of the store for all who asked before it began. */
typedef struct reading {
    swamp__ask ask; /* first */
    char run_id[65];
    swamp__lookup found;
    swamp__list asked; /* attaches that this reading answers */
    swamp__list later; /* came while it was under way: what it read may be older than their question */
} reading;

static void
free_attach(attach *asked)
{
    swamp__link_remove(&asked->link);
    swamp__timer_destroy(asked->instance->world->timers, &asked->timer);
    swamp__free(asked);
}

static void
abandon_attach(swamp__ticket *ticket)
{
    free_attach(ticket->job);
}

/* The ticket without its attach, for the answer. */
static swamp__ticket *
settle(attach *asked)
{
    swamp__ticket *ticket = swamp__ticket_unbind(asked->ticket);
    free_attach(asked);
    return ticket;
}

/* Answers. */

static void
say_not_found(swamp__ticket *ticket)
{
    swamp__ticket_error(ticket, "not_found", "no such run");
}

static void
say_unavailable(swamp__ticket *ticket)
{
    swamp__ticket_retry(ticket, "unavailable", "the run cannot be looked up now");
}

static void
say_interrupted(swamp__ticket *ticket, const char *run_id, const char *owner, const char *reason)
{
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_interrupted(&text, ticket->id, run_id, owner, reason,
                              ticket->conn->instance->options.stale_ttl_ms);
    swamp__ticket_answer(ticket, &text);
    swamp__buf_free(&text);
}

static void
say_elsewhere(swamp__ticket *ticket, const char *run_id, const char *owner)
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
                                        .first_seq = first_seq,
                                        .head_seq = head_seq};
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_attached(&text, ticket->id, &info);
    swamp__conn_put(ticket->conn, &text);
    swamp__buf_free(&text);
    if (swamp__viewer_new(run, ticket, after_seq, 1) != SWAMP_OK)
        say_unavailable(ticket);
}

/* Runs that this instance knows; 0: it does not. */
static int
answer_from_registry(swamp__ticket *ticket, const char *run_id, const char *epoch, uint64_t after_seq)
{
    swamp__instance *instance = ticket->conn->instance;
    swamp_run *run = swamp__registry_find(instance->registry, run_id);
    if (!run)
        return 0;
    switch (run->state) {
    case SWAMP__RUN_LOST:
        say_interrupted(ticket, run_id, instance->options.instance_id, "instance_fenced");
        break;
    case SWAMP__RUN_ADMITTED: /* nobody was told of it yet */
        say_unavailable(ticket);
        break;
    case SWAMP__RUN_CLEANING:
        say_not_found(ticket);
        break;
    default:
        attach_here(ticket, run, epoch, after_seq);
    }
    return 1;
}

/* Withheld answers (PROTOCOL 6.5). */

static void
give_up_waiting(swamp__timer *timer)
{
    attach *asked = SWAMP__OF(timer, attach, timer);
    char run_id[65], owner[65];
    memcpy(run_id, asked->run_id, sizeof run_id);
    memcpy(owner, asked->owner, sizeof owner);
    say_elsewhere(settle(asked), run_id, owner);
}

static void
withhold(attach *asked, const swamp__watch *watch)
{
    swamp__instance *instance = asked->instance;
    int64_t now_ms = swamp__now_ms(instance->world);
    memcpy(asked->owner, watch->instance_id, sizeof asked->owner);
    asked->revision = watch->revision;
    if (!asked->give_up_ms) /* the bound is over all look-ups of one question */
        asked->give_up_ms = now_ms + 2 * watch->stale_ttl_ms;
    swamp__list_push(&instance->withheld, &asked->link);
    swamp__timer_set(instance->world->timers, &asked->timer, asked->give_up_ms);
}

/* Look-ups. */

static void look_up(attach *asked);
static void take_reading(swamp__ask *ask);

static void
read_store(swamp__question *question, swamp_store *store)
{
    reading *look = (reading *)question;
    swamp__lookup_run(store, look->run_id, question->timeout_ms, &look->found);
    question->status = look->found.found != SWAMP__FOUND_FAILED ? SWAMP_OK
                       : look->found.unreadable                 ? SWAMP_E_CORRUPT
                                                                : SWAMP_E_STORE;
}

/* PROTOCOL 6.5, the owner's heartbeat is there: by this instance's own watch. */
static void
answer_active(attach *asked, const swamp__lookup *found)
{
    swamp__instance *instance = asked->instance;
    const swamp__watch *watch = swamp__membership_find(&instance->membership, found->owner);
    if (!watch && ++asked->rounds < ROUNDS_MAX) {
        look_up(asked); /* declared dead in between: the next reading says so */
    } else if (!watch) {
        say_unavailable(settle(asked));
    } else if (swamp__membership_is_current(&instance->membership, watch)) {
        char run_id[65];
        memcpy(run_id, asked->run_id, sizeof run_id);
        say_elsewhere(settle(asked), run_id, found->owner);
    } else {
        withhold(asked, watch);
    }
}

/* The table of PROTOCOL 6.3 to 6.6. */
static void
answer_from_store(attach *asked, const swamp__lookup *found)
{
    swamp__instance *instance = asked->instance;
    char run_id[65];
    memcpy(run_id, asked->run_id, sizeof run_id);
    int mine = strcmp(found->owner, instance->options.instance_id) == 0;
    if (swamp__registry_find(instance->registry, run_id)) { /* it came in meanwhile */
        char epoch[257];
        int has_epoch = asked->has_epoch;
        uint64_t after_seq = asked->after_seq;
        memcpy(epoch, asked->epoch, sizeof epoch);
        answer_from_registry(settle(asked), run_id, has_epoch ? epoch : NULL, after_seq);
        return;
    }
    switch (found->found) {
    case SWAMP__FOUND_ACTIVE:
        if (found->local)
            say_not_found(settle(asked));
        else if (mine) /* admitted in the store, not yet or no more here: its keys are being removed */
            say_unavailable(settle(asked));
        else
            answer_active(asked, found);
        break;
    case SWAMP__FOUND_ORPHAN:
        say_interrupted(settle(asked), run_id, found->owner, "instance_dead");
        break;
    case SWAMP__FOUND_KEPT:
        if (found->local || mine)
            say_not_found(settle(asked));
        else
            say_elsewhere(settle(asked), run_id, found->owner);
        break;
    case SWAMP__FOUND_INTERRUPTED:
        say_interrupted(settle(asked), run_id, found->run.instance_id, found->run.interrupt_reason);
        break;
    case SWAMP__FOUND_NOTHING:
        say_not_found(settle(asked));
        break;
    default: /* FAILED, UNDER_WAY */
        say_unavailable(settle(asked));
    }
}

/* The owner's heartbeat as just read is news for the watch, too; a watch past its TTL declares the death. */
static void
learn(swamp__instance *instance, const swamp__lookup *found)
{
    if (found->found != SWAMP__FOUND_ACTIVE && found->found != SWAMP__FOUND_KEPT)
        return;
    if (strcmp(found->owner, instance->options.instance_id) == 0)
        return;
    swamp__membership_observe(&instance->membership, found->owner, found->heartbeat_revision,
                              found->heartbeat.data, found->heartbeat.len);
    swamp__membership_judge(&instance->membership);
}

static void
ask_store(swamp__instance *instance, reading *look)
{
    memset(&look->ask, 0, sizeof look->ask);
    memset(&look->found, 0, sizeof look->found);
    look->ask.question.work = read_store;
    look->ask.answered = take_reading;
    swamp__instance_ask(instance, &look->ask);
}

static void
move_all(swamp__list *from, swamp__list *to)
{
    for (swamp__link *link; (link = swamp__list_pop(from));)
        swamp__list_push(to, link);
}

static void
take_reading(swamp__ask *ask)
{
    reading *look = (reading *)ask;
    swamp__instance *instance = ask->instance;
    swamp__lookup found = look->found;
    swamp__list asked;
    swamp__list_init(&asked);
    move_all(&look->asked, &asked);
    if (ask->question.status != SWAMP_OK)
        found.found = SWAMP__FOUND_FAILED; /* also when its turn never came */
    /* Those who came later are asked for first: an answer below may want this run's reading again. */
    move_all(&look->later, &look->asked);
    if (swamp__list_empty(&look->asked)) {
        swamp__map_remove(instance->lookups, look->run_id);
        swamp__free(look);
    } else {
        ask_store(instance, look);
    }
    learn(instance, &found);
    if (found.found == SWAMP__FOUND_ORPHAN)
        swamp__ticks_reap(instance);
    for (swamp__link *link; (link = swamp__list_pop(&asked));)
        answer_from_store(SWAMP__OF(link, attach, link), &found);
    swamp__lookup_free(&found);
}

static void
look_up(attach *asked)
{
    swamp__instance *instance = asked->instance;
    reading *look = swamp__map_get(instance->lookups, asked->run_id);
    if (look) {
        swamp__list_push(&look->later, &asked->link);
        return;
    }
    look = swamp__calloc(1, sizeof *look);
    if (!look || swamp__map_put(instance->lookups, asked->run_id, look) != SWAMP_OK) {
        swamp__free(look);
        say_unavailable(settle(asked));
        return;
    }
    memcpy(look->run_id, asked->run_id, sizeof look->run_id);
    swamp__list_init(&look->asked);
    swamp__list_init(&look->later);
    swamp__list_push(&look->asked, &asked->link);
    ask_store(instance, look);
}

/* Asking, and what brings a waiting question on. */

static void
hold_over(swamp__timer *timer)
{
    swamp__instance *instance = SWAMP__OF(timer, swamp__instance, hold_timer);
    int64_t now_ms = swamp__now_ms(instance->world);
    swamp__link *link;
    while ((link = swamp__list_first(&instance->held))) {
        attach *asked = SWAMP__OF(link, attach, link);
        if (asked->held_until_ms > now_ms) {
            swamp__timer_set(instance->world->timers, timer, asked->held_until_ms);
            return;
        }
        say_unavailable(settle(asked));
    }
}

static void
hold(attach *asked)
{
    swamp__instance *instance = asked->instance;
    asked->held_until_ms = swamp__now_ms(instance->world) + SWAMP__HOLD_MS;
    swamp__list_push(&instance->held, &asked->link);
    if (!swamp__timer_is_set(&instance->hold_timer))
        swamp__timer_set(instance->world->timers, &instance->hold_timer, asked->held_until_ms);
}

static attach *
new_attach(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    attach *asked = swamp__calloc(1, sizeof *asked);
    if (!asked)
        return NULL;
    if (swamp__timer_init(instance->world->timers, &asked->timer, give_up_waiting) != SWAMP_OK) {
        swamp__free(asked);
        return NULL;
    }
    asked->instance = instance;
    asked->ticket = ticket;
    memcpy(asked->run_id, request->run_id, strlen(request->run_id) + 1);
    memcpy(asked->epoch, request->epoch, sizeof asked->epoch);
    asked->has_epoch = request->has_epoch;
    asked->after_seq = request->after_seq;
    swamp__ticket_bind(ticket, asked, abandon_attach);
    ticket->run_id = asked->run_id;
    return asked;
}

void
swamp__attach_ask(swamp__ticket *ticket, const swamp__request *request)
{
    swamp__instance *instance = ticket->conn->instance;
    const char *epoch = request->has_epoch ? request->epoch : NULL;
    if (answer_from_registry(ticket, request->run_id, epoch, request->after_seq))
        return;
    if (!instance->has_store || !swamp__id_is_key_segment(request->run_id)) {
        say_not_found(ticket); /* no record can bear such an id */
        return;
    }
    attach *asked = new_attach(ticket, request);
    if (!asked)
        say_unavailable(ticket);
    else if (!instance->joined)
        hold(asked);
    else
        look_up(asked);
}

void
swamp__attach_joined(swamp__instance *instance)
{
    swamp__timer_unset(instance->world->timers, &instance->hold_timer);
    for (swamp__link *link; (link = swamp__list_pop(&instance->held));)
        look_up(SWAMP__OF(link, attach, link));
}

/* Takes those out of withheld that wait for this owner; with a revision, only those that have seen another one. */
static void
take_waiting(swamp__instance *instance, const char *owner, const uint64_t *revision, swamp__list *out)
{
    swamp__list_init(out);
    for (swamp__link *link = swamp__list_first(&instance->withheld), *next; link; link = next) {
        attach *asked = SWAMP__OF(link, attach, link);
        next = swamp__list_next(&instance->withheld, link);
        if (strcmp(asked->owner, owner) != 0 || (revision && asked->revision == *revision))
            continue;
        swamp__link_remove(link);
        swamp__timer_unset(instance->world->timers, &asked->timer);
        swamp__list_push(out, link);
    }
}

void
swamp__attach_owner_changed(swamp__instance *instance, const swamp__watch *watch)
{
    swamp__list beaten;
    take_waiting(instance, watch->instance_id, &watch->revision, &beaten);
    for (swamp__link *link; (link = swamp__list_pop(&beaten));) {
        attach *asked = SWAMP__OF(link, attach, link);
        char run_id[65];
        memcpy(run_id, asked->run_id, sizeof run_id);
        say_elsewhere(settle(asked), run_id, watch->instance_id);
    }
}

void
swamp__attach_owner_dead(swamp__instance *instance, const char *instance_id)
{
    swamp__list bereft;
    take_waiting(instance, instance_id, NULL, &bereft);
    for (swamp__link *link; (link = swamp__list_pop(&bereft));)
        look_up(SWAMP__OF(link, attach, link));
}

int
swamp__attach_init(swamp__instance *instance)
{
    instance->lookups = swamp__map_new();
    if (!instance->lookups)
        return SWAMP_E_NOMEM;
    return swamp__timer_init(instance->world->timers, &instance->hold_timer, hold_over);
}

void
swamp__attach_destroy(swamp__instance *instance)
{
    assert(swamp__list_empty(&instance->held) && swamp__list_empty(&instance->withheld));
    swamp__timer_destroy(instance->world->timers, &instance->hold_timer);
    swamp__map_free(instance->lookups);
}
