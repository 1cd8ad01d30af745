/* RUN documents (PROTOCOL 4): built, read, ended, shrunk; on the bytes themselves: no number is reprinted. */
#ifndef SWAMP_WIRE_DOCUMENT_H
#define SWAMP_WIRE_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>
#include "../util/buf.h"

/* The members of RUN that the library owns. Texts may be NULL: absent. */
typedef struct swamp__run_owned {
    const char *id;
    const char *status; /* pending, running, suspended, succeeded, failed, cancelled */
    const char *instance_id;
    const char *interrupt_reason;
    const char *initiated_by;
    const char *resource_name; /* workflowName when the host gave none */
    const char *workflow_id;   /* workflowId when the host gave none */
    int64_t started_at_unix_ms;
    int64_t finished_at_unix_ms; /* 0: absent; else also gives duration */
} swamp__run_owned;

/*
 * Appends a RUN: the library's members and the host's (host_json: a checked object; NULL: none), of which
 * those that have a name of the library's are ignored. Steps' errors are cut to 1 KiB. Shrunk to max bytes in
 * the order of DESIGN 5: step errors to 100 bytes, succeeded steps dropped ("stepsOmitted"), jobs to name and
 * status, no jobs, and at last without the host's other members and with names cut to 256 bytes: 16 KiB are
 * always enough for that. Members that need no change keep their bytes, so also numbers that no double can
 * hold. SWAMP_OK, SWAMP_E_NOMEM, SWAMP_E_INVALID (host_json is no object), SWAMP_E_TOO_BIG.
 */
int swamp__run_build(swamp__buf *out, const swamp__run_owned *owned, const char *host_json, size_t host_len,
                     size_t max);

/* What is read from a RUN that may come from another version: texts are "" where a member is missing. */
typedef struct swamp__run_facts {
    char id[65];
    char status[16];
    char instance_id[65];
    char interrupt_reason[32];
    char workflow_id[129];
    char workflow_name[257];
    char initiated_by[129];
    char started_at[32];
    char finished_at[32];
    int is_final; /* succeeded, failed, cancelled */
} swamp__run_facts;

int swamp__run_read(const char *json, size_t len,
                    swamp__run_facts *out); /* SWAMP_OK, SWAMP_E_CORRUPT, SWAMP_E_NOMEM */

/*
 * Appends the final RUN of a run whose owner is gone: status, interruptReason, finishedAt; jobs and steps
 * that were running as failed; pending ones as skipped, but jobs of which a step had begun as failed. The
 * rest stays. At most max bytes, shrunk as above. SWAMP_OK, SWAMP_E_CORRUPT, SWAMP_E_NOMEM, SWAMP_E_TOO_BIG.
 */
int swamp__run_end_for_dead(swamp__buf *out, const char *json, size_t len, const char *status,
                            const char *reason, int64_t finished_at_unix_ms, size_t max);

int swamp__run_status_is_final(const char *status);
int swamp__run_status_is_known(const char *status); /* one of PROTOCOL 4 */

#endif
