/* The whole world around the core in a test: virtual time, seeded randomness, timers, and askers whose store
 * can fail. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/store.h"
#include "fake_world.h"

#define BEGIN_MS 1000000
#define BEGIN_UNIX_MS 1764547200000

static void *
must_alloc(size_t size)
{
    /* Not the library's allocator: a test that makes that one fail must not lose its world. */
    void *block = calloc(1, size);
    if (!block)
        abort();
    return block;
}

/* Randomness and clocks. */

static uint64_t
mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t
fake_world_random(fake_world *world)
{
    return mix(world->random_state += 0x9e3779b97f4a7c15u);
}

uint64_t
fake_node_random(fake_node *node)
{
    return node->random_state ? mix(node->random_state += 0x9e3779b97f4a7c15u) : fake_world_random(node->of);
}

static int64_t
pick_between(fake_node *node, int64_t low, int64_t high)
{
    return high > low ? low + (int64_t)(fake_node_random(node) % (uint64_t)(high - low + 1)) : low;
}

int64_t
fake_node_at(const fake_node *node, int64_t world_ms)
{
    return node->rate_own_ms + (world_ms - node->rate_world_ms) * node->rate_per_mille / 1000;
}

int64_t
fake_node_now(const fake_node *node)
{
    return fake_node_at(node, node->of->now_ms);
}

/* The first moment of the world at which the node's clock says own_ms, or more. */
static int64_t
world_ms_of(const fake_node *node, int64_t own_ms)
{
    int64_t ahead_ms = own_ms - node->rate_own_ms;
    if (own_ms == INT64_MAX || node->rate_per_mille == 1000 || ahead_ms <= 0)
        return own_ms == INT64_MAX ? own_ms : node->rate_world_ms + ahead_ms;
    return node->rate_world_ms + (ahead_ms * 1000 + node->rate_per_mille - 1) / node->rate_per_mille;
}

void
fake_node_set_rate(fake_node *node, int64_t per_mille)
{
    node->rate_own_ms = fake_node_now(node);
    node->rate_world_ms = node->of->now_ms;
    node->rate_per_mille = per_mille;
}

static int64_t
node_now_ms(void *self)
{
    return fake_node_now(self);
}

static int64_t
node_unix_ms(void *self)
{
    const fake_node *node = self;
    return node->of->now_ms + node->of->unix_offset_ms + node->unix_offset_ms;
}

static uint64_t
node_random(void *self)
{
    return fake_node_random(self);
}

static void
take_line(int level, const char *line, void *user)
{
    fake_world *world = user;
    if (level >= 0 && level <= SWAMP_LOG_DEBUG)
        world->lines[level]++;
    snprintf(world->last_line, sizeof world->last_line, "%s", line);
    if (getenv("FAKE_WORLD_LOG"))
        fprintf(stderr, "%lld %d %s\n", (long long)world->now_ms, level, line);
}

fake_world *
fake_world_new(uint64_t seed)
{
    fake_world *world = must_alloc(sizeof *world);
    world->now_ms = BEGIN_MS;
    world->unix_offset_ms = BEGIN_UNIX_MS - BEGIN_MS;
    world->seed = world->random_state = seed;
    world->log.fn = take_line;
    world->log.user = world;
    world->log.level = SWAMP_LOG_DEBUG;
    return world;
}

/* The layer of faults between an asker and the real store. */

static int
pick_fault(fake_asker *asker, const fake_call *call)
{
    int fault = FAKE_FINE;
    if (asker->watch)
        fault = asker->watch(asker->watch_user, call);
    if (fault == FAKE_FINE && call->what == FAKE_COMMIT && asker->script_at < asker->script_count) {
        fault = asker->script[asker->script_at++];
        if (fault == FAKE_FINE) /* let through, whatever else is set */
            return FAKE_FINE;
    }
    if (fault == FAKE_FINE)
        fault = asker->down;
    if (fault == FAKE_FINE && asker->fault_per_mille &&
        fake_node_random(asker->of) % 1000 < asker->fault_per_mille)
        fault = (int)pick_between(asker->of, FAKE_ERROR, FAKE_WRITE_LOST);
    return fault;
}

static int
read_status(int fault)
{
    return fault == FAKE_TIMEOUT ? SWAMP_E_TIMEOUT : SWAMP_E_STORE;
}

static void
layer_destroy(void *self)
{
    (void)self; /* the asker owns itself and its reference to the real store */
}

static int
layer_get(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    fake_asker *asker = self;
    fake_call call = {asker, FAKE_GET, key, NULL, 0};
    asker->gets++;
    int fault = pick_fault(asker, &call);
    return fault != FAKE_FINE ? read_status(fault)
                              : swamp_store_get(asker->real, key, timeout_ms, sink, user);
}

struct counted {
    fake_asker *asker;
    swamp_store_sink sink;
    void *user;
};

static int
count_given(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    const struct counted *counted = user;
    counted->asker->given++;
    return counted->sink(counted->user, key, value, value_len, revision);
}

static int
layer_list(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
           swamp_store_sink sink, void *user)
{
    fake_asker *asker = self;
    fake_call call = {asker, FAKE_LIST, prefix, NULL, 0};
    asker->lists++;
    int fault = pick_fault(asker, &call);
    if (fault != FAKE_FINE)
        return read_status(fault);
    struct counted counted = {asker, sink, user};
    return swamp_store_list(asker->real, prefix, after, limit, flags, timeout_ms, count_given, &counted);
}

static int
layer_commit(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
             size_t *failed)
{
    fake_asker *asker = self;
    fake_call call = {asker, FAKE_COMMIT, ops[0].key, ops, count};
    asker->commits++;
    switch (pick_fault(asker, &call)) {
    case FAKE_FINE:
        return swamp_store_commit(asker->real, ops, count, timeout_ms, revision, failed);
    case FAKE_ANSWER_LOST: {
        /* What the store really said is lost with it, a conflict too: so it is with a connection that breaks. */
        uint64_t lost_revision = 0;
        size_t lost_failed = 0;
        (void)!swamp_store_commit(asker->real, ops, count, timeout_ms, &lost_revision, &lost_failed);
        return SWAMP_E_UNKNOWN;
    }
    case FAKE_WRITE_LOST:
        return SWAMP_E_UNKNOWN;
    case FAKE_TIMEOUT:
        return SWAMP_E_TIMEOUT;
    default:
        return SWAMP_E_STORE;
    }
}

/* Askers. */

static void
take_question(void *self, swamp__question *question)
{
    fake_asker *asker = self;
    assert(asker->asker.timeout_ms && "no store is configured: nobody may ask");
    memset(&question->link, 0, sizeof question->link);
    swamp__list_push(&asker->questions, &question->link);
    asker->waiting++;
}

fake_asker *
fake_asker_new(fake_node *node, swamp_store *store, int timeout_ms)
{
    fake_asker *asker = must_alloc(sizeof *asker);
    swamp__list_init(&asker->questions);
    asker->of = node;
    asker->asker.ask = take_question;
    asker->asker.self = asker;
    if (store && timeout_ms) {
        const swamp_store_vtable layer = {.size = sizeof layer,
                                          .destroy = layer_destroy,
                                          .get = layer_get,
                                          .list = layer_list,
                                          .commit = layer_commit};
        asker->asker.timeout_ms = timeout_ms;
        asker->real = swamp__store_ref(store);
        if (swamp_store_custom(&asker->store, &layer, asker) != SWAMP_OK)
            abort();
        asker->asker.unreadable = swamp__store_unreadable(asker->store);
        swamp__unreadable_set_log(asker->asker.unreadable, &node->of->log);
    }
    fake_asker **end = &node->askers;
    while (*end)
        end = &(*end)->next;
    *end = asker;
    return asker;
}

void
fake_asker_script(fake_asker *asker, int fault)
{
    if (asker->script_at == asker->script_count)
        asker->script_at = asker->script_count = 0;
    assert(asker->script_count < FAKE_SCRIPT_MAX);
    asker->script[asker->script_count++] = fault;
}

void
fake_asker_close(fake_asker *asker)
{
    asker->closed = 1;
}

/* When the asker has something to do; INT64_MAX: never. The delay of a question is drawn when its turn comes. */
static int64_t
asker_due(fake_asker *asker)
{
    fake_world *world = asker->of->of;
    if (!asker->running && swamp__list_empty(&asker->questions))
        return INT64_MAX;
    if (asker->closed)
        return world->now_ms;
    if (!asker->due_set) {
        asker->due_ms = world->now_ms +
                        (asker->running ? pick_between(asker->of, asker->answer_low_ms, asker->answer_high_ms)
                                        : pick_between(asker->of, asker->ask_low_ms, asker->ask_high_ms));
        if (asker->running)
            asker->due_ms += asker->answer_once_ms;
        asker->due_set = 1;
    }
    return asker->due_ms;
}

/* Runs the work of the first question, or gives the answer of the one whose work was run. */
static void
asker_step(fake_asker *asker)
{
    swamp__question *question = asker->running;
    asker->due_set = 0;
    if (question) {
        asker->running = NULL;
        asker->answer_once_ms = 0;
        asker->waiting--;
        question->done(question);
        return;
    }
    question = SWAMP__OF(swamp__list_pop(&asker->questions), swamp__question, link);
    asker->running = question;
    if (asker->closed)
        question->status = SWAMP_E_CLOSED;
    else if (question->deadline_ms && fake_node_now(asker->of) > question->deadline_ms)
        question->status = SWAMP_E_TIMEOUT;
    else
        question->work(question, asker->store);
}

static void
asker_free(fake_asker *asker)
{
    assert(!asker->waiting && "a question was not answered: close the asker and advance before freeing");
    swamp_store_free(asker->store);
    swamp_store_free(asker->real);
    free(asker);
}

/* Nodes. */

fake_node *
fake_node_new(fake_world *world)
{
    fake_node *node = must_alloc(sizeof *node);
    node->of = world;
    node->rate_per_mille = 1000;
    node->rate_world_ms = node->rate_own_ms = world->now_ms;
    swamp__timers_init(&node->timers);
    node->world.now_ms = node_now_ms;
    node->world.unix_ms = node_unix_ms;
    node->world.random = node_random;
    node->world.self = node;
    node->world.timers = &node->timers;
    node->world.log = &world->log;
    fake_node **end = &world->nodes;
    while (*end)
        end = &(*end)->next;
    *end = node;
    return node;
}

void
fake_node_wake(void *self)
{
    fake_node *node = self;
    atomic_store(&node->woken, 1);
}

void
fake_world_free(fake_world *world)
{
    if (!world)
        return;
    for (fake_node *node = world->nodes, *next_node; node; node = next_node) {
        next_node = node->next;
        for (fake_asker *asker = node->askers, *next; asker; asker = next) {
            next = asker->next;
            asker_free(asker);
        }
        swamp__timers_free(&node->timers);
        free(node);
    }
    free(world);
}

/* Time. */

/* One thing that can be done at a moment: a step of an asker, a wake-up, or the timers of a node that are due. */
typedef struct due_thing {
    fake_node *node;
    fake_asker *asker; /* NULL: not an asker's */
    int is_wake;
} due_thing;

static int64_t
look_at(fake_world *world, int64_t due_ms, due_thing thing, int64_t best_ms, due_thing *best, unsigned *ties)
{
    if (due_ms < world->now_ms)
        due_ms = world->now_ms; /* late, such as after a pause */
    if (due_ms == INT64_MAX || due_ms > best_ms)
        return best_ms;
    if (due_ms < best_ms) {
        *ties = 0;
        *best = thing;
    }
    ++*ties;
    /* By the moment and not by what was drawn before: who is left out of a replay changes nobody else's order. */
    if (*ties > 1 && world->shuffle &&
        mix(world->seed ^ ((uint64_t)due_ms << 8 | (*ties & 0xff))) % *ties == 0)
        *best = thing;
    return due_ms;
}

/* The next moment at which something is due, and what. */
static int64_t
find_next(fake_world *world, due_thing *best)
{
    int64_t best_ms = INT64_MAX;
    unsigned ties = 0;
    for (fake_node *node = world->nodes; node; node = node->next) {
        if (node->paused)
            continue;
        for (fake_asker *asker = node->askers; asker; asker = asker->next)
            best_ms = look_at(world, asker_due(asker), (due_thing){node, asker, 0}, best_ms, best, &ties);
        if (atomic_load(&node->woken))
            best_ms = look_at(world, world->now_ms, (due_thing){node, NULL, 1}, best_ms, best, &ties);
        best_ms = look_at(world, world_ms_of(node, swamp__timers_next(&node->timers)),
                          (due_thing){node, NULL, 0}, best_ms, best, &ties);
    }
    return best_ms;
}

/* Does one thing that is due until end_ms; 0: there is none. */
static int
step_until(fake_world *world, int64_t end_ms)
{
    due_thing thing = {0};
    int64_t due_ms = find_next(world, &thing);
    if (due_ms > end_ms || due_ms == INT64_MAX)
        return 0;
    world->now_ms = due_ms;
    world->steps++;
    if (thing.asker) {
        asker_step(thing.asker);
    } else if (thing.is_wake) {
        atomic_store(&thing.node->woken, 0);
        if (thing.node->collect)
            thing.node->collect(thing.node->collect_user);
    } else {
        swamp__timers_run(&thing.node->timers, fake_node_now(thing.node));
    }
    if (world->after_step)
        world->after_step(world->after_step_user, thing.node);
    return 1;
}

void
fake_world_advance(fake_world *world, int64_t ms)
{
    int64_t end_ms = world->now_ms + ms;
    while (step_until(world, end_ms))
        ;
    world->now_ms = end_ms;
}

int
fake_world_until(fake_world *world, int64_t ms, int (*is_true)(void *user), void *user)
{
    int64_t end_ms = world->now_ms + ms;
    while (!is_true(user)) {
        if (!step_until(world, end_ms)) {
            world->now_ms = end_ms;
            return is_true(user);
        }
    }
    return 1;
}
