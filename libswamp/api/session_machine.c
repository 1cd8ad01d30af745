/* The session handle's side on its home's thread: the resume machine between its channel and the queue. */
#include <swamp/status.h>
#include "session.h"
#include "../util/alloc.h"

/* ---- what the machine asks, and what its channel tells it ---- */

static void
channel_connected(void *user)
{
    swamp_session *session = user;
    swamp__session_connected(session->machine);
}

static void
channel_lost(void *user, int how, int64_t retry_after_ms, const char *why)
{
    swamp_session *session = user;
    session->channel = NULL;
    swamp__session_link_lost(session->machine, how, retry_after_ms, why);
}

static void
channel_alive(void *user)
{
    swamp_session *session = user;
    swamp__session_alive(session->machine);
}

static void
channel_message(void *user, const char *text, size_t len)
{
    swamp_session *session = user;
    swamp__session_message(session->machine, text, len);
}

static void
io_hang_up(void *self)
{
    swamp_session *session = self;
    if (session->channel)
        swamp__channel_hang_up(session->channel);
    session->channel = NULL;
}

static int
io_dial(void *self, const char *url)
{
    swamp_session *session = self;
    swamp__dial_events events = {channel_connected, channel_lost, channel_alive, channel_message, session};
    return swamp__channel_open(&session->channel, &session->target, url, &events);
}

static void
io_send(void *self, const char *text, size_t len)
{
    swamp_session *session = self;
    if (session->channel)
        swamp__channel_send(session->channel, text, len);
}

static void
io_ping(void *self)
{
    swamp_session *session = self;
    if (session->channel)
        swamp__channel_ping(session->channel);
}

static void
io_pause(void *self, int paused)
{
    swamp_session *session = self;
    if (session->channel)
        swamp__channel_pause(session->channel, paused);
}

static void
io_deliver(void *self, swamp_event *event)
{
    swamp_session *session = self;
    pthread_mutex_lock(&session->lock);
    swamp__list_push(&session->queue, &event->link);
    session->queued += event->bytes;
    int full = session->queued > session->queue_bytes && !session->full;
    if (full)
        session->full = 1;
    swamp__session_handle_ready(session);
    pthread_mutex_unlock(&session->lock);
    if (full)
        swamp__session_room(session->machine, 0);
}

static void
leave_home(swamp_session *session)
{
    swamp__session_free(session->machine); /* hangs up */
    session->machine = NULL;
    swamp__session_handle_unref(session);
}

static void
evicted(swamp__lodger *lodger)
{
    swamp_session *session = SWAMP__OF(lodger, swamp_session, lodger);
    pthread_mutex_lock(&session->lock);
    session->closed = SWAMP_E_CLOSED;
    swamp__session_handle_ready(session);
    pthread_mutex_unlock(&session->lock);
    leave_home(session);
}

/* ---- calls from the application's thread ---- */

/* A call from the application's thread on its way to the machine. */
typedef struct errand {
    swamp__task task;
    swamp_session *session; /* a reference */
    char *reason;
} errand;

static void
free_errand(errand *e)
{
    swamp__session_handle_unref(e->session);
    swamp__free(e->reason);
    swamp__free(e);
}

/* SWAMP_OK; SWAMP_E_NOMEM, SWAMP_E_CLOSED. */
static int
send_errand(swamp_session *session, void (*run)(swamp__task *task), const char *reason)
{
    errand *e = swamp__calloc(1, sizeof(*e));
    if (!e)
        return SWAMP_E_NOMEM;
    e->task.run = run;
    e->reason = swamp__strdup(reason);
    e->session = session;
    swamp__session_handle_ref(session);
    int rc = reason && !e->reason ? SWAMP_E_NOMEM : swamp__home_post(session->home, &e->task);
    if (rc != SWAMP_OK)
        free_errand(e);
    return rc;
}

static void
run_begin(swamp__task *task)
{
    errand *e = SWAMP__OF(task, errand, task);
    swamp_session *session = e->session;
    swamp__session_io io = {io_dial, io_send, io_ping, io_hang_up, io_pause, io_deliver, session};
    session->lodger.evict = evicted;
    int rc = swamp__session_new(&session->machine, &session->options, session->target.world, &io);
    if (rc == SWAMP_OK && (rc = swamp__home_move_in(session->home, &session->lodger)) != SWAMP_OK)
        swamp__session_free(session->machine);
    pthread_mutex_lock(&session->lock);
    if (rc == SWAMP_OK)
        session->refs++; /* the machine's side */
    else
        session->closed = rc;
    swamp__session_handle_ready(session);
    pthread_mutex_unlock(&session->lock);
    if (rc == SWAMP_OK)
        swamp__session_begin(session->machine);
    else
        session->machine = NULL;
    free_errand(e);
}

static void
run_cancel(swamp__task *task)
{
    errand *e = SWAMP__OF(task, errand, task);
    if (e->session->machine)
        swamp__session_cancel(e->session->machine, e->reason);
    free_errand(e);
}

static void
run_room(swamp__task *task)
{
    swamp_session *session = SWAMP__OF(task, swamp_session, room_task);
    pthread_mutex_lock(&session->lock);
    session->room_posted = 0;
    int has_room = !session->full; /* it may have filled up again since this was posted */
    pthread_mutex_unlock(&session->lock);
    if (session->machine && has_room)
        swamp__session_room(session->machine, 1);
    swamp__session_handle_unref(session);
}

static void
run_leave(swamp__task *task)
{
    swamp_session *session = SWAMP__OF(task, swamp_session, leave_task);
    if (session->machine) {
        swamp__home_move_out(&session->lodger);
        leave_home(session);
    }
    swamp__session_handle_unref(session);
}

int
swamp__session_handle_begin(swamp_session *session)
{
    return send_errand(session, run_begin, NULL);
}

int
swamp__session_handle_cancel(swamp_session *session, const char *reason)
{
    return send_errand(session, run_cancel, reason);
}

/* Refused only when the home is gone, and the machine with it. */
static void
post_own(swamp_session *session, swamp__task *task, void (*run)(swamp__task *task))
{
    task->run = run;
    swamp__session_handle_ref(session);
    if (swamp__home_post(session->home, task) != SWAMP_OK)
        swamp__session_handle_unref(session);
}

void
swamp__session_handle_room(swamp_session *session)
{
    pthread_mutex_lock(&session->lock);
    int first = !session->room_posted;
    session->room_posted = 1;
    pthread_mutex_unlock(&session->lock);
    if (first)
        post_own(session, &session->room_task, run_room);
}

void
swamp__session_handle_leave(swamp_session *session)
{
    post_own(session, &session->leave_task, run_leave);
}
