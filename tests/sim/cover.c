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
#include "sim.h"

#define ROWS_MAX 240

typedef struct row {
    char name[72];
    const char *elsewhere;
    unsigned long long taken;
} row;

static row rows[ROWS_MAX];
static size_t row_count;

static void count(const char *name);
static row *get_row(const char *name);

/* The resume machine: a row for each rule and each state that it names (session/rules.c). */

static const char *const inputs[SWAMP__IN_COUNT] = {
    [SWAMP__IN_DELAY_OVER] = "delay over",
    [SWAMP__IN_CONNECTED] = "connected",
    [SWAMP__IN_LOST] = "lost",
    [SWAMP__IN_UNAUTHORIZED] = "unauthorized",
    [SWAMP__IN_TRY_LATER] = "try later",
    [SWAMP__IN_ACCEPTED] = "accepted",
    [SWAMP__IN_ATTACHED] = "attached",
    [SWAMP__IN_EVENT] = "event",
    [SWAMP__IN_EVENT_SEEN] = "event seen",
    [SWAMP__IN_EVENT_HOLE] = "hole",
    [SWAMP__IN_EVENT_HOLE_AGAIN] = "hole again",
    [SWAMP__IN_GARBLED] = "garbled",
    [SWAMP__IN_GARBLED_AGAIN] = "garbled again",
    [SWAMP__IN_GAP] = "gap",
    [SWAMP__IN_ELSEWHERE] = "elsewhere",
    [SWAMP__IN_INTERRUPTED] = "interrupted",
    [SWAMP__IN_NOT_FOUND] = "not found",
    [SWAMP__IN_UNAVAILABLE] = "unavailable",
    [SWAMP__IN_EPOCH_MISMATCH] = "epoch mismatch",
    [SWAMP__IN_EPOCH_AGAIN] = "epoch again",
    [SWAMP__IN_REFUSED] = "refused",
    [SWAMP__IN_DRAIN] = "drain",
    [SWAMP__IN_DONE] = "done",
    [SWAMP__IN_DONE_SHORT] = "done short",
    [SWAMP__IN_DONE_SHORT_AGAIN] = "done short again",
    [SWAMP__IN_FINAL] = "final",
    [SWAMP__IN_NOT_FINAL] = "not final",
    [SWAMP__IN_CANCEL] = "cancel",
    [SWAMP__IN_CANCEL_UNSENT] = "cancel unsent",
};
static const char *const states[] = {"dialing", "starting", "attaching", "streaming", "asking",
                                     "polling", "checking", "waiting",   "ended",     "idle"};
#define STATES (sizeof states / sizeof states[0])

static void
name_session_row(char name[72], unsigned state, int input)
{
    size_t i = 0;
    while (i + 1 < STATES && !(state & 1u << i))
        i++;
    snprintf(name, 72, "session %s: %s", states[i], inputs[input]);
}

void __real_swamp__session_feed(swamp__session *session, int input, const swamp__news *news);
void __wrap_swamp__session_feed(swamp__session *session, int input, const swamp__news *news);

void
__wrap_swamp__session_feed(swamp__session *session, int input, const swamp__news *news)
{
    static row *known[1u << STATES][SWAMP__IN_COUNT]; /* by state and input: this is called for every event */
    char name[72];
    if (swamp__session_rule(session->state, input)) {
        row **place = &known[session->state][input];
        if (!*place) {
            name_session_row(name, session->state, input);
            *place = get_row(name);
        }
        (*place)->taken++;
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

/* The rows that shall be taken. */

static const char *const wanted[] = {
    "run admitted: to running",
    "run admitted: to cleaning",
    "run admitted: to gone",
    "run cleaning: to gone",
    "run running: to finishing",
    "run running: to lost",
    "run finishing: to finished",
    "run finishing: to lost",
    "run finished: to gone",
    "run lost: to gone",
    "write admission: done",
    "write admission: not",
    "write admission: unknown",
    "write admission: fenced",
    "write progress: done",
    "write progress: not known",
    "write progress: stale",
    "write progress: fenced",
    "write final: done",
    "write final: not known",
    "write final: fenced",
    "write cleaning: done",
    "write cleaning: not known",
    "write cleaning: fenced",
    "write cleaning: absent",
    "write forget: done",
    "write forget: not known",
    "write forget: fenced",
    "attach held: joined",
    "attach held: too long",
    "attach looking: failed",
    "attach looking: active",
    "attach looking: orphan",
    "attach looking: kept",
    "attach looking: interrupted",
    "attach looking: nothing",
    "attach looking: under way",
    "attach looking: withheld",
    "attach withheld: owner changed",
    "attach withheld: owner dead",
    "attach withheld: too long",
    "stop running: grace",
    "stop grace: draining",
    "stop draining: closing",
    "stop draining: cancelling",
    "stop cancelling: closing",
    "stop cancelling: ending",
    "stop ending: closing",
    "stop ending: closing, late",
    "stop closing: forgetting",
    "stop closing: forgetting, late",
    "stop forgetting: leaving",
    "stop forgetting: leaving, late",
    "stop leaving: stopped",
    "stop leaving: stopped, late",
    "stop fenced: closing",
    "membership start: joined",
    "membership timer: late, afresh",
    "membership pulse: watches count on",
    "membership pulse: beat not asked, afresh",
    "membership pulse: beat failed, afresh",
    "membership pulse: read failed, afresh",
    "membership pulse: late, afresh",
    "membership pulse: condition failed, fenced",
    "membership pulse: own record absent, fenced",
    "membership removal: gone",
    "membership removal: not what was watched",
    "membership removal: fenced",
    "membership removal: failed",
};

/*
 * Rows that no play can take: a right server never causes them, or they need what the memory store cannot do.
 * Who holds them instead.
 */
static const struct {
    const char *name, *test;
} unreachable[] = {
    {"session *: unauthorized", "wire session http_401_stops, close_4003_stops_a_stream"},
    {"session *: try later", "wire session http_429_honours_retry_after"},
    {"session *: garbled", "wire session undecodable_is_tried_once_more, undecodable_before_a_run_id_stops"},
    {"session *: garbled again", "wire session undecodable_twice_at_one_cursor_stops"},
    {"session *: hole",
     "wire session a_hole_attaches_once_from_the_contiguous_seq, a_hole_before_a_run_id_is_reported"},
    {"session *: hole again", "wire session a_hole_that_comes_again_is_reported"},
    {"session *: done short", "wire session done_before_the_head_attaches_once_more"},
    {"session *: done short again", "wire session done_before_the_head_again_is_a_gap"},
    {"session *: event seen", "wire session duplicate_events_are_dropped"},
    {"session *: epoch mismatch", "wire session epoch_mismatch_starts_over_without_epoch"},
    {"session *: epoch again", "wire session epoch_mismatch_again_is_the_end"},
    {"session *: refused", "wire session error_some_new_code_stops, error_seq_out_of_range_stops"},
    {"session starting: event", "wire session done_of_nothing"},
    {"session starting: done", "wire session done_of_nothing"},
    {"session starting: interrupted", "wire session interrupted_without_run_id_is_refused"},
    {"session starting: not found", "wire session not_found_of_a_workflow_stops_a_start"},
    {"session streaming: not found", "wire session not_found_asks_the_history"},
    {"session attaching: done", "wire session late_frames_after_elsewhere_do_nothing"},
    {"session idle: cancel unsent", "wire session cancel_before_anything_was_sent_is_the_end"},
    /* These can happen, in one or two seconds of few lives: long runs meet them. */
    {"session polling: cancel", "wire session cancel_goes_on_across_connections, and long runs"},
    {"session polling: drain", "wire session drain_is_told_and_the_session_stays, and long runs"},
    {"membership removal: fenced", "unit run watch who_was_declared_dead_can_declare_nobody_dead"},
    {"attach looking: under way", "unit run lookup run_that_is_neither_active_nor_final_is_under_way"},
};

/* The star stands for the state. */
static int
is_like(const char *name, const char *pattern)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return strcmp(name, pattern) == 0;
    const char *rest = strchr(name, ':');
    return strncmp(name, pattern, (size_t)(star - pattern)) == 0 && rest && strcmp(rest, star + 1) == 0;
}

static row *
find_row(const char *name)
{
    for (size_t i = 0; i < row_count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static void
add_row(const char *name)
{
    if (row_count == ROWS_MAX || find_row(name))
        return;
    row *added = &rows[row_count++];
    snprintf(added->name, sizeof added->name, "%s", name);
    for (size_t i = 0; i < sizeof unreachable / sizeof unreachable[0]; i++)
        if (is_like(name, unreachable[i].name))
            added->elsewhere = unreachable[i].test;
}

static void
make_rows(void)
{
    char name[72];
    for (size_t i = 0; i < swamp__session_rule_count; i++)
        for (unsigned bit = 0; bit < STATES; bit++)
            if (swamp__session_rules[i].states & 1u << bit) {
                name_session_row(name, 1u << bit, swamp__session_rules[i].input);
                add_row(name);
            }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        add_row(wanted[i]);
}

/* A transition that stands in no table is a row, too: it shows in the report. */
static row *
get_row(const char *name)
{
    if (!row_count)
        make_rows();
    row *found = find_row(name);
    if (found)
        return found;
    add_row(name);
    found = find_row(name);
    return found ? found : &rows[ROWS_MAX - 1];
}

static void
count(const char *name)
{
    get_row(name)->taken++;
}

size_t
sim_cover_rows(void)
{
    if (!row_count)
        make_rows();
    return row_count;
}

const char *
sim_cover_name(size_t i)
{
    return rows[i].name;
}

unsigned long long
sim_cover_taken(size_t i)
{
    return rows[i].taken;
}

const char *
sim_cover_elsewhere(size_t i)
{
    return rows[i].elsewhere;
}
