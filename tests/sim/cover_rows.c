/* Which transitions there are, how often each was taken, and who holds those that no play can take. */
#include <stdio.h>
#include <string.h>
#include "../../libswamp/session/machine.h"
#include "cover.h"

#define ROWS_MAX 240

typedef struct row {
    char name[72];
    const char *elsewhere;
    unsigned long long taken;
} row;

static row rows[ROWS_MAX];
static size_t row_count;

/* The resume machine has a row for each rule and each state that it names (session/rules.c). */

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

void
sim_cover_session_row(char name[72], unsigned state, int input)
{
    size_t i = 0;
    while (i + 1 < STATES && !(state & 1u << i))
        i++;
    snprintf(name, 72, "session %s: %s", states[i], inputs[input]);
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
 * Who holds them instead; a later entry counts before an earlier one. scripts/sim fails if one is taken after all.
 */
static const struct {
    const char *name, *test;
} unreachable[] = {
    {"session *: unauthorized", "wire session http_401_stops, close_4003_stops_a_stream"},
    /* It is said at the upgrade only. */
    {"session *: try later", "wire session http_429_honours_retry_after"},
    {"session dialing: try later", NULL},
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
                sim_cover_session_row(name, 1u << bit, swamp__session_rules[i].input);
                add_row(name);
            }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        add_row(wanted[i]);
}

/* A transition that stands in no table is a row, too: it shows in the report. */
unsigned long long *
sim_cover_place(const char *name)
{
    if (!row_count)
        make_rows();
    row *found = find_row(name);
    if (!found) {
        add_row(name);
        found = find_row(name);
    }
    return found ? &found->taken : &rows[ROWS_MAX - 1].taken;
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
