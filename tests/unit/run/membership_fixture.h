/* Instances in a fake world for the tests of membership: real pulses over a real memory store, scripted
 * neighbours. */
#ifndef SWAMP_TESTS_MEMBERSHIP_FIXTURE_H
#define SWAMP_TESTS_MEMBERSHIP_FIXTURE_H

#include "../../../libswamp/run/membership.h"
#include "../../support/fake_world.h"

#define INTERVAL 10000
#define TTL 30000

typedef struct member {
    swamp__membership m;
    fake_node *node;
    fake_asker *beats;
    int joined, fenced, left, changed, unhealthy;
    int deaths;         /* calls of on.dead */
    char last_dead[65]; /* of the last one */
} member;

extern fake_world *world;
extern swamp_store *store;

void fixture_open(void);
void fixture_close(void);

member *member_new(const char *instance_id); /* not yet started */
void member_start(member *self);             /* and lets it join */
void member_close(member *self); /* its questions are answered, then it is freed; its record stays */

/* A neighbour that is nothing but its record: writes it whatever was there; returns the revision. */
uint64_t neighbour_beats(const char *instance_id, int64_t beat);
uint64_t neighbour_beats_with(const char *instance_id, int64_t beat, int64_t interval_ms,
                              int64_t stale_ttl_ms);
uint64_t neighbour_writes(const char *instance_id, const char *value); /* any bytes */
void neighbour_goes(const char *instance_id);

int is_there(const char *instance_id); /* its heartbeat is in the store */
uint64_t revision_of(const char *instance_id);
void heartbeat_of(const char *instance_id, swamp__heartbeat_record *out);

#endif
