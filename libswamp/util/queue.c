/* A bounded queue of links between threads. */
#include "queue.h"

#include <errno.h>
#include <time.h>
#include <swamp/status.h>

int
swamp__queue_init(swamp__queue *queue, size_t max)
{
    pthread_condattr_t attributes;
    int failed;

    swamp__list_init(&queue->list);
    queue->count = 0;
    queue->max = max;
    queue->closed = 0;
    if (pthread_condattr_init(&attributes))
        return SWAMP_E_NOMEM;
    failed = pthread_condattr_setclock(&attributes,
                                       CLOCK_MONOTONIC); /* a step of the wall clock stretches no wait */
    if (!failed)
        failed = pthread_cond_init(&queue->ready, &attributes);
    pthread_condattr_destroy(&attributes);
    if (failed)
        return SWAMP_E_NOMEM;
    if (pthread_mutex_init(&queue->lock, NULL)) {
        pthread_cond_destroy(&queue->ready);
        return SWAMP_E_NOMEM;
    }
    return SWAMP_OK;
}

void
swamp__queue_destroy(swamp__queue *queue)
{
    pthread_cond_destroy(&queue->ready);
    pthread_mutex_destroy(&queue->lock);
}

int
swamp__queue_push(swamp__queue *queue, swamp__link *link)
{
    int rc = SWAMP_OK;

    pthread_mutex_lock(&queue->lock);
    if (queue->closed) {
        rc = SWAMP_E_CLOSED;
    } else if (queue->max && queue->count >= queue->max) {
        rc = SWAMP_E_BUSY;
    } else {
        swamp__list_push(&queue->list, link);
        queue->count++;
        pthread_cond_signal(&queue->ready);
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

int
swamp__queue_push_front(swamp__queue *queue, swamp__link *link)
{
    int rc = SWAMP_OK;

    pthread_mutex_lock(&queue->lock);
    if (queue->closed) {
        rc = SWAMP_E_CLOSED;
    } else {
        swamp__list_push_front(&queue->list, link);
        queue->count++;
        pthread_cond_signal(&queue->ready);
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

static struct timespec
deadline_after(int timeout_ms)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* Under the lock: until there is a link, it is closed, or the time is over. */
static void
wait_ready(swamp__queue *queue, int timeout_ms)
{
    struct timespec deadline = {0, 0};
    int over = timeout_ms == 0;

    if (timeout_ms > 0)
        deadline = deadline_after(timeout_ms);
    while (!over && !queue->count && !queue->closed) {
        if (timeout_ms < 0)
            pthread_cond_wait(&queue->ready, &queue->lock);
        else
            over = pthread_cond_timedwait(&queue->ready, &queue->lock, &deadline) == ETIMEDOUT;
    }
}

swamp__link *
swamp__queue_pop(swamp__queue *queue, int timeout_ms)
{
    swamp__link *link;

    pthread_mutex_lock(&queue->lock);
    wait_ready(queue, timeout_ms);
    link = swamp__list_pop(&queue->list);
    if (link)
        queue->count--;
    pthread_mutex_unlock(&queue->lock);
    return link;
}

void
swamp__queue_close(swamp__queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = 1;
    pthread_cond_broadcast(&queue->ready);
    pthread_mutex_unlock(&queue->lock);
}

int
swamp__queue_closed(swamp__queue *queue)
{
    int closed;

    pthread_mutex_lock(&queue->lock);
    closed = queue->closed;
    pthread_mutex_unlock(&queue->lock);
    return closed;
}
