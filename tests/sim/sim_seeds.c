/* Plays many seeds for scripts/sim: says which ones break a rule, and what all of them together were made of. */
/*
 * sim_seeds FIRST COUNT              plays them all
 * sim_seeds FIRST COUNT first        stops at the first one that breaks a rule
 * Lines: "broken SEED: RULE", then "sum NAME NUMBER". Exit 1: something broke.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim.h"

static struct {
    unsigned long long seeds, broken, virtual_ms, clients, runs, faults[SIM_FAULTS_MAX];
} sums;

static void
add_up(const cluster *sim)
{
    sums.seeds++;
    sums.broken += sim->failure[0] != '\0';
    sums.virtual_ms += (unsigned long long)(sim->world->now_ms - 1000000);
    sums.clients += sim->client_count;
    sums.runs += sim->run_count;
    for (size_t i = 0; i < SIM_FAULTS_MAX; i++)
        sums.faults[i] += sim->faults[i];
}

static void
print_sums(void)
{
    printf("sum seeds %llu\nsum broken %llu\nsum virtual_ms %llu\nsum clients %llu\nsum runs %llu\n",
           sums.seeds, sums.broken, sums.virtual_ms, sums.clients, sums.runs);
    for (size_t i = 0; i < SIM_FAULTS_MAX && sim_fault_name(i); i++)
        printf("sum fault_%s %llu\n", sim_fault_name(i), sums.faults[i]);
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s FIRST COUNT [first]\n", argv[0]);
        return 2;
    }
    uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    int stops = argc > 3 && strcmp(argv[3], "first") == 0;
    for (uint64_t seed = first; seed < first + count && !(stops && sums.broken); seed++) {
        cluster *sim;
        if (sim_play(seed, &sim)) {
            printf("broken %llu: %s\n", (unsigned long long)seed, sim->failure);
            fflush(stdout); /* a seed that ends badly hides none before it */
        }
        add_up(sim);
        sim_free(sim);
    }
    print_sums();
    return sums.broken > 0;
}
