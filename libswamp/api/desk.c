/* Where the core lays out work for the host, and where any thread takes and answers it; outlives the server
 * if need be. */
#include <errno.h>
#include <time.h>
#include <swamp/status.h>
#include "desk.h"
#include "../util/alloc.h"

swamp__desk *
swamp__desk_ref(swamp__desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->refs++;
    pthread_mutex_unlock(&desk->lock);
    return desk;
}

void
swamp__desk_unref(swamp__desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    int left = --desk->refs;
    pthread_mutex_unlock(&desk->lock);
    if (left > 0)
        return;
    pthread_cond_destroy(&desk->laid_out);
    pthread_mutex_destroy(&desk->lock);
    swamp__free(desk);
}

static void
lay_out(void *self, swamp_work *work)
{
    swamp__desk *desk = self;
    pthread_mutex_lock(&desk->lock);
    swamp__list_push(work->kind == SWAMP_WORK_CANCEL ? &desk->cancels : &desk->others, &work->link);
    pthread_cond_broadcast(&desk->laid_out);
    pthread_mutex_unlock(&desk->lock);
}

static void
take_back(void *self, swamp_work *work)
{
    swamp__desk *desk = self;
    pthread_mutex_lock(&desk->lock);
    swamp__loop *loop = desk->loop;
    if (loop) {
        swamp__list_push(&desk->returned, &work->link);
        swamp__loop_wake(loop); /* under the lock: the loop is not freed before swamp__desk_close() */
    }
    pthread_mutex_unlock(&desk->lock);
    if (!loop)
        swamp__work_free(work); /* the server is gone: nobody waits for this answer */
    swamp__desk_unref(desk);
}

swamp__desk *
swamp__desk_new(swamp__loop *loop)
{
    swamp__desk *desk = swamp__calloc(1, sizeof(*desk));
    pthread_condattr_t monotonic;
    if (!desk)
        return NULL;
    desk->face.hand_out = lay_out;
    desk->face.give_back = take_back;
    desk->face.self = desk;
    desk->loop = loop;
    desk->refs = 1;
    swamp__list_init(&desk->cancels);
    swamp__list_init(&desk->others);
    swamp__list_init(&desk->returned);
    pthread_mutex_init(&desk->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&desk->laid_out, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return desk;
}

/* The START of this CANCEL's run, while nobody has taken it. */
static swamp__link *
untaken_start(swamp__desk *desk, const swamp_work *cancel)
{
    for (swamp__link *link = swamp__list_first(&desk->others); link;
         link = swamp__list_next(&desk->others, link)) {
        const swamp_work *work = SWAMP__OF(link, swamp_work, link);
        if (work->kind == SWAMP_WORK_START && work->run == cancel->run)
            return link;
    }
    return NULL;
}

/* A CANCEL comes before everything else but the START of its own run: a host cannot end what it has not begun. */
static swamp__link *
pop_either(swamp__desk *desk, int which)
{
    swamp__link *cancel = which & SWAMP__DESK_CANCELS ? swamp__list_first(&desk->cancels) : NULL;
    if (!cancel)
        return which & SWAMP__DESK_OTHERS ? swamp__list_pop(&desk->others) : NULL;
    swamp__link *start = untaken_start(desk, SWAMP__OF(cancel, swamp_work, link));
    swamp__link_remove(start ? start : cancel);
    return start ? start : cancel;
}

int
swamp__desk_next(swamp__desk *desk, int which, int timeout_ms, swamp_work **out)
{
    struct timespec until;
    swamp__link *link;
    int timed_out = timeout_ms == 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout_ms > 0) {
        until.tv_sec += timeout_ms / 1000;
        until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
    }
    pthread_mutex_lock(&desk->lock);
    while (!(link = pop_either(desk, which)) && !desk->closed && !timed_out) {
        if (timeout_ms < 0)
            pthread_cond_wait(&desk->laid_out, &desk->lock);
        else
            timed_out = pthread_cond_timedwait(&desk->laid_out, &desk->lock, &until) == ETIMEDOUT;
    }
    if (link)
        desk->refs++; /* until it is answered */
    int closed = desk->closed;
    pthread_mutex_unlock(&desk->lock);
    if (!link)
        return closed ? SWAMP_END : SWAMP_OK;
    *out = SWAMP__OF(link, swamp_work, link);
    return SWAMP_WORK;
}

size_t
swamp__desk_collect(swamp__desk *desk)
{
    size_t count = 0;
    for (;; count++) {
        pthread_mutex_lock(&desk->lock);
        swamp__link *link = swamp__list_pop(&desk->returned);
        pthread_mutex_unlock(&desk->lock);
        if (!link)
            return count;
        swamp__work_finish(SWAMP__OF(link, swamp_work, link));
    }
}

void
swamp__desk_end(swamp__desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->closed = 1;
    pthread_cond_broadcast(&desk->laid_out);
    pthread_mutex_unlock(&desk->lock);
}

/* A START that nobody took: the reference that the host's finish would have consumed ends here. */
static void
drop_untaken(swamp_work *work)
{
    if (work->kind == SWAMP_WORK_START)
        swamp__run_finish(work->run, SWAMP_RUN_FAILED, NULL, 0, NULL, 0);
    swamp__work_free(work);
}

void
swamp__desk_close(swamp__desk *desk)
{
    swamp__link *link;
    pthread_mutex_lock(&desk->lock);
    desk->closed = 1;
    desk->loop = NULL;
    pthread_cond_broadcast(&desk->laid_out);
    while ((link = pop_either(desk, SWAMP__DESK_CANCELS | SWAMP__DESK_OTHERS)))
        drop_untaken(SWAMP__OF(link, swamp_work, link));
    while ((link = swamp__list_pop(&desk->returned)))
        swamp__work_free(SWAMP__OF(link, swamp_work, link));
    pthread_mutex_unlock(&desk->lock);
    swamp__desk_unref(desk);
}
