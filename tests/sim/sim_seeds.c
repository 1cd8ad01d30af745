/* Plays many seeds for scripts/sim: says which ones break a rule, and what all of them together were made of. */
/*
 * sim_seeds FIRST COUNT              plays them all
 * sim_seeds FIRST COUNT first        stops at the first one that breaks a rule
 * Lines: "broken SEED: VALIDATOR: RULE", then "sum NAME NUMBER" and "max NAME NUMBER". Exit 1: something broke.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim.h"

static struct {
    unsigned long long seeds, broken, virtual_ms, clients, runs, kinds[SIM_KINDS_MAX];
    unsigned long long pairs[SIM_STEPS + 1][SIM_ACTS + 1];
    long long clients_ms, store_ms;
} sums;

static void
add_up(const cluster *sim)
{
    sums.seeds++;
    sums.broken += sim->failure[0] != '\0';
    sums.virtual_ms += (unsigned long long)(sim->world->now_ms - 1000000);
    sums.clients += sim->client_count;
    sums.runs += sim->run_count;
    for (size_t i = 0; i < SIM_KINDS_MAX; i++)
        sums.kinds[i] += sim->happened[i];
    if (sim->aim.taken)
        sums.pairs[sim->aim.step][sim->aim.act]++;
    if (sim->clients_ms > sums.clients_ms)
        sums.clients_ms = sim->clients_ms;
    if (sim->store_ms > sums.store_ms)
        sums.store_ms = sim->store_ms;
}

static void
print_sums(void)
{
    printf("sum seeds %llu\nsum broken %llu\nsum virtual_ms %llu\nsum clients %llu\nsum runs %llu\n",
           sums.seeds, sums.broken, sums.virtual_ms, sums.clients, sums.runs);
    printf("max clients_settled_ms %lld\nmax store_settled_ms %lld\n", sums.clients_ms, sums.store_ms);
    for (size_t i = 0; i < SIM_KINDS_MAX && sim_kind_name(i); i++)
        printf("sum fault_%s %llu\n", sim_kind_name(i), sums.kinds[i]);
    for (int step = 1; step <= SIM_STEPS; step++)
        for (int act = 1; act <= SIM_ACTS; act++)
            printf("sum pair_%s/%s %llu\n", sim_step_name(step), sim_act_name(act), sums.pairs[step][act]);
    for (size_t i = 0; i < sim_cover_rows(); i++)
        printf("row %llu %s%s%s\n", sim_cover_taken(i), sim_cover_name(i),
               sim_cover_elsewhere(i) ? " | held by " : "",
               sim_cover_elsewhere(i) ? sim_cover_elsewhere(i) : "");
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
        sim_choice choice = {.seed = seed};
        cluster *sim;
        if (sim_play(&choice, &sim)) {
            printf("broken %llu: %s\n", (unsigned long long)seed, sim->failure);
            fflush(stdout); /* a seed that ends badly hides none before it */
        }
        add_up(sim);
        sim_free(sim);
    }
    print_sums();
    return sums.broken > 0;
}
