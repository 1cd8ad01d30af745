/* The store handle: counted, and each call into a vtable held against the contract of <swamp/store.h>, once, here. */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../util/options.h"
#include "store.h"
#include "turn.h"
#include "unreadable.h"

#define LIST_MAX 100000

struct swamp_store {
    atomic_uint refs;
    swamp_store_vtable vtable;
    void *self;
    swamp__turn turn; /* only with SWAMP_STORE_SERIAL */
    swamp__unreadable unreadable;
};

/* One get or list under way: what the vtable may still hand over, and whom it is for. */
struct reading {
    swamp_store *store;
    const char *prefix; /* get: the key itself */
    const char *bound;  /* the key before: the next one must lie beyond it; NULL: none */
    size_t limit;
    unsigned flags;
    swamp_store_sink sink;
    void *user;
    size_t count;
    int exact;  /* get: the key must be equal */
    int ended;  /* the sink asked for no more */
    int broken; /* the vtable broke its contract */
    struct reading *outer;
    char last[SWAMP_STORE_KEY_MAX + 1];
};

/* The sinks that this thread is inside of: a call to the same store from there would wait for itself. */
static _Thread_local struct reading *innermost;

/* What the value of an operation points at when its buffer ran out of memory while it was written. */
static const char failed_value[1];

static int
is_reentrant(const swamp_store *store)
{
    for (const struct reading *reading = innermost; reading; reading = reading->outer) {
        if (reading->store == store)
            return 1;
    }
    return 0;
}

static int
is_printable(const char *text)
{
    size_t len = 0;

    for (; text[len]; len++) {
        if (len == SWAMP_STORE_KEY_MAX || text[len] < 0x20 || text[len] > 0x7e)
            return 0;
    }
    return 1;
}

/* Printable ASCII, 1 to 511 bytes, no segment empty. */
static int
is_key(const char *key)
{
    if (!key || !is_printable(key) || key[0] == '\0' || key[0] == '/' || strstr(key, "//"))
        return 0;
    return key[strlen(key) - 1] != '/';
}

swamp_store *
swamp__store_ref(swamp_store *store)
{
    atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
    return store;
}

void
swamp_store_free(swamp_store *store)
{
    if (!store || atomic_fetch_sub_explicit(&store->refs, 1, memory_order_acq_rel) != 1)
        return;
    store->vtable.destroy(store->self);
    if (store->vtable.flags & SWAMP_STORE_SERIAL)
        swamp__turn_destroy(&store->turn);
    swamp__unreadable_destroy(&store->unreadable);
    swamp__free(store);
}

swamp__unreadable *
swamp__store_unreadable(swamp_store *store)
{
    return &store->unreadable;
}

/* destroy runs exactly once, also when the rest of the vtable is not fit for use. */
static int
refuse(const swamp_store_vtable *vtable, void *self, int status)
{
    if (vtable && vtable->size >= offsetof(swamp_store_vtable, destroy) + sizeof vtable->destroy &&
        vtable->destroy)
        vtable->destroy(self);
    return status;
}

int
swamp_store_custom(swamp_store **out, const swamp_store_vtable *vtable, void *self)
{
    swamp_store_vtable copy;
    swamp_store *store;

    if (!out || !vtable || swamp__options_read(&copy, sizeof copy, vtable) < 0 || !copy.destroy ||
        !copy.get || !copy.list || !copy.commit || (copy.flags & ~(uint64_t)SWAMP_STORE_SERIAL))
        return refuse(vtable, self, SWAMP_E_INVALID);
    store = swamp__calloc(1, sizeof *store);
    if (!store)
        return refuse(vtable, self, SWAMP_E_NOMEM);
    if ((copy.flags & SWAMP_STORE_SERIAL) && swamp__turn_init(&store->turn) < 0) {
        swamp__free(store);
        return refuse(vtable, self, SWAMP_E_NOMEM);
    }
    atomic_init(&store->refs, 1);
    swamp__unreadable_init(&store->unreadable);
    store->vtable = copy;
    store->self = self;
    *out = store;
    return SWAMP_OK;
}

/*
 * Before each call of a member: holds the store (its owner may free it inside a sink) and, for a serial
 * store, waits its turn; *timeout_ms becomes what is left of it.
 */
static int
enter(swamp_store *store, int *timeout_ms)
{
    int64_t deadline_ms;
    int64_t left;

    if (is_reentrant(store))
        return SWAMP_E_REENTRANT;
    if (store->vtable.flags & SWAMP_STORE_SERIAL) {
        deadline_ms = swamp__clock_monotonic_ms() + *timeout_ms;
        if (swamp__turn_take(&store->turn, deadline_ms) < 0)
            return SWAMP_E_TIMEOUT;
        left = deadline_ms - swamp__clock_monotonic_ms();
        *timeout_ms = left > 0 ? (int)left : 0;
    }
    swamp__store_ref(store);
    return SWAMP_OK;
}

static void
leave(swamp_store *store)
{
    if (store->vtable.flags & SWAMP_STORE_SERIAL)
        swamp__turn_leave(&store->turn);
    swamp_store_free(store);
}

/* What a vtable may hand to a sink: the right key, in order, no more than asked, within the limits, a real
 * revision. */
static int
is_due(const struct reading *reading, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    int order;

    if (reading->ended || reading->count == reading->limit || !is_key(key) || revision == 0)
        return 0;
    if ((reading->flags & SWAMP_STORE_KEYS_ONLY) ? value || value_len : value_len > SWAMP_STORE_VALUE_MAX)
        return 0;
    if (!value && value_len)
        return 0;
    if (reading->exact)
        return strcmp(key, reading->prefix) == 0;
    if (strncmp(key, reading->prefix, strlen(reading->prefix)) != 0)
        return 0;
    if (!reading->bound)
        return 1;
    order = strcmp(key, reading->bound);
    return (reading->flags & SWAMP_STORE_REVERSE) ? order < 0 : order > 0;
}

static int
take_record(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct reading *reading = user;
    int rc;

    if (!is_due(reading, key, value, value_len, revision)) {
        reading->broken = 1;
        return 1;
    }
    strcpy(reading->last, key); /* is_key() bounds it */
    reading->bound = reading->last;
    reading->count++;
    if (!value && !(reading->flags & SWAMP_STORE_KEYS_ONLY))
        value = "";
    reading->outer = innermost;
    innermost = reading;
    rc = reading->sink(reading->user, key, value, value_len, revision);
    innermost = reading->outer;
    reading->ended = rc != 0;
    return rc;
}

static int
read_status(const struct reading *reading, int rc)
{
    if (reading->broken)
        return SWAMP_E_STORE;
    switch (rc) {
    case SWAMP_OK:
        return reading->exact && reading->count == 0 ? SWAMP_E_STORE : SWAMP_OK;
    case SWAMP_ABSENT:
        return reading->exact && reading->count == 0 ? SWAMP_ABSENT : SWAMP_E_STORE;
    case SWAMP_E_TIMEOUT:
    case SWAMP_E_NOMEM:
        return rc;
    default:
        return SWAMP_E_STORE;
    }
}

int
swamp_store_get(swamp_store *store, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    struct reading reading = {
        .store = store, .prefix = key, .limit = 1, .sink = sink, .user = user, .exact = 1};
    int rc;

    if (!store || !is_key(key) || timeout_ms < 0 || !sink)
        return SWAMP_E_INVALID;
    rc = enter(store, &timeout_ms);
    if (rc < 0)
        return rc;
    rc = read_status(&reading, store->vtable.get(store->self, key, timeout_ms, take_record, &reading));
    leave(store);
    return rc;
}

int
swamp_store_list(swamp_store *store, const char *prefix, const char *after, size_t limit, unsigned flags,
                 int timeout_ms, swamp_store_sink sink, void *user)
{
    struct reading reading = {.store = store,
                              .prefix = prefix,
                              .bound = after,
                              .limit = limit,
                              .flags = flags,
                              .sink = sink,
                              .user = user};
    int rc;

    if (!store || !prefix || !is_printable(prefix) || (after && !is_printable(after)) || limit == 0 ||
        limit > LIST_MAX || (flags & ~(SWAMP_STORE_REVERSE | SWAMP_STORE_KEYS_ONLY)) || timeout_ms < 0 ||
        !sink)
        return SWAMP_E_INVALID;
    rc = enter(store, &timeout_ms);
    if (rc < 0)
        return rc;
    rc = store->vtable.list(store->self, prefix, after, limit, flags, timeout_ms, take_record, &reading);
    rc = read_status(&reading, rc);
    leave(store);
    return rc;
}

static int
check_op(const swamp_store_op *op)
{
    if (!is_key(op->key))
        return SWAMP_E_INVALID;
    if (op->action < SWAMP_STORE_PUT || op->action > SWAMP_STORE_CHECK || op->condition < SWAMP_STORE_ANY ||
        op->condition > SWAMP_STORE_REVISION)
        return SWAMP_E_INVALID;
    if (op->value == failed_value)
        return SWAMP_E_NOMEM;
    if (op->action != SWAMP_STORE_PUT)
        return op->value || op->value_len ? SWAMP_E_INVALID : SWAMP_OK;
    if (op->value_len > SWAMP_STORE_VALUE_MAX)
        return SWAMP_E_TOO_BIG;
    return op->value || op->value_len == 0 ? SWAMP_OK : SWAMP_E_INVALID;
}

static int
check_batch(const swamp_store_op *ops, size_t count)
{
    if (!ops || count == 0)
        return SWAMP_E_INVALID;
    if (count > SWAMP_STORE_OPS_MAX)
        return SWAMP_E_TOO_BIG;
    for (size_t i = 0; i < count; i++) {
        int rc = check_op(&ops[i]);
        if (rc < 0)
            return rc;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(ops[i].key, ops[j].key) == 0)
                return SWAMP_E_INVALID;
        }
    }
    return SWAMP_OK;
}

/* A vtable that answers what it may not has done nobody knows what. */
static int
commit_status(int rc, uint64_t revision, size_t failed, size_t count)
{
    switch (rc) {
    case SWAMP_OK:
        return revision == 0 ? SWAMP_E_UNKNOWN : SWAMP_OK;
    case SWAMP_CONFLICT:
        return failed < count ? SWAMP_CONFLICT : SWAMP_E_UNKNOWN;
    case SWAMP_E_TIMEOUT:
    case SWAMP_E_STORE:
    case SWAMP_E_NOMEM:
        return rc;
    default:
        return SWAMP_E_UNKNOWN;
    }
}

int
swamp_store_commit(swamp_store *store, const swamp_store_op *ops, size_t count, int timeout_ms,
                   uint64_t *revision, size_t *failed)
{
    uint64_t new_revision = 0;
    size_t failed_at = SIZE_MAX;
    int rc;

    if (!store || timeout_ms < 0)
        return SWAMP_E_INVALID;
    rc = check_batch(ops, count);
    if (rc < 0)
        return rc;
    rc = enter(store, &timeout_ms);
    if (rc < 0)
        return rc;
    rc = store->vtable.commit(store->self, ops, count, timeout_ms, &new_revision, &failed_at);
    rc = commit_status(rc, new_revision, failed_at, count);
    leave(store);
    if (rc == SWAMP_OK && revision)
        *revision = new_revision;
    if (rc == SWAMP_CONFLICT && failed)
        *failed = failed_at;
    return rc;
}

struct value_wanted {
    swamp__buf *value;
    uint64_t revision;
};

static int
keep_value(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct value_wanted *wanted = user;

    (void)key;
    swamp__buf_append(wanted->value, value, value_len);
    wanted->revision = revision;
    return 0;
}

int
swamp__store_read(swamp_store *store, const char *key, int timeout_ms, swamp__buf *value, uint64_t *revision)
{
    struct value_wanted wanted = {.value = value};
    int rc;

    swamp__buf_clear(value);
    rc = swamp_store_get(store, key, timeout_ms, keep_value, &wanted);
    if (rc != SWAMP_OK)
        return rc;
    rc = swamp__buf_status(value);
    if (rc == SWAMP_OK && revision)
        *revision = wanted.revision;
    return rc;
}

swamp_store_op
swamp__op_put(const char *key, const swamp__buf *value, int condition, uint64_t revision)
{
    swamp_store_op op = {.key = key,
                         .value = value->data,
                         .value_len = value->len,
                         .revision = revision,
                         .action = SWAMP_STORE_PUT,
                         .condition = condition};

    if (swamp__buf_status(value) < 0)
        op.value = failed_value; /* half a value must never be written: the commit gives SWAMP_E_NOMEM */
    return op;
}

swamp_store_op
swamp__op_put_empty(const char *key)
{
    return (swamp_store_op){
        .key = key, .value = "{}", .value_len = 2, .action = SWAMP_STORE_PUT, .condition = SWAMP_STORE_ANY};
}

swamp_store_op
swamp__op_remove(const char *key, int condition, uint64_t revision)
{
    return (swamp_store_op){
        .key = key, .revision = revision, .action = SWAMP_STORE_REMOVE, .condition = condition};
}

swamp_store_op
swamp__op_check(const char *key, int condition, uint64_t revision)
{
    return (swamp_store_op){
        .key = key, .revision = revision, .action = SWAMP_STORE_CHECK, .condition = condition};
}
