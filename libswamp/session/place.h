/* Where a session stands in its run: run id, epoch, the last contiguous seq, and what is known of the end. */
#ifndef SWAMP_SESSION_PLACE_H
#define SWAMP_SESSION_PLACE_H

#include <stddef.h>
#include <stdint.h>
#include "../wire/limits.h"

/* Epoch and seq are one pair: a seq counts only within its epoch. */
typedef struct swamp__place {
    char run_id[SWAMP__ID_MAX * 4 + 1]; /* "": not known yet; never replaced once it is known */
    char epoch[257];                    /* "": not checked */
    uint64_t last;             /* the last contiguous seq: all up to here was seen or reported as a gap */
    uint64_t head;             /* as run.attached told: the run has at least so many */
    uint64_t hole_tried;       /* last + 1 at which a hole made a re-attach; 0: none */
    uint64_t garbled_tried;    /* last + 1 at which something could not be decoded; 0: none */
    int epoch_tried;           /* attached without epoch after a mismatch, not answered yet */
    int terminal_seen;         /* the run's last event was seen */
    char state[16];            /* as run.attached told */
    char status[16];           /* run.status of the last event; "": not seen */
    char interrupt_reason[32]; /* of that same RUN, or as run.attached told */
    char *run_json;            /* that RUN; owned; NULL: not seen */
    size_t run_json_len;
} swamp__place;

#define SWAMP__PLACE_NEXT 0
#define SWAMP__PLACE_SEEN 1
#define SWAMP__PLACE_HOLE 2
#define SWAMP__PLACE_HOLE_AGAIN 3

void swamp__place_init(swamp__place *place, const char *run_id, const char *epoch, uint64_t after_seq);
void swamp__place_free(swamp__place *place);
int swamp__place_judge(const swamp__place *place,
                       uint64_t seq); /* SWAMP__PLACE_...; seq 0: not numbered, NEXT */
void swamp__place_advance(swamp__place *place, uint64_t seq); /* seen, or reported: never goes back */
int swamp__place_short(const swamp__place *place); /* 1: the head that the server named was not reached */
int swamp__place_hole_tried(const swamp__place *place);
void swamp__place_start_over(swamp__place *place); /* another epoch: from 0, unchecked */
/* Keeps what the run's last event says of the end: SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__place_keep_run(swamp__place *place, const char *status, const char *reason, const char *json,
                          size_t len);

#endif
