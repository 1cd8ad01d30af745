/* The watches over the other instances, and the deaths that they lead to. */
#include "watch.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"

int
swamp__watch_init(swamp__membership *m)
{
    m->watches = swamp__map_new();
    m->buried = swamp__map_new();
    return m->watches && m->buried ? SWAMP_OK : SWAMP_E_NOMEM;
}

static int
drop_watch(const char *key, void *value, void *user)
{
    swamp__membership *m = user;
    swamp__map_remove(m->watches, key);
    swamp__free(value);
    return 0;
}

static int
drop_buried(const char *key, void *value, void *user)
{
    swamp__membership *m = user;
    swamp__map_remove(m->buried, key);
    return 0;
}

void
swamp__watch_destroy(swamp__membership *m)
{
    if (m->watches)
        swamp__map_each(m->watches, drop_watch, m);
    swamp__map_free(m->watches);
    swamp__map_free(m->buried);
    m->watches = m->buried = NULL;
}

swamp__watch *
swamp__membership_find(swamp__membership *m, const char *instance_id)
{
    return swamp__map_get(m->watches, instance_id);
}

int64_t
swamp__membership_unchanged_ms(const swamp__membership *m, const swamp__watch *watch)
{
    return swamp__now_ms(m->world) - watch->since_ms;
}

/* Changed within 1.5 of the owner's own intervals: 15,000 ms are, 15,001 ms are not (PROTOCOL 6.5). */
int
swamp__membership_is_current(const swamp__membership *m, const swamp__watch *watch)
{
    return !watch->fresh && 2 * swamp__membership_unchanged_ms(m, watch) <= 3 * watch->interval_ms;
}

static void
start_afresh(swamp__watch *watch, int64_t now_ms)
{
    watch->since_ms = now_ms;
    watch->fresh = 1;
}

/* What the record says of its owner. One that cannot be read leaves what is known, at first this instance's
 * own values. */
static void
take_record(swamp__watch *watch, const swamp__heartbeat_record *record)
{
    watch->readable = record != NULL;
    if (!record)
        return;
    watch->record = *record;
    if (record->interval_ms > 0)
        watch->interval_ms = record->interval_ms;
    if (record->stale_ttl_ms > 0)
        watch->stale_ttl_ms = record->stale_ttl_ms;
}

static swamp__watch *
add_watch(swamp__membership *m, const char *instance_id)
{
    swamp__watch *watch = swamp__calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    snprintf(watch->instance_id, sizeof watch->instance_id, "%s", instance_id);
    watch->interval_ms = m->me.interval_ms;
    watch->stale_ttl_ms = m->me.stale_ttl_ms;
    if (swamp__map_put(m->watches, instance_id, watch) != SWAMP_OK) {
        swamp__free(watch);
        return NULL;
    }
    return watch;
}

/*
 * A record was read. Seen for the first time it is alive, and its watch starts now, whatever its wall clock
 * says. Revisions rise, so a lower one is an older read whose answer was overtaken, not a change. Without
 * memory nothing is learnt: the instance is then seen for the first time a pulse later, which never hurts it.
 */
static void
learn(swamp__membership *m, const char *instance_id, uint64_t revision, const swamp__heartbeat_record *record,
      int64_t now_ms)
{
    swamp__watch *watch = swamp__membership_find(m, instance_id);
    int first = !watch;
    if (swamp__map_get(m->buried, instance_id))
        return;
    if (first && !(watch = add_watch(m, instance_id)))
        return;
    watch->seen_in_list = 1;
    if (revision <= watch->revision)
        return;
    watch->revision = revision;
    watch->since_ms = now_ms;
    watch->fresh = first;
    take_record(watch, record);
    if (m->on.changed)
        m->on.changed(m->on.user, watch);
}

/* Its heartbeat is gone, by whomever: that is the death. */
static void
bury(swamp__membership *m, swamp__watch *watch)
{
    char instance_id[sizeof watch->instance_id];
    memcpy(instance_id, watch->instance_id, sizeof instance_id);
    swamp__map_remove(m->watches, instance_id);
    swamp__free(watch);
    if (m->pulsing)
        (void)swamp__map_put(m->buried, instance_id, m); /* without memory: it may be mourned twice */
    if (m->on.dead)
        m->on.dead(m->on.user, instance_id);
}

void
swamp__membership_observe(swamp__membership *m, const char *instance_id, uint64_t revision, const char *value,
                          size_t len)
{
    if (m->fenced || strcmp(instance_id, m->me.instance_id) == 0)
        return;
    if (!revision) {
        swamp__watch *watch = swamp__membership_find(m, instance_id);
        if (watch)
            bury(m, watch);
        return;
    }
    swamp__heartbeat_record record;
    int readable = swamp__heartbeat_read(value, len, &record) == SWAMP_OK;
    learn(m, instance_id, revision, readable ? &record : NULL, swamp__now_ms(m->world));
}

static int
mark_unseen(const char *key, void *value, void *user)
{
    ((swamp__watch *)value)->seen_in_list = 0;
    return 0;
}

void
swamp__watch_before_pulse(swamp__membership *m)
{
    swamp__map_each(m->watches, mark_unseen, NULL);
    swamp__map_each(m->buried, drop_buried, m);
}

static int
bury_unseen(const char *key, void *value, void *user)
{
    swamp__watch *watch = value;
    if (!watch->seen_in_list)
        bury(user, watch);
    return 0;
}

void
swamp__watch_take_list(swamp__membership *m, const swamp__pulse *pulse, int64_t now_ms)
{
    for (size_t i = 0; i < pulse->count; i++) {
        const swamp__sighting *sighting = &pulse->sightings[i];
        learn(m, sighting->instance_id, sighting->revision, sighting->readable ? &sighting->record : NULL,
              now_ms);
    }
    swamp__map_each(m->watches, bury_unseen, m);
}

static int
restart_one(const char *key, void *value, void *user)
{
    start_afresh(value, *(const int64_t *)user);
    return 0;
}

void
swamp__watch_restart_all(swamp__membership *m, int64_t now_ms)
{
    m->watches_restarted++;
    swamp__map_each(m->watches, restart_one, &now_ms);
}

/* Deaths. */

#define SAID_HOST_MAX 100
#define SAID_ADDRESS_MAX 200

/* Where it was, as its record said last: a person looks there. Nothing, where no record could be read. */
static void
say_death(const swamp__membership *m, const char *instance_id, const swamp__watch *watch)
{
    const swamp__heartbeat_record *record = watch ? &watch->record : NULL;
    char where[SAID_HOST_MAX + SAID_ADDRESS_MAX + 64] = "";
    if (record && record->hostname[0])
        snprintf(where, sizeof where, " (host %.*s, process %lld, %.*s)", SAID_HOST_MAX, record->hostname,
                 (long long)record->pid, SAID_ADDRESS_MAX,
                 record->address[0] ? record->address : "without an address");
    swamp__log_write(m->world->log, SWAMP_LOG_WARN,
                     "instance %s%s was declared dead: its heartbeat did not change for longer than its TTL; "
                     "look at its process, its machine and its way to the store",
                     instance_id, where);
}

static void
finish_removal(swamp__question *question)
{
    swamp__removal *removal = (swamp__removal *)question;
    swamp__membership *m = removal->membership;
    swamp__watch *watch = swamp__membership_find(m, removal->instance_id);
    m->asking--;
    if (watch)
        watch->declaring = 0;
    if (question->status == SWAMP_OK) {
        m->deaths_declared++;
        say_death(m, removal->instance_id, watch);
        if (watch)
            bury(m, watch);
    } else if (question->status == SWAMP_CONFLICT) {
        /* It beat after all, or another instance was faster: the next list says which. */
        if (watch)
            start_afresh(watch, swamp__now_ms(m->world));
    } else if (question->status == SWAMP_E_FENCED) {
        swamp__membership_fence(m);
    }
    swamp__free(removal);
}

/* Removes the heartbeat on condition of the revision that was watched; that commit is the death (PROTOCOL 5). */
static void
declare_dead(swamp__membership *m, swamp__watch *watch, int64_t now_ms)
{
    swamp__removal *removal = swamp__calloc(1, sizeof *removal);
    if (!removal)
        return; /* the next pulse looks again */
    removal->question.work = swamp__removal_work_dead;
    removal->question.done = finish_removal;
    removal->question.timeout_ms = m->beats->timeout_ms;
    /* A verdict that waited is not carried out: this instance may have been stopped meanwhile. */
    removal->question.deadline_ms = now_ms + m->me.interval_ms / 2;
    removal->membership = m;
    memcpy(removal->instance_id, watch->instance_id, sizeof removal->instance_id);
    memcpy(removal->me, m->me.instance_id, sizeof removal->me);
    removal->revision = watch->revision;
    watch->declaring = 1;
    m->asking++;
    m->beats->ask(m->beats->self, &removal->question);
}

static int
judge_one(const char *key, void *value, void *user)
{
    swamp__membership *m = user;
    swamp__watch *watch = value;
    int64_t now_ms = swamp__now_ms(m->world);
    if (!watch->declaring && now_ms - watch->since_ms > watch->stale_ttl_ms)
        declare_dead(m, watch, now_ms);
    return 0;
}

void
swamp__membership_judge(swamp__membership *m)
{
    /* Time that passed while the own schedule was broken proves nothing; the pulse that comes late restarts
     * the watches. */
    if (m->observer || !m->joined || m->stopped || m->fenced ||
        !swamp__membership_on_schedule(m, swamp__now_ms(m->world)))
        return;
    swamp__map_each(m->watches, judge_one, m);
}

struct expiry {
    int64_t now_ms, first_ms;
};

static int
look_at_expiry(const char *key, void *value, void *user)
{
    const swamp__watch *watch = value;
    struct expiry *expiry = user;
    int64_t due_ms = watch->since_ms + watch->stale_ttl_ms + 1;
    /* One that is past already is with the store, or failed there: then the next pulse tries again, not a
     * busy timer. */
    if (!watch->declaring && due_ms > expiry->now_ms && due_ms < expiry->first_ms)
        expiry->first_ms = due_ms;
    return 0;
}

int64_t
swamp__watch_next_expiry(swamp__membership *m, int64_t now_ms)
{
    struct expiry expiry = {now_ms, INT64_MAX};
    if (!m->observer && m->joined)
        swamp__map_each(m->watches, look_at_expiry, &expiry);
    return expiry.first_ms;
}
