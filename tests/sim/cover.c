/* Which transitions of the core's state machines the plays have taken: each row of each table shall be. */
/*
 * The product counts nothing for this. Functions that one of its files calls in another are wrapped by the linker
 * (--wrap, see meson.build), and what stays inside a file is told by the state before and after. A row that no
 * play can reach names the test that holds it.
 */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/run/heartbeat.h"
#include "../../libswamp/run/life_write.h"
#include "../../libswamp/server/inner.h"
#include "../../libswamp/session/machine.h"
#include "cover.h"

static void
count(const char *name)
{
    ++*sim_cover_place(name);
}

/* The resume machine (session/rules.c). */

void __real_swamp__session_feed(swamp__session *session, int input, const swamp__news *news);
void __wrap_swamp__session_feed(swamp__session *session, int input, const swamp__news *news);

void
__wrap_swamp__session_feed(swamp__session *session, int input, const swamp__news *news)
{
    static unsigned long long *known[1u << 10][SWAMP__IN_COUNT]; /* this is called for every event */
    char name[72];
    if (swamp__session_rule(session->state, input)) {
        unsigned long long **place = &known[session->state][input];
        if (!*place) {
            sim_cover_session_row(name, session->state, input);
            *place = sim_cover_place(name);
        }
        ++**place;
    }
    __real_swamp__session_feed(session, input, news);
}

/* A run's life (run/life.c): from state to state, and what each kind of write brings. */

void (*sim_after_write)(const char *kind, swamp__question *question);

static const char *const run_states[] = {"",         "admitted", "running",  "finishing",
                                         "finished", "lost",     "cleaning", "gone"};
/* Of what is tried again, "not" and "unknown" are one row of the table. */
static const char *const outcomes[] = {"not known", "done", "fenced", "not known", "stale", "absent"};
static const char *const outcomes_of_admission[] = {"not", "done", "fenced", "unknown"};

static void
count_move(const swamp_run *run, int state)
{
    char name[72];
    snprintf(name, sizeof name, "run %s: to %s", run_states[run->state], run_states[state]);
    count(name);
}

void __real_swamp__registry_set_state(swamp__registry *registry, swamp_run *run, int state);
void __wrap_swamp__registry_set_state(swamp__registry *registry, swamp_run *run, int state);
void __real_swamp__registry_remove(swamp__registry *registry, swamp_run *run);
void __wrap_swamp__registry_remove(swamp__registry *registry, swamp_run *run);

void
__wrap_swamp__registry_set_state(swamp__registry *registry, swamp_run *run, int state)
{
    count_move(run, state);
    __real_swamp__registry_set_state(registry, run, state);
}

void
__wrap_swamp__registry_remove(swamp__registry *registry, swamp_run *run)
{
    count_move(run, SWAMP__RUN_GONE);
    __real_swamp__registry_remove(registry, run);
}

static void
count_write(const char *kind, swamp__question *question)
{
    char name[72];
    int outcome = ((const swamp__life_write *)question)->outcome;
    snprintf(name, sizeof name, "write %s: %s", kind,
             strcmp(kind, "admission") == 0 ? outcomes_of_admission[outcome] : outcomes[outcome]);
    count(name);
    if (sim_after_write)
        sim_after_write(kind, question);
}

#define WRAP_WRITE(kind)                                                                                     \
    void __real_swamp__write_##kind(swamp__question *question, swamp_store *store);                          \
    void __wrap_swamp__write_##kind(swamp__question *question, swamp_store *store);                          \
    void __wrap_swamp__write_##kind(swamp__question *question, swamp_store *store)                           \
    {                                                                                                        \
        __real_swamp__write_##kind(question, store);                                                         \
        count_write(#kind, question);                                                                        \
    }

WRAP_WRITE(admission)
WRAP_WRITE(progress)
WRAP_WRITE(final)
WRAP_WRITE(cleaning)
WRAP_WRITE(forget)

/* run.attach (server/attach.c). */

static const char *const found_names[] = {"failed",      "active",  "orphan",   "kept",
                                          "interrupted", "nothing", "under way"};
static unsigned elsewheres, judged; /* in this step */
static int in_changed;

void __real_swamp__lookup_run(swamp_store *store, const char *run_id, int timeout_ms, swamp__lookup *out);
void __wrap_swamp__lookup_run(swamp_store *store, const char *run_id, int timeout_ms, swamp__lookup *out);
void __real_swamp__answer_elsewhere(swamp__buf *out, const char *id,
                                    const swamp__answer_elsewhere_info *info);
void __wrap_swamp__answer_elsewhere(swamp__buf *out, const char *id,
                                    const swamp__answer_elsewhere_info *info);
int __real_swamp__membership_is_current(const swamp__membership *m, const swamp__watch *watch);
int __wrap_swamp__membership_is_current(const swamp__membership *m, const swamp__watch *watch);
void __real_swamp__attach_joined(swamp__instance *instance);
void __wrap_swamp__attach_joined(swamp__instance *instance);
void __real_swamp__attach_owner_changed(swamp__instance *instance, const swamp__watch *watch);
void __wrap_swamp__attach_owner_changed(swamp__instance *instance, const swamp__watch *watch);
void __real_swamp__attach_owner_dead(swamp__instance *instance, const char *instance_id);
void __wrap_swamp__attach_owner_dead(swamp__instance *instance, const char *instance_id);

static unsigned
length(swamp__list *list)
{
    unsigned n = 0;
    for (swamp__link *link = swamp__list_first(list); link; link = swamp__list_next(list, link))
        n++;
    return n;
}

void
__wrap_swamp__lookup_run(swamp_store *store, const char *run_id, int timeout_ms, swamp__lookup *out)
{
    char name[72];
    __real_swamp__lookup_run(store, run_id, timeout_ms, out);
    snprintf(name, sizeof name, "attach looking: %s", found_names[out->found]);
    count(name);
}

void
__wrap_swamp__answer_elsewhere(swamp__buf *out, const char *id, const swamp__answer_elsewhere_info *info)
{
    elsewheres += !in_changed;
    __real_swamp__answer_elsewhere(out, id, info);
}

int
__wrap_swamp__membership_is_current(const swamp__membership *m, const swamp__watch *watch)
{
    judged++;
    return __real_swamp__membership_is_current(m, watch);
}

void
__wrap_swamp__attach_joined(swamp__instance *instance)
{
    if (!swamp__list_empty(&instance->held))
        count("attach held: joined");
    __real_swamp__attach_joined(instance);
}

void
__wrap_swamp__attach_owner_changed(swamp__instance *instance, const swamp__watch *watch)
{
    unsigned before = length(&instance->withheld);
    in_changed = 1;
    __real_swamp__attach_owner_changed(instance, watch);
    in_changed = 0;
    if (length(&instance->withheld) < before)
        count("attach withheld: owner changed");
}

void
__wrap_swamp__attach_owner_dead(swamp__instance *instance, const char *instance_id)
{
    unsigned before = length(&instance->withheld);
    __real_swamp__attach_owner_dead(instance, instance_id);
    if (length(&instance->withheld) < before)
        count("attach withheld: owner dead");
}

static void
look_at_attaches(sim_instance *instance)
{
    swamp__instance *core = instance->core;
    unsigned held = length(&core->held), withheld = length(&core->withheld);
    if (held < instance->held && !core->joined && !core->phase)
        count("attach held: too long");
    if (withheld > instance->withheld)
        count("attach looking: withheld");
    if (withheld < instance->withheld && elsewheres && !judged)
        count("attach withheld: too long");
    instance->held = held;
    instance->withheld = withheld;
    elsewheres = judged = 0;
}

/* The planned stop and the fence (server/stop.c). */

static const char *const phases[] = {"running", "grace",      "draining", "cancelling", "ending",
                                     "closing", "forgetting", "leaving",  "stopped"};
/* Of those whose two ways lead to the same phase. */
static const int64_t bounds_ms[] = {[SWAMP__PHASE_ENDING] = 10000,
                                    [SWAMP__PHASE_CLOSING] = 10000,
                                    [SWAMP__PHASE_FORGETTING] = 5000,
                                    [SWAMP__PHASE_LEAVING] = 10000,
                                    [SWAMP__PHASE_STOPPED] = 0};

static void
look_at_stop(sim_instance *instance)
{
    const swamp__instance *core = instance->core;
    char name[72];
    int64_t now_ms = fake_node_now(instance->node), since_ms = instance->phase_since_ms;
    for (int phase = instance->phase, next; phase != core->phase; phase = next, since_ms = now_ms) {
        int fence = core->fence_seen && phase < SWAMP__PHASE_CLOSING && !instance->fenced;
        next = fence                                                           ? SWAMP__PHASE_CLOSING
               : phase == SWAMP__PHASE_RUNNING || phase >= SWAMP__PHASE_ENDING ? phase + 1
               : core->phase == phase + 1                                      ? phase + 1
               : phase == SWAMP__PHASE_GRACE                                   ? SWAMP__PHASE_DRAINING
                                                                               : SWAMP__PHASE_CLOSING;
        int late = phase >= SWAMP__PHASE_ENDING && now_ms - since_ms >= bounds_ms[phase];
        snprintf(name, sizeof name, "stop %s: %s%s", fence ? "fenced" : phases[phase], phases[next],
                 late ? ", late" : "");
        count(name);
        if (next <= SWAMP__PHASE_LEAVING && !instance->gone)
            sim_step(instance, SIM_STEP_GRACE + next - SWAMP__PHASE_GRACE);
    }
    instance->phase = core->phase;
    instance->phase_since_ms = core->phase_since_ms;
    instance->fenced = core->fence_seen;
}

/* Membership (run/membership.h): what a pulse brings, and a removal. */

void __real_swamp__removal_work_dead(swamp__question *question, swamp_store *store);
void __wrap_swamp__removal_work_dead(swamp__question *question, swamp_store *store);

void
__wrap_swamp__removal_work_dead(swamp__question *question, swamp_store *store)
{
    __real_swamp__removal_work_dead(question, store);
    count(question->status == SWAMP_OK         ? "membership removal: gone"
          : question->status == SWAMP_CONFLICT ? "membership removal: not what was watched"
          : question->status == SWAMP_E_FENCED ? "membership removal: fenced"
                                               : "membership removal: failed");
}

static void
look_at_pulse(const sim_instance *instance)
{
    const swamp__membership *m = &instance->core->membership;
    const swamp__pulse *pulse = m->pulse;
    int restarted = m->watches_restarted != instance->restarts;
    if (pulse->beat_status == SWAMP_E_FENCED)
        count("membership pulse: condition failed, fenced");
    else if (m->fenced)
        count("membership pulse: own record absent, fenced");
    else if (!restarted)
        count("membership pulse: watches count on");
    else if (pulse->beat_due && !pulse->beats)
        count("membership pulse: beat not asked, afresh");
    else if (pulse->beats && pulse->beat_status != SWAMP_OK)
        count("membership pulse: beat failed, afresh");
    else if (pulse->read_status != SWAMP_OK)
        count("membership pulse: read failed, afresh");
    else
        count("membership pulse: late, afresh");
}

static void
look_at_membership(sim_instance *instance)
{
    const swamp__membership *m = &instance->core->membership;
    if (instance->pulsing && !m->pulsing && !m->stopped)
        look_at_pulse(instance);
    else if (m->watches_restarted != instance->restarts)
        count("membership timer: late, afresh");
    if (m->joined && !instance->joined)
        count("membership start: joined");
    instance->pulsing = m->pulsing;
    instance->joined = m->joined;
    instance->restarts = m->watches_restarted;
}

void
sim_cover_after(sim_instance *instance)
{
    look_at_membership(instance);
    look_at_attaches(instance);
    look_at_stop(instance);
}
