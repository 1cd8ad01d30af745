/*
 * The loop of a network thread. Its wake-up is an eventfd and its clock a timerfd, both adopted by
 * libwebsockets as files: the only two ways that wake either event loop at the right time. No lws timer is
 * used: under libev they fire only at the next descriptor event. For lws's own time-outs' sake, and to show
 * that the thread lives, the clock ticks each second.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <swamp/server.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../util/random.h"
#include "context.h"
#include "libev.h"

#define TICK_MS 1000

typedef struct source { /* a descriptor of the loop itself */
    swamp__end end;
    int fd;
} source;

struct swamp__loop {
    swamp__loop_options options; /* without the files: they were read */
    swamp__context context;
    swamp__libev libev;
    int kind;
    swamp__timers timers;
    swamp__world world;
    source wake, clock;
    int wake_fd; /* our own copy: any thread may write to it until the loop is freed, lws closes the other one */
    int64_t armed_ms; /* when the clock will tick */
    atomic_int woken; /* a wake-up is on its way */
    _Atomic int64_t ticked_ms;
    pthread_mutex_t lock; /* tasks, closed */
    swamp__list tasks;
    swamp__list soon; /* loop's thread only: tasks for the end of this callback */
    int soon_count;
    int closed;
    pthread_t thread;
    int started, joined;
    int quit; /* loop's thread only */
};

static int64_t
world_now_ms(void *self)
{
    return swamp__clock_monotonic_ms();
}

static int64_t
world_unix_ms(void *self)
{
    return swamp__clock_unix_ms();
}

static uint64_t
world_random(void *self)
{
    return swamp__random_u64();
}

/* The timerfd runs on the clock of swamp__clock_monotonic_ms(), so that it never fires before the millisecond
 * begins. */
static void
arm_clock(swamp__loop *loop)
{
    int64_t next_ms = swamp__timers_next(&loop->timers);
    int64_t tick_ms = swamp__clock_monotonic_ms() + TICK_MS;
    struct itimerspec at;

    loop->armed_ms = next_ms < tick_ms ? next_ms : tick_ms;
    memset(&at, 0, sizeof(at));
    if (loop->armed_ms > 0) {
        at.it_value.tv_sec = loop->armed_ms / 1000;
        at.it_value.tv_nsec = loop->armed_ms % 1000 * 1000000;
    } else {
        at.it_value.tv_nsec = 1; /* 0 would disarm it */
    }
    timerfd_settime(loop->clock.fd, TFD_TIMER_ABSTIME, &at, NULL);
}

int
swamp__loop_soon(swamp__loop *loop, swamp__task *task)
{
    if (loop->soon_count == SWAMP__SOON_MAX)
        return 0;
    loop->soon_count++;
    swamp__list_push(&loop->soon, &task->link);
    return 1;
}

void
swamp__loop_turned(swamp__loop *loop)
{
    for (swamp__link *link; (link = swamp__list_pop(&loop->soon));) {
        swamp__task *task = SWAMP__OF(link, swamp__task, link);
        task->run(task);
    }
    loop->soon_count = 0;
    /* A timer that was moved back or unset leaves the clock alone: one tick for nothing is cheaper than a
     * call each. */
    if (swamp__timers_next(&loop->timers) < loop->armed_ms)
        arm_clock(loop);
}

static void
empty_descriptor(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

static int
on_clock(swamp__end *end, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
    swamp__loop *loop = end->loop;
    int64_t now_ms;

    if (reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    empty_descriptor(loop->clock.fd);
    now_ms = swamp__clock_monotonic_ms();
    atomic_store_explicit(&loop->ticked_ms, now_ms, memory_order_relaxed);
    swamp__timers_run(&loop->timers, now_ms);
    arm_clock(loop);
    return 0;
}

static void
run_tasks(swamp__loop *loop)
{
    for (;;) {
        swamp__link *link;
        swamp__task *task;

        pthread_mutex_lock(&loop->lock);
        link = swamp__list_pop(&loop->tasks);
        if (!link && loop->closed)
            loop->quit = 1;
        pthread_mutex_unlock(&loop->lock);
        if (!link)
            return;
        task = SWAMP__OF(link, swamp__task, link);
        task->run(task);
    }
}

static int
on_wake(swamp__end *end, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
    swamp__loop *loop = end->loop;

    if (reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    empty_descriptor(loop->wake.fd);
    atomic_store(&loop->woken, 0); /* before the work is looked at: what comes later wakes again */
    if (loop->options.woken)
        loop->options.woken(loop->options.user);
    run_tasks(loop);
    if (loop->quit && loop->libev.loop)
        swamp__libev_stop(&loop->libev);
    return 0;
}

static int
open_sources(swamp__loop *loop)
{
    loop->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake.fd < 0)
        return SWAMP_E_IO;
    loop->wake_fd = fcntl(loop->wake.fd, F_DUPFD_CLOEXEC, 0);
    if (!swamp__context_adopt_file(&loop->context, loop->wake.fd, &loop->wake.end) || loop->wake_fd < 0)
        return SWAMP_E_IO;
    loop->clock.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->clock.fd < 0 || !swamp__context_adopt_file(&loop->context, loop->clock.fd, &loop->clock.end))
        return SWAMP_E_IO;
    arm_clock(loop);
    return SWAMP_OK;
}

static int
open_context(swamp__loop *loop, const char **why)
{
    int wanted = loop->options.kind;
    int rc;

    if (wanted == SWAMP_LOOP_LIBEV ||
        (wanted == SWAMP_LOOP_AUTO && loop->options.max_connections > SWAMP__POLL_CONNECTIONS_MAX)) {
        loop->kind = SWAMP_LOOP_LIBEV;
        *why = "libev.so.4 is not installed: install it, or use the poll loop";
        rc = swamp__libev_open(&loop->libev);
        if (rc == SWAMP_OK)
            rc = swamp__context_init(&loop->context, &loop->options, loop->libev.loop, why);
        if (rc != SWAMP_E_UNSUPPORTED || wanted == SWAMP_LOOP_LIBEV)
            return rc;
        swamp__libev_close(&loop->libev);
    }
    loop->kind = SWAMP_LOOP_POLL;
    return swamp__context_init(&loop->context, &loop->options, NULL, why);
}

int
swamp__loop_new(swamp__loop **out, const swamp__loop_options *options, const char **why)
{
    swamp__loop *loop = swamp__calloc(1, sizeof(*loop));
    int rc;

    *why = "out of memory";
    if (!loop)
        return SWAMP_E_NOMEM;
    if (pthread_mutex_init(&loop->lock, NULL) != 0) {
        swamp__free(loop);
        return SWAMP_E_NOMEM;
    }
    loop->options = *options;
    swamp__list_init(&loop->tasks);
    swamp__list_init(&loop->soon);
    swamp__timers_init(&loop->timers);
    loop->world = (swamp__world){.now_ms = world_now_ms,
                                 .unix_ms = world_unix_ms,
                                 .random = world_random,
                                 .timers = &loop->timers,
                                 .log = options->log};
    loop->wake = (source){.end = {loop, on_wake}, .fd = -1};
    loop->wake_fd = -1;
    loop->clock = (source){.end = {loop, on_clock}, .fd = -1};
    atomic_store(&loop->ticked_ms, swamp__clock_monotonic_ms());
    rc = open_context(loop, why);
    loop->options.cert_file = loop->options.key_file = loop->options.ca_cert_file = NULL;
    if (rc == SWAMP_OK) {
        rc = open_sources(loop);
        if (rc < 0)
            *why = "no descriptors left for the network thread: raise the limit of open files";
    }
    if (rc < 0) {
        swamp__loop_free(loop);
        return rc;
    }
    *out = loop;
    return SWAMP_OK;
}

static void *
run_loop(void *user)
{
    swamp__loop *loop = user;

    if (loop->kind == SWAMP_LOOP_LIBEV)
        swamp__libev_run(&loop->libev);
    else
        while (!loop->quit)
            lws_service(loop->context.lws, 0); /* sleeps until something happens, whatever the number */
    return NULL;
}

int
swamp__loop_start(swamp__loop *loop)
{
    sigset_t all, before;
    int rc;

    assert(!loop->started);
    /* The host's signal handlers run on the host's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&loop->thread, NULL, run_loop, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return SWAMP_E_IO;
    pthread_setname_np(loop->thread, "swamp-net");
    loop->started = 1;
    return SWAMP_OK;
}

void
swamp__loop_wake(swamp__loop *loop)
{
    static const uint64_t one = 1;

    if (atomic_exchange(&loop->woken, 1))
        return;
    while (write(loop->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

int
swamp__loop_post(swamp__loop *loop, swamp__task *task)
{
    int closed;

    pthread_mutex_lock(&loop->lock);
    closed = loop->closed;
    if (!closed)
        swamp__list_push(&loop->tasks, &task->link);
    pthread_mutex_unlock(&loop->lock);
    if (!closed)
        swamp__loop_wake(loop);
    return closed ? SWAMP_E_CLOSED : SWAMP_OK;
}

void
swamp__loop_stop(swamp__loop *loop)
{
    assert(!swamp__loop_is_here(loop));
    pthread_mutex_lock(&loop->lock);
    loop->closed = 1;
    pthread_mutex_unlock(&loop->lock);
    if (swamp__loop_is_running(loop)) {
        swamp__loop_wake(loop);
        pthread_join(loop->thread, NULL);
    } else {
        run_tasks(loop); /* never started: there is nobody else to do what was posted */
    }
    loop->joined = 1;
    swamp__context_destroy(&loop->context);
    loop->wake.fd = loop->clock.fd = -1; /* lws has closed them */
}

void
swamp__loop_free(swamp__loop *loop)
{
    if (!loop)
        return;
    swamp__loop_stop(loop);
    swamp__libev_close(&loop->libev);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    swamp__timers_free(&loop->timers);
    pthread_mutex_destroy(&loop->lock);
    swamp__free(loop);
}

const swamp__world *
swamp__loop_world(swamp__loop *loop)
{
    return &loop->world;
}

int
swamp__loop_kind(const swamp__loop *loop)
{
    return loop->kind;
}

int
swamp__loop_is_here(const swamp__loop *loop)
{
    return loop->started && !loop->joined && pthread_equal(loop->thread, pthread_self());
}

int64_t
swamp__loop_ticked_ms(const swamp__loop *loop)
{
    return atomic_load_explicit(&loop->ticked_ms, memory_order_relaxed);
}

int
swamp__loop_is_running(const swamp__loop *loop)
{
    return loop->started && !loop->joined;
}

swamp__context *
swamp__loop_context(swamp__loop *loop)
{
    return &loop->context;
}

const swamp__loop_options *
swamp__loop_settings(const swamp__loop *loop)
{
    return &loop->options;
}
