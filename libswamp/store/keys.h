/* The keys of the control-plane records (PROTOCOL 5). */
#ifndef SWAMP_STORE_KEYS_H
#define SWAMP_STORE_KEYS_H

#include <stddef.h>

typedef struct swamp__key {
    char text[512];
} swamp__key;

#define SWAMP__KEYS_HEARTBEATS "heartbeats/"
#define SWAMP__KEYS_ACTIVE_RUNS "active-runs/"
#define SWAMP__KEYS_INSTANCE_RUNS "instance-runs/"
#define SWAMP__KEYS_CANCEL_REQUESTS "cancel-requests/"
#define SWAMP__KEYS_RUNS "runs/"

/*
 * Any text makes a key that a store takes: at most 200 bytes of each id stand in it, what may not stand in a
 * segment as %XX. Usable ids (swamp__id_is_key_segment) stand as they are. The functions in the plural give a
 * prefix that ends with '/'.
 */
swamp__key swamp__key_heartbeat(const char *instance_id);
swamp__key swamp__key_active_run(const char *run_id);
swamp__key swamp__key_instance_run(const char *instance_id, const char *run_id);
swamp__key swamp__key_instance_runs(const char *instance_id);
swamp__key swamp__key_run(const char *run_id);
swamp__key swamp__key_cancel_request(const char *instance_id, const char *run_id);
swamp__key swamp__key_cancel_requests(const char *instance_id);

/* Two long names may share a prefix: who looks a run up by its name compares the name in the RUN. */
swamp__key swamp__key_workflow_run(const char *workflow_id, const char *run_id);
swamp__key swamp__key_workflow_runs(const char *workflow_id);
/* workflow-names/...: the latest run of a name. */
swamp__key swamp__key_name_run(const char *workflow_name, const char *run_id);
swamp__key swamp__key_name_runs(const char *workflow_name);

/* The text behind the last '/'. */
const char *swamp__key_last(const char *key);
/* The one segment between the first and the last '/', as in instance-runs/{this}/...: SWAMP_OK;
 * SWAMP_E_INVALID (there is not exactly one), SWAMP_E_TOO_BIG. */
int swamp__key_middle(const char *key, char *out, size_t cap);

#endif
