/* The whole world around the core in a test: virtual time, seeded randomness, timers, and askers whose store
 * can fail. */
#ifndef SWAMP_TESTS_FAKE_WORLD_H
#define SWAMP_TESTS_FAKE_WORLD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <swamp/store.h>
#include "../../libswamp/store/question.h"
#include "../../libswamp/util/world.h"

/*
 * A world has one clock and one seed. In it live nodes: each is one core's thread, with timers of its own, so
 * that a simulator can pause one and let the others go on. A node has askers: each is one thread that asks a
 * store, one question after the other. Nothing happens but inside fake_world_advance(), and there in the
 * order of time; what is due at one moment goes in the order node by node (questions, then the wake-up, then
 * timers), or, with shuffle, as the seed and the moment decide. The same seed and the same calls give the same history.
 */
typedef struct fake_world fake_world;
typedef struct fake_node fake_node;
typedef struct fake_asker fake_asker;

struct fake_world {
    int64_t now_ms;         /* monotonic; starts at 1,000,000 */
    int64_t unix_offset_ms; /* wall clock = now + offset; a test may turn it by hours */
    int shuffle;            /* 1: what is due at one moment is done in an order that the seed decides */
    uint64_t random_state;
    uint64_t steps; /* things done so far: two runs of one seed must agree */
    uint64_t seed;
    void (*after_step)(void *user, fake_node *node); /* NULL: nobody looks */
    void *after_step_user;
    swamp__log log;
    unsigned lines[SWAMP_LOG_DEBUG + 1]; /* log lines by level */
    char last_line[1024];
    fake_node *nodes;
};

fake_world *fake_world_new(uint64_t seed);
void fake_world_free(fake_world *world); /* with its nodes; their askers must have answered everything */
uint64_t fake_world_random(fake_world *world);
/* Lets ms pass: fires timers, runs and answers questions, in the order of time. 0: only what is due now, and
 * what follows at once. */
void fake_world_advance(fake_world *world, int64_t ms);
/* Advances until `is_true` is, at most ms; returns what it said last. */
int fake_world_until(fake_world *world, int64_t ms, int (*is_true)(void *user), void *user);

/* One core's thread. */
struct fake_node {
    swamp__world world; /* what the core is given */
    swamp__timers timers;
    fake_world *of;
    int paused; /* 1: like SIGSTOP: timers, wake-ups and answers wait; its store threads stand still, too */
    int64_t unix_offset_ms;             /* its wall clock is wrong by so much */
    int64_t rate_per_mille;             /* how fast its monotonic clock goes: 1000, as the world's */
    int64_t rate_world_ms, rate_own_ms; /* ... since this moment of the world, when its own clock said this */
    uint64_t random_state;              /* its own randomness; 0: it draws from the world's */
    atomic_int woken;
    void (*collect)(void *user); /* runs after fake_node_wake(), on the core's thread */
    void *collect_user;
    fake_asker *askers;
    fake_node *next;
};

fake_node *fake_node_new(fake_world *world);
void fake_node_set_rate(fake_node *node, int64_t per_mille); /* from now on */
int64_t fake_node_now(const fake_node *node); /* its own monotonic clock: what its timers go by */
int64_t fake_node_at(const fake_node *node, int64_t world_ms); /* what that clock will say then */
uint64_t fake_node_random(fake_node *node);
void fake_node_wake(void *node); /* any thread; fits swamp__registry_new() */

/* What goes wrong with one call to the store. */
#define FAKE_FINE 0
#define FAKE_ERROR 1       /* SWAMP_E_STORE, nothing was written */
#define FAKE_TIMEOUT 2     /* SWAMP_E_TIMEOUT, nothing was written */
#define FAKE_ANSWER_LOST 3 /* commit: it is written, the answer is SWAMP_E_UNKNOWN; reads: as ERROR */
#define FAKE_WRITE_LOST 4  /* commit: nothing is written, the answer is SWAMP_E_UNKNOWN; reads: as ERROR */

#define FAKE_GET 1
#define FAKE_LIST 2
#define FAKE_COMMIT 3

/* One call to the store, as a watcher sees it before it is made. */
typedef struct fake_call {
    fake_asker *asker;
    int what;        /* FAKE_GET, FAKE_LIST, FAKE_COMMIT */
    const char *key; /* get: the key; list: the prefix; commit: that of its first operation */
    const swamp_store_op *ops;
    size_t count;
} fake_call;

#define FAKE_SCRIPT_MAX 64

struct fake_asker {
    swamp__asker asker; /* what the core is given */
    swamp_store *store; /* the real one behind a layer of faults; what `work` is given */
    fake_node *of;

    /* faults: the script first, then `down`, then the odds */
    int script[FAKE_SCRIPT_MAX]; /* for the next commits, one each */
    size_t script_at, script_count;
    int down;                 /* not 0: this fault, for every call */
    unsigned fault_per_mille; /* the seed picks a fault for so many of 1,000 calls */

    /* delays, uniform from the seed between low and high: before the question's work runs, and before its
     * answer comes */
    int64_t ask_low_ms, ask_high_ms, answer_low_ms, answer_high_ms;

    int64_t answer_once_ms; /* not 0: the answer under way takes so much longer */

    /* Called before each call. It may look, change the store by another way, or set a fault for this call by
     * returning it. */
    int (*watch)(void *user, const fake_call *call);
    void *watch_user;

    int closed;     /* work is not run any more: everything is answered with SWAMP_E_CLOSED */
    size_t waiting; /* questions not yet answered */
    size_t gets, lists, commits;
    size_t given; /* records that lists handed over, keys or values */

    /* the queue */
    swamp__list questions;
    swamp__question *running; /* its work was run, its answer is on the way */
    int64_t due_ms;           /* of the first question, or of the answer */
    int due_set;
    swamp_store *real; /* a reference */
    fake_asker *next;
};

/* store NULL, or timeout_ms 0: no store is configured, and nobody may ask. */
fake_asker *fake_asker_new(fake_node *node, swamp_store *store, int timeout_ms);
void fake_asker_script(fake_asker *asker,
                       int fault); /* adds one fault for one commit; FAKE_FINE lets one through */
void fake_asker_close(
    fake_asker *asker); /* as the store thread at the end: all are answered in the next advance */

#endif
