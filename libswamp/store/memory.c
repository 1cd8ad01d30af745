/* The store in this process's memory: one ordered skip list under one lock, gone with its last reference. */
#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include <swamp/store.h>
#include "../util/alloc.h"
#include "../util/clock.h"
#include "turn.h"

#define LEVELS 12         /* a quarter of the nodes of a level reach the next one: good for millions */
#define LOOK_AT_CLOCK 256 /* records of a list between two looks at the clock */

struct node {
    struct node *prev; /* on level 0: lists run backwards too; the head before the first */
    char *value;       /* NULL only while value_len is 0 */
    size_t value_len;
    uint64_t revision;
    unsigned levels;
    struct node *next[]; /* `levels` pointers, then the key's bytes */
};

struct memory {
    swamp__turn turn;
    uint64_t revision; /* of the last commit; one counter for all keys, so that none is ever used twice */
    uint32_t dice;
    struct node *head; /* before all keys; has all levels and no key */
};

static const char *
node_key(const struct node *node)
{
    return (const char *)(node->next + node->levels);
}

static struct node *
make_node(const char *key, unsigned levels)
{
    size_t key_size = strlen(key) + 1;
    struct node *node = swamp__calloc(1, sizeof *node + levels * sizeof node->next[0] + key_size);

    if (!node)
        return NULL;
    node->levels = levels;
    memcpy(node->next + levels, key, key_size);
    return node;
}

static void
free_node(struct node *node)
{
    if (!node)
        return;
    swamp__free(node->value);
    swamp__free(node);
}

static unsigned
throw_levels(struct memory *memory)
{
    unsigned levels = 1;

    memory->dice ^= memory->dice << 13; /* xorshift: shape only, nobody gains by guessing it */
    memory->dice ^= memory->dice >> 17;
    memory->dice ^= memory->dice << 5;
    for (uint32_t dice = memory->dice; levels < LEVELS && (dice & 3) == 0; dice >>= 2)
        levels++;
    return levels;
}

/* The last node below `key`; path, if not NULL, gets the last one below it on each level. */
static struct node *
find_below(const struct memory *memory, const char *key, struct node *path[LEVELS])
{
    struct node *node = memory->head;

    for (unsigned level = LEVELS; level-- > 0;) {
        while (node->next[level] && strcmp(node_key(node->next[level]), key) < 0)
            node = node->next[level];
        if (path)
            path[level] = node;
    }
    return node;
}

static struct node *
find_node(const struct memory *memory, const char *key)
{
    struct node *node = find_below(memory, key, NULL)->next[0];

    return node && strcmp(node_key(node), key) == 0 ? node : NULL;
}

static void
link_node(struct memory *memory, struct node *node)
{
    struct node *path[LEVELS];

    node->prev = find_below(memory, node_key(node), path);
    for (unsigned level = 0; level < node->levels; level++) {
        node->next[level] = path[level]->next[level];
        path[level]->next[level] = node;
    }
    if (node->next[0])
        node->next[0]->prev = node;
}

static void
unlink_node(struct memory *memory, struct node *node)
{
    struct node *path[LEVELS];

    find_below(memory, node_key(node), path);
    for (unsigned level = 0; level < node->levels; level++)
        path[level]->next[level] = node->next[level];
    if (node->next[0])
        node->next[0]->prev = node->prev;
}

static void
destroy_memory(void *self)
{
    struct memory *memory = self;

    for (struct node *node = memory->head, *next; node; node = next) {
        next = node->next[0];
        free_node(node);
    }
    swamp__turn_destroy(&memory->turn);
    swamp__free(memory);
}

static int
get_record(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    struct memory *memory = self;
    const struct node *node;

    if (swamp__turn_take(&memory->turn, swamp__clock_monotonic_ms() + timeout_ms) < 0)
        return SWAMP_E_TIMEOUT;
    node = find_node(memory, key);
    if (node)
        sink(user, key, node->value, node->value_len, node->revision);
    swamp__turn_leave(&memory->turn);
    return node ? SWAMP_OK : SWAMP_ABSENT;
}

/* Where a list begins. The byte 0x7f follows every key's bytes: prefix + 0x7f lies behind all keys below the
 * prefix. */
static struct node *
list_start(const struct memory *memory, const char *prefix, const char *after, unsigned flags)
{
    char past[SWAMP_STORE_KEY_MAX + 2];
    size_t len = strlen(prefix);
    struct node *node;

    if (flags & SWAMP_STORE_REVERSE) {
        assert(len <= SWAMP_STORE_KEY_MAX);
        memcpy(past, prefix, len);
        memcpy(past + len, "\x7f", 2);
        return find_below(memory, after && strcmp(after, past) < 0 ? after : past, NULL);
    }
    if (!after || strcmp(after, prefix) < 0)
        return find_below(memory, prefix, NULL)->next[0];
    node = find_below(memory, after, NULL)->next[0];
    return node && strcmp(node_key(node), after) == 0 ? node->next[0] : node;
}

static int
list_records(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
             swamp_store_sink sink, void *user)
{
    struct memory *memory = self;
    int64_t deadline_ms = swamp__clock_monotonic_ms() + timeout_ms;
    size_t prefix_len = strlen(prefix);
    struct node *node;
    int rc = SWAMP_OK;

    if (swamp__turn_take(&memory->turn, deadline_ms) < 0)
        return SWAMP_E_TIMEOUT;
    node = list_start(memory, prefix, after, flags);
    for (size_t count = 0; count < limit && node && node != memory->head; count++) {
        int bare = (flags & SWAMP_STORE_KEYS_ONLY) != 0;

        if (strncmp(node_key(node), prefix, prefix_len) != 0)
            break;
        if (count % LOOK_AT_CLOCK == LOOK_AT_CLOCK - 1 && swamp__clock_monotonic_ms() > deadline_ms) {
            rc = SWAMP_E_TIMEOUT;
            break;
        }
        if (sink(user, node_key(node), bare ? NULL : node->value, bare ? 0 : node->value_len,
                 node->revision) != 0)
            break;
        node = (flags & SWAMP_STORE_REVERSE) ? node->prev : node->next[0];
    }
    swamp__turn_leave(&memory->turn);
    return rc;
}

static int
condition_holds(const swamp_store_op *op, const struct node *node)
{
    switch (op->condition) {
    case SWAMP_STORE_ABSENT:
        return !node;
    case SWAMP_STORE_PRESENT:
        return node != NULL;
    case SWAMP_STORE_REVISION:
        return node && node->revision == op->revision;
    default:
        return 1;
    }
}

/* One operation made ready: all memory is had before the first change, so that a batch cannot stop half-way. */
struct change {
    struct node *node; /* what the key has now */
    struct node *made; /* to be linked; NULL: node gets the value, or the key is removed */
    char *value;
};

static int
prepare_put(struct memory *memory, const swamp_store_op *op, struct change *change)
{
    if (op->value_len) {
        change->value = swamp__alloc(op->value_len);
        if (!change->value)
            return SWAMP_E_NOMEM;
        memcpy(change->value, op->value, op->value_len);
    }
    if (!change->node) {
        change->made = make_node(op->key, throw_levels(memory));
        if (!change->made)
            return SWAMP_E_NOMEM;
    }
    return SWAMP_OK;
}

static void
apply_change(struct memory *memory, const swamp_store_op *op, struct change *change)
{
    struct node *node = change->made ? change->made : change->node;

    if (op->action == SWAMP_STORE_REMOVE && node) {
        unlink_node(memory, node);
        free_node(node);
    } else if (op->action == SWAMP_STORE_PUT) {
        swamp__free(node->value);
        node->value = change->value;
        node->value_len = op->value_len;
        node->revision = memory->revision;
        if (change->made)
            link_node(memory, node);
    }
}

/* The batch under the lock. */
static int
commit_batch(struct memory *memory, const swamp_store_op *ops, size_t count, size_t *failed)
{
    struct change changes[SWAMP_STORE_OPS_MAX] = {{0}};
    int rc = SWAMP_OK;

    for (size_t i = 0; i < count; i++) {
        changes[i].node = find_node(memory, ops[i].key);
        if (!condition_holds(&ops[i], changes[i].node)) {
            *failed = i;
            return SWAMP_CONFLICT;
        }
    }
    for (size_t i = 0; i < count && rc == SWAMP_OK; i++) {
        if (ops[i].action == SWAMP_STORE_PUT)
            rc = prepare_put(memory, &ops[i], &changes[i]);
    }
    if (rc < 0) {
        for (size_t i = 0; i < count; i++) {
            free_node(changes[i].made);
            swamp__free(changes[i].value);
        }
        return rc;
    }
    memory->revision++;
    for (size_t i = 0; i < count; i++)
        apply_change(memory, &ops[i], &changes[i]);
    return SWAMP_OK;
}

static int
commit_records(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
               size_t *failed)
{
    struct memory *memory = self;
    int rc;

    if (swamp__turn_take(&memory->turn, swamp__clock_monotonic_ms() + timeout_ms) < 0)
        return SWAMP_E_TIMEOUT;
    rc = commit_batch(memory, ops, count, failed);
    *revision = memory->revision;
    swamp__turn_leave(&memory->turn);
    return rc;
}

int
swamp_store_memory_open(swamp_store **out)
{
    static const swamp_store_vtable vtable = {.size = sizeof vtable,
                                              .destroy = destroy_memory,
                                              .get = get_record,
                                              .list = list_records,
                                              .commit = commit_records};
    struct memory *memory;

    if (!out)
        return SWAMP_E_INVALID;
    memory = swamp__calloc(1, sizeof *memory);
    if (!memory)
        return SWAMP_E_NOMEM;
    memory->dice = 0x9e3779b9;
    memory->head = make_node("", LEVELS);
    if (!memory->head || swamp__turn_init(&memory->turn) < 0) {
        free_node(memory->head);
        swamp__free(memory);
        return SWAMP_E_NOMEM;
    }
    return swamp_store_custom(out, &vtable, memory);
}
