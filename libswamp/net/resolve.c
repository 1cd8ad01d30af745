/* The resolver thread: one lookup at a time, answered by a task on the loop. */
#include "resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/queue.h"

struct swamp__lookup {
    swamp__link link; /* of the queue */
    swamp__task task;
    char host[256];
    void (*done)(void *user, const swamp__addresses *addresses, const char *why);
    void *user; /* loop's thread; NULL: abandoned */
    swamp__addresses addresses;
    const char *why;
};

struct swamp__resolver {
    swamp__loop *loop;
    swamp__queue queue;
    pthread_t thread;
    atomic_int holders; /* the owner and the thread */
    pthread_mutex_t lock;
    int closed, busy;
};

static void
release(swamp__resolver *resolver)
{
    if (atomic_fetch_sub(&resolver->holders, 1) != 1)
        return;
    swamp__queue_destroy(&resolver->queue);
    pthread_mutex_destroy(&resolver->lock);
    swamp__free(resolver);
}

static void
look_up(swamp__lookup *lookup)
{
    struct addrinfo hints, *found = NULL;
    int rc;

    memset(&hints, 0, sizeof(hints));
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    rc = getaddrinfo(lookup->host, NULL, &hints, &found);
    if (rc != 0) {
        lookup->why = gai_strerror(rc);
        return;
    }
    for (struct addrinfo *at = found; at && lookup->addresses.count < SWAMP__ADDRESSES_MAX;
         at = at->ai_next) {
        char *text = lookup->addresses.text[lookup->addresses.count];

        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, SWAMP__ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST) == 0)
            lookup->addresses.count++;
    }
    freeaddrinfo(found);
    lookup->why = "the name has no address";
}

static void
answer(swamp__task *task)
{
    swamp__lookup *lookup = SWAMP__OF(task, swamp__lookup, task);

    if (lookup->user)
        lookup->done(lookup->user, &lookup->addresses, lookup->why);
    swamp__free(lookup);
}

/* 0: the resolver was closed meanwhile. */
static int
set_busy(swamp__resolver *resolver, int busy)
{
    int open;

    pthread_mutex_lock(&resolver->lock);
    resolver->busy = busy;
    open = !resolver->closed;
    pthread_mutex_unlock(&resolver->lock);
    return open;
}

/* Under the lock: once the resolver is closed, the loop may be gone. */
static void
hand_back(swamp__resolver *resolver, swamp__lookup *lookup)
{
    int taken = 0;

    pthread_mutex_lock(&resolver->lock);
    resolver->busy = 0;
    if (!resolver->closed)
        taken = swamp__loop_post(resolver->loop, &lookup->task) == SWAMP_OK;
    pthread_mutex_unlock(&resolver->lock);
    if (!taken)
        swamp__free(lookup);
}

static void *
run_resolver(void *user)
{
    swamp__resolver *resolver = user;
    swamp__link *link;

    while ((link = swamp__queue_pop(&resolver->queue, -1))) {
        swamp__lookup *lookup = SWAMP__OF(link, swamp__lookup, link);

        if (set_busy(resolver, 1))
            look_up(lookup);
        hand_back(resolver, lookup);
    }
    release(resolver);
    return NULL;
}

int
swamp__resolver_new(swamp__resolver **out, swamp__loop *loop)
{
    swamp__resolver *resolver = swamp__calloc(1, sizeof(*resolver));
    sigset_t all, before;
    int rc;

    if (!resolver)
        return SWAMP_E_NOMEM;
    resolver->loop = loop;
    atomic_store(&resolver->holders, 2);
    if (pthread_mutex_init(&resolver->lock, NULL) != 0) {
        swamp__free(resolver);
        return SWAMP_E_NOMEM;
    }
    rc = swamp__queue_init(&resolver->queue, 0);
    if (rc < 0) {
        pthread_mutex_destroy(&resolver->lock);
        swamp__free(resolver);
        return rc;
    }
    sigfillset(&all); /* the host's signal handlers run on the host's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&resolver->thread, NULL, run_resolver, resolver);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        atomic_store(&resolver->holders, 1);
        release(resolver);
        return SWAMP_E_IO;
    }
    pthread_setname_np(resolver->thread, "swamp-resolve");
    *out = resolver;
    return SWAMP_OK;
}

void
swamp__resolver_free(swamp__resolver *resolver)
{
    int busy;

    if (!resolver)
        return;
    pthread_mutex_lock(&resolver->lock);
    resolver->closed = 1;
    busy = resolver->busy;
    pthread_mutex_unlock(&resolver->lock);
    swamp__queue_close(&resolver->queue);
    if (busy)
        pthread_detach(resolver->thread); /* a name server may take half a minute to say nothing */
    else
        pthread_join(resolver->thread, NULL);
    release(resolver);
}

int
swamp__resolver_ask(swamp__lookup **out, swamp__resolver *resolver, const char *host,
                    void (*done)(void *user, const swamp__addresses *addresses, const char *why), void *user)
{
    swamp__lookup *lookup = swamp__calloc(1, sizeof(*lookup));
    int rc;

    if (!lookup)
        return SWAMP_E_NOMEM;
    snprintf(lookup->host, sizeof(lookup->host), "%s", host);
    lookup->task.run = answer;
    lookup->done = done;
    lookup->user = user;
    rc = swamp__queue_push(&resolver->queue, &lookup->link);
    if (rc < 0) {
        swamp__free(lookup);
        return rc;
    }
    *out = lookup;
    return SWAMP_OK;
}

void
swamp__lookup_abandon(swamp__lookup *lookup)
{
    lookup->user = NULL;
}

int
swamp__addresses_literal(swamp__addresses *out, const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host, bytes) != 1 && inet_pton(AF_INET6, host, bytes) != 1)
        return 0;
    out->count = 1;
    snprintf(out->text[0], SWAMP__ADDRESS_SIZE, "%s", host);
    return 1;
}
