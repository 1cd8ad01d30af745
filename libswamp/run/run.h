/* One run: its log, its states, and the mailbox through which the host's threads reach the core. */
#ifndef SWAMP_RUN_RUN_H
#define SWAMP_RUN_RUN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <swamp/run.h>
#include "../util/buf.h"
#include "../util/id.h"
#include "../util/list.h"
#include "../util/timers.h"
#include "../wire/limits.h"
#include "event_log.h"

/* clang-format off */
/*
 * States (core's thread; the whole table is in life.c):
 *
 *   ADMITTED --commit done--> RUNNING --finish--> FINISHING --final commit done--> FINISHED --linger--> GONE
 *      |                         |                    |
 *      | unknown                 +------- fenced -----+--> LOST --host's finish, viewers told--> GONE
 *      v
 *   CLEANING --keys confirmed away--> GONE             (failed, fenced: ADMITTED --> GONE)
 */
/* clang-format on */
#define SWAMP__RUN_ADMITTED 1
#define SWAMP__RUN_RUNNING 2
#define SWAMP__RUN_FINISHING 3
#define SWAMP__RUN_FINISHED 4
#define SWAMP__RUN_LOST 5
#define SWAMP__RUN_CLEANING 6
#define SWAMP__RUN_GONE 7 /* in no registry any more; somebody still holds a reference */

struct swamp__touched;

/* The public opaque type. Counted: the registry, the host (START until finish) and each viewer hold a reference. */
struct swamp_run {
    /* set before it is shared, never changed */
    char id[SWAMP__ID_SIZE];
    char epoch[SWAMP__ID_SIZE];
    char kind[32];       /* workflow-run, method-run */
    char *resource_name; /* workflowName */
    char *workflow_id;
    char *principal;
    char *request_type; /* workflow.run */
    char *payload;      /* the request's payload, for START */
    size_t payload_len;
    char started_at[32];
    int64_t started_at_unix_ms;
    struct swamp__touched *touched; /* of all runs of the instance: outlives them, counted */

    /* any thread, under lock */
    pthread_mutex_t lock;
    swamp__event_log *log;
    int closed;   /* 0; SWAMP_E_FENCED or SWAMP_E_CLOSED: what emit and update return; FENCED stays */
    char *update; /* progress not yet taken by the core; NULL: none */
    size_t update_len;
    int finish_called; /* an end is in the mailbox: the host's, or swamp__life_end()'s */
    int host_done;     /* the host called finish: its reference is back, whatever its end was worth */
    int finish_status; /* SWAMP_RUN_... */
    char *last_event;  /* withheld until the final commit; NULL: none */
    size_t last_event_len;
    int awaited;              /* a viewer stands at the head: the next event wakes the core */
    size_t unvisited_bytes;   /* of events since the core was last woken for one */
    int dirty;                /* touched, or about to be */
    swamp__link touched_link; /* under the lock of `touched` */
    int refs;                 /* atomic */

    /* core's thread */
    int state;
    int status;                   /* SWAMP_RUN_..., from FINISHING on */
    const char *interrupt_reason; /* static: instance_shutdown, instance_fenced, max_run_duration; NULL */
    int cancel_asked;
    char *cancel_reason;
    int host_has_it;   /* the host holds its reference: START was given to it, its finish not yet seen here */
    uint64_t told_seq; /* on.changed was called with the head at this place */
    char *run_json;    /* the host's members of RUN as last given; once FINISHED the final RUN */
    size_t run_json_len;
    uint64_t active_revision;    /* of active-runs/{id} at admission: every later write checks it */
    uint64_t history_revision;   /* of runs/{id} as last written */
    int64_t finishing_at_ms;     /* monotonic: since when the end waits for its commit */
    int64_t finished_at_ms;      /* monotonic, for linger */
    int64_t finished_at_unix_ms; /* the same in every try of the final commit */
    char *final_json;            /* the final RUN as recorded, for the last event */
    size_t final_len;
    int final_recorded;
    int forgetting;         /* linger is over */
    int seen_absent;        /* CLEANING: the keys were found absent once */
    int64_t progress_at_ms; /* last progress write began */
    int progress_pending;
    int writing; /* a question about this run is with the store */
    int tries;   /* failures in a row, for the back-off */
    struct swamp__life *life;
    swamp__timer timer; /* progress, back-off or linger: the state says which; initialised by the registry */
    swamp__timer duration_timer; /* max run duration; initialised by the registry */
    swamp__list viewers;         /* of server/ */
    size_t viewer_count;
    swamp__timer flush_timer; /* of server/: the coalescing window; initialised and destroyed there */
    int64_t flushed_at_ms;
};

/* running, succeeded, failed, cancelled: what `state` of run.attached says. */
const char *swamp__run_status_text(const swamp_run *run);
/* The interruptReason of a final state; NULL: it has none, or is not final. A run that came to an end of its own in
 * spite of it was not interrupted (PROTOCOL 6.4). */
const char *swamp__run_recorded_reason(const swamp_run *run);

/* Core's thread: what the host resolved. SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__run_set_resource(swamp_run *run, const char *resource_name, const char *workflow_id);
/* Core's thread: the host's members of RUN, checked JSON. SWAMP_OK, SWAMP_E_NOMEM (the old ones stay). */
int swamp__run_set_json(swamp_run *run, const char *json, size_t len);

swamp_run *swamp__run_ref(swamp_run *run);
void swamp__run_unref(swamp_run *run); /* NULL is fine; frees at the last one */

/* Any thread. The contracts of swamp_run_emit, _update and _finish. */
int swamp__run_emit(swamp_run *run, const char *json, size_t len);
int swamp__run_update(swamp_run *run, const char *json, size_t len);
int swamp__run_finish(swamp_run *run, int status, const char *last, size_t last_len, const char *json,
                      size_t len);

/* Under the run's lock, by a viewer that found nothing more: the next event wakes the core. */
void swamp__run_await(swamp_run *run);

/* Any thread, which has a reference: the core shall look at the run. */
void swamp__run_touch(swamp_run *run);

/* For life.c. Under the run's lock: appends a checked event and keeps count of all logs. SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__run_append(swamp_run *run, const char *json, size_t len);
/* Core's thread: an end with a last event of the library's own: 1, or 0: there is an end already. */
int swamp__run_post_end(swamp_run *run, int status);
/* Appends the withheld last event, the value null of its member "run" replaced by the final RUN. */
void swamp__run_splice(swamp__buf *out, const char *event, size_t len, const char *final_json,
                       size_t final_len);

#endif
