/* What a server says (PROTOCOL 3): writers for the server, one reader for the client; no framing. */
#ifndef SWAMP_WIRE_ANSWER_H
#define SWAMP_WIRE_ANSWER_H

#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "limits.h"

/* Writers: append one frame's text, members in the order of PROTOCOL 3. id is decoded text. */
void swamp__answer_accepted(swamp__buf *out, const char *id, const char *run_id);
/* {"type":"event","id":ID,"event": - then come the event's bytes and } */
void swamp__answer_event_open(swamp__buf *out, const char *id);
void swamp__answer_done(swamp__buf *out, const char *id);

typedef struct swamp__answer_error_extra {
    const char *reason;      /* NULL: absent */
    const char *instance_id; /* NULL: absent */
    int64_t retry_after_ms;  /* 0: absent */
} swamp__answer_error_extra;

void swamp__answer_error(swamp__buf *out, const char *id, const char *code, const char *message,
                         const swamp__answer_error_extra *extra); /* extra may be NULL */

typedef struct swamp__answer_attached_info {
    const char *run_id, *kind, *started_at, *epoch, *state;
    const char *interrupt_reason; /* of a state that is final; NULL: absent */
    uint64_t first_seq, head_seq;
} swamp__answer_attached_info;

void swamp__answer_attached(swamp__buf *out, const char *id, const swamp__answer_attached_info *info);
void swamp__answer_gap(swamp__buf *out, const char *id, const char *run_id, uint64_t from_seq,
                       uint64_t to_seq);

typedef struct swamp__answer_elsewhere_info {
    const char *run_id, *instance_id, *address;              /* address NULL or "": absent */
    int64_t retry_after_ms, owner_seen_ms_ago, stale_ttl_ms; /* negative: absent */
} swamp__answer_elsewhere_info;

void swamp__answer_elsewhere(swamp__buf *out, const char *id, const swamp__answer_elsewhere_info *info);
void swamp__answer_interrupted(swamp__buf *out, const char *id, const char *run_id, const char *instance_id,
                               const char *reason, int64_t stale_ttl_ms); /* negative: absent */
void swamp__answer_drain(swamp__buf *out, int64_t retry_after_ms, int64_t deadline_ms);
/* {"type":TYPE,"id":ID,MEMBER...}: member_text is the inside, such as "data":{...} */
void swamp__answer_plain(swamp__buf *out, const char *type, const char *id, const char *members, size_t len);

/* Frame types as the client reads them. */
#define SWAMP__ANS_OTHER 0
#define SWAMP__ANS_ACCEPTED 1
#define SWAMP__ANS_EVENT 2
#define SWAMP__ANS_DONE 3
#define SWAMP__ANS_ERROR 4
#define SWAMP__ANS_ATTACHED 5
#define SWAMP__ANS_GAP 6
#define SWAMP__ANS_ELSEWHERE 7
#define SWAMP__ANS_INTERRUPTED 8
#define SWAMP__ANS_DRAIN 9
#define SWAMP__ANS_HISTORY 10 /* workflow.history.get */
#define SWAMP__ANS_RUN_CANCEL 11

/* A frame as read: borrows from the message's bytes. Texts are "", numbers -1 (seq 0) where absent. */
typedef struct swamp__answer {
    int type;
    char id[SWAMP__ID_MAX * 4 + 1];
    swamp__json event;                  /* EVENT: the event's bytes */
    uint64_t seq;                       /* EVENT: 0 when it has none */
    char kind[64];                      /* EVENT; cut */
    char run_id[SWAMP__ID_MAX * 4 + 1]; /* wherever the frame carries one; EVENT: event.runId */
    /* EVENT completed/cancelled: event.run.status; ATTACHED: state; RUN_CANCEL: status; HISTORY: data.status */
    char run_status[16];
    char interrupt_reason[32]; /* HISTORY: data.interruptReason; ATTACHED: of a final state */
    char instance_id[65], address[1024], epoch[257];
    char code[64], message[512], reason[64];
    int64_t first_seq, head_seq, from_seq, to_seq;
    int64_t retry_after_ms, stale_ttl_ms;
    int accepted;     /* RUN_CANCEL: 1, 0 */
    swamp__json data; /* HISTORY: the RUN */
} swamp__answer;

/*
 * Lenient: extra members are ignored, missing [new] ones are fine, a frame of an unknown type is OTHER.
 * SWAMP_OK; SWAMP_E_PROTOCOL: no JSON object, no type, an event without an object or with a seq that is no
 * number, a gap without its range; SWAMP_E_NOMEM.
 */
int swamp__answer_read(const char *text, size_t len, swamp__answer *out);

#endif
