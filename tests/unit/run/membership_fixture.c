/* Instances in a fake world for the tests of membership. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/keys.h"
#include "../../../libswamp/store/store.h"
#include "membership_fixture.h"

fake_world *world;
swamp_store *store;

void
fixture_open(void)
{
    world = fake_world_new(1);
    ck_assert_int_eq(swamp_store_memory_open(&store), SWAMP_OK);
}

void
fixture_close(void)
{
    fake_world_free(world);
    swamp_store_free(store);
}

static void
note_joined(void *user)
{
    ((member *)user)->joined++;
}

static void
note_changed(void *user, const swamp__watch *watch)
{
    ((member *)user)->changed++;
}

static void
note_dead(void *user, const char *instance_id)
{
    member *self = user;
    self->deaths++;
    snprintf(self->last_dead, sizeof self->last_dead, "%s", instance_id);
}

static void
note_fenced(void *user)
{
    ((member *)user)->fenced++;
}

static int
tell_healthy(void *user)
{
    return !((member *)user)->unhealthy;
}

static void
describe(void *user, swamp__heartbeat_record *record)
{
    record->active_runs = 3;
}

member *
member_new(const char *instance_id)
{
    member *self = calloc(1, sizeof *self);
    self->node = fake_node_new(world);
    self->beats = fake_asker_new(self->node, store, 5000);
    self->m.world = &self->node->world;
    self->m.beats = &self->beats->asker;
    self->m.on = (swamp__membership_events){note_joined,  note_changed, note_dead, note_fenced,
                                            tell_healthy, describe,     self};
    snprintf(self->m.me.instance_id, sizeof self->m.me.instance_id, "%s", instance_id);
    snprintf(self->m.me.hostname, sizeof self->m.me.hostname, "host");
    self->m.me.interval_ms = INTERVAL;
    self->m.me.stale_ttl_ms = TTL;
    ck_assert_int_eq(swamp__membership_init(&self->m), SWAMP_OK);
    return self;
}

void
member_start(member *self)
{
    swamp__membership_start(&self->m);
    fake_world_advance(world, 0);
    ck_assert_int_eq(self->joined, 1);
}

void
member_close(member *self)
{
    self->node->paused = 0;
    fake_asker_close(self->beats);
    fake_world_advance(world, 0);
    swamp__membership_destroy(&self->m);
    free(self);
}

uint64_t
neighbour_writes(const char *instance_id, const char *value)
{
    swamp__key key = swamp__key_heartbeat(instance_id);
    uint64_t revision = 0;
    swamp_store_op op = {
        .key = key.text,
        .value = value,
        .value_len = strlen(value),
        .action = SWAMP_STORE_PUT,
        .condition = SWAMP_STORE_ANY,
    };
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, &revision, NULL), SWAMP_OK);
    return revision;
}

uint64_t
neighbour_beats_with(const char *instance_id, int64_t beat, int64_t interval_ms, int64_t stale_ttl_ms)
{
    swamp__heartbeat_record record = {.beat = beat, .interval_ms = interval_ms, .stale_ttl_ms = stale_ttl_ms};
    snprintf(record.instance_id, sizeof record.instance_id, "%s", instance_id);
    /* A wall clock that is off by years: nobody may care. */
    snprintf(record.heartbeat_at, sizeof record.heartbeat_at, "1999-12-31T23:59:59.000Z");
    swamp__buf value;
    swamp__buf_init(&value);
    swamp__heartbeat_write(&value, &record);
    uint64_t revision = neighbour_writes(instance_id, value.data);
    swamp__buf_free(&value);
    return revision;
}

uint64_t
neighbour_beats(const char *instance_id, int64_t beat)
{
    return neighbour_beats_with(instance_id, beat, INTERVAL, TTL);
}

void
neighbour_goes(const char *instance_id)
{
    swamp__key key = swamp__key_heartbeat(instance_id);
    swamp_store_op op = swamp__op_remove(key.text, SWAMP_STORE_PRESENT, 0);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, 1000, NULL, NULL), SWAMP_OK);
}

static int
read_heartbeat(const char *instance_id, swamp__buf *value, uint64_t *revision)
{
    swamp__key key = swamp__key_heartbeat(instance_id);
    swamp__buf_init(value);
    return swamp__store_read(store, key.text, 1000, value, revision);
}

uint64_t
revision_of(const char *instance_id)
{
    swamp__buf value;
    uint64_t revision = 0;
    int rc = read_heartbeat(instance_id, &value, &revision);
    swamp__buf_free(&value);
    return rc == SWAMP_OK ? revision : 0;
}

int
is_there(const char *instance_id)
{
    return revision_of(instance_id) != 0;
}

void
heartbeat_of(const char *instance_id, swamp__heartbeat_record *out)
{
    swamp__buf value;
    uint64_t revision;
    ck_assert_int_eq(read_heartbeat(instance_id, &value, &revision), SWAMP_OK);
    ck_assert_int_eq(swamp__heartbeat_read(value.data, value.len, out), SWAMP_OK);
    swamp__buf_free(&value);
}
