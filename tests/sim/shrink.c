/* Shrinking: halves, then single entries of the plan are left out as long as the same validator still complains. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shrink.h"

#define PLAYS_MAX 2000
#define CHAOS_MIN_MS 2000

/* The validator that complains: what stands before the colon. "" : none does. */
static void
play(const sim_choice *choice, char complaint[20], size_t *entries)
{
    cluster *sim;
    complaint[0] = '\0';
    if (sim_play(choice, &sim))
        snprintf(complaint, 20, "%.*s", (int)strcspn(sim->failure, ":"), sim->failure);
    if (entries)
        *entries = sim->plan_count;
    sim_free(sim);
}

static int
still_breaks(const sim_choice *choice, const char *complaint, unsigned *plays)
{
    char now[20];
    ++*plays;
    play(choice, now, NULL);
    return strcmp(now, complaint) == 0;
}

static size_t
count_kept(const sim_choice *choice)
{
    size_t count = 0;
    for (size_t i = 0; i < SIM_PLAN_MAX; i++)
        count += choice->keep[i] != 0;
    return count;
}

/* Leaves out kept entries number `from` to `from + count - 1`, counted among those that are kept. */
static void
leave_out(sim_choice *choice, size_t from, size_t count)
{
    for (size_t i = 0, n = 0; i < SIM_PLAN_MAX; i++)
        if (choice->keep[i] && n++ >= from && n <= from + count)
            choice->keep[i] = 0;
}

/* One pass with pieces of this size: 1 if anything could be left out. */
static int
drop_pieces(sim_shrunk *best, size_t size, const char *complaint)
{
    int dropped = 0;
    for (size_t from = 0; from < count_kept(&best->choice) && best->plays < PLAYS_MAX;) {
        sim_choice shorter = best->choice;
        leave_out(&shorter, from, size);
        if (still_breaks(&shorter, complaint, &best->plays)) {
            best->choice = shorter;
            dropped = 1;
        } else {
            from += size;
        }
    }
    return dropped;
}

static void
shorten_time(sim_shrunk *best, const char *complaint, int64_t chaos_ms)
{
    for (int64_t less_ms = chaos_ms / 2; less_ms >= CHAOS_MIN_MS; less_ms /= 2) {
        sim_choice shorter = best->choice;
        shorter.chaos_ms = chaos_ms - less_ms;
        if (shorter.chaos_ms >= CHAOS_MIN_MS && still_breaks(&shorter, complaint, &best->plays)) {
            best->choice = shorter;
            chaos_ms = shorter.chaos_ms;
        }
    }
}

int
sim_shrink(const sim_choice *choice, sim_shrunk *out)
{
    char complaint[20];
    cluster *sim;
    memset(out, 0, sizeof *out);
    out->choice = *choice;
    out->choice.recording = 0;
    int breaks = sim_play(&out->choice, &sim);
    int64_t chaos_ms = sim->chaos_until_ms - 1000000;
    size_t entries = sim->plan_count;
    snprintf(complaint, sizeof complaint, "%.*s", (int)strcspn(sim->failure, ":"), sim->failure);
    sim_free(sim);
    if (!breaks)
        return 0;
    if (!out->choice.keeps) {
        out->choice.keeps = 1;
        memset(out->choice.keep, 1, entries);
    }
    out->before = count_kept(&out->choice);
    shorten_time(out, complaint, chaos_ms);
    for (size_t size = count_kept(&out->choice) / 2; size; size = size > 1 ? size / 2 : 0)
        while (drop_pieces(out, size, complaint) && size == 1)
            ; /* what one entry hid another one of may go now, too */
    out->after = count_kept(&out->choice);
    return 1;
}

void
sim_shrunk_command(const sim_choice *choice, const char *program, swamp__buf *out)
{
    char text[64];
    int some = 0;
    snprintf(text, sizeof text, "SWAMP_SIM_SEED=%llu ", (unsigned long long)choice->seed);
    swamp__buf_text(out, text);
    if (choice->keeps)
        swamp__buf_text(out, "SWAMP_SIM_KEEP=");
    for (size_t i = 0; choice->keeps && i < SIM_PLAN_MAX; i++)
        if (choice->keep[i]) {
            snprintf(text, sizeof text, "%s%zu", some++ ? "," : "", i);
            swamp__buf_text(out, text);
        }
    if (choice->keeps)
        swamp__buf_text(out, some ? " " : "none ");
    if (choice->chaos_ms) {
        snprintf(text, sizeof text, "SWAMP_SIM_CHAOS_MS=%lld ", (long long)choice->chaos_ms);
        swamp__buf_text(out, text);
    }
    swamp__buf_text(out, program);
}

void
sim_choice_read(sim_choice *choice)
{
    const char *keep = getenv("SWAMP_SIM_KEEP"), *chaos_ms = getenv("SWAMP_SIM_CHAOS_MS");
    if (chaos_ms)
        choice->chaos_ms = strtoll(chaos_ms, NULL, 10);
    if (!keep)
        return;
    choice->keeps = 1;
    for (const char *at = keep; *at;) {
        char *end;
        unsigned long n = strtoul(at, &end, 10);
        if (end != at && n < SIM_PLAN_MAX)
            choice->keep[n] = 1;
        at = end == at || *end ? end + 1 : end;
        if (end == keep) /* "none" */
            break;
    }
}
