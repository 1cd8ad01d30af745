/* What a client may ask (PROTOCOL 2): a message's bytes in, a checked request out. */
#ifndef SWAMP_WIRE_REQUEST_H
#define SWAMP_WIRE_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "limits.h"

/* Request types; one table in request.c says what each one's payload must hold. */
#define SWAMP__REQ_WORKFLOW_RUN 1
#define SWAMP__REQ_METHOD_RUN 2
#define SWAMP__REQ_ATTACH 3
#define SWAMP__REQ_CANCEL 4
#define SWAMP__REQ_RUN_CANCEL 5
#define SWAMP__REQ_HISTORY_GET 6
#define SWAMP__REQ_SEARCH 7
#define SWAMP__REQ_RUN_HISTORY 8
#define SWAMP__REQ_INSTANCES 9
#define SWAMP__REQ_VERSION 10

/* Borrows from the message's bytes; texts are copied and zero-terminated, "" when absent. */
typedef struct swamp__request {
    int type;
    char id[SWAMP__ID_MAX * 4 + 1];     /* decoded */
    swamp__json id_json;                /* as the client wrote it */
    swamp__json payload;                /* type 0 when absent */
    const char *type_text;              /* static; NULL when unknown */
    char run_id[SWAMP__ID_MAX * 4 + 1]; /* attach, run.cancel */
    char name[SWAMP__ID_MAX * 4 + 1]; /* workflowIdOrName, modelIdOrName; more than 1,024 bytes are refused */
    char epoch[257];
    int has_epoch; /* also with an epoch that is "": a mismatch, PROTOCOL 3 */
    uint64_t after_seq;
    char reason[SWAMP__REASON_MAX + 1];   /* cut at a character's start */
    char workflow[SWAMP__ID_MAX * 4 + 1]; /* run.history */
    char traceparent[129];
    swamp__json query;    /* workflow.search */
    int only_active, all; /* run.history */
    uint32_t limit;       /* run.history */
} swamp__request;

/*
 * SWAMP_OK, or SWAMP_E_INVALID: then *message is a static line for the error frame invalid_request, and
 * out->id is the id to answer under ("unknown" if there is none to trust). SWAMP_E_NOMEM.
 */
int swamp__request_read(const char *text, size_t len, swamp__request *out, const char **message);

/*
 * Appends the error frame for a request that was refused, under its id as the client wrote it: that also
 * reaches a client whose id is longer than out->id can hold, or has a NUL or a lone surrogate in it.
 * request->id does not.
 */
void swamp__request_put_refusal(swamp__buf *out, const swamp__request *request, const char *message);

/* Writers for the client: append one message. Payload NULL: none. */
void swamp__request_put(swamp__buf *out, const char *type, const char *id, const char *payload,
                        size_t payload_len);
void swamp__request_put_attach(swamp__buf *out, const char *id, const char *run_id, const char *epoch,
                               uint64_t after_seq);
void swamp__request_put_run_cancel(swamp__buf *out, const char *id, const char *run_id, const char *reason);
void swamp__request_put_history_get(swamp__buf *out, const char *id, const char *run_id);

#endif
