/* Where does a run live? The reads behind run.attach (PROTOCOL 6.3 to 6.6) as one blocking procedure. */
#ifndef SWAMP_RUN_LOOKUP_H
#define SWAMP_RUN_LOOKUP_H

#include <swamp/store.h>
#include "../store/record.h"
#include "../wire/document.h"

/* What was found. One of these is the outcome: */
#define SWAMP__FOUND_FAILED 0 /* a read failed or timed out, or a record cannot be read: unavailable */
#define SWAMP__FOUND_ACTIVE                                                                                  \
    1 /* active, and the owner's heartbeat is there: elsewhere or withheld, by the watch */
#define SWAMP__FOUND_ORPHAN                                                                                  \
    2 /* active, owner's heartbeat absent, and still active when read again: instance_dead */
#define SWAMP__FOUND_KEPT 3        /* final, and its living owner still keeps the events: elsewhere */
#define SWAMP__FOUND_INTERRUPTED 4 /* final with an interruptReason */
#define SWAMP__FOUND_NOTHING 5     /* final otherwise, or absent, or the owner is local: not_found */
#define SWAMP__FOUND_UNDER_WAY 6   /* not active and not final: a write is under way: unavailable */

typedef struct swamp__lookup {
    int found;
    int local;                   /* ACTIVE, KEPT: the owner has no port: not_found */
    char owner[65];              /* ACTIVE, ORPHAN, KEPT */
    uint64_t heartbeat_revision; /* ACTIVE, KEPT */
    swamp__buf heartbeat;        /* ACTIVE, KEPT: its value, for the watch */
    swamp__run_facts run;        /* KEPT, INTERRUPTED, NOTHING (final) */
    int unreadable;              /* FAILED: by a record, not by the store */
    /* how many gets it took: at most 2 for an active run, 3 otherwise; 4 where two looks were needed: KEPT,
     * and a run that ended between the reads */
    int reads;
} swamp__lookup;

void swamp__lookup_run(swamp_store *store, const char *run_id, int timeout_ms, swamp__lookup *out);
void swamp__lookup_free(swamp__lookup *lookup);

#endif
