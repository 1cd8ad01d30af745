/* How a run's writes go to the store and come back: the question's life, and what the log says of the store. */
#include "life_write.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000
#define BACKOFF_DOUBLINGS 6

void
swamp__life_wait_backoff(swamp__life *life, swamp_run *run)
{
    int64_t bound_ms = (int64_t)BACKOFF_MIN_MS << run->tries;
    if (run->tries < BACKOFF_DOUBLINGS)
        run->tries++;
    if (bound_ms > BACKOFF_MAX_MS)
        bound_ms = BACKOFF_MAX_MS;
    swamp__timer_set(life->world->timers, &run->timer,
                     swamp__now_ms(life->world) + swamp__world_uniform(life->world, bound_ms / 2, bound_ms));
}

static void
fill_owned(const swamp__life *life, const swamp_run *run, swamp__run_owned *owned)
{
    static const char *const texts[] = {"running", "succeeded", "failed", "cancelled"};
    int ended = run->state == SWAMP__RUN_FINISHING ? run->status : 0;
    assert(ended >= 0 && ended <= SWAMP_RUN_CANCELLED);
    memset(owned, 0, sizeof(*owned));
    owned->id = run->id;
    owned->status = texts[ended];
    owned->instance_id = life->instance_id;
    /* A run that came to an end of its own in spite of it was not interrupted (PROTOCOL 6.4). */
    owned->interrupt_reason = ended == SWAMP_RUN_CANCELLED ? run->interrupt_reason : NULL;
    owned->initiated_by = run->principal;
    owned->resource_name = run->resource_name;
    owned->workflow_id = run->workflow_id;
    owned->started_at_unix_ms = run->started_at_unix_ms;
    owned->finished_at_unix_ms = ended ? run->finished_at_unix_ms : 0;
}

int
swamp__life_build_final(swamp__life *life, swamp_run *run)
{
    swamp__run_owned owned;
    swamp__buf value;
    swamp__buf_init(&value);
    fill_owned(life, run, &owned);
    int rc = swamp__run_build(&value, &owned, run->run_json, run->run_json_len, SWAMP_STORE_VALUE_MAX);
    size_t len = value.len;
    char *json = rc == SWAMP_OK ? swamp__buf_steal(&value) : NULL;
    swamp__buf_free(&value);
    if (!json)
        return SWAMP_E_NOMEM;
    run->final_json = json;
    run->final_len = len;
    return SWAMP_OK;
}

/* Two lines an outage, not one a try. */
static void
note_store(swamp__life *life, const swamp__life_write *write)
{
    const swamp__log *log = life->world->log;
    int is_failure = write->outcome == SWAMP__WRITE_NOT || write->outcome == SWAMP__WRITE_UNKNOWN;
    if (is_failure)
        life->failed_ms = swamp__now_ms(life->world);
    if (is_failure && life->store_failures++ == 0)
        swamp__log_write(log, SWAMP_LOG_WARN,
                         "store: the %s of run %s could not be written: %s; until it answers no run starts, "
                         "those that were accepted go on, and their ends are written later",
                         write->kind->what, write->run_id, swamp_status_text(write->question.status));
    if (!is_failure && life->store_failures) {
        swamp__log_write(log, SWAMP_LOG_INFO, "store: answers again after %zu failures",
                         life->store_failures);
        life->store_failures = 0;
    }
}

static void
answered(swamp__question *question)
{
    swamp__life_write *write = (swamp__life_write *)question;
    swamp__life *life = write->life;
    swamp_run *run = write->run;
    run->writing = 0;
    if (question->status == SWAMP_E_CLOSED && write->outcome == SWAMP__WRITE_NOT) {
        if (write->kind->give_up && run->state != SWAMP__RUN_GONE)
            write->kind->give_up(life, run, SWAMP_E_CLOSED);
    } else {
        note_store(life, write);
        if (run->state != SWAMP__RUN_LOST && run->state != SWAMP__RUN_GONE)
            write->kind->take(life, run, write);
    }
    swamp__buf_free(&write->value);
    swamp__free(write->host_copy);
    swamp__free(write);
    swamp__run_unref(run);
}

/* run_json changes while RUNNING: then the question has a copy of its own. */
static int
lend_host_json(swamp__life_write *write, const swamp_run *run)
{
    write->host_json = run->run_json;
    write->host_json_len = run->run_json_len;
    if (!run->run_json || run->state != SWAMP__RUN_RUNNING)
        return SWAMP_OK;
    write->host_copy = swamp__strndup(run->run_json, run->run_json_len);
    write->host_json = write->host_copy;
    return write->host_copy ? SWAMP_OK : SWAMP_E_NOMEM;
}

void
swamp__life_ask(swamp__life *life, swamp_run *run, const swamp__life_kind *kind)
{
    assert(!run->writing);
    swamp__life_write *write = swamp__calloc(1, sizeof(*write));
    if (!write || lend_host_json(write, run) != SWAMP_OK) {
        swamp__free(write);
        run->progress_pending = 1; /* means nothing outside RUNNING */
        swamp__life_wait_backoff(life, run);
        return;
    }
    write->life = life;
    write->run = swamp__run_ref(run);
    write->kind = kind;
    write->me = life->instance_id;
    write->run_id = run->id;
    fill_owned(life, run, &write->owned);
    write->active_revision = run->active_revision;
    write->history_revision = run->history_revision;
    swamp__buf_init(&write->value);
    if (run->final_json) { /* built by an earlier try: goes along, and comes back with the answer */
        write->value = (swamp__buf){run->final_json, run->final_len, run->final_len + 1, 0};
        run->final_json = NULL;
    }

    write->question.work = kind->work;
    write->question.done = answered;
    write->question.timeout_ms = life->asker->timeout_ms;
    write->question.deadline_ms = swamp__now_ms(life->world) + life->asker->timeout_ms;
    run->writing = 1;
    life->asker->ask(life->asker->self, &write->question);
}
