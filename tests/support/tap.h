/* Runs libcheck suites in TAP mode, as meson reads it. */
#ifndef SWAMP_TESTS_TAP_H
#define SWAMP_TESTS_TAP_H

#include <check.h>

/* Returns what main() must return: 0, since meson reads the lines and takes another value for an error of the program. */
int tap_main(Suite *suite);

/* By how much a test may cost more CPU time than by itself: SWAMP_TEST_SLOWDOWN, which scripts/full/valgrind sets; else 1. */
int tap_slowdown(void);

/* Of cases that are many and alike a test takes each so-manieth only: SWAMP_TEST_THIN, which --quick sets; else 1, all. */
int tap_thin(void);

#endif
