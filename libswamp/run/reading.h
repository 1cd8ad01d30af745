/* The records as this folder reads them: what cannot be read, or lacks what it is for, is noted with its store. */
#ifndef SWAMP_RUN_READING_H
#define SWAMP_RUN_READING_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/store.h>
#include "../store/record.h"
#include "../wire/document.h"

/*
 * They give what the plain readers give (store/record.h, wire/document.h), so that a bad record is handled
 * in one way whoever meets it. Noted besides (store/unreadable.h): no JSON object; a heartbeat without
 * instanceId, intervalMs or staleTtlMs; an active record without instanceId; a RUN without id or with a
 * status that this version does not know.
 */
int swamp__read_heartbeat(swamp_store *store, const char *key, uint64_t revision, const char *json,
                          size_t len, swamp__heartbeat_record *out);
int swamp__read_active(swamp_store *store, const char *key, uint64_t revision, const char *json, size_t len,
                       swamp__active_record *out);
int swamp__read_cancel(swamp_store *store, const char *key, uint64_t revision, const char *json, size_t len,
                       swamp__cancel_record *out);
int swamp__read_run(swamp_store *store, const char *key, uint64_t revision, const char *json, size_t len,
                    swamp__run_facts *out);
/* One that is passed on as it is; SWAMP_E_CORRUPT also where a client would refuse it: nested too deeply, a key twice, ... */
int swamp__read_run_for_client(swamp_store *store, const char *key, uint64_t revision, const char *json,
                               size_t len, swamp__run_facts *out);

#endif
