/* The list of touched runs under its lock, and its one wake-up. */
#include "touched.h"

#include "../util/alloc.h"

swamp__touched *
swamp__touched_new(void (*wake)(void *user), void *user)
{
    swamp__touched *touched = swamp__calloc(1, sizeof *touched);
    if (!touched)
        return NULL;
    pthread_mutex_init(&touched->lock, NULL);
    swamp__list_init(&touched->links);
    touched->wake = wake;
    touched->wake_user = user;
    touched->refs = 1;
    return touched;
}

swamp__touched *
swamp__touched_ref(swamp__touched *touched)
{
    __atomic_add_fetch(&touched->refs, 1, __ATOMIC_RELAXED);
    return touched;
}

void
swamp__touched_unref(swamp__touched *touched)
{
    if (!touched || __atomic_sub_fetch(&touched->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    pthread_mutex_destroy(&touched->lock);
    swamp__free(touched);
}

void
swamp__touched_close(swamp__touched *touched)
{
    pthread_mutex_lock(&touched->lock);
    touched->closed = 1;
    pthread_mutex_unlock(&touched->lock);
}

int
swamp__touched_put(swamp__touched *touched, swamp__link *link)
{
    pthread_mutex_lock(&touched->lock);
    int is_new = !touched->closed && !swamp__link_linked(link);
    if (is_new) {
        int was_empty = swamp__list_empty(&touched->links);
        swamp__list_push(&touched->links, link);
        /* Under the lock, so that close() can promise that none comes after it. */
        if (was_empty)
            touched->wake(touched->wake_user);
    }
    pthread_mutex_unlock(&touched->lock);
    return is_new;
}

swamp__link *
swamp__touched_take(swamp__touched *touched)
{
    pthread_mutex_lock(&touched->lock);
    swamp__link *link = swamp__list_pop(&touched->links);
    pthread_mutex_unlock(&touched->lock);
    return link;
}

void
swamp__touched_count(swamp__touched *touched, size_t more_log_bytes)
{
    __atomic_add_fetch(&touched->log_bytes, more_log_bytes, __ATOMIC_RELAXED);
}
