/* A loop's thread with the sessions that live on it: how other threads reach it, and how all of them learn of
 * its end. */
#include <swamp/status.h>
#include "home.h"
#include "../util/alloc.h"

swamp__home *
swamp__home_new(swamp__loop *loop)
{
    swamp__home *home = swamp__calloc(1, sizeof(*home));
    if (!home)
        return NULL;
    pthread_mutex_init(&home->lock, NULL);
    swamp__list_init(&home->lodgers);
    home->loop = loop;
    home->refs = 1;
    return home;
}

swamp__home *
swamp__home_ref(swamp__home *home)
{
    pthread_mutex_lock(&home->lock);
    home->refs++;
    pthread_mutex_unlock(&home->lock);
    return home;
}

void
swamp__home_unref(swamp__home *home)
{
    if (!home)
        return;
    pthread_mutex_lock(&home->lock);
    int left = --home->refs;
    pthread_mutex_unlock(&home->lock);
    if (left > 0)
        return;
    pthread_mutex_destroy(&home->lock);
    swamp__free(home);
}

int
swamp__home_post(swamp__home *home, swamp__task *task)
{
    pthread_mutex_lock(&home->lock);
    int rc = home->loop ? swamp__loop_post(home->loop, task) : SWAMP_E_CLOSED;
    pthread_mutex_unlock(&home->lock);
    return rc;
}

int
swamp__home_is_here(swamp__home *home)
{
    pthread_mutex_lock(&home->lock);
    int here = home->loop && swamp__loop_is_here(home->loop);
    pthread_mutex_unlock(&home->lock);
    return here;
}

typedef struct call_task {
    swamp__task task;
    void (*fn)(void *arg);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t ready;
    int done;
} call_task;

static void
run_call(swamp__task *task)
{
    call_task *call = SWAMP__OF(task, call_task, task);
    call->fn(call->arg);
    pthread_mutex_lock(&call->lock);
    call->done = 1;
    pthread_cond_signal(&call->ready);
    pthread_mutex_unlock(&call->lock);
}

int
swamp__home_call(swamp__home *home, void (*fn)(void *arg), void *arg)
{
    call_task call = {.task = {.run = run_call}, .fn = fn, .arg = arg};
    pthread_mutex_init(&call.lock, NULL);
    pthread_cond_init(&call.ready, NULL);
    int rc = swamp__home_post(home, &call.task);
    if (rc == SWAMP_OK) {
        pthread_mutex_lock(&call.lock);
        while (!call.done)
            pthread_cond_wait(&call.ready, &call.lock);
        pthread_mutex_unlock(&call.lock);
    }
    pthread_cond_destroy(&call.ready);
    pthread_mutex_destroy(&call.lock);
    return rc;
}

int
swamp__home_move_in(swamp__home *home, swamp__lodger *lodger)
{
    if (home->closing)
        return SWAMP_E_CLOSED;
    swamp__list_push(&home->lodgers, &lodger->link);
    return SWAMP_OK;
}

void
swamp__home_move_out(swamp__lodger *lodger)
{
    swamp__link_remove(&lodger->link);
}

static void
evict_all(void *arg)
{
    swamp__home *home = arg;
    swamp__link *link;
    home->closing = 1;
    while ((link = swamp__list_pop(&home->lodgers))) {
        swamp__lodger *lodger = SWAMP__OF(link, swamp__lodger, link);
        lodger->evict(lodger);
    }
}

void
swamp__home_close(swamp__home *home)
{
    swamp__home_call(home, evict_all, home);
    pthread_mutex_lock(&home->lock);
    home->loop = NULL;
    pthread_mutex_unlock(&home->lock);
}
