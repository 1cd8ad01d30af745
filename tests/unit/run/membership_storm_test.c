/* Membership under everything at once: failing and slow stores, lost answers, sleeping processes, clocks off
 * by hours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "membership_fixture.h"
#include "tap.h"

#define MEMBERS 4
#define SEEDS 100
#define STORM_MS 600000

/* What the store says of each member, looked at before every call that anybody makes. */
static struct truth {
    uint64_t revision;
    int64_t changed_ms; /* when the store last took a beat of it */
    int was_there, was_removed;
} truths[MEMBERS];

static member *members[MEMBERS];
static int64_t last_call_ms; /* a commit happens at the moment of its call, and is noticed at the next one */
static int deaths;

static void
look_at_truth(void)
{
    for (int i = 0; i < MEMBERS; i++) {
        struct truth *truth = &truths[i];
        uint64_t revision = revision_of(members[i]->m.me.instance_id);
        if (revision == truth->revision)
            continue;
        if (revision && members[i]->joined)
            ck_assert_msg(!truth->was_removed, "a removed heartbeat was written again");
        if (!revision) {
            truth->was_removed = 1;
            deaths++;
        }
        truth->revision = revision;
        truth->changed_ms = last_call_ms;
    }
    last_call_ms = world->now_ms;
}

/* A removal that will be carried out is just: the record did not change for longer than its owner's TTL. */
static int
check_call(void *user, const fake_call *call)
{
    look_at_truth();
    for (size_t op = 0; op < call->count; op++) {
        if (call->ops[op].action != SWAMP_STORE_REMOVE)
            continue;
        for (int i = 0; i < MEMBERS; i++) {
            if (strcmp(call->ops[op].key + strlen("heartbeats/"), members[i]->m.me.instance_id) == 0 &&
                call->ops[op].revision == truths[i].revision)
                ck_assert_int_gt(world->now_ms - truths[i].changed_ms, TTL);
        }
    }
    return FAKE_FINE;
}

static int
chance(unsigned of_a_hundred)
{
    return fake_world_random(world) % 100 < of_a_hundred;
}

static void
change_the_weather(member *self)
{
    self->node->paused = chance(8);
    self->beats->fault_per_mille = chance(30) ? 200 : 10;
    self->beats->down = chance(6) ? FAKE_TIMEOUT : 0;
    self->beats->ask_high_ms = chance(30) ? 4000 : 20;
    self->beats->answer_high_ms = chance(30) ? 4000 : 20;
    self->unhealthy = chance(5);
}

static void
check_agreement(void)
{
    for (int i = 0; i < MEMBERS; i++) {
        member *self = members[i];
        ck_assert_int_eq(is_there(self->m.me.instance_id), !self->fenced); /* each knows what it is */
        for (int k = 0; k < MEMBERS; k++) {
            if (k == i || self->fenced)
                continue;
            swamp__watch *watch = swamp__membership_find(&self->m, members[k]->m.me.instance_id);
            ck_assert_int_eq(watch != NULL, !members[k]->fenced); /* and what the others are */
            ck_assert(!watch || swamp__membership_is_current(&self->m, watch));
        }
    }
}

START_TEST(nobody_who_beats_dies_and_all_agree_in_the_end)
{
    fixture_open();
    world->random_state = (uint64_t)_i * 7919 + 1;
    world->shuffle = 1;
    memset(truths, 0, sizeof truths);
    for (int i = 0; i < MEMBERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "member-%d", i);
        members[i] = member_new(name);
        members[i]->beats->watch = check_call;
    }
    for (int i = 0; i < MEMBERS; i++) {
        fake_world_advance(world, (int64_t)(fake_world_random(world) % INTERVAL));
        swamp__membership_start(&members[i]->m);
    }
    for (int64_t ms = 0; ms < STORM_MS; ms += 7000) {
        change_the_weather(members[fake_world_random(world) % MEMBERS]);
        world->unix_offset_ms += ((int64_t)(fake_world_random(world) % 7) - 3) * 3600 * 1000;
        fake_world_advance(world, 7000);
    }
    for (int i = 0; i < MEMBERS; i++) {
        members[i]->node->paused = members[i]->unhealthy = members[i]->beats->down = 0;
        members[i]->beats->fault_per_mille = 0;
        members[i]->beats->ask_high_ms = members[i]->beats->answer_high_ms = 20;
    }
    fake_world_advance(world, 3 * TTL);
    check_agreement();
    for (int i = 0; i < MEMBERS; i++)
        member_close(members[i]);
    fixture_close();
}
END_TEST

START_TEST(the_storm_is_strong_enough_to_kill)
{
    for (int seed = 0; seed < 40; seed++)
        nobody_who_beats_dies_and_all_agree_in_the_end_fn(seed);
    ck_assert_int_gt(deaths, 10);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("membership storm");
    TCase *t = tcase_create("storm");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, nobody_who_beats_dies_and_all_agree_in_the_end, 0, SEEDS);
    tcase_add_test(t, the_storm_is_strong_enough_to_kill);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
