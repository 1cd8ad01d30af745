/* The life of a run as the store sees it: admission, progress, the final commit, linger (DESIGN 6, PROTOCOL 5). */
#ifndef SWAMP_RUN_LIFE_H
#define SWAMP_RUN_LIFE_H

#include <stdint.h>
#include "../store/question.h"
#include "../util/world.h"
#include "registry.h"

typedef struct swamp__life_events {
    /*
     * The admission commit is done (SWAMP_OK), or the run will never start (< 0). Done, but not in state
     * RUNNING: it was ended meanwhile (swamp__life_end): no START.
     */
    void (*admitted)(void *user, swamp_run *run, int status);
    /* The run has new events, or its state changed: viewers have something to take. */
    void (*changed)(void *user, swamp_run *run);
    /* A write said that this instance was declared dead: call swamp__life_fence(). May come several times. */
    void (*fenced)(void *user);
    /* The run passed max_run_duration: cancel it. */
    void (*overdue)(void *user, swamp_run *run);
    /* The run leaves the registry; last chance to let go of it. */
    void (*gone)(void *user, swamp_run *run);
    void *user;
} swamp__life_events;

typedef struct swamp__life {
    const swamp__world *world;
    const swamp__asker *asker;
    swamp__registry *registry;
    const char *instance_id;
    swamp__life_events on;
    int64_t linger_ms;
    int64_t max_duration_ms; /* 0: off */
    size_t all_logs_bytes;
    size_t cleaning;       /* admissions whose keys are not yet confirmed away */
    size_t store_failures; /* in a row: /ready says degraded, */
    int64_t failed_ms;     /* until a beat after the last one is written */
    int fenced;
} swamp__life;

/* Ask for the admission commit of a run in state ADMITTED whose resource is set. Answered by on.admitted. */
void swamp__life_admit(swamp__life *life, swamp_run *run);
/* Just before START is handed to the host: takes the host's reference, which finish gives back; duration counts. */
void swamp__life_started(swamp__life *life, swamp_run *run);
/* Look at what the host's threads did: new events, progress, finish. Called for each run that registry_take gives. */
void swamp__life_visit(swamp__life *life, swamp_run *run);
/* This instance was declared dead: every unfinished run becomes LOST, emit gives SWAMP_E_FENCED, no write follows. */
void swamp__life_fence(swamp__life *life);
/*
 * The host failed to take the run on (interrupt_reason NULL: its reference is dropped, it must not call
 * finish), or an instance stop ends the run (interrupt_reason static; the host still calls finish, which
 * changes nothing any more). As if the host had called finish without a last event.
 */
void swamp__life_end(swamp__life *life, swamp_run *run, int status, const char *interrupt_reason);
/* Forget a finished run before its linger is over (stop). on.gone comes later, as always. */
void swamp__life_forget(swamp__life *life, swamp_run *run);

#endif
