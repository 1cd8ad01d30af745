/* A question to the store: a procedure that runs where blocking is allowed, and its answer back on the core's
 * thread. */
#ifndef SWAMP_STORE_QUESTION_H
#define SWAMP_STORE_QUESTION_H

#include <stdint.h>
#include <swamp/store.h>
#include "../util/list.h"

/*
 * Embedded as the first member of a struct that holds what is asked and what was found. `work` makes blocking
 * calls to the store and touches only its own question, so that a simulator may run it at any moment, and
 * other instances' questions in between its calls. `done` runs on the core's thread, exactly once, and frees
 * the question.
 */
typedef struct swamp__question {
    void (*work)(struct swamp__question *question, swamp_store *store);
    void (*done)(struct swamp__question *question);
    /* monotonic; past it when its turn comes: work is not run, status is SWAMP_E_TIMEOUT */
    int64_t deadline_ms;
    int timeout_ms; /* for each call to the store that work makes */
    int status;     /* set by work; or SWAMP_E_TIMEOUT, SWAMP_E_BUSY, SWAMP_E_CLOSED when work was not run */
    swamp__link link;
} swamp__question;

/* Who takes questions: the store thread, or a simulator. */
typedef struct swamp__asker {
    void (*ask)(void *self, swamp__question *question); /* never answers before it returns */
    void *self;
    int timeout_ms;                       /* 0: no store is configured */
    struct swamp__unreadable *unreadable; /* of that store, for its counter; NULL: nobody counts */
} swamp__asker;

#endif
