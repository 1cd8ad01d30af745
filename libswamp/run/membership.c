/* The schedule of an instance's pulses: own beats, the first one, the end, and what counts as measured time. */
#include "membership.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/clock.h"
#include "heartbeat.h"
#include "watch.h"

static int64_t
half_interval(const swamp__membership *m)
{
    return m->me.interval_ms / 2;
}

int
swamp__membership_on_schedule(const swamp__membership *m, int64_t now_ms)
{
    return now_ms - m->pulse_due_ms <= half_interval(m);
}

/* The timer wakes for the next pulse, or for the moment at which a watch passes its TTL. */
static void
set_timer(swamp__membership *m, int64_t now_ms)
{
    if (m->stopped || m->fenced)
        return;
    int64_t due_ms = swamp__watch_next_expiry(m, now_ms);
    if (!m->pulsing && m->pulse_due_ms < due_ms)
        due_ms = m->pulse_due_ms;
    if (due_ms == INT64_MAX)
        swamp__timer_unset(m->world->timers, &m->timer);
    else
        swamp__timer_set(m->world->timers, &m->timer, due_ms);
}

#define SAY_EVERY_MS 60000

/*
 * The time measured so far does not count. Said once in the log, however long the trouble lasts, and at most
 * once a minute where it comes and goes: at short intervals a busy machine falls behind every few beats. Trouble
 * that begins within the minute and stays is said when the minute is over.
 */
static void
restart_watches(swamp__membership *m, int64_t now_ms, const char *why)
{
    int is_news = !m->fault_told && (!m->watches_restarted || now_ms - m->fault_told_ms >= SAY_EVERY_MS);
    m->faulty = 1;
    swamp__watch_restart_all(m, now_ms);
    if (!is_news)
        return;
    m->fault_told = 1;
    m->fault_told_ms = now_ms;
    swamp__log_write(m->world->log, SWAMP_LOG_WARN,
                     "%s: nobody is declared dead until this instance is on schedule again; look at the "
                     "store and the load (late or failed so far: %llu)",
                     why, (unsigned long long)m->watches_restarted);
}

void
swamp__membership_fence(swamp__membership *m)
{
    if (m->fenced)
        return;
    m->fenced = 1;
    if (m->stopped)
        return; /* it was leaving anyway */
    swamp__timer_unset(m->world->timers, &m->timer);
    swamp__log_write(m->world->log, SWAMP_LOG_ERROR,
                     "this instance was declared dead: its heartbeat %s is gone", m->me.instance_id);
    if (m->on.fenced)
        m->on.fenced(m->on.user);
}

static void
prepare_beat(swamp__membership *m, swamp__pulse *pulse)
{
    pulse->beat_due = !m->observer && m->pulses >= m->next_beat;
    pulse->beats = pulse->beat_due && (!m->on.healthy || m->on.healthy(m->on.user));
    if (!pulse->beats)
        return;
    if (m->on.describe)
        m->on.describe(m->on.user, &m->me);
    m->me.beat++;
    swamp__clock_iso(m->world->unix_ms(m->world->self), m->me.heartbeat_at);
}

static void
ask_pulse(swamp__membership *m, int64_t now_ms)
{
    swamp__pulse *pulse = m->pulse;
    swamp__watch_before_pulse(m);
    prepare_beat(m, pulse);
    pulse->record = m->me;
    pulse->revision = m->revision;
    pulse->due_ms = m->pulse_due_ms;
    pulse->number = m->pulses++;
    pulse->beat_status = pulse->read_status = SWAMP_E_TIMEOUT; /* unless the work is done */
    pulse->sees_itself = pulse->in_doubt = 0;
    pulse->count = 0;
    /* Late beats still keep this instance alive, but a beat that waited for a whole TTL comes from a hung
     * instance. */
    pulse->question.deadline_ms = now_ms + m->me.stale_ttl_ms;
    pulse->question.timeout_ms = m->beats->timeout_ms;
    m->pulsing = 1;
    m->asking++;
    m->beats->ask(m->beats->self, &pulse->question);
}

static void remove_own_heartbeat(swamp__membership *m);

static void
tick(swamp__timer *timer)
{
    swamp__membership *m = SWAMP__OF(timer, swamp__membership, timer);
    int64_t now_ms = swamp__now_ms(m->world);
    if (m->stopped && m->in_doubt) {
        m->in_doubt = 0;
        remove_own_heartbeat(m);
        return;
    }
    if (m->stopped) { /* left without a question */
        m->left(m->left_user);
        return;
    }
    if (!m->pulsing && now_ms >= m->pulse_due_ms) {
        if (!swamp__membership_on_schedule(m, now_ms)) {
            restart_watches(m, now_ms, "the own heartbeat timer came late");
            m->pulse_due_ms = now_ms;
        }
        ask_pulse(m, now_ms);
    }
    swamp__membership_judge(m);
    set_timer(m, now_ms);
}

/* Why the time up to this answer does not count; NULL: it does. */
static const char *
find_fault(swamp__membership *m, const swamp__pulse *pulse, int64_t now_ms)
{
    if (pulse->beat_due && !pulse->beats)
        return "no heartbeat was written since the store thread does not answer";
    if (pulse->beats && pulse->beat_status != SWAMP_OK)
        return "the own heartbeat could not be written";
    if (pulse->read_status != SWAMP_OK)
        return "the heartbeats could not be read";
    return now_ms - pulse->due_ms > half_interval(m) ? "the store answered late" : NULL;
}

static void
take_beat(swamp__membership *m, const swamp__pulse *pulse, int64_t now_ms)
{
    m->revision =
        pulse->revision; /* also of a beat that failed: it may have found an earlier one of its own */
    if (pulse->in_doubt) {
        m->in_doubt = 1;
        m->doubt_ms = now_ms;
    }
    if (!pulse->beats || pulse->beat_status != SWAMP_OK)
        return;
    m->last_good_beat_ms = now_ms;
    m->next_beat = pulse->number + 2;
}

/*
 * A heartbeat is never re-created (PROTOCOL 5): a first beat that had no answer, and lands once the record is removed,
 * would do that. While the record stands it is refused, so that the record stands until twice the store's time-out.
 */
static void
remove_when_sure(swamp__membership *m)
{
    int64_t sure_ms = m->doubt_ms + 2 * (int64_t)m->beats->timeout_ms;
    if (m->in_doubt && swamp__now_ms(m->world) < sure_ms)
        swamp__timer_set(m->world->timers, &m->timer, sure_ms);
    else
        remove_own_heartbeat(m);
}

/* Takes what the pulse found. The order is that of the table in membership.h. */
static void
take_pulse(swamp__membership *m, const swamp__pulse *pulse, int64_t now_ms)
{
    int read = pulse->read_status == SWAMP_OK;
    /* An absent own record is a death that the next beat would only find out later. */
    int gone = read && m->revision && !pulse->sees_itself;
    if (pulse->beat_status == SWAMP_E_FENCED || gone) {
        swamp__membership_fence(m);
        return;
    }
    if (read) {
        m->read_once = 1;
        swamp__watch_take_list(m, pulse, now_ms);
    }
    const char *fault = find_fault(m, pulse, now_ms);
    if (fault) {
        restart_watches(m, now_ms, fault);
    } else if (m->faulty) {
        m->faulty = 0;
        if (m->fault_told)
            swamp__log_write(m->world->log, SWAMP_LOG_INFO, "heartbeats are on schedule again");
        m->fault_told = 0;
    }
    if (!m->joined && m->read_once && (m->observer || m->revision)) {
        m->joined = 1;
        if (m->on.joined)
            m->on.joined(m->on.user);
    }
}

static void
finish_pulse(swamp__question *question)
{
    swamp__pulse *pulse = (swamp__pulse *)question;
    swamp__membership *m = pulse->membership;
    int64_t now_ms = swamp__now_ms(m->world);
    m->asking--;
    m->pulsing = 0;
    m->last_pulse_ms = now_ms;
    take_beat(m, pulse, now_ms);
    m->pulse_due_ms = pulse->due_ms + half_interval(m);
    if (m->pulse_due_ms < now_ms)
        m->pulse_due_ms = now_ms;
    if (m->stopped) { /* leave waited for this answer */
        remove_when_sure(m);
        return;
    }
    if (!m->fenced)
        take_pulse(m, pulse, now_ms);
    if (m->stopped)
        return;
    swamp__membership_judge(m);
    set_timer(m, now_ms);
}

/* The end. */

static void
finish_leave(swamp__question *question)
{
    swamp__membership *m = ((swamp__removal *)question)->membership;
    m->asking--;
    if (question->status < 0)
        swamp__log_write(m->world->log, SWAMP_LOG_WARN,
                         "the own heartbeat could not be removed (%s): others wait for its TTL before they "
                         "take its runs as ended",
                         swamp_status_name(question->status));
    swamp__free(question);
    m->left(m->left_user);
}

static void
remove_own_heartbeat(swamp__membership *m)
{
    swamp__removal *removal = m->observer ? NULL : swamp__calloc(1, sizeof *removal);
    if (!removal) {
        /* An observer has none. Without memory it stays, and others wait for its TTL. The timer calls `left`. */
        swamp__timer_set(m->world->timers, &m->timer, swamp__now_ms(m->world));
        return;
    }
    removal->question.work = swamp__removal_work_own;
    removal->question.done = finish_leave;
    removal->question.timeout_ms = m->beats->timeout_ms;
    removal->question.deadline_ms = swamp__now_ms(m->world) + m->me.stale_ttl_ms;
    removal->membership = m;
    memcpy(removal->instance_id, m->me.instance_id, sizeof removal->instance_id);
    removal->revision = m->revision;
    m->asking++;
    m->beats->ask(m->beats->self, &removal->question);
}

void
swamp__membership_leave(swamp__membership *m, void (*done)(void *user), void *user)
{
    assert(!m->left);
    m->stopped = 1;
    m->left = done;
    m->left_user = user;
    swamp__timer_unset(m->world->timers, &m->timer);
    if (!m->pulsing) /* else its answer brings the revision to remove at */
        remove_when_sure(m);
}

int
swamp__membership_init(swamp__membership *m)
{
    m->watches = m->buried = NULL;
    m->revision = m->watches_restarted = m->deaths_declared = 0;
    m->joined = m->stopped = m->fenced = m->read_once = 0;
    m->asking = m->pulsing = m->faulty = m->fault_told = 0;
    m->fault_told_ms = m->doubt_ms = 0;
    m->in_doubt = 0;
    m->pulse_due_ms = m->last_pulse_ms = m->last_good_beat_ms = 0;
    m->pulses = m->next_beat = 0;
    m->left = NULL;
    m->left_user = NULL;
    memset(&m->timer, 0, sizeof m->timer);
    m->pulse = swamp__calloc(1, sizeof *m->pulse);
    if (!m->pulse || swamp__watch_init(m) != SWAMP_OK ||
        swamp__timer_init(m->world->timers, &m->timer, tick) != SWAMP_OK) {
        swamp__membership_destroy(m);
        return SWAMP_E_NOMEM;
    }
    m->pulse->membership = m;
    m->pulse->question.work = swamp__pulse_work;
    m->pulse->question.done = finish_pulse;
    return SWAMP_OK;
}

void
swamp__membership_start(swamp__membership *m)
{
    assert(m->me.interval_ms >= 2 && m->beats->timeout_ms > 0);
    m->pulse_due_ms = swamp__now_ms(m->world);
    swamp__timer_set(m->world->timers, &m->timer, m->pulse_due_ms);
}

void
swamp__membership_destroy(swamp__membership *m)
{
    assert(!m->asking);
    swamp__timer_destroy(m->world->timers, &m->timer);
    swamp__watch_destroy(m);
    if (m->pulse)
        swamp__free(m->pulse->sightings);
    swamp__free(m->pulse);
    m->pulse = NULL;
}
