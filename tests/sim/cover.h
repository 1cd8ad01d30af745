/* The rows of the core's state machines, counted: cover.c sees them taken, cover_rows.c knows which there are. */
#ifndef SWAMP_TESTS_SIM_COVER_H
#define SWAMP_TESTS_SIM_COVER_H

#include "sim.h"

unsigned long long *sim_cover_place(const char *name); /* where it is counted; a row in no table is added */
void sim_cover_session_row(char name[72], unsigned state, int input);

#endif
