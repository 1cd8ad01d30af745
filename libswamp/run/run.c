/* One run: its references, and the mailbox through which the host's threads reach the core. */
#include "run.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../wire/json.h"
#include "touched.h"

#define UNVISITED_MAX                                                                                        \
    (64u * 1024u) /* bytes of events that nobody waits for, before the core is woken all the same */

/* References. */

swamp_run *
swamp__run_ref(swamp_run *run)
{
    __atomic_add_fetch(&run->refs, 1, __ATOMIC_RELAXED);
    return run;
}

static void
free_run(swamp_run *run)
{
    /* Maybe on a host's thread, maybe long after the instance: timers were destroyed by the registry. */
    assert(!swamp__link_linked(&run->touched_link));
    if (run->log)
        swamp__touched_count(run->touched, -swamp__event_log_bytes(run->log));
    swamp__event_log_free(run->log);
    pthread_mutex_destroy(&run->lock);
    swamp__free(run->resource_name);
    swamp__free(run->workflow_id);
    swamp__free(run->principal);
    swamp__free(run->request_type);
    swamp__free(run->payload);
    swamp__free(run->update);
    swamp__free(run->last_event);
    swamp__free(run->cancel_reason);
    swamp__free(run->run_json);
    swamp__free(run->final_json);
    swamp__touched_unref(run->touched);
    swamp__free(run);
}

void
swamp__run_unref(swamp_run *run)
{
    if (run && __atomic_sub_fetch(&run->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free_run(run);
}

const char *
swamp__run_status_text(const swamp_run *run)
{
    /* Truth is written before it is told: until the final commit is done, a run is running. */
    if (run->state != SWAMP__RUN_FINISHED)
        return "running";
    switch (run->status) {
    case SWAMP_RUN_SUCCEEDED:
        return "succeeded";
    case SWAMP_RUN_CANCELLED:
        return "cancelled";
    default:
        return "failed";
    }
}

const char *
swamp__run_recorded_reason(const swamp_run *run)
{
    return run->state == SWAMP__RUN_FINISHED && run->status == SWAMP_RUN_CANCELLED ? run->interrupt_reason
                                                                                   : NULL;
}

/* Texts. */

static int
replace_text(char **text, size_t *text_len, const char *with, size_t len)
{
    char *copy = swamp__strndup(with, len);
    if (!copy)
        return SWAMP_E_NOMEM;
    swamp__free(*text);
    *text = copy;
    *text_len = len;
    return SWAMP_OK;
}

int
swamp__run_set_json(swamp_run *run, const char *json, size_t len)
{
    return replace_text(&run->run_json, &run->run_json_len, json, len);
}

int
swamp__run_set_resource(swamp_run *run, const char *resource_name, const char *workflow_id)
{
    char *name = swamp__strdup(resource_name), *id = swamp__strdup(workflow_id);
    if ((resource_name && !name) || (workflow_id && !id)) {
        swamp__free(name);
        swamp__free(id);
        return SWAMP_E_NOMEM;
    }
    swamp__free(run->resource_name);
    swamp__free(run->workflow_id);
    run->resource_name = name;
    run->workflow_id = id;
    return SWAMP_OK;
}

static int
check_object(const char *json, size_t len, size_t max, const char *reserved, swamp__json *out)
{
    if (!json)
        return SWAMP_E_INVALID;
    if (len > max)
        return SWAMP_E_TOO_BIG;
    return swamp__json_check_object(json, len, reserved, out);
}

/* PROTOCOL 4: an event that brings its own seq is refused. Slow for a large event, so never under the lock. */
static int
check_event(const char *json, size_t len, swamp__json *out)
{
    return check_object(json, len, SWAMP__EVENT_MAX, "seq", out);
}

void
swamp__run_splice(swamp__buf *out, const char *event, size_t len, const char *final_json, size_t final_len)
{
    const swamp__json object = {event, len, SWAMP__JSON_OBJECT};
    swamp__json member;
    if (!final_json || !swamp__json_find(object, "run", &member) || member.type != SWAMP__JSON_NULL) {
        swamp__buf_append(out, event, len);
        return;
    }
    const char *behind = member.at + member.len;
    swamp__buf_append(out, event, (size_t)(member.at - event));
    swamp__buf_append(out, final_json, final_len);
    swamp__buf_append(out, behind, (size_t)(event + len - behind));
}

/* The mailbox: any thread. */

/* Under the run's lock: 1 if the caller must touch the run once it has left the lock. */
static int
mark_dirty(swamp_run *run)
{
    int was_dirty = run->dirty;
    run->dirty = 1;
    return !was_dirty;
}

void
swamp__run_touch(swamp_run *run)
{
    swamp__run_ref(run); /* the list's; whoever calls has one, too */
    if (!swamp__touched_put(run->touched, &run->touched_link))
        swamp__run_unref(run);
}

int
swamp__run_append(swamp_run *run, const char *json, size_t len)
{
    uint64_t seq;
    size_t before = swamp__event_log_bytes(run->log);
    int rc = swamp__event_log_append(run->log, json, len, &seq);
    /* May be less than before, when old events had to go; the difference is right all the same. */
    size_t more = swamp__event_log_bytes(run->log) - before;
    if (more) /* a full log whose events are of one size leaves the count, which all runs share, alone */
        swamp__touched_count(run->touched, more);
    return rc;
}

void
swamp__run_await(swamp_run *run)
{
    run->awaited = 1;
}

/*
 * Under the run's lock: must the core hear of this event? Viewers that are behind come to it by themselves, and a
 * wake-up costs more than the event. Without any, the budget of all logs still wants a look now and then.
 */
static int
mark_event(swamp_run *run, size_t len)
{
    run->unvisited_bytes += len;
    if (!run->awaited && run->unvisited_bytes < UNVISITED_MAX)
        return 0;
    run->awaited = 0;
    run->unvisited_bytes = 0;
    return mark_dirty(run);
}

int
swamp__run_emit(swamp_run *run, const char *json, size_t len)
{
    swamp__json event;
    int rc = check_event(json, len, &event);
    if (rc != SWAMP_OK)
        return rc;

    int touch = 0;
    pthread_mutex_lock(&run->lock);
    rc = run->closed ? run->closed : swamp__run_append(run, event.at, event.len);
    if (rc == SWAMP_OK)
        touch = mark_event(run, event.len);
    pthread_mutex_unlock(&run->lock);
    if (touch)
        swamp__run_touch(run);
    return rc;
}

int
swamp__run_update(swamp_run *run, const char *json, size_t len)
{
    swamp__json object;
    int rc = check_object(json, len, SWAMP__RUN_JSON_MAX, NULL, &object);
    if (rc != SWAMP_OK)
        return rc;
    char *text = swamp__strndup(object.at, object.len);
    if (!text)
        return SWAMP_E_NOMEM;

    int touch = 0;
    pthread_mutex_lock(&run->lock);
    rc = run->closed;
    if (rc == SWAMP_OK) {
        char *older = run->update; /* the last one wins */
        run->update = text;
        run->update_len = object.len;
        text = older;
        touch = mark_dirty(run);
    }
    pthread_mutex_unlock(&run->lock);
    swamp__free(text);
    if (touch)
        swamp__run_touch(run);
    return rc;
}

/* PROTOCOL 3: the last event says how a run ended, also where the host did not, or not so that it could be kept. */
static char *
own_last_event(int status)
{
    return swamp__strdup(status == SWAMP_RUN_CANCELLED ? "{\"kind\":\"cancelled\",\"run\":null}"
                                                       : "{\"kind\":\"completed\",\"run\":null}");
}

/* An end as it was checked and copied, before it goes into the mailbox. */
typedef struct run_end {
    int status;
    char *last_event, *json; /* NULL: none */
    size_t last_event_len, json_len;
} run_end;

/* What is bad is left out, and the run ends as failed: an end is never refused. */
static int
prepare_end(run_end *end, const char *last, size_t last_len, const char *json, size_t len)
{
    int rc = SWAMP_OK;
    if (end->status < SWAMP_RUN_SUCCEEDED || end->status > SWAMP_RUN_CANCELLED)
        rc = SWAMP_E_INVALID;

    swamp__json value;
    if (last) {
        int last_rc = check_event(last, last_len, &value);
        if (last_rc == SWAMP_OK)
            last_rc = replace_text(&end->last_event, &end->last_event_len, value.at, value.len);
        if (rc == SWAMP_OK)
            rc = last_rc;
    }
    if (json) {
        int json_rc = check_object(json, len, SWAMP__RUN_JSON_MAX, NULL, &value);
        if (json_rc == SWAMP_OK)
            json_rc = replace_text(&end->json, &end->json_len, value.at, value.len);
        if (rc == SWAMP_OK)
            rc = json_rc;
    }
    if (rc != SWAMP_OK)
        end->status = SWAMP_RUN_FAILED;
    if (last && !end->last_event) {
        end->last_event = own_last_event(end->status);
        end->last_event_len = end->last_event ? strlen(end->last_event) : 0;
    }
    return rc;
}

/* Under the run's lock: puts the end into the mailbox and returns 1, unless there is one. What is not needed
 * stays in `end`. */
static int
post_end(swamp_run *run, run_end *end)
{
    if (run->finish_called)
        return 0;
    run->finish_called = 1;
    run->finish_status = end->status;
    run->last_event = end->last_event;
    run->last_event_len = end->last_event_len;
    end->last_event = NULL;
    if (end->json) {
        char *older = run->update;
        run->update = end->json;
        run->update_len = end->json_len;
        end->json = older;
    }
    if (!run->closed)
        run->closed = SWAMP_E_CLOSED;
    return 1;
}

int
swamp__run_finish(swamp_run *run, int status, const char *last, size_t last_len, const char *json, size_t len)
{
    run_end end = {.status = status};
    int rc = prepare_end(&end, last, last_len, json, len);

    pthread_mutex_lock(&run->lock);
    if (run->closed)
        rc = run->closed; /* taken away, or ended before: this end is not recorded */
    post_end(run, &end);
    run->host_done = 1;
    int touch = mark_dirty(run);
    pthread_mutex_unlock(&run->lock);

    swamp__free(end.last_event);
    swamp__free(end.json);
    if (touch)
        swamp__run_touch(run);
    swamp__run_unref(run); /* the host's */
    return rc;
}

int
swamp__run_post_end(swamp_run *run, int status)
{
    run_end end = {.status = status, .last_event = own_last_event(status)};
    end.last_event_len = end.last_event ? strlen(end.last_event) : 0;
    pthread_mutex_lock(&run->lock);
    int posted = post_end(run, &end);
    pthread_mutex_unlock(&run->lock);
    swamp__free(end.last_event);
    return posted;
}
