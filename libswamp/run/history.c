/* workflow.history.get: a run by its id, by the name of its workflow, or by a part of its id (PROTOCOL 2). */
#include "history.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../store/keys.h"
#include "../store/store.h"
#include "../util/id.h"
#include "../wire/document.h"
#include "pages.h"
#include "reading.h"

#define NAME_TRIES 8 /* index keys looked at for one name */

struct getter {
    swamp_store *store;
    int timeout_ms;
    swamp__buf value;
    swamp__run_facts facts; /* of value */
};

/* SWAMP_OK; SWAMP_ABSENT; SWAMP_E_CORRUPT: there, but not readable; < 0. */
static int
read_run(struct getter *getter, const char *run_id)
{
    swamp__key key = swamp__key_run(run_id);
    uint64_t revision = 0;
    int rc = swamp__store_read(getter->store, key.text, getter->timeout_ms, &getter->value, &revision);
    if (rc != SWAMP_OK)
        return rc;
    return swamp__read_run_for_client(getter->store, key.text, revision, getter->value.data,
                                      getter->value.len, &getter->facts);
}

static int
take_last(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    snprintf(user, SWAMP_STORE_KEY_MAX + 1, "%s", key);
    return 1;
}

int
swamp__history_is_named(const swamp__run_facts *facts, const char *workflow_name)
{
    size_t len = strlen(facts->workflow_name);
    /* The name as it was read is cut at the start of a character, up to three bytes before its room ends. */
    if (len + 4 >= sizeof facts->workflow_name)
        return strncmp(facts->workflow_name, workflow_name, len) == 0;
    return strcmp(facts->workflow_name, workflow_name) == 0;
}

/* The latest run of a workflow. A run that retention takes away between the two reads is passed over. */
static int
get_by_name(struct getter *getter, const char *name)
{
    swamp__key prefix = swamp__key_name_runs(name);
    char after[SWAMP_STORE_KEY_MAX + 1] = "", found[SWAMP_STORE_KEY_MAX + 1];
    for (int tries = 0; tries < NAME_TRIES; tries++) {
        found[0] = 0;
        int rc = swamp_store_list(getter->store, prefix.text, *after ? after : NULL, 1,
                                  SWAMP_STORE_REVERSE | SWAMP_STORE_KEYS_ONLY, getter->timeout_ms, take_last,
                                  found);
        if (rc != SWAMP_OK)
            return rc;
        if (!*found)
            return SWAMP_ABSENT;
        rc = read_run(getter, swamp__key_last(found));
        if (rc == SWAMP_OK ? swamp__history_is_named(&getter->facts, name) : rc != SWAMP_ABSENT)
            return rc;
        memcpy(after, found, sizeof after);
    }
    return SWAMP_ABSENT;
}

struct part {
    const char *suffix; /* NULL: the prefix was given to the list */
    size_t len;
    size_t matches;
    char run_id[65];
};

static int
match_part(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct part *part = user;
    const char *run_id = key + strlen(SWAMP__KEYS_RUNS);
    size_t len = strlen(run_id);
    if (part->suffix && (len < part->len || strcmp(run_id + len - part->len, part->suffix) != 0))
        return 0;
    if (part->matches++ == 0)
        snprintf(part->run_id, sizeof part->run_id, "%s", run_id);
    return 0;
}

/* Counts the runs whose id starts with the text, or, when there are none, ends with it. Only keys are read. */
static int
find_part(struct getter *getter, const char *text, struct part *part)
{
    swamp__key prefix = swamp__key_run(text);
    memset(part, 0, sizeof *part);
    part->len = strlen(text);
    int rc = SWAMP_OK;
    if (part->len >= SWAMP__HISTORY_PREFIX_MIN)
        rc = swamp__pages_each(getter->store, prefix.text, NULL, SWAMP_STORE_KEYS_ONLY, getter->timeout_ms,
                               match_part, part);
    if (rc != SWAMP_OK || part->matches || part->len < SWAMP__HISTORY_SUFFIX_MIN)
        return rc;
    part->suffix = text;
    return swamp__pages_each(getter->store, SWAMP__KEYS_RUNS, NULL, SWAMP_STORE_KEYS_ONLY, getter->timeout_ms,
                             match_part, part);
}

static int
get_by_part(struct getter *getter, const char *text, size_t *matches)
{
    struct part part;
    int rc = find_part(getter, text, &part);
    if (rc != SWAMP_OK)
        return rc;
    *matches = part.matches;
    if (part.matches > 1)
        return SWAMP_CONFLICT;
    return part.matches ? read_run(getter, part.run_id) : SWAMP_ABSENT;
}

int
swamp__history_get(swamp_store *store, const char *id_or_name, int timeout_ms, swamp__buf *out,
                   size_t *matches)
{
    struct getter getter = {.store = store, .timeout_ms = timeout_ms};
    int may_be_id = swamp__id_is_key_segment(id_or_name);
    swamp__buf_init(&getter.value);
    *matches = 0;
    int rc = may_be_id ? read_run(&getter, id_or_name) : SWAMP_ABSENT;
    if (rc == SWAMP_ABSENT && *id_or_name)
        rc = get_by_name(&getter, id_or_name);
    if (rc == SWAMP_ABSENT && may_be_id)
        rc = get_by_part(&getter, id_or_name, matches);
    if (rc == SWAMP_OK) {
        *matches = 1;
        swamp__buf_append(out, getter.value.data, getter.value.len);
        rc = swamp__buf_status(out);
    }
    swamp__buf_free(&getter.value);
    return rc;
}
