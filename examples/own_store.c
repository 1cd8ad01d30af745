/* Write a store: the vtable's four members. This one keeps its records in another store and tells what is written. */
#include <stdio.h>
#include <swamp/swamp.h>

static const char *const actions[] = {"", "put", "remove", "check"};
static const char *const conditions[] = {"", "any", "absent", "present", "revision"};

static void
told_destroy(void *self)
{
    swamp_store_free(self);
}

/* Fill the sink at most once; SWAMP_ABSENT is no error. */
static int
told_get(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    return swamp_store_get(self, key, timeout_ms, sink, user);
}

/* Fill the sink in key order, until it says stop. */
static int
told_list(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
          swamp_store_sink sink, void *user)
{
    return swamp_store_list(self, prefix, after, limit, flags, timeout_ms, sink, user);
}

/* All of it or nothing: every condition holds, or nothing is written. Return SWAMP_E_UNKNOWN when you cannot tell. */
static int
told_commit(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
            size_t *failed)
{
    int rc = swamp_store_commit(self, ops, count, timeout_ms, revision, failed);
    for (size_t i = 0; i < count; i++)
        printf("  %s %s if %s\n", actions[ops[i].action], ops[i].key, conditions[ops[i].condition]);
    if (rc == SWAMP_CONFLICT)
        printf("= %s at %zu\n", swamp_status_name(rc), *failed);
    else
        printf("= %s\n", swamp_status_name(rc));
    return rc;
}

int
main(void)
{
    swamp_store_vtable vtable = {.size = sizeof(vtable),
                                 .destroy = told_destroy,
                                 .get = told_get,
                                 .list = told_list,
                                 .commit = told_commit};
    swamp_store_op claim = {.key = "greeting",
                            .value = "\"hello\"",
                            .value_len = 7,
                            .action = SWAMP_STORE_PUT,
                            .condition = SWAMP_STORE_ABSENT};
    swamp_store *inner, *store;
    int first, second;

    if (swamp_store_memory_open(&inner) != SWAMP_OK || swamp_store_custom(&store, &vtable, inner) != SWAMP_OK)
        return 1;
    first = swamp_store_commit(store, &claim, 1, 1000, NULL, NULL);
    second = swamp_store_commit(store, &claim, 1, 1000, NULL,
                                NULL); /* somebody was here before: nothing is written */
    swamp_store_free(store); /* hand it to swamp_server_options.store before this, and a server lives on it */
    return first == SWAMP_OK && second == SWAMP_CONFLICT ? 0 : 1;
}
