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
#define SWAMP__KEYS_RUNS "runs/"

swamp__key swamp__key_heartbeat(const char *instance_id);
swamp__key swamp__key_active_run(const char *run_id);
swamp__key swamp__key_instance_run(const char *instance_id, const char *run_id);
swamp__key swamp__key_instance_runs(const char *instance_id);                    /* prefix, ends with '/' */
swamp__key swamp__key_run(const char *run_id);
swamp__key swamp__key_workflow_run(const char *workflow_id, const char *run_id); /* the id is percent-escaped and cut to 200 bytes */
swamp__key swamp__key_workflow_runs(const char *workflow_id);                    /* prefix */
swamp__key swamp__key_name_run(const char *workflow_name, const char *run_id);   /* workflow-names/...: latest run by name */
swamp__key swamp__key_name_runs(const char *workflow_name);                      /* prefix */
swamp__key swamp__key_cancel_request(const char *instance_id, const char *run_id);
swamp__key swamp__key_cancel_requests(const char *instance_id);                  /* prefix */

/* The text behind the last '/'. */
const char *swamp__key_last(const char *key);
/* The segment between the first and the last '/', as in instance-runs/{this}/...: SWAMP_OK, SWAMP_E_INVALID, SWAMP_E_TOO_BIG. */
int swamp__key_middle(const char *key, char *out, size_t cap);

#endif
