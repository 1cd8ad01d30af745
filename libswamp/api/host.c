/* The host's public calls: take work, look at it, answer it; emit, update and finish runs; cancel. Thin. */
#include <string.h>
#include <swamp/status.h>
#include "server.h"
#include "../util/alloc.h"

int
swamp_server_next(swamp_server *server, int timeout_ms, swamp_work **out)
{
    if (!server || !out || server->executor.size)
        return server && out ? SWAMP_E_STATE : SWAMP_E_INVALID;
    pthread_mutex_lock(&server->lock);
    int state = server->state;
    swamp__desk *desk = state == SWAMP__SERVER_UP ? swamp__desk_ref(server->desk) : NULL;
    pthread_mutex_unlock(&server->lock);
    if (!desk)
        return state <= SWAMP__SERVER_STARTING ? SWAMP_E_STATE : SWAMP_END;
    int rc = swamp__desk_next(desk, SWAMP__DESK_CANCELS | SWAMP__DESK_OTHERS, timeout_ms, out);
    swamp__desk_unref(desk);
    return rc;
}

int
swamp_work_kind(const swamp_work *work)
{
    return work->kind;
}

const char *
swamp_work_type(const swamp_work *work)
{
    return work->type ? work->type : "";
}

const char *
swamp_work_payload(const swamp_work *work, size_t *len)
{
    if (len)
        *len = work->payload ? work->payload_len : 2;
    return work->payload ? work->payload : "{}";
}

const char *
swamp_work_run_id(const swamp_work *work)
{
    return work->run_id;
}

const char *
swamp_work_principal(const swamp_work *work)
{
    return work->principal ? work->principal : "";
}

const char *
swamp_work_reason(const swamp_work *work)
{
    return work->reason ? work->reason : "";
}

int
swamp_work_run(const swamp_work *work, swamp_run **out)
{
    if (!work || !out)
        return SWAMP_E_INVALID;
    if (!work->run)
        return SWAMP_E_STATE;
    pthread_mutex_lock(&work->run->lock);
    int finished = work->run->finish_called;
    pthread_mutex_unlock(&work->run->lock);
    if (finished)
        return SWAMP_E_CLOSED;
    *out = work->run;
    return SWAMP_OK;
}

int
swamp_work_answer(swamp_work *work, int status, const char *json, size_t len)
{
    return work ? swamp__work_answer(work, status, json, len) : SWAMP_E_INVALID;
}

const char *
swamp_run_id(const swamp_run *run)
{
    return run->id;
}

int
swamp_run_emit(swamp_run *run, const char *event_json, size_t len)
{
    return run && event_json ? swamp__run_emit(run, event_json, len) : SWAMP_E_INVALID;
}

int
swamp_run_update(swamp_run *run, const char *run_json, size_t len)
{
    return run && run_json ? swamp__run_update(run, run_json, len) : SWAMP_E_INVALID;
}

int
swamp_run_finish(swamp_run *run, int status, const char *last_event_json, size_t last_len,
                 const char *run_json, size_t run_len)
{
    return run ? swamp__run_finish(run, status, last_event_json, last_len, run_json, run_len)
               : SWAMP_E_INVALID;
}

typedef struct cancel_task {
    swamp__task task;
    swamp__instance *instance;
    char *run_id, *reason;
} cancel_task;

static void
free_cancel(cancel_task *cancel)
{
    if (!cancel)
        return;
    swamp__free(cancel->run_id);
    swamp__free(cancel->reason);
    swamp__free(cancel);
}

static void
run_cancel(swamp__task *task)
{
    cancel_task *cancel = SWAMP__OF(task, cancel_task, task);
    swamp__instance_cancel(cancel->instance, cancel->run_id, cancel->reason);
    free_cancel(cancel);
}

int
swamp_server_cancel(swamp_server *server, const char *run_id, const char *reason)
{
    swamp__server_door door;
    if (!server || !run_id || !swamp__id_is_key_segment(run_id))
        return SWAMP_E_INVALID;
    if (swamp__server_reach(server, &door) != SWAMP_OK)
        return SWAMP_E_STATE;
    cancel_task *cancel = swamp__calloc(1, sizeof(*cancel));
    int rc = SWAMP_E_NOMEM;
    if (cancel) {
        cancel->task.run = run_cancel;
        cancel->instance = door.instance;
        cancel->run_id = swamp__strdup(run_id);
        cancel->reason = swamp__strdup(reason ? reason : "");
        if (cancel->run_id && cancel->reason)
            rc = swamp__home_post(door.home, &cancel->task);
    }
    if (rc != SWAMP_OK)
        free_cancel(cancel);
    swamp__home_unref(door.home);
    return rc == SWAMP_E_CLOSED ? SWAMP_E_STATE : rc;
}
