/*
 * run.attach (PROTOCOL 6): answered here, looked up in the store, or withheld while nobody can say who lives.
 *
 * Runs of this instance are answered at once. For any other there is one inquiry, whoever asks for the run: one
 * reading of the store at a time and in 50 ms, one wait for its owner.
 *
 *   held      --joined--> asking
 *             --5 s--> unavailable
 *   asking    --no reading under way, none begun within 50 ms--> looking
 *   looking   --by outcome--> answered | withheld
 *   withheld  --owner's record changed--> run.elsewhere   --death committed--> asking
 *             --2 x staleTtl--> run.elsewhere
 */
#include "inner.h"

#include <stdio.h>

#define ROUNDS_MAX 3
#define READING_GAP_MS 50 /* between the beginnings of two readings of a run: a storm shares them */

/* What is being found out about one run, for all who asked for it. */
typedef struct inquiry {
    swamp__ask ask; /* first */
    swamp__instance *instance;
    char run_id[65];
    swamp__lookup found;
    int reading;          /* the store is asked */
    int64_t began_ms;     /* ... since, or was */
    int taken;            /* how many are handing something of it out: one may lead to another */
    swamp__list asking;   /* attaches that want a reading, since one that began before may be too old */
    swamp__list looking;  /* those that the one under way answers */
    swamp__timer rest;    /* until the next reading may begin */
    swamp__list withheld; /* wait for the owner */
    swamp__link link;     /* in instance->withheld, while there are some */
    char owner[65];
    uint64_t revision;  /* the owner's record when the last of them was withheld */
    swamp__timer timer; /* the first of them has waited long enough */
} inquiry;

/* One request that waits. Its ticket's job. */
typedef struct attach {
    swamp__link link; /* of held, or one of its inquiry's lists */
    swamp__instance *instance;
    swamp__ticket *ticket;
    inquiry *part_of; /* NULL: held */
    char run_id[65];
    char epoch[257];
    int has_epoch;
    uint64_t after_seq;
    int64_t held_until_ms;
    int64_t give_up_ms; /* 0: not yet withheld */
    int rounds;         /* look-ups so far without a watch over the owner */
} attach;

static void
free_attach(attach *asked)
{
    swamp__link_remove(&asked->link);
    swamp__free(asked);
}

/* Those that are not withheld any more were taken out of the list. */
static void
end_wait(inquiry *look)
{
    if (!swamp__list_empty(&look->withheld))
        return;
    swamp__link_remove(&look->link);
    swamp__timer_unset(look->instance->world->timers, &look->timer);
}

static void
free_inquiry(inquiry *look)
{
    swamp__timer_destroy(look->instance->world->timers, &look->timer);
    swamp__timer_destroy(look->instance->world->timers, &look->rest);
    swamp__free(look);
}

static void
free_if_idle(inquiry *look)
{
    if (look->reading || look->taken || swamp__timer_is_set(&look->rest) ||
        !swamp__list_empty(&look->asking) || !swamp__list_empty(&look->withheld))
        return;
    swamp__map_remove(look->instance->lookups, look->run_id);
    free_inquiry(look);
}

static void
abandon_attach(swamp__ticket *ticket)
{
    attach *asked = ticket->job;
    inquiry *look = asked->part_of;
    free_attach(asked);
    if (look) {
        end_wait(look);
        free_if_idle(look);
    }
}

/* The ticket without its attach, for the answer. */
static swamp__ticket *
settle(attach *asked)
{
    swamp__ticket *ticket = swamp__ticket_unbind(asked->ticket);
    free_attach(asked);
    return ticket;
}

/* Withheld answers (PROTOCOL 6.5). */

static void
move_all(swamp__list *from, swamp__list *to)
{
    for (swamp__link *link; (link = swamp__list_pop(from));)
        swamp__list_push(to, link);
}

/* Takes these attaches, all of this inquiry. */
static void
send_elsewhere(const inquiry *look, swamp__list *waiting)
{
    for (swamp__link *link; (link = swamp__list_pop(waiting));)
        swamp__attach_say_elsewhere(settle(SWAMP__OF(link, attach, link)), look->run_id, look->owner);
}

static void
give_up_waiting(swamp__timer *timer)
{
    inquiry *look = SWAMP__OF(timer, inquiry, timer);
    const swamp__world *world = look->instance->world;
    int64_t next_ms = INT64_MAX;
    swamp__list over;
    swamp__list_init(&over);
    for (swamp__link *link = swamp__list_first(&look->withheld), *next; link; link = next) {
        attach *asked = SWAMP__OF(link, attach, link);
        next = swamp__list_next(&look->withheld, link);
        if (asked->give_up_ms <= swamp__now_ms(world)) {
            swamp__link_remove(link);
            swamp__list_push(&over, link);
        } else if (asked->give_up_ms < next_ms) {
            next_ms = asked->give_up_ms;
        }
    }
    if (next_ms < INT64_MAX)
        swamp__timer_set(world->timers, timer, next_ms);
    end_wait(look);
    look->taken++;
    send_elsewhere(look, &over);
    look->taken--;
    free_if_idle(look);
}

static void
withhold(attach *asked, const swamp__watch *watch)
{
    inquiry *look = asked->part_of;
    const swamp__world *world = asked->instance->world;
    memcpy(look->owner, watch->instance_id, sizeof look->owner);
    look->revision = watch->revision; /* had it changed, those before would have been answered */
    if (!asked->give_up_ms)           /* the bound is over all look-ups of one question */
        asked->give_up_ms = swamp__now_ms(world) + 2 * watch->stale_ttl_ms;
    if (swamp__list_empty(&look->withheld))
        swamp__list_push(&asked->instance->withheld, &look->link);
    swamp__list_push(&look->withheld, &asked->link);
    if (!swamp__timer_is_set(&look->timer) || asked->give_up_ms < look->timer.due_ms)
        swamp__timer_set(world->timers, &look->timer, asked->give_up_ms);
}

/* Look-ups. */

static void look_up(attach *asked);
static void take_reading(swamp__ask *ask);

static void
read_store(swamp__question *question, swamp_store *store)
{
    inquiry *look = (inquiry *)question;
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
        swamp__attach_say_unavailable(settle(asked));
    } else if (swamp__membership_is_current(&instance->membership, watch)) {
        const char *run_id = asked->part_of->run_id;
        swamp__attach_say_elsewhere(settle(asked), run_id, found->owner);
    } else {
        withhold(asked, watch);
    }
}

/* The table of PROTOCOL 6.3 to 6.6. */
static void
answer_from_store(attach *asked, const swamp__lookup *found)
{
    swamp__instance *instance = asked->instance;
    const char *run_id = asked->part_of->run_id; /* stays while this reading is handed out */
    int mine = strcmp(found->owner, instance->options.instance_id) == 0;
    if (swamp__registry_find(instance->registry, run_id)) { /* it came in meanwhile */
        swamp__ticket *ticket = swamp__ticket_unbind(asked->ticket);
        swamp__attach_from_registry(ticket, run_id, asked->has_epoch ? asked->epoch : NULL, asked->after_seq);
        free_attach(asked);
        return;
    }
    switch (found->found) {
    case SWAMP__FOUND_ACTIVE:
        if (found->local)
            swamp__attach_say_not_found(settle(asked));
        else if (mine) /* admitted in the store, not yet or no more here: its keys are being removed */
            swamp__attach_say_unavailable(settle(asked));
        else
            answer_active(asked, found);
        break;
    case SWAMP__FOUND_ORPHAN:
        swamp__attach_say_interrupted(settle(asked), run_id, found->owner, "instance_dead");
        break;
    case SWAMP__FOUND_KEPT:
        if (found->local || mine)
            swamp__attach_say_not_found(settle(asked));
        else
            swamp__attach_say_elsewhere(settle(asked), run_id, found->owner);
        break;
    case SWAMP__FOUND_INTERRUPTED:
        swamp__attach_say_interrupted(settle(asked), run_id, found->run.instance_id,
                                      found->run.interrupt_reason);
        break;
    case SWAMP__FOUND_NOTHING:
        swamp__attach_say_not_found(settle(asked));
        break;
    default: /* FAILED, UNDER_WAY */
        swamp__attach_say_unavailable(settle(asked));
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
begin_reading(inquiry *look)
{
    if (look->reading || swamp__timer_is_set(&look->rest) || swamp__list_empty(&look->asking))
        return;
    move_all(&look->asking, &look->looking);
    memset(&look->ask, 0, sizeof look->ask);
    memset(&look->found, 0, sizeof look->found);
    look->reading = 1;
    look->began_ms = swamp__now_ms(look->instance->world);
    look->ask.question.work = read_store;
    look->ask.answered = take_reading;
    swamp__instance_ask(look->instance, &look->ask);
}

static void
rest_over(swamp__timer *timer)
{
    inquiry *look = SWAMP__OF(timer, inquiry, rest);
    begin_reading(look);
    free_if_idle(look);
}

static void
end_reading(inquiry *look)
{
    const swamp__world *world = look->instance->world;
    look->reading = 0;
    if (swamp__now_ms(world) - look->began_ms < READING_GAP_MS)
        swamp__timer_set(world->timers, &look->rest, look->began_ms + READING_GAP_MS);
    begin_reading(look);
}

static void
take_reading(swamp__ask *ask)
{
    inquiry *look = (inquiry *)ask;
    swamp__instance *instance = ask->instance;
    swamp__lookup found = look->found;
    swamp__list asked;
    swamp__list_init(&asked);
    move_all(&look->looking, &asked);
    if (ask->question.status != SWAMP_OK)
        found.found = SWAMP__FOUND_FAILED; /* also when its turn never came */
    look->taken++;
    end_reading(look);
    learn(instance, &found);
    if (found.found == SWAMP__FOUND_ORPHAN)
        swamp__ticks_reap(instance);
    for (swamp__link *link; (link = swamp__list_pop(&asked));)
        answer_from_store(SWAMP__OF(link, attach, link), &found);
    swamp__lookup_free(&found);
    look->taken--;
    free_if_idle(look);
}

/* NULL: out of memory. */
static inquiry *
inquiry_of(swamp__instance *instance, const char *run_id)
{
    inquiry *look = swamp__map_get(instance->lookups, run_id);
    if (look)
        return look;
    look = swamp__calloc(1, sizeof *look);
    if (!look)
        return NULL;
    look->instance = instance;
    snprintf(look->run_id, sizeof look->run_id, "%s", run_id);
    swamp__list_init(&look->asking);
    swamp__list_init(&look->looking);
    swamp__list_init(&look->withheld);
    if (swamp__timer_init(instance->world->timers, &look->timer, give_up_waiting) != SWAMP_OK ||
        swamp__timer_init(instance->world->timers, &look->rest, rest_over) != SWAMP_OK ||
        swamp__map_put(instance->lookups, look->run_id, look) != SWAMP_OK) {
        free_inquiry(look);
        return NULL;
    }
    return look;
}

static void
look_up_all(inquiry *look, swamp__list *attaches)
{
    move_all(attaches, &look->asking);
    begin_reading(look);
}

static void
look_up(attach *asked)
{
    swamp__list one;
    asked->part_of = inquiry_of(asked->instance, asked->run_id);
    if (!asked->part_of) {
        swamp__attach_say_unavailable(settle(asked));
        return;
    }
    swamp__list_init(&one);
    swamp__list_push(&one, &asked->link);
    look_up_all(asked->part_of, &one);
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
        swamp__attach_say_unavailable(settle(asked));
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
    if (swamp__attach_from_registry(ticket, request->run_id, epoch, request->after_seq))
        return;
    if (!instance->has_store || !swamp__id_is_key_segment(request->run_id)) {
        swamp__attach_say_not_found(ticket); /* no record can bear such an id */
        return;
    }
    attach *asked = new_attach(ticket, request);
    if (!asked)
        swamp__attach_say_unavailable(ticket);
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

/*
 * Takes what is withheld of one run of this owner; with a revision, only where another one was seen. NULL: there is
 * none left. The caller settles `out`, then `taken`.
 */
static inquiry *
take_waiting(swamp__instance *instance, const char *owner, const uint64_t *revision, swamp__list *out)
{
    for (swamp__link *link = swamp__list_first(&instance->withheld); link;
         link = swamp__list_next(&instance->withheld, link)) {
        inquiry *look = SWAMP__OF(link, inquiry, link);
        if (strcmp(look->owner, owner) != 0 || (revision && look->revision == *revision))
            continue;
        swamp__list_init(out);
        move_all(&look->withheld, out);
        end_wait(look);
        look->taken++;
        return look;
    }
    return NULL;
}

void
swamp__attach_owner_changed(swamp__instance *instance, const swamp__watch *watch)
{
    swamp__list beaten;
    for (inquiry *look;
         (look = take_waiting(instance, watch->instance_id, &watch->revision, &beaten)) != NULL;) {
        send_elsewhere(look, &beaten);
        look->taken--;
        free_if_idle(look);
    }
}

void
swamp__attach_owner_dead(swamp__instance *instance, const char *instance_id)
{
    swamp__list bereft;
    for (inquiry *look; (look = take_waiting(instance, instance_id, NULL, &bereft)) != NULL;) {
        look_up_all(look, &bereft);
        look->taken--;
    }
}

int
swamp__attach_init(swamp__instance *instance)
{
    instance->lookups = swamp__map_new();
    if (!instance->lookups)
        return SWAMP_E_NOMEM;
    return swamp__timer_init(instance->world->timers, &instance->hold_timer, hold_over);
}

static int
free_resting(const char *run_id, void *value, void *user)
{
    (void)run_id;
    (void)user;
    free_inquiry(value);
    return 0;
}

void
swamp__attach_destroy(swamp__instance *instance)
{
    assert(swamp__list_empty(&instance->held) && swamp__list_empty(&instance->withheld));
    if (instance->lookups)
        swamp__map_each(instance->lookups, free_resting, NULL);
    swamp__timer_destroy(instance->world->timers, &instance->hold_timer);
    swamp__map_free(instance->lookups);
}
