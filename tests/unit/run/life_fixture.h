/* One instance's runs in a fake world, for the tests of a run's life: a real memory store, a trace of what
 * was told. */
#ifndef SWAMP_TESTS_LIFE_FIXTURE_H
#define SWAMP_TESTS_LIFE_FIXTURE_H

#include "../../../libswamp/run/life.h"
#include "../../support/fake_world.h"

#define ME "instance-1"
#define RUN "0190aaaa-0000-7000-8000-000000000001"
#define WORKFLOW "wf-1"
#define NAME "deploy"
#define LINGER 300000
#define TIMEOUT 5000

extern fake_world *world;
extern fake_asker *asker;
extern swamp_store *store; /* the real one: what was really written */
extern swamp__life life;
extern swamp_run *run;  /* the test's own reference; NULL before add_run() */
extern swamp_run *host; /* the host's handle after start() */
extern char
    trace[2048]; /* "admitted 0", "changed RUNNING", "fenced", "overdue", "gone", each with "; " behind */
extern int fence_at_once; /* on.fenced calls swamp__life_fence(), as an instance does */

void open_with_store(void);
void open_without_store(void);
void close_all(void); /* the instance ends: whatever is under way is answered with SWAMP_E_CLOSED */

void add_run(void);          /* makes the run and asks for its admission */
void start(void);            /* admits it, and hands START to the host */
void ms(int64_t ms);         /* lets time pass */
void emit(const char *json); /* must be taken */
int finish(int status, const char *last, const char *json);
void declare_dead(void); /* removes the instance's heartbeat, as an observer does */
void reap(void);         /* and ends the run, as a reaper does */

void fail_reads(int fail); /* every get fails from now on; 0: no more */

const char *state(void);               /* "RUNNING" ... */
const char *events(void);              /* all that the log has, one after the other */
const char *value_of(const char *key); /* "" when absent */
int has(const char *key);
size_t count_keys(void); /* the heartbeat apart */

#define KEY_ACTIVE "active-runs/" RUN
#define KEY_RUN "runs/" RUN
#define KEY_INSTANCE_RUN "instance-runs/" ME "/" RUN
#define KEY_CANCEL "cancel-requests/" ME "/" RUN
#define KEY_HEARTBEAT "heartbeats/" ME

#define ck_assert_trace(text)                                                                                \
    do {                                                                                                     \
        ck_assert_str_eq(trace, text);                                                                       \
        trace[0] = '\0';                                                                                     \
    } while (0)

#endif
