/* Timers: a binary heap by due time, then by order of setting. */
#include "timers.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "alloc.h"

#define FIRST_CAP 16

void
swamp__timers_init(swamp__timers *timers)
{
    memset(timers, 0, sizeof(*timers));
    timers->running_ms = INT64_MIN;
}

void
swamp__timers_free(swamp__timers *timers)
{
    swamp__free(timers->heap);
    swamp__timers_init(timers);
}

int
swamp__timer_init(swamp__timers *timers, swamp__timer *timer, void (*fire)(swamp__timer *))
{
    memset(timer, 0, sizeof(*timer)); /* on failure too: destroy is fine then */
    if (timers->inited == timers->cap) {
        size_t cap = timers->cap ? timers->cap * 2 : FIRST_CAP;
        swamp__timer **heap = swamp__realloc(timers->heap, cap * sizeof(*heap));

        if (!heap)
            return SWAMP_E_NOMEM;
        timers->heap = heap;
        timers->cap = cap;
    }
    timer->fire = fire;
    timer->inited = 1;
    timers->inited++;
    return SWAMP_OK;
}

void
swamp__timer_destroy(swamp__timers *timers, swamp__timer *timer)
{
    if (!timer->inited)
        return;
    swamp__timer_unset(timers, timer);
    timer->inited = 0;
    timers->inited--;
}

static int
is_before(const swamp__timer *a, const swamp__timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void
put_at(swamp__timers *timers, swamp__timer *timer, size_t place)
{
    timers->heap[place - 1] = timer;
    timer->place = place;
}

static void
sift_up(swamp__timers *timers, swamp__timer *timer, size_t place)
{
    while (place > 1) {
        swamp__timer *parent = timers->heap[place / 2 - 1];

        if (!is_before(timer, parent))
            break;
        put_at(timers, parent, place);
        place /= 2;
    }
    put_at(timers, timer, place);
}

static void
sift_down(swamp__timers *timers, swamp__timer *timer, size_t place)
{
    for (;;) {
        size_t child = place * 2;

        if (child > timers->count)
            break;
        if (child < timers->count && is_before(timers->heap[child], timers->heap[child - 1]))
            child++;
        if (!is_before(timers->heap[child - 1], timer))
            break;
        put_at(timers, timers->heap[child - 1], place);
        place = child;
    }
    put_at(timers, timer, place);
}

void
swamp__timer_set(swamp__timers *timers, swamp__timer *timer, int64_t due_ms)
{
    assert(timer->inited);
    swamp__timer_unset(timers, timer);
    if (due_ms <= timers->running_ms && timers->running_ms < INT64_MAX)
        due_ms = timers->running_ms + 1;
    timer->due_ms = due_ms;
    timer->order = ++timers->sets;
    assert(timers->count < timers->cap);
    timers->count++;
    sift_up(timers, timer, timers->count);
}

void
swamp__timer_unset(swamp__timers *timers, swamp__timer *timer)
{
    swamp__timer *last;
    size_t place = timer->place;

    if (!place)
        return;
    assert(timers->heap[place - 1] == timer);
    last = timers->heap[timers->count - 1];
    timers->count--;
    timer->place = 0;
    if (last == timer)
        return;
    if (place > 1 && is_before(last, timers->heap[place / 2 - 1]))
        sift_up(timers, last, place);
    else
        sift_down(timers, last, place);
}

int
swamp__timer_is_set(const swamp__timer *timer)
{
    return timer->place != 0;
}

int64_t
swamp__timers_next(const swamp__timers *timers)
{
    return timers->count ? timers->heap[0]->due_ms : INT64_MAX;
}

void
swamp__timers_run(swamp__timers *timers, int64_t now_ms)
{
    assert(timers->running_ms == INT64_MIN); /* not from inside a callback */
    timers->running_ms = now_ms;
    while (timers->count && timers->heap[0]->due_ms <= now_ms) {
        swamp__timer *timer = timers->heap[0];

        swamp__timer_unset(timers, timer);
        timer->fire(timer);
    }
    timers->running_ms = INT64_MIN;
}
