/* The public event (swamp_event): made by the session machine, owned by the application. */
#ifndef SWAMP_SESSION_EVENT_H
#define SWAMP_SESSION_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/event.h>
#include "../util/list.h"

struct swamp_event {
    swamp__link link; /* of the session's queue */
    int type;         /* SWAMP_EVENT_... */
    int error;        /* SWAMP_E_... of ERROR */
    int success;
    uint32_t attempt, retry_after_ms;
    uint64_t seq, from_seq, to_seq;
    uint64_t cursor_seq; /* the session's place once this event was taken */
    size_t bytes;        /* what it counts in the queue */
    char *json;          /* owned; NULL: none */
    size_t json_len;
    /* owned or NULL: getters turn NULL into "" */
    char *kind, *run_id, *instance_id, *address, *reason, *status, *code, *message, *epoch;
};

/* All zero but the type. NULL: out of memory. */
swamp_event *swamp__event_new(int type);
/* Replaces one text member: SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__event_set(char **member, const char *text);

#endif
