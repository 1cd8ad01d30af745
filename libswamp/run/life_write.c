/* The writes of a run's life: each a blocking procedure for the store thread. */
#include "life_write.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include <swamp/store.h>
#include "../store/keys.h"
#include "../store/record.h"
#include "../store/store.h"

/* A batch under construction: it owns its keys. Operation 0 is always the fencing check of PROTOCOL 5. */
#define BATCH_MAX 8
#define OP_HEARTBEAT 0

typedef struct write_batch {
    swamp__key keys[BATCH_MAX];
    swamp_store_op ops[BATCH_MAX];
    size_t count, failed;
} write_batch;

static const char *
next_key(write_batch *batch, swamp__key key)
{
    batch->keys[batch->count] = key;
    return batch->keys[batch->count].text;
}

static void
add_put(write_batch *batch, swamp__key key, const swamp__buf *value, int condition, uint64_t revision)
{
    batch->ops[batch->count] = swamp__op_put(next_key(batch, key), value, condition, revision);
    batch->count++;
}

static void
add_mark(write_batch *batch, swamp__key key)
{
    batch->ops[batch->count] = swamp__op_put_empty(next_key(batch, key));
    batch->count++;
}

static void
add_remove(write_batch *batch, swamp__key key, int condition, uint64_t revision)
{
    batch->ops[batch->count] = swamp__op_remove(next_key(batch, key), condition, revision);
    batch->count++;
}

static void
add_check(write_batch *batch, swamp__key key, int condition, uint64_t revision)
{
    batch->ops[batch->count] = swamp__op_check(next_key(batch, key), condition, revision);
    batch->count++;
}

static void
begin_batch(write_batch *batch, const char *me)
{
    batch->count = 0;
    add_check(batch, swamp__key_heartbeat(me), SWAMP_STORE_PRESENT, 0);
}

static int
commit(swamp__life_write *write, swamp_store *store, write_batch *batch)
{
    batch->failed = BATCH_MAX;
    write->question.status = swamp_store_commit(store, batch->ops, batch->count, write->question.timeout_ms,
                                                &write->revision, &batch->failed);
    return write->question.status;
}

/* Parsing and printing up to 1 MiB of the host's JSON is done here, so that it does not hold the network
 * thread up. */
static int
build_run(swamp__life_write *write)
{
    if (write->value.len)
        return SWAMP_OK; /* by an earlier try */
    int rc = swamp__run_build(&write->value, &write->owned, write->host_json, write->host_json_len,
                              SWAMP_STORE_VALUE_MAX);
    if (rc == SWAMP_OK)
        rc = swamp__buf_status(&write->value);
    if (rc != SWAMP_OK) {
        swamp__buf_free(&write->value);
        write->question.status = rc;
    }
    return rc;
}

/* Reads runs/{id}: SWAMP_OK, and whether the value is this write's own; SWAMP_ABSENT; < 0. */
static int
read_back(const swamp__life_write *write, swamp_store *store, int *is_own, uint64_t *revision)
{
    swamp__buf value;
    swamp__buf_init(&value);
    *revision = 0;
    int rc = swamp__store_read(store, swamp__key_run(write->run_id).text, write->question.timeout_ms, &value,
                               revision);
    *is_own = rc == SWAMP_OK && value.len == write->value.len &&
              memcmp(value.data, write->value.data, value.len) == 0;
    swamp__buf_free(&value);
    return rc;
}

static void
write_active_record(swamp__buf *out, const swamp__life_write *write)
{
    const swamp_run *run = write->run;
    swamp__active_record record;
    memset(&record, 0, sizeof(record));
    snprintf(record.instance_id, sizeof(record.instance_id), "%s", write->me);
    snprintf(record.resource_name, sizeof(record.resource_name), "%s",
             run->resource_name ? run->resource_name : "");
    snprintf(record.run_kind, sizeof(record.run_kind), "%s", run->kind);
    snprintf(record.started_at, sizeof(record.started_at), "%s", run->started_at);
    snprintf(record.principal, sizeof(record.principal), "%s", run->principal);
    swamp__active_write(out, &record);
}

void
swamp__write_admission(swamp__question *question, swamp_store *store)
{
    swamp__life_write *write = (swamp__life_write *)question;
    const swamp_run *run = write->run;
    swamp__buf active;
    write_batch batch;

    swamp__buf_init(&active);
    if (build_run(write) != SWAMP_OK)
        return;
    write_active_record(&active, write);
    if (swamp__buf_status(&active) != SWAMP_OK) {
        question->status = SWAMP_E_NOMEM;
        swamp__buf_free(&active);
        return;
    }

    begin_batch(&batch, write->me);
    add_put(&batch, swamp__key_active_run(write->run_id), &active, SWAMP_STORE_ABSENT, 0);
    add_put(&batch, swamp__key_run(write->run_id), &write->value, SWAMP_STORE_ABSENT, 0);
    add_mark(&batch, swamp__key_instance_run(write->me, write->run_id));
    if (run->workflow_id && *run->workflow_id)
        add_mark(&batch, swamp__key_workflow_run(run->workflow_id, write->run_id));
    if (run->resource_name && *run->resource_name)
        add_mark(&batch, swamp__key_name_run(run->resource_name, write->run_id));

    switch (commit(write, store, &batch)) {
    case SWAMP_OK:
        write->outcome = SWAMP__WRITE_DONE;
        break;
    case SWAMP_CONFLICT:
        /* An id of its own was there already: a store that tried again after a lost answer. Look before leaving. */
        write->outcome = batch.failed == OP_HEARTBEAT ? SWAMP__WRITE_FENCED : SWAMP__WRITE_UNKNOWN;
        break;
    case SWAMP_E_UNKNOWN:
        write->outcome = SWAMP__WRITE_UNKNOWN;
        break;
    default:
        write->outcome = SWAMP__WRITE_NOT;
    }
    swamp__buf_free(&active);
}

void
swamp__write_progress(swamp__question *question, swamp_store *store)
{
    swamp__life_write *write = (swamp__life_write *)question;
    write_batch batch;
    if (build_run(write) != SWAMP_OK)
        return;

    begin_batch(&batch, write->me);
    add_check(&batch, swamp__key_active_run(write->run_id), SWAMP_STORE_REVISION, write->active_revision);
    add_put(&batch, swamp__key_run(write->run_id), &write->value,
            write->history_revision ? SWAMP_STORE_REVISION : SWAMP_STORE_ABSENT, write->history_revision);
    int rc = commit(write, store, &batch);
    if (rc == SWAMP_OK) {
        write->outcome = SWAMP__WRITE_DONE;
    } else if (rc == SWAMP_CONFLICT && batch.failed + 1 < batch.count) {
        write->outcome = SWAMP__WRITE_FENCED;
    } else if (rc == SWAMP_CONFLICT || rc == SWAMP_E_UNKNOWN) {
        /* This write's answer was lost, or that of an earlier one: go on from what is there. */
        int is_own;
        rc = read_back(write, store, &is_own, &write->revision);
        if (rc == SWAMP_OK || rc == SWAMP_ABSENT)
            write->outcome = is_own ? SWAMP__WRITE_DONE : SWAMP__WRITE_STALE;
    }
}

void
swamp__write_final(swamp__question *question, swamp_store *store)
{
    swamp__life_write *write = (swamp__life_write *)question;
    write_batch batch;
    if (build_run(write) != SWAMP_OK)
        return;

    begin_batch(&batch, write->me);
    /* Only one commit can remove active-runs/{id} at this revision, so runs/{id} needs no condition of its own. */
    add_remove(&batch, swamp__key_active_run(write->run_id), SWAMP_STORE_REVISION, write->active_revision);
    add_put(&batch, swamp__key_run(write->run_id), &write->value, SWAMP_STORE_ANY, 0);
    add_remove(&batch, swamp__key_cancel_request(write->me, write->run_id), SWAMP_STORE_ANY, 0);
    int rc = commit(write, store, &batch);
    if (rc == SWAMP_OK) {
        write->outcome = SWAMP__WRITE_DONE;
    } else if (rc == SWAMP_CONFLICT || rc == SWAMP_E_UNKNOWN) {
        /* DESIGN 5: one's own value there means done. A conflict may be with an earlier try whose answer was lost. */
        int is_own;
        int read_rc = read_back(write, store, &is_own, &write->revision);
        if (is_own)
            write->outcome = SWAMP__WRITE_DONE;
        else if (rc == SWAMP_CONFLICT && (read_rc == SWAMP_OK || read_rc == SWAMP_ABSENT))
            write->outcome = SWAMP__WRITE_FENCED;
    }
}

/* Removes what the admission made, if it is this instance's own and still as it was made. */
static void
remove_admission(swamp__life_write *write, swamp_store *store, uint64_t revision)
{
    const swamp_run *run = write->run;
    write_batch batch;
    begin_batch(&batch, write->me);
    add_remove(&batch, swamp__key_active_run(write->run_id), SWAMP_STORE_REVISION, revision);
    add_remove(&batch, swamp__key_run(write->run_id), SWAMP_STORE_REVISION,
               revision); /* of the same commit */
    add_remove(&batch, swamp__key_instance_run(write->me, write->run_id), SWAMP_STORE_ANY, 0);
    add_remove(&batch, swamp__key_cancel_request(write->me, write->run_id), SWAMP_STORE_ANY, 0);
    if (run->workflow_id && *run->workflow_id)
        add_remove(&batch, swamp__key_workflow_run(run->workflow_id, write->run_id), SWAMP_STORE_ANY, 0);
    if (run->resource_name && *run->resource_name)
        add_remove(&batch, swamp__key_name_run(run->resource_name, write->run_id), SWAMP_STORE_ANY, 0);
    int rc = commit(write, store, &batch);
    if (rc == SWAMP_OK)
        write->outcome = SWAMP__WRITE_DONE;
    else if (rc == SWAMP_CONFLICT && batch.failed == OP_HEARTBEAT)
        write->outcome = SWAMP__WRITE_FENCED; /* then it is the reaper's to clear up */
    else
        write->outcome = SWAMP__WRITE_UNKNOWN; /* the next try reads again */
}

void
swamp__write_cleaning(swamp__question *question, swamp_store *store)
{
    swamp__life_write *write = (swamp__life_write *)question;
    swamp__active_record record;
    swamp__buf value;
    uint64_t revision = 0;

    swamp__buf_init(&value);
    int rc = swamp__store_read(store, swamp__key_active_run(write->run_id).text, question->timeout_ms, &value,
                               &revision);
    question->status = rc;
    if (rc == SWAMP_ABSENT)
        write->outcome = SWAMP__WRITE_ABSENT;
    else if (rc == SWAMP_OK && (swamp__active_read(value.data, value.len, &record) != SWAMP_OK ||
                                strcmp(record.instance_id, write->me) != 0))
        write->outcome = SWAMP__WRITE_ABSENT; /* somebody else's: not made here, so not removed here */
    else if (rc == SWAMP_OK)
        remove_admission(write, store, revision);
    swamp__buf_free(&value);
}

void
swamp__write_forget(swamp__question *question, swamp_store *store)
{
    swamp__life_write *write = (swamp__life_write *)question;
    write_batch batch;
    begin_batch(&batch, write->me);
    add_remove(&batch, swamp__key_instance_run(write->me, write->run_id), SWAMP_STORE_ANY, 0);
    int rc = commit(write, store, &batch);
    if (rc == SWAMP_OK)
        write->outcome = SWAMP__WRITE_DONE;
    else if (rc == SWAMP_CONFLICT)
        write->outcome = SWAMP__WRITE_FENCED;
}
