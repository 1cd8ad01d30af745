/* The blocking half of membership: own beat, reading all heartbeats, removals. Procedures for the heartbeat
 * thread. */
#ifndef SWAMP_RUN_HEARTBEAT_H
#define SWAMP_RUN_HEARTBEAT_H

#include <stddef.h>
#include <stdint.h>
#include "../store/question.h"
#include "../store/record.h"

struct swamp__membership;

/* One heartbeat of another instance as a pulse read it. */
typedef struct swamp__sighting {
    char instance_id[65]; /* of the key: also where the record cannot be read */
    uint64_t revision;
    int readable;
    swamp__heartbeat_record record;
} swamp__sighting;

/* One own beat, when it is due, and one read of heartbeats/. An instance has one pulse and uses it again and
 * again. */
typedef struct swamp__pulse {
    swamp__question question;
    struct swamp__membership *membership;

    /* what is asked */
    int64_t due_ms;
    unsigned number;
    int beat_due;                   /* the schedule wants an own beat, and ... */
    int beats;                      /* ... it is part of this pulse: an unhealthy instance does not beat */
    swamp__heartbeat_record record; /* the beat to be written; its instance_id is always set */

    /* asked and found */
    uint64_t revision; /* of the own record; 0: never written */

    /* what is found */
    int beat_status; /* SWAMP_OK; SWAMP_E_FENCED; < 0: not written, or not known */
    int read_status;
    int sees_itself; /* the own record is there */
    int in_doubt;    /* a write if absent had no answer: it may land late */
    swamp__sighting *sightings;
    size_t count, cap;
} swamp__pulse;

void swamp__pulse_work(swamp__question *question, swamp_store *store);

/* Takes a heartbeat away: that of a dead instance (`me` set), or the own one at a planned stop (`me` is ""). */
typedef struct swamp__removal {
    swamp__question question;
    struct swamp__membership *membership;
    char instance_id[65];
    char me[65];
    uint64_t revision;
} swamp__removal;

/* status: SWAMP_OK: it is gone; SWAMP_CONFLICT: the record is not what was watched; SWAMP_E_FENCED; < 0. */
void swamp__removal_work_dead(swamp__question *question, swamp_store *store);
/* status: SWAMP_OK: it is gone; < 0. Whatever revision the own record has. */
void swamp__removal_work_own(swamp__question *question, swamp_store *store);

#endif
