/* Plays seeds of the simulated cluster; the first one that breaks a rule is shrunk and printed as a history. */
/*
 * SWAMP_SIM_SEEDS: how many (300); SWAMP_SIM_FIRST: the first (1); SWAMP_SIM_SEED: only this one, with its
 * history; SWAMP_SIM_KEEP: of its plan only these entries, "3,5,9" or "none"; SWAMP_SIM_CHAOS_MS: so long.
 * All pairs of a step and a fault, and all transitions, must be met by 5,000: scripts/sim.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../libswamp/run/life_write.h"
#include "shrink.h"
#include "tap.h"

static uint64_t
read_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? strtoull(text, NULL, 10) : otherwise;
}

/* Plays it once more with everything written down. */
static void
print_history(const sim_choice *choice)
{
    sim_choice recording = *choice;
    swamp__buf text;
    cluster *sim;
    recording.recording = 1;
    sim_play(&recording, &sim);
    swamp__buf_init(&text);
    sim_plan_print(sim, &text);
    fprintf(stderr, "---- seed %llu: %s, %d places, balancer: %s; what happens:\n%s----\n%s",
            (unsigned long long)choice->seed, sim->calm ? "only links are cut" : "all faults", sim->slots,
            sim_balancer_name(sim), text.data ? text.data : "", sim->history.data ? sim->history.data : "");
    swamp__buf_clear(&text);
    sim_shrunk_command(choice, "build-test/tests/sim/sim_test", &text);
    fprintf(stderr, "---- %s\n---- plays it again: %s\n",
            sim->failure[0] ? sim->failure : "no rule is broken", text.data ? text.data : "");
    swamp__buf_free(&text);
    sim_free(sim);
}

static void
shrink_and_print(const sim_choice *choice)
{
    sim_shrunk shrunk;
    if (!sim_shrink(choice, &shrunk)) {
        fprintf(stderr, "seed %llu: broken once and not again\n", (unsigned long long)choice->seed);
        return;
    }
    fprintf(stderr, "seed %llu: %zu entries of its plan, shrunk to %zu in %u plays\n",
            (unsigned long long)choice->seed, shrunk.before, shrunk.after, shrunk.plays);
    print_history(&shrunk.choice);
}

static struct {
    const char *name;
    int type;
    unsigned seen;
} wanted[] = {{"run events", SWAMP_EVENT_RUN, 0},
              {"gaps", SWAMP_EVENT_GAP, 0},
              {"resumed", SWAMP_EVENT_ATTACHED, 0},
              {"reconnecting", SWAMP_EVENT_RECONNECTING, 0},
              {"elsewhere", SWAMP_EVENT_ELSEWHERE, 0},
              {"draining", SWAMP_EVENT_DRAINING, 0},
              {"interrupted", SWAMP_EVENT_INTERRUPTED, 0},
              {"done", SWAMP_EVENT_DONE, 0},
              {"errors", SWAMP_EVENT_ERROR, 0}};
static unsigned recorded[4];

static void
count(const cluster *sim)
{
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        wanted[i].seen += sim->told[wanted[i].type];
    for (size_t i = 0; i < 4; i++)
        recorded[i] += sim->recorded[i];
}

/* A simulation in which nothing happens breaks no rule either. */
static void
check_that_it_was_eventful(void)
{
    char line[600] = "";
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%u %s, ", wanted[i].seen, wanted[i].name);
    fprintf(stderr, "%sruns: %u succeeded, %u failed, %u cancelled, %u interrupted\n", line, recorded[1],
            recorded[2], recorded[3], recorded[0]);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ck_assert_msg(wanted[i].seen > 0, "no %s: %s", wanted[i].name, line);
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(recorded[i] > 0, "no run ended in way %zu", i);
}

START_TEST(every_rule_holds_for_every_seed)
{
    int only_one = getenv("SWAMP_SIM_SEED") != NULL;
    uint64_t first = only_one ? read_number("SWAMP_SIM_SEED", 1) : read_number("SWAMP_SIM_FIRST", 1);
    uint64_t count_seeds = only_one ? 1 : read_number("SWAMP_SIM_SEEDS", 300);
    unsigned broken = 0;
    char failure[1100] = "";
    for (uint64_t seed = first; seed < first + count_seeds; seed++) {
        sim_choice choice = {.seed = seed};
        cluster *sim;
        if (only_one)
            sim_choice_read(&choice);
        int is_broken = sim_play(&choice, &sim);
        if (is_broken && !broken++)
            snprintf(failure, sizeof failure, "seed %llu: %s", (unsigned long long)seed, sim->failure);
        if (is_broken)
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, sim->failure);
        count(sim);
        sim_free(sim);
        if (only_one && (choice.keeps || !is_broken))
            print_history(&choice);
        else if (is_broken && broken == 1)
            shrink_and_print(&choice);
    }
    if (count_seeds >= 100)
        check_that_it_was_eventful();
    ck_assert_msg(broken == 0, "%u of %llu seeds; the first: %s", broken, (unsigned long long)count_seeds,
                  failure);
}
END_TEST

static cluster *
play(uint64_t seed, int recording)
{
    sim_choice choice = {.seed = seed, .recording = recording};
    cluster *sim;
    sim_play(&choice, &sim);
    return sim;
}

START_TEST(one_seed_has_one_history_whether_it_is_written_down_or_not)
{
    for (uint64_t seed = 7; seed < 10; seed++) {
        cluster *first = play(seed, 1), *second = play(seed, 1), *silent = play(seed, 0);
        ck_assert_uint_eq(first->world->steps, second->world->steps);
        ck_assert_uint_eq(first->world->steps, silent->world->steps);
        ck_assert_str_eq(first->history.data, second->history.data);
        sim_free(first);
        sim_free(second);
        sim_free(silent);
    }
}
END_TEST

START_TEST(an_entry_that_is_left_out_does_not_happen_and_the_others_do)
{
    sim_choice choice = {.seed = 3, .recording = 1, .keeps = 1};
    cluster *whole = play(3, 1), *part;
    ck_assert_uint_gt(whole->plan_count, 4);
    choice.keep[0] = choice.keep[2] = 1;
    sim_play(&choice, &part);
    ck_assert_uint_eq(part->plan_count, whole->plan_count);
    ck_assert_ptr_nonnull(strstr(part->history.data, " [0] "));
    ck_assert_ptr_null(strstr(part->history.data, " [1] "));
    ck_assert_ptr_nonnull(strstr(part->history.data, " [2] "));
    ck_assert_ptr_null(strstr(part->history.data, " [3] "));
    sim_free(whole);
    sim_free(part);
}
END_TEST

/* Without clients there are no links either: what befalls these comes to nothing. */
static int
strikes_clients(size_t kind)
{
    return sim_kinds[kind].to_link || sim_kinds[kind].to_client || kind == SIM_KIND_REFUSAL;
}

START_TEST(a_fault_that_had_nothing_to_strike_is_not_counted)
{
    unsigned planned_for_none = 0, counted_for_none = 0, counted = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        sim_choice choice = {.seed = seed, .keeps = 1};
        cluster *whole = play(seed, 0), *part;
        for (size_t i = 0; i < whole->plan_count; i++)
            choice.keep[i] = whole->plan[i].kind != SIM_KIND_CLIENT;
        sim_free(whole);
        sim_play(&choice, &part);
        for (size_t i = 0; i < part->plan_count; i++)
            planned_for_none += (unsigned)strikes_clients((size_t)part->plan[i].kind);
        for (size_t i = 0; i < sim_kind_count; i++)
            *(strikes_clients(i) ? &counted_for_none : &counted) += part->happened[i];
        sim_free(part);
    }
    ck_assert_uint_gt(planned_for_none, 0);
    ck_assert_uint_eq(counted_for_none, 0);
    ck_assert_uint_gt(counted, 0);
}
END_TEST

/* The bug: an end is taken for recorded, whatever the store said. */
static void
believe_in_the_end(const char *kind, swamp__question *question)
{
    if (strcmp(kind, "final") == 0)
        ((swamp__life_write *)question)->outcome = SWAMP__WRITE_DONE;
}

START_TEST(a_planted_bug_is_caught_shrunk_and_replayed)
{
    sim_choice choice = {.seed = 0};
    sim_shrunk shrunk = {.after = SIM_PLAN_MAX};
    cluster *sim;
    swamp__buf command;
    int broken = 0;
    sim_after_write = believe_in_the_end;
    while (!broken && choice.seed < 200) {
        choice.seed++;
        broken = sim_play(&choice, &sim);
        sim_free(sim);
    }
    ck_assert_msg(broken, "the bug was not caught");
    ck_assert(sim_shrink(&choice, &shrunk));
    fprintf(stderr, "caught by seed %llu; %zu entries were shrunk to %zu in %u plays\n",
            (unsigned long long)choice.seed, shrunk.before, shrunk.after, shrunk.plays);
    ck_assert_uint_le(shrunk.after, 6); /* a client, and what keeps its end from being written */
    ck_assert(sim_play(&shrunk.choice, &sim));
    ck_assert_msg(strncmp(sim->failure, "terminal:", 9) == 0, "%s", sim->failure);
    sim_free(sim);
    swamp__buf_init(&command);
    sim_shrunk_command(&shrunk.choice, "sim_test", &command);
    ck_assert_ptr_nonnull(strstr(command.data, "SWAMP_SIM_KEEP="));
    swamp__buf_free(&command);
    sim_after_write = NULL;
    ck_assert_msg(!sim_play(&shrunk.choice, &sim), "it breaks without the bug, too: %s", sim->failure);
    sim_free(sim);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("sim");
    TCase *tcase = tcase_create("sim");
    tcase_set_timeout(tcase, 0); /* meson has the time limit */
    tcase_add_test(tcase, every_rule_holds_for_every_seed);
    if (!getenv("SWAMP_SIM_SEED")) {
        tcase_add_test(tcase, one_seed_has_one_history_whether_it_is_written_down_or_not);
        tcase_add_test(tcase, a_planted_bug_is_caught_shrunk_and_replayed);
        tcase_add_test(tcase, an_entry_that_is_left_out_does_not_happen_and_the_others_do);
        tcase_add_test(tcase, a_fault_that_had_nothing_to_strike_is_not_counted);
    }
    suite_add_tcase(suite, tcase);
    return tap_main(suite);
}
