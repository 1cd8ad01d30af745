/* A host for tests that care about everything but their runs: it knows each workflow, and runs it in no time. */
#ifndef SWAMP_TESTS_BRIEF_HOST_H
#define SWAMP_TESTS_BRIEF_HOST_H

#include <swamp/swamp.h>

/* For swamp_executor: three events, progress, and success; whatever fails on the way is left to the library. */
void brief_host_work(swamp_work *work, void *user);

#endif
