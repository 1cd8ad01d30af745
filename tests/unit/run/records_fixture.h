/* Records in a memory store, and a second way into it where calls fail or are preceded by somebody else's. */
#ifndef SWAMP_TESTS_RECORDS_FIXTURE_H
#define SWAMP_TESTS_RECORDS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/store.h>

extern swamp_store *real;  /* the store itself: never fails */
extern swamp_store *store; /* the same records, by way of what is arranged below */

void records_open(void);
void records_close(void);

void put_record(const char *key, const char *value);
void put_bytes(const char *key, const void *value, size_t len);
/* `members` and a value so deep that reading it takes memory. */
void put_deep_record(const char *key, const char *members);
void remove_record(const char *key);
int has_record(const char *key);
uint64_t record_revision(const char *key);    /* 0: absent */
const char *record_text(const char *key);     /* borrowed until the next call; "" when absent */
size_t count_records(const char *key_prefix); /* how many keys start so */

/* A heartbeat, and a run as its admission leaves it: active-runs, instance-runs, runs, both indexes. */
void put_heartbeat(const char *instance_id);
void put_active_run(const char *run_id, const char *instance_id, const char *workflow);
void put_final_run(const char *run_id, const char *instance_id, const char *workflow, const char *status,
                   const char *times); /* times: "startedAt":..., may be "" */

/* What happens to calls by way of `store`, counted from 1 since the last of these was called. */
void before_call(unsigned n, void (*hook)(void)); /* somebody else is faster */
void fail_call(unsigned n, int fault);            /* FAKE_... for this one */
void fail_from(unsigned n, int fault);            /* and all after it: the caller was killed */
unsigned calls_made(void);
size_t commits_made(void);      /* since records_open */
size_t records_listed(void);    /* handed over by lists, since records_open */
unsigned warnings_logged(void); /* since records_open */
const char *last_warning(void);

#endif
