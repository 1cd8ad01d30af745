/* What the files of this folder share: the structs behind instance.h, and who calls whom. */
#ifndef SWAMP_SERVER_INNER_H
#define SWAMP_SERVER_INNER_H

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../run/history.h"
#include "../run/lookup.h"
#include "../run/reaper.h"
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../util/utf8.h"
#include "../wire/answer.h"
#include "../wire/request.h"
#include "../wire/ws.h"
#include "instance.h"

#define SWAMP__RETRY_AFTER_MS 1000 /* what `unavailable`, `draining` and `elsewhere` tell the client */
#define SWAMP__HOLD_MS 5000        /* PROTOCOL 6.3: a starting instance holds a question so long */
#define SWAMP__FINAL_WAIT_MS 30000 /* DESIGN 6: viewers wait so long for a final commit */
#define SWAMP__CANCEL_POLL_MS 500  /* look for cancel requests while runs exist */

/*
 * A question of this folder to the store thread. The instance knows those that are under way, oldest first: a
 * store thread that answers none for too long must stop the beats (on.healthy), so that a hung instance does
 * die.
 */
typedef struct swamp__ask {
    swamp__question question; /* first */
    swamp__instance *instance;
    swamp__link link;                         /* in instance->asked, oldest first */
    int of_joined;                            /* asked when the own heartbeat was known to be written */
    void (*answered)(struct swamp__ask *ask); /* core's thread; frees it */
} swamp__ask;

/* A question to the store on behalf of somebody who may be gone before the answer: then user is NULL. */
typedef struct swamp__job {
    swamp__ask ask; /* first */
    void (*told)(struct swamp__job *job, void *user);
    void *user;
} swamp__job;

/* The answers that a piece of work brings: the work's owner, cut off when whoever asked is gone. */
typedef struct swamp__errand {
    swamp__link link; /* in instance->errands */
    swamp__instance *instance;
    swamp_work *work;
    void (*answered)(struct swamp__errand *errand, const swamp_work *work); /* frees the errand's struct */
} swamp__errand;

/*
 * An active request of a connection: its id, and the job that will answer it. The job points here and the
 * ticket to the job; whichever goes first cuts the other off, so that nothing dangles: swamp__ticket_close()
 * when the job has answered, `abandoned` when the connection dies or the request is cancelled.
 */
typedef struct swamp__ticket {
    swamp__link link; /* in conn->tickets */
    swamp__conn *conn;
    int type; /* SWAMP__REQ_... */
    /* The job shall forget the ticket, which is freed then. */
    void (*abandoned)(struct swamp__ticket *ticket);
    void *job;
    const char *run_id; /* of a pending attach: borrowed from the job, for cancel by request id; else NULL */
    char id[];
} swamp__ticket;

/* A cursor into a run's log, on behalf of one request. Its ticket's job. */
typedef struct swamp__viewer {
    swamp__link run_link;   /* in run->viewers */
    swamp__link ready_link; /* in conn->ready: it has something to take */
    swamp__ticket *ticket;
    swamp_run *run; /* a reference */
    swamp__log_cursor cursor;
    swamp__buf prefix; /* {"type":"event","id":ID,"event": */
    int attached; /* by run.attach, else by a start: an interruption is told in another form (PROTOCOL 3) */
    int64_t finishing_since_ms; /* waits for the final commit; 0: not */
    int unavailable;            /* it has waited long enough */
} swamp__viewer;

struct swamp__conn {
    swamp__link link; /* in instance->conns */
    swamp__instance *instance;
    const swamp__transport *transport;
    void *peer;
    char *principal;
    swamp__list tickets;
    size_t ticket_count;
    swamp__list ready; /* viewers with something to take, served in turn */
    swamp__buf outbox; /* whole WebSocket frames: all answers but events */
    int wants;         /* the transport was asked to call fill */
    int paused, closing;
    int64_t wants_since_ms, alive_ms;
    uint64_t taken; /* transport->taken() when the peer was last judged */
    int pinged;     /* since alive_ms */
    swamp__timer timer;
};

/* The planned stop and the fence as one machine: rows in stop.c. */
#define SWAMP__PHASE_RUNNING 0
#define SWAMP__PHASE_GRACE 1      /* /ready says 503, new runs are still taken */
#define SWAMP__PHASE_DRAINING 2   /* new runs get `draining` */
#define SWAMP__PHASE_CANCELLING 3 /* the host was asked to end what is left */
#define SWAMP__PHASE_ENDING 4     /* ended without the host, which did not answer */
#define SWAMP__PHASE_CLOSING 5    /* viewers take what is left, then 1001 */
#define SWAMP__PHASE_FORGETTING 6 /* finished runs leave the registry and the store */
#define SWAMP__PHASE_LEAVING 7    /* the heartbeat is removed */
#define SWAMP__PHASE_STOPPED 8

struct swamp__instance {
    swamp__instance_options options; /* texts are owned */
    const swamp__world *world;
    const swamp__asker *questions, *beats;
    const swamp__work_desk *desk;
    swamp__instance_events on;
    char started_at[32];

    swamp__registry *registry;
    swamp__life life;
    swamp__membership membership;
    int has_store, has_membership;
    int joined; /* first beat and first read are done, or there is no store */

    swamp__list conns;
    size_t conn_count, viewer_count;

    swamp__list asked;   /* swamp__ask under way */
    swamp__list errands; /* swamp__errand: work that the host has */
    swamp__list starts;  /* start.c: requests between RESOLVE and run.accepted */
    size_t start_count;
    swamp__map *lookups;     /* attach.c: run id -> its inquiry */
    swamp__list held;        /* attach.c: waiting for this instance to have joined */
    swamp__list withheld;    /* attach.c: inquiries that wait for the owner's next beat or its death */
    swamp__timer hold_timer; /* of held */

    swamp__timer reconcile_timer, poll_timer, retain_timer;
    int reaping, reap_again, polling, retaining;
    char reap_after[512];
    int store_failing; /* the last answer to a question of this folder was a failure */

    int phase;
    int fenced, fence_seen;
    int64_t drain_deadline_ms; /* INT64_MAX: no bound */
    int64_t phase_since_ms;
    int left;
    size_t stop_cancelled; /* runs that the stop asked to end */
    swamp__timer stop_timer;

    uint64_t store_failures, runs_reaped;
};

/* instance.c */
/* Fills in deadline and time-out, and asks. The ask is zeroed but for `work`, `answered` and what is asked. */
void swamp__instance_ask(swamp__instance *instance, swamp__ask *ask);
void swamp__instance_copy_text(char *out, size_t cap, const char *text); /* cut at a character's start */
int swamp__instance_degraded(const swamp__instance *instance); /* running, but the store does not answer */

/* ticks.c: reconciliation, cancel requests, retention; what membership says */
int swamp__ticks_init(swamp__instance *instance);
void swamp__ticks_start(swamp__instance *instance);
void swamp__ticks_stop(swamp__instance *instance);
void swamp__ticks_reap(swamp__instance *instance); /* at once */
void swamp__ticks_runs(swamp__instance *instance); /* a run was admitted: look for cancel requests */

/* conn.c */
void swamp__conn_want(swamp__conn *conn);
/* One answer's text; a failed buf closes the connection. */
void swamp__conn_put(swamp__conn *conn, const swamp__buf *text);
void swamp__conn_close(swamp__conn *conn, int code, const char *reason);
/* Nothing is left to take, and nothing is asked but who has a run. */
int swamp__conn_drained(const swamp__conn *conn);
void swamp__conn_error(swamp__conn *conn, const char *id, const char *code, const char *message,
                       const swamp__answer_error_extra *extra);

/* request.c */
swamp__ticket *swamp__ticket_new(swamp__conn *conn, const swamp__request *request); /* NULL: out of memory */
/* To the job that will answer it; abandoned: the job shall forget the ticket. */
void swamp__ticket_bind(swamp__ticket *ticket, void *job, void (*abandoned)(swamp__ticket *ticket));
swamp__ticket *swamp__ticket_unbind(swamp__ticket *ticket); /* for its answer; returns ticket; NULL is fine */
/* Binds the ticket to a job that tells of it by told(job, ticket), which unbinds it. */
void swamp__ticket_await(swamp__ticket *ticket, swamp__job *job, void (*told)(swamp__job *job, void *user));
void swamp__ticket_close(swamp__ticket *ticket);
/* These answer and close. retry: an error with retryAfterMs. members: {"type":TYPE,"id":ID,MEMBERS}; payload: the
 * same as "payload":{MEMBERS}. */
void swamp__ticket_error(swamp__ticket *ticket, const char *code, const char *message);
void swamp__ticket_retry(swamp__ticket *ticket, const char *code, const char *message);
void swamp__ticket_answer(swamp__ticket *ticket, const swamp__buf *text);
void swamp__ticket_members(swamp__ticket *ticket, const char *type, const swamp__buf *members);
void swamp__ticket_payload(swamp__ticket *ticket, const char *type, const swamp__buf *members);
swamp__ticket *swamp__ticket_find(swamp__conn *conn, const char *id);
void swamp__request_take(swamp__conn *conn, const char *text, size_t len, int binary);

/* viewer.c */
/* Follows a run from after_seq on: the ticket's job from now on. SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__viewer_new(swamp_run *run, swamp__ticket *ticket, uint64_t after_seq, int attached);
#define SWAMP__VIEWER_MORE 1
#define SWAMP__VIEWER_FULL 2  /* the next frame does not fit */
#define SWAMP__VIEWER_IDLE 3  /* it stands at the head */
#define SWAMP__VIEWER_ENDED 4 /* the terminal frame was appended; the viewer is gone */
/* Appends frames until `slice` bytes have come, and no more than SWAMP__BATCH_BYTES behind `base` but for one frame
 * that alone is larger. */
int swamp__viewer_fill(swamp__viewer *viewer, swamp__buf *out, size_t base, size_t slice);
void swamp__viewer_cancel(swamp__ticket *ticket); /* the run that this ticket's viewer follows */
void swamp__viewers_changed(swamp__instance *instance, swamp_run *run); /* through the coalescing window */
void swamp__viewers_gone(swamp__instance *instance, swamp_run *run);
void swamp__viewers_tick(swamp__instance *instance); /* those that wait for a final commit */
int swamp__viewers_init_run(swamp__instance *instance, swamp_run *run); /* SWAMP_OK, SWAMP_E_NOMEM */

/* start.c */
void swamp__start_ask(swamp__ticket *ticket, const swamp__request *request);
void swamp__start_admitted(swamp__instance *instance, swamp_run *run, int status);
/* `cancel` with the id of a start, whatever has become of it. */
void swamp__start_cancel(swamp__ticket *ticket);
/* The instance takes no runs any more: those that the host has not resolved are told so, without waiting for it. */
void swamp__start_refuse_all(swamp__instance *instance);
void swamp__start_free_all(swamp__instance *instance);

/* errand.c */
/* Hands work out. Takes errand->answered; errand is zeroed else. SWAMP_OK, SWAMP_E_NOMEM (errand untouched). */
int swamp__errand_send(swamp__instance *instance, swamp__errand *errand, swamp_work *work);
/* The answer is not wanted any more; does not free the struct. */
void swamp__errand_forget(swamp__errand *errand);

/* attach.c */
void swamp__attach_ask(swamp__ticket *ticket, const swamp__request *request);
void swamp__attach_joined(swamp__instance *instance);
void swamp__attach_owner_changed(swamp__instance *instance, const swamp__watch *watch);
void swamp__attach_owner_dead(swamp__instance *instance, const char *instance_id);
int swamp__attach_init(swamp__instance *instance);
void swamp__attach_destroy(swamp__instance *instance);

/* attach_answer.c: each answers and closes the ticket, but for a run that is followed from now on */
void swamp__attach_say_not_found(swamp__ticket *ticket);
void swamp__attach_say_unavailable(swamp__ticket *ticket);
void swamp__attach_say_interrupted(swamp__ticket *ticket, const char *run_id, const char *owner,
                                   const char *reason);
void swamp__attach_say_elsewhere(swamp__ticket *ticket, const char *run_id, const char *owner);
/* Runs that this instance knows; 0: it does not, and nothing was said. */
int swamp__attach_from_registry(swamp__ticket *ticket, const char *run_id, const char *epoch,
                                uint64_t after_seq);

/* cancel.c */
/* `cancel`: no answer of its own. */
void swamp__cancel_frame(swamp__conn *conn, const swamp__request *request);
/* `run.cancel` */
void swamp__cancel_ask(swamp__ticket *ticket, const swamp__request *request);
/* A run of this instance; 1: it will end, 0: it has ended already. interrupt_reason: static, NULL: a person's wish. */
int swamp__cancel_run(swamp__instance *instance, swamp_run *run, const char *reason,
                      const char *interrupt_reason);
void swamp__cancel_hand_out(swamp__instance *instance, swamp_run *run, const char *reason);
/* A run that is not here: leaves a request with its owner. */
typedef struct swamp__cancel_job {
    swamp__job job; /* first */
    char run_id[65], owner[65], status[16];
    char requested_by[129], reason[SWAMP__REASON_MAX + 1];
    int64_t asked_unix_ms;
} swamp__cancel_job;
swamp__cancel_job *swamp__cancel_elsewhere(swamp__instance *instance, const char *run_id,
                                           const char *requested_by,
                                           const char *reason); /* NULL: out of memory */

/* queries.c */
void swamp__query_history_get(swamp__ticket *ticket, const swamp__request *request);
void swamp__query_run_history(swamp__ticket *ticket, const swamp__request *request);
void swamp__query_instances(swamp__ticket *ticket, const swamp__request *request);
void swamp__query_version(swamp__ticket *ticket, const swamp__request *request);
void swamp__query_search(swamp__ticket *ticket, const swamp__request *request);

/* instances.c: cluster.instances, for WebSocket and HTTP */
typedef struct swamp__instances_job {
    swamp__job job;    /* first */
    swamp__map *stale; /* ids that this instance's watches call stale */
    swamp__buf rows;
} swamp__instances_job;
swamp__instances_job *swamp__instances_ask(swamp__instance *instance); /* NULL: out of memory */
/* Without a store: one row. */
void swamp__instances_put_self(const swamp__instance *instance, swamp__buf *out);

/* here.c: answers from the registry alone, for an instance without a store */
int swamp__here_history_get(swamp__instance *instance, const char *id_or_name, swamp__buf *out,
                            size_t *matches); /* as swamp__history_get() */
int swamp__here_history_list(swamp__instance *instance, const swamp__request *request, swamp__buf *out);

/* stop.c */
int swamp__stop_init(swamp__instance *instance);
void swamp__stop_poke(swamp__instance *instance);  /* something changed: look at the table soon, not now */
void swamp__stop_fence(swamp__instance *instance); /* this instance was declared dead */
void swamp__stop_greet(swamp__conn *conn);         /* a new connection while draining hears of it */

#endif
