/* A piece of work for the host (swamp_work): made by the core, answered by any thread, taken back by the core. */
#ifndef SWAMP_SERVER_WORK_H
#define SWAMP_SERVER_WORK_H

#include <stddef.h>
#include <swamp/run.h>
#include "../run/run.h"
#include "../util/list.h"

/* How answers come back: any thread calls give, the core's thread then runs work->answered. */
typedef struct swamp__work_desk {
    void (*hand_out)(void *self, swamp_work *work); /* core's thread: the host shall have it; never refuses */
    void (*give_back)(
        void *self,
        swamp_work *work); /* any thread, once: must lead to swamp__work_finish() on the core's thread */
    void *self;
} swamp__work_desk;

struct swamp_work {
    swamp__link link; /* of whoever holds it */
    const swamp__work_desk *desk;
    int kind;         /* SWAMP_WORK_... */
    const char *type; /* static */
    char *payload;    /* owned */
    size_t payload_len;
    char run_id[SWAMP__ID_SIZE];
    char *principal, *reason; /* owned; reason NULL: "" */
    swamp_run *run;           /* a reference; START, CANCEL */
    /* the answer */
    int status;
    char *json;
    size_t json_len;
    /* core's thread: takes the answer, then frees the work; owner NULL: whoever asked is gone */
    void (*answered)(swamp_work *work, void *owner);
    void *owner;
};

swamp_work *swamp__work_new(const swamp__work_desk *desk, int kind, const char *type, const char *payload,
                            size_t len, const char *run_id, const char *principal,
                            swamp_run *run); /* NULL: out of memory */
void swamp__work_free(swamp_work *work);
/* Any thread: check the JSON, keep it, give the work back. The contract of swamp_work_answer(). */
int swamp__work_answer(swamp_work *work, int status, const char *json, size_t len);
/* Core's thread: let whoever asked have the answer, and free the work. */
void swamp__work_finish(swamp_work *work);

#endif
