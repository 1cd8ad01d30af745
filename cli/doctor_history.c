/* `swamp doctor`: the recorded runs: those that cannot be read, and those that nobody will ever bring to an end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "doctor.h"
#include "doctor_report.h"
#include "json.h"
#include "memory.h"
#include "out.h"

#define ASK_MS 5000
#define HISTORY_MAX 1000 /* the newest runs */
#define KEYS_MAX 100000

typedef struct history {
    swamp_store *store;
    size_t count;
    char **going; /* ids of runs that had not ended when they were listed */
    size_t going_count;
} history;

static int
is_final(const json *run)
{
    const char *status = json_get_string(run, "status");
    return status && (strcmp(status, "succeeded") == 0 || strcmp(status, "failed") == 0 ||
                      strcmp(status, "cancelled") == 0);
}

/* A RUN that cannot be read is answered with `unavailable` for as long as it is there. */
static int
take_run(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    history *h = user;
    json *run = json_read(value, len, NULL, NULL);
    (void)revision;
    h->count++;
    if (!json_get_string(run, "id") || !json_get_string(run, "status")) {
        doctor_say(1, "the record %s cannot be read; was it written by something else?", key);
    } else if (!is_final(run)) {
        h->going = memory_grow(h->going, h->going_count + 1, sizeof(*h->going));
        h->going[h->going_count++] = memory_copy(strchr(key, '/') + 1);
    }
    json_free(run);
    return 0;
}

static int
take_nothing(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    (void)user, (void)key, (void)value, (void)len, (void)revision;
    return 0;
}

static int
take_going(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    json *run = json_read(value, len, NULL, NULL);
    (void)key, (void)revision;
    *(int *)user = run && !is_final(run);
    json_free(run);
    return 0;
}

static int
take_key_of(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    const char **run_id = user;
    (void)value, (void)len, (void)revision;
    if (*run_id && strcmp(strrchr(key, '/') + 1, *run_id) == 0)
        *run_id = NULL; /* found */
    return 0;
}

/* Its own record first: the commit that ends a run writes it and removes the others. */
static void
look_at_going(const history *h, const char *run_id)
{
    char key[SWAMP_STORE_KEY_MAX + 1];
    const char *without_key = run_id;
    int is_going = 0;

    snprintf(key, sizeof(key), "active-runs/%s", run_id);
    if (swamp_store_get(h->store, key, ASK_MS, take_nothing, NULL) != SWAMP_ABSENT)
        return;
    snprintf(key, sizeof(key), "runs/%s", run_id);
    if (swamp_store_get(h->store, key, ASK_MS, take_going, &is_going) != SWAMP_OK || !is_going)
        return; /* it ended while we looked */
    if (swamp_store_list(h->store, "instance-runs/", NULL, KEYS_MAX, SWAMP_STORE_KEYS_ONLY, ASK_MS,
                         take_key_of, &without_key) != SWAMP_OK ||
        !without_key)
        return; /* by that key the next instance finds it and ends it, and that has its line */
    doctor_say(1,
               "run %s is recorded as not ended, but no other record knows of it: nobody ends it, and who "
               "attaches to it is told to come later, for ever; was it written by hand? Stop all instances "
               "and remove the record %s (docs/STORE.md says how)",
               run_id, key);
}

void
doctor_look_at_history(swamp_store *store)
{
    history h = {.store = store};
    int rc = swamp_store_list(store, "runs/", NULL, HISTORY_MAX, SWAMP_STORE_REVERSE, ASK_MS, take_run, &h);

    if (rc != SWAMP_OK)
        doctor_say(1, "the history cannot be read: %s; try again in a moment", swamp_status_text(rc));
    else
        doctor_say(0, "%s%zu run%s in the history looked at", h.count == HISTORY_MAX ? "the newest " : "",
                   h.count, TEXT_PLURAL(h.count));
    for (size_t i = 0; i < h.going_count; i++) {
        if (rc == SWAMP_OK)
            look_at_going(&h, h.going[i]);
        free(h.going[i]);
    }
    free(h.going);
}
