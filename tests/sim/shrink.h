/* Makes a play that breaks a rule as short as it can be found: fewer entries of its plan, less time. */
#ifndef SWAMP_TESTS_SIM_SHRINK_H
#define SWAMP_TESTS_SIM_SHRINK_H

#include "sim.h"

typedef struct sim_shrunk {
    sim_choice choice;    /* the shortest play found that breaks the same rule */
    size_t before, after; /* entries of the plan that happen */
    unsigned plays;       /* it took */
} sim_shrunk;

/* The choice is one that breaks a rule: 1; 0: it does not. */
int sim_shrink(const sim_choice *choice, sim_shrunk *out);
/* Appends the command that plays it again: SWAMP_SIM_SEED=... SWAMP_SIM_KEEP=... PROGRAM */
void sim_shrunk_command(const sim_choice *choice, const char *program, swamp__buf *out);
/* Reads SWAMP_SIM_KEEP ("3,5,9"; "none") and SWAMP_SIM_CHAOS_MS from the environment into a choice. */
void sim_choice_read(sim_choice *choice);

#endif
