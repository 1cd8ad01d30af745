/* `swamp doctor`: the cluster as its records show it: heartbeats, clocks, runs without an owner (PROTOCOL 5). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "doctor.h"
#include "doctor_report.h"
#include "json.h"
#include "memory.h"
#include "out.h"
#include "outcome.h"

#define ASK_MS 5000
#define INSTANCES_MAX 10000
#define RUNS_MAX 10000
#define CLOCK_MS_MAX 60000 /* more than this ahead, and it is no longer the interval or the way here */
#define WATCH_MS_MAX 20000
#define LOOK_MS 50

typedef struct heartbeat {
    char *instance_id;
    json *record;
    uint64_t revision;
    int is_silent;
} heartbeat;

typedef struct cluster {
    swamp_store *store;
    const char *url;
    heartbeat *beats;
    size_t beat_count;
    struct active_run {
        char *run_id;
        json *record;
    } * runs;
    size_t run_count;
    char **owned; /* keys of instance-runs/ and cancel-requests/, which name their instance */
    size_t owned_count;
} cluster;

static const char *
last_part(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash ? slash + 1 : key;
}

static int
take_beat(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    cluster *c = user;
    c->beats = memory_grow(c->beats, c->beat_count + 1, sizeof(*c->beats));
    c->beats[c->beat_count++] =
        (heartbeat){memory_copy(last_part(key)), json_read(value, len, NULL, NULL), revision, 0};
    return 0;
}

static int
take_run(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    cluster *c = user;
    (void)revision;
    c->runs = memory_grow(c->runs, c->run_count + 1, sizeof(*c->runs));
    c->runs[c->run_count].run_id = memory_copy(last_part(key));
    c->runs[c->run_count++].record = json_read(value, len, NULL, NULL);
    return 0;
}

static int
take_owned(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    cluster *c = user;
    (void)value, (void)len, (void)revision;
    c->owned = memory_grow(c->owned, c->owned_count + 1, sizeof(*c->owned));
    c->owned[c->owned_count++] = memory_copy(key);
    return 0;
}

static int
take_revision(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    (void)key, (void)value, (void)len;
    *(uint64_t *)user = revision;
    return 0;
}

static int64_t
clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* "2026-01-02T03:04:05.678Z" to milliseconds; 0: it is something else. */
static int64_t
read_time(const char *words)
{
    struct tm parts = {0};
    const char *rest = words ? strptime(words, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (!rest)
        return 0;
    return (int64_t)timegm(&parts) * 1000 + (rest[0] == '.' ? strtol(rest + 1, NULL, 10) : 0);
}

/*
 * Wall clocks decide nothing (PROTOCOL 5): an old time may be a dead instance or a slow clock. The revision
 * tells them apart: it is watched for one and a half intervals. 1: it changed, or the record is gone.
 */
static int
watch_beat(const cluster *c, const heartbeat *beat)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    int64_t watch_ms = json_get_integer(beat->record, "intervalMs", 10000) * 3 / 2;
    int64_t until_ms = clock_ms(CLOCK_MONOTONIC) + (watch_ms < WATCH_MS_MAX ? watch_ms : WATCH_MS_MAX);
    uint64_t revision = beat->revision;
    char key[SWAMP_STORE_KEY_MAX + 1];

    snprintf(key, sizeof(key), "heartbeats/%s", beat->instance_id);
    while (clock_ms(CLOCK_MONOTONIC) < until_ms) {
        int rc = swamp_store_get(c->store, key, ASK_MS, take_revision, &revision);
        if (rc == SWAMP_ABSENT || (rc == SWAMP_OK && revision != beat->revision))
            return 1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Its beat is old. Who holds the lock before and after the watch held up everybody in between, and nobody is dead. */
static void
look_at_old_beat(const cluster *c, heartbeat *beat, const char *host, const char *at, int64_t age_ms)
{
    int64_t holder = doctor_lock_holder(c->url);

    if (watch_beat(c, beat)) {
        doctor_say(1,
                   "instance %s on %s lives, but its clock is %lld s %s this machine's: nothing depends on "
                   "it, but the times in the history are wrong; check NTP on both",
                   beat->instance_id, host, (long long)(age_ms < 0 ? -age_ms : age_ms) / 1000,
                   age_ms < 0 ? "ahead of" : "behind");
    } else if (holder > 0 && doctor_lock_holder(c->url) == holder) {
        doctor_say(1,
                   "instance %s on %s has shown no sign of life since %s, and process %lld holds the store's "
                   "lock: nobody can write before it lets go; look at it with \"ps %lld\", and continue or "
                   "end it",
                   beat->instance_id, host, at, (long long)holder, (long long)holder);
    } else {
        beat->is_silent = 1;
        doctor_say(1,
                   "instance %s on %s has shown no sign of life since %s: any other instance declares it "
                   "dead and ends its runs; when none runs, start one",
                   beat->instance_id, host, at);
    }
}

static void
look_at_beat(const cluster *c, heartbeat *beat)
{
    const char *host = json_get_string(beat->record, "hostname"),
               *at = json_get_string(beat->record, "heartbeatAt");
    int64_t age_ms = clock_ms(CLOCK_REALTIME) - read_time(at);
    int64_t ttl_ms = json_get_integer(beat->record, "staleTtlMs", 30000);

    if (!beat->record || !at) {
        doctor_say(1, "the heartbeat of instance %s cannot be read; was it written by something else?",
                   beat->instance_id);
        return;
    }
    host = host ? host : "?";
    if (age_ms <= ttl_ms && age_ms >= -CLOCK_MS_MAX)
        doctor_say(0, "instance %s on %s: last sign of life at %s", beat->instance_id, host, at);
    else
        look_at_old_beat(c, beat, host, at, age_ms);
}

/* The run's owner, when it lives or is only silent; NULL: nobody. */
static const heartbeat *
find_owner(const cluster *c, const json *run)
{
    const char *owner = json_get_string(run, "instanceId");
    for (size_t i = 0; owner && i < c->beat_count; i++)
        if (strcmp(c->beats[i].instance_id, owner) == 0)
            return &c->beats[i];
    return NULL;
}

static int
is_absent(const cluster *c, const char *key)
{
    uint64_t revision;
    return swamp_store_get(c->store, key, ASK_MS, take_revision, &revision) == SWAMP_ABSENT;
}

static void
look_at_run(const cluster *c, const struct active_run *run)
{
    const heartbeat *owner = find_owner(c, run->record);
    const char *name = json_get_string(run->record, "resourceName");
    char key[SWAMP_STORE_KEY_MAX + 1];

    if (owner && !owner->is_silent)
        return;
    if (!run->record) {
        doctor_say(1, "the record active-runs/%s cannot be read; was it written by something else?",
                   run->run_id);
        return;
    }
    snprintf(key, sizeof(key), "active-runs/%s", run->run_id);
    if (is_absent(c, key))
        return; /* it ended while we looked */
    doctor_say(1,
               "run %s (%s) is recorded as running, but its instance is gone: the next instance that runs "
               "ends it as interrupted; start one",
               run->run_id, name ? name : "?");
}

/* A request to a living instance is made beside the run's active record, and goes with it in one commit. */
static void
look_at_living(const cluster *c, const char *key, const char *slash_run_id)
{
    char active[SWAMP_STORE_KEY_MAX + 1];

    snprintf(active, sizeof(active), "active-runs%s", slash_run_id);
    if (strncmp(key, "cancel-requests/", strlen("cancel-requests/")) == 0 && is_absent(c, active) &&
        !is_absent(c, key))
        doctor_say(1,
                   "the request %s cancels nothing: there is no such run that has not ended; was it written "
                   "by hand? It does no harm; to be rid of it restart that instance",
                   key);
}

/* A key that an instance left behind which is gone; one that is only silent has had its line. */
static void
look_at_owned(const cluster *c, const char *key)
{
    const char *owner = strchr(key, '/') + 1;
    size_t len = strcspn(owner, "/");

    for (size_t i = 0; i < c->beat_count; i++)
        if (strlen(c->beats[i].instance_id) == len && strncmp(c->beats[i].instance_id, owner, len) == 0) {
            look_at_living(c, key, owner + len);
            return;
        }
    if (is_absent(c, key))
        return; /* it went while we looked */
    doctor_say(1,
               "the record %s has no owner: its instance is gone; the next instance that runs removes it, "
               "start one; if it stays, it does no harm",
               key);
}

static void
free_cluster(cluster *c)
{
    for (size_t i = 0; i < c->beat_count; i++) {
        free(c->beats[i].instance_id);
        json_free(c->beats[i].record);
    }
    for (size_t i = 0; i < c->run_count; i++) {
        free(c->runs[i].run_id);
        json_free(c->runs[i].record);
    }
    for (size_t i = 0; i < c->owned_count; i++)
        free(c->owned[i]);
    free(c->owned);
    free(c->beats);
    free(c->runs);
}

int
doctor_look_at_cluster(swamp_store *store, const char *url)
{
    cluster c = {.store = store, .url = url};
    /* runs first: an owner is there before its run is, and goes after it */
    int rc = swamp_store_list(store, "active-runs/", NULL, RUNS_MAX, 0, ASK_MS, take_run, &c), code = 0;
    if (rc == SWAMP_OK)
        rc = swamp_store_list(store, "instance-runs/", NULL, RUNS_MAX, SWAMP_STORE_KEYS_ONLY, ASK_MS,
                              take_owned, &c);
    if (rc == SWAMP_OK)
        rc = swamp_store_list(store, "cancel-requests/", NULL, RUNS_MAX, SWAMP_STORE_KEYS_ONLY, ASK_MS,
                              take_owned, &c);
    if (rc == SWAMP_OK)
        rc = swamp_store_list(store, "heartbeats/", NULL, INSTANCES_MAX, 0, ASK_MS, take_beat, &c);
    if (rc != SWAMP_OK) {
        code = out_fail(OUTCOME_REFUSED, NULL, "the store cannot be read: %s; try again in a moment",
                        swamp_status_text(rc));
    } else {
        doctor_say(0, "%zu instance%s, %zu run%s not ended", c.beat_count, TEXT_PLURAL(c.beat_count),
                   c.run_count, c.run_count == 1 ? " that has" : "s that have");
        for (size_t i = 0; i < c.beat_count; i++)
            look_at_beat(&c, &c.beats[i]);
        for (size_t i = 0; i < c.run_count; i++)
            look_at_run(&c, &c.runs[i]);
        for (size_t i = 0; i < c.owned_count; i++)
            look_at_owned(&c, c.owned[i]);
    }
    free_cluster(&c);
    return code;
}
