/* The public session handle as the application's thread uses it: next, dispatch, cursor, cancel, free. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <swamp/client.h>
#include <swamp/status.h>
#include "session.h"
#include "../util/alloc.h"
#include "../util/options.h"

static void
free_options(swamp__session_options *options)
{
    swamp__free((char *)options->url);
    swamp__free((char *)options->start_type);
    swamp__free((char *)options->start_payload);
    swamp__free((char *)options->run_id);
    swamp__free((char *)options->epoch);
}

void
swamp__session_handle_ref(swamp_session *session)
{
    pthread_mutex_lock(&session->lock);
    session->refs++;
    pthread_mutex_unlock(&session->lock);
}

void
swamp__session_handle_unref(swamp_session *session)
{
    swamp__link *link;
    pthread_mutex_lock(&session->lock);
    int left = --session->refs;
    pthread_mutex_unlock(&session->lock);
    if (left > 0)
        return;
    while ((link = swamp__list_pop(&session->queue)))
        swamp_event_free(SWAMP__OF(link, swamp_event, link));
    if (session->fd >= 0)
        close(session->fd);
    free_options(&session->options);
    swamp__home_unref(session->home);
    pthread_cond_destroy(&session->ready);
    pthread_mutex_destroy(&session->lock);
    swamp__free(session);
}

void
swamp__session_handle_ready(swamp_session *session)
{
    uint64_t one = 1;
    if (session->fd >= 0 && write(session->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        session->closed = SWAMP_E_CLOSED; /* cannot happen on an eventfd of our own */
    pthread_cond_broadcast(&session->ready);
}

static int
wait_ready(swamp_session *session, const struct timespec *until)
{
    if (!until)
        return pthread_cond_wait(&session->ready, &session->lock) == 0;
    return pthread_cond_timedwait(&session->ready, &session->lock, until) != ETIMEDOUT;
}

static void
move_place(swamp_session *session, const swamp_event *event)
{
    swamp__cursor *place = &session->place;
    if (event->run_id && event->run_id[0] && !place->run_id[0])
        snprintf(place->run_id, sizeof(place->run_id), "%s", event->run_id);
    if (event->epoch && event->epoch[0])
        snprintf(place->epoch, sizeof(place->epoch), "%s", event->epoch);
    place->seq = event->cursor_seq;
}

/* Under the lock: after an event was taken, the descriptor is readable only while there is more. */
static void
mark_taken(swamp_session *session)
{
    uint64_t count;
    if (session->fd >= 0 && swamp__list_empty(&session->queue) && !session->closed && !session->ended &&
        read(session->fd, &count, sizeof(count)) < 0)
        return; /* EAGAIN: it was not readable */
}

int
swamp_session_next(swamp_session *session, int timeout_ms, swamp_event **out)
{
    struct timespec until;
    swamp__link *link;
    int waited = timeout_ms == 0;

    if (!session || !out)
        return SWAMP_E_INVALID;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout_ms > 0) {
        int64_t ns = until.tv_nsec + (int64_t)timeout_ms * 1000000;
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
    }
    pthread_mutex_lock(&session->lock);
    if (session->ended) {
        pthread_mutex_unlock(&session->lock);
        return SWAMP_END;
    }
    while (!(link = swamp__list_pop(&session->queue)) && !session->closed && !waited)
        waited = !wait_ready(session, timeout_ms < 0 ? NULL : &until);
    int room = 0, closed = session->closed;
    swamp_event *event = link ? SWAMP__OF(link, swamp_event, link) : NULL;
    if (event) {
        session->queued -= event->bytes;
        session->ended = event->type >= SWAMP_EVENT_DONE;
        move_place(session, event);
        room = session->full && session->queued <= session->queue_bytes / 2;
        if (room)
            session->full = 0;
    }
    mark_taken(session);
    pthread_mutex_unlock(&session->lock);
    if (room)
        swamp__session_handle_room(session);
    assert(closed <= SWAMP_OK); /* SWAMP_EVENT would promise one */
    if (!event)
        return closed; /* SWAMP_OK while it is not */
    *out = event;
    return SWAMP_EVENT;
}

int
swamp_session_fd(swamp_session *session)
{
    if (!session)
        return SWAMP_E_INVALID;
    return session->fd >= 0 ? session->fd : SWAMP_E_IO;
}

int
swamp_session_cursor(swamp_session *session, char *buf, size_t cap)
{
    if (!session || !buf || cap == 0)
        return SWAMP_E_INVALID;
    pthread_mutex_lock(&session->lock);
    swamp__cursor place = session->place;
    pthread_mutex_unlock(&session->lock);
    if (!place.run_id[0]) {
        buf[0] = '\0';
        return SWAMP_OK;
    }
    return swamp__cursor_write(&place, buf, cap);
}

int
swamp_session_cancel(swamp_session *session, const char *reason)
{
    if (!session)
        return SWAMP_E_INVALID;
    pthread_mutex_lock(&session->lock);
    int ended = session->ended;
    pthread_mutex_unlock(&session->lock);
    return ended ? SWAMP_E_STATE : swamp__session_handle_cancel(session, reason);
}

void
swamp_session_free(swamp_session *session)
{
    if (!session)
        return;
    if (session->dispatching) {
        session->free_asked = 1; /* legal in a callback: swamp_session_dispatch() does it */
        return;
    }
    swamp__session_handle_leave(session);
    swamp__session_handle_unref(session);
}

static void
call_back(const swamp_session_callbacks *callbacks, const swamp_event *event)
{
    void (*call)(const swamp_event *event, void *user) = NULL;
    switch (event->type) {
    case SWAMP_EVENT_RUN:
    case SWAMP_EVENT_ACCEPTED:
        call = callbacks->on_event;
        break;
    case SWAMP_EVENT_GAP:
        call = callbacks->on_gap;
        break;
    case SWAMP_EVENT_ATTACHED:
        call = callbacks->on_attached;
        break;
    case SWAMP_EVENT_RECONNECTING:
        call = callbacks->on_reconnecting;
        break;
    case SWAMP_EVENT_ELSEWHERE:
        call = callbacks->on_elsewhere;
        break;
    case SWAMP_EVENT_DRAINING:
        call = callbacks->on_draining;
        break;
    case SWAMP_EVENT_INTERRUPTED:
        call = callbacks->on_interrupted;
        break;
    case SWAMP_EVENT_DONE:
        call = callbacks->on_done;
        break;
    case SWAMP_EVENT_ERROR:
        call = callbacks->on_error;
        break;
    default: /* a type of a later version */
        break;
    }
    if (call)
        call(event, callbacks->user);
}

int
swamp_session_dispatch(swamp_session *session, int timeout_ms, const swamp_session_callbacks *callbacks)
{
    swamp_session_callbacks known = {.size = sizeof(known)};
    swamp_event *event;
    int rc;

    if (!session || !callbacks || swamp__options_read(&known, sizeof(known), callbacks) != SWAMP_OK)
        return SWAMP_E_INVALID;
    if (session->dispatching)
        return SWAMP_E_REENTRANT;
    session->dispatching = 1;
    while (!session->free_asked && (rc = swamp_session_next(session, timeout_ms, &event)) == SWAMP_EVENT) {
        call_back(&known, event);
        swamp_event_free(event);
    }
    session->dispatching = 0;
    if (session->free_asked) {
        swamp_session_free(session);
        return SWAMP_E_CLOSED;
    }
    return rc;
}
