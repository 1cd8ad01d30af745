/* Plays seeds of the simulated cluster and prints the history of the first one that breaks a rule. */
/*
 * SWAMP_SIM_SEEDS: how many (300); SWAMP_SIM_FIRST: the first (1); SWAMP_SIM_SEED: only this one, with its
 * history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim.h"
#include "tap.h"

static uint64_t
read_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? strtoull(text, NULL, 10) : otherwise;
}

static void
print_history(const cluster *sim)
{
    fprintf(stderr,
            "---- seed %llu (%s, %d places)\n%s---- seed %llu: %s; SWAMP_SIM_SEED=%llu plays it again\n",
            (unsigned long long)sim->seed, sim->calm ? "only links are cut" : "all faults", sim->slots,
            sim->history.data ? sim->history.data : "", (unsigned long long)sim->seed,
            sim->failure[0] ? sim->failure : "no rule is broken", (unsigned long long)sim->seed);
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
        cluster *sim;
        if (sim_play(seed, &sim)) {
            if (!broken++) {
                snprintf(failure, sizeof failure, "seed %llu: %s", (unsigned long long)seed, sim->failure);
                print_history(sim);
            } else {
                fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, sim->failure);
            }
        } else if (only_one) {
            print_history(sim);
        }
        count(sim);
        sim_free(sim);
    }
    if (count_seeds >= 100)
        check_that_it_was_eventful();
    ck_assert_msg(broken == 0, "%u of %llu seeds; the first: %s", broken, (unsigned long long)count_seeds,
                  failure);
}
END_TEST

START_TEST(one_seed_has_one_history)
{
    cluster *first, *second;
    sim_play(7, &first);
    sim_play(7, &second);
    ck_assert_uint_eq(first->world->steps, second->world->steps);
    ck_assert_str_eq(first->history.data, second->history.data);
    sim_free(first);
    sim_free(second);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("sim");
    TCase *tcase = tcase_create("sim");
    tcase_set_timeout(tcase, 0); /* meson has the time limit */
    tcase_add_test(tcase, every_rule_holds_for_every_seed);
    tcase_add_test(tcase, one_seed_has_one_history);
    suite_add_tcase(suite, tcase);
    return tap_main(suite);
}
