/* The writes of a run's life: each a blocking procedure for the store thread. What follows from them is life.c's. */
#ifndef SWAMP_RUN_LIFE_WRITE_H
#define SWAMP_RUN_LIFE_WRITE_H

#include <stdint.h>
#include "../store/question.h"
#include "../util/buf.h"
#include "../wire/document.h"
#include "life.h"

/* What is known after a write. */
#define SWAMP__WRITE_NOT                                                                                     \
    0 /* nothing was written, by the store's own word; also when the work was not run  \ */
#define SWAMP__WRITE_DONE 1 /* it is in the store */
#define SWAMP__WRITE_FENCED                                                                                  \
    2 /* declared dead: the heartbeat is gone, or the run was taken away (PROTOCOL 5) */
#define SWAMP__WRITE_UNKNOWN 3 /* it may be there, or may still come */
#define SWAMP__WRITE_STALE 4   /* progress: runs/{id} lies at another revision, which is in `revision` */
#define SWAMP__WRITE_ABSENT 5  /* cleaning: there is nothing of this run */

struct swamp__life_write;

/* A kind of write, and what its answer leads to. */
typedef struct swamp__life_kind {
    const char *what; /* for the log */
    void (*work)(swamp__question *question, swamp_store *store);
    void (*take)(swamp__life *life, swamp_run *run, struct swamp__life_write *write);
    void (*give_up)(swamp__life *life, swamp_run *run,
                    int status); /* the instance ends, nothing is asked again; or NULL */
} swamp__life_kind;

/*
 * Holds a reference to the run, and reads of it only what does not change while the question is under way:
 * ids and names, and run_json except in RUNNING, where host_copy takes its place.
 */
typedef struct swamp__life_write {
    swamp__question question; /* first */
    swamp__life *life;
    swamp_run *run;
    const swamp__life_kind *kind;
    /* asked */
    const char *me, *run_id;
    swamp__run_owned owned;
    const char *host_json; /* NULL: none */
    size_t host_json_len;
    char *host_copy;
    uint64_t active_revision;
    uint64_t history_revision; /* 0: runs/{id} is absent */
    /* found */
    int outcome;
    uint64_t revision;
    swamp__buf value; /* the RUN; of the final one also in: the same bytes in every try */
} swamp__life_write;

/* Core's thread: puts a write to the store. Without memory the run's timer is set, to try again. */
void swamp__life_ask(swamp__life *life, swamp_run *run, const swamp__life_kind *kind);
/* Doubling from 100 ms to 5 s by run->tries, with jitter, so that no two instances go in step. */
void swamp__life_wait_backoff(swamp__life *life, swamp_run *run);
/* The final RUN for the last event, where there is no store thread to build it: SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__life_build_final(swamp__life *life, swamp_run *run);

/* Each is the `work` of a question whose struct is a swamp__life_write. */
void swamp__write_admission(swamp__question *question, swamp_store *store);
void swamp__write_progress(swamp__question *question, swamp_store *store);
void swamp__write_final(swamp__question *question, swamp_store *store);
void swamp__write_cleaning(swamp__question *question, swamp_store *store);
void swamp__write_forget(swamp__question *question, swamp_store *store);

#endif
