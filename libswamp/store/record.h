/* The small control-plane records (PROTOCOL 5) as structs: written with all members, read with any. */
#ifndef SWAMP_STORE_RECORD_H
#define SWAMP_STORE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include "../util/buf.h"
#include "../util/id.h"

/*
 * Readers: SWAMP_OK; SWAMP_E_CORRUPT: no JSON object; SWAMP_E_NOMEM; then, and for members that are missing or
 * of another type, texts are "" and numbers 0. Durations are never negative and at most a week, so that sums of them do
 * not overflow.
 */
typedef struct swamp__heartbeat_record {
    char instance_id[65];
    char hostname[256];
    char started_at[32];
    char heartbeat_at[32]; /* for people */
    char address[1024];    /* "" : absent */
    int64_t pid;
    int64_t beat; /* recognises one's own beat */
    int64_t interval_ms;
    int64_t stale_ttl_ms;
    int64_t active_runs;
    int draining;
    int local;
} swamp__heartbeat_record;

void swamp__heartbeat_write(swamp__buf *out, const swamp__heartbeat_record *record);
int swamp__heartbeat_read(const char *json, size_t len, swamp__heartbeat_record *out);

typedef struct swamp__active_record {
    char instance_id[65];
    char resource_name[257];
    char run_kind[32];
    char started_at[32];
    char principal[129];
} swamp__active_record;

void swamp__active_write(swamp__buf *out, const swamp__active_record *record);
/* SWAMP_E_CORRUPT also where there is no instanceId. */
int swamp__active_read(const char *json, size_t len, swamp__active_record *out);

typedef struct swamp__cancel_record {
    char requested_by[129];
    char reason[513];
    char requested_at[32];
} swamp__cancel_record;

void swamp__cancel_write(swamp__buf *out, const swamp__cancel_record *record);
int swamp__cancel_read(const char *json, size_t len, swamp__cancel_record *out);

#endif
