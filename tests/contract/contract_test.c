/* The contract over the library's own stores, and over one that a host might write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <swamp/swamp.h>
#include "contract.h"
#include "scratch.h"
#include "tap.h"

static int
open_memory(swamp_store **out, void **place)
{
    (void)place;
    return swamp_store_memory_open(out);
}

static int
open_sqlite(swamp_store **out, void **place, uint32_t synchronous_full)
{
    swamp_sqlite_options options = {.size = sizeof options, .synchronous_full = synchronous_full};
    char *folder = scratch_make();
    char path[SCRATCH_PATH_MAX];
    char *error = NULL;
    int rc;

    *place = folder;
    rc = swamp_store_sqlite_open(out, scratch_path(path, folder, "control-plane.db"), &options, &error);
    if (rc < 0)
        fprintf(stderr, "%s\n", error);
    swamp_free(error);
    return rc;
}

static int
open_normal(swamp_store **out, void **place)
{
    return open_sqlite(out, place, 0);
}

static int
open_full(swamp_store **out, void **place)
{
    return open_sqlite(out, place, 1);
}

/* A host's own store: here one that hands every call on to another store. */
static void
destroy_wrapped(void *self)
{
    swamp_store_free(self);
}

static int
get_wrapped(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    return swamp_store_get(self, key, timeout_ms, sink, user);
}

static int
list_wrapped(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
             swamp_store_sink sink, void *user)
{
    return swamp_store_list(self, prefix, after, limit, flags, timeout_ms, sink, user);
}

static int
commit_wrapped(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
               size_t *failed)
{
    return swamp_store_commit(self, ops, count, timeout_ms, revision, failed);
}

static int
open_wrapped(swamp_store **out, uint64_t flags)
{
    swamp_store_vtable vtable = {.size = sizeof vtable,
                                 .flags = flags,
                                 .destroy = destroy_wrapped,
                                 .get = get_wrapped,
                                 .list = list_wrapped,
                                 .commit = commit_wrapped};
    swamp_store *inner;
    int rc = swamp_store_memory_open(&inner);

    return rc < 0 ? rc : swamp_store_custom(out, &vtable, inner);
}

static int
open_custom(swamp_store **out, void **place)
{
    (void)place;
    return open_wrapped(out, 0);
}

static int
open_serial(swamp_store **out, void **place)
{
    (void)place;
    return open_wrapped(out, SWAMP_STORE_SERIAL);
}

static const swamp_contract_backend backends[] = {
    {"memory", open_memory, NULL},
    {"sqlite", open_normal, scratch_remove},
    {"sqlite-full", open_full, scratch_remove},
    {"custom", open_custom, NULL},
    {"custom-serial", open_serial, NULL},
};

int
main(void)
{
    return tap_main(swamp_contract_suite(backends, (int)(sizeof backends / sizeof backends[0])));
}
