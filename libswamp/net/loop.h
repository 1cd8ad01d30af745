/* A network thread's loop: one libwebsockets context with one wake-up and one clock, under poll or libev. */
#ifndef SWAMP_NET_LOOP_H
#define SWAMP_NET_LOOP_H

#include <stdint.h>
#include "../util/list.h"
#include "../util/log.h"
#include "../util/timers.h"
#include "../util/world.h"

typedef struct swamp__loop swamp__loop;

/* Something to do on the loop's thread; owned by whoever posts it until `run` is called. */
typedef struct swamp__task {
    swamp__link link;
    void (*run)(struct swamp__task *task); /* may free the task */
} swamp__task;

#define SWAMP__LOOP_SERVER 1 /* which protocols the context carries */
#define SWAMP__LOOP_CLIENT 2

#define SWAMP__POLL_CONNECTIONS_MAX 500 /* above, poll() walks too many descriptors at each wake-up */

typedef struct swamp__loop_options {
    int role;
    int kind; /* SWAMP_LOOP_AUTO (libev above SWAMP__POLL_CONNECTIONS_MAX where present), _POLL, _LIBEV */
    int max_connections;                             /* also bounds the descriptor table */
    const char *cert_file, *key_file, *ca_cert_file; /* NULL: none */
    const swamp__log *log;
    void (*woken)(void *user); /* loop's thread, at each swamp__loop_wake(), before the tasks; NULL: none */
    void *user;
} swamp__loop_options;

/* Makes the context; the thread starts with swamp__loop_start(). SWAMP_OK, SWAMP_E_NOMEM, _TLS, _UNSUPPORTED, _IO; *why is static. */
int swamp__loop_new(swamp__loop **out, const swamp__loop_options *options, const char **why);
int swamp__loop_start(swamp__loop *loop); /* SWAMP_OK, SWAMP_E_IO */
const swamp__world *
swamp__loop_world(swamp__loop *loop);          /* real clocks, system randomness, the loop's timers */
int swamp__loop_kind(const swamp__loop *loop); /* SWAMP_LOOP_POLL or _LIBEV */
void swamp__loop_wake(swamp__loop *loop);      /* any thread; wake-ups coalesce */
int swamp__loop_post(swamp__loop *loop,
                     swamp__task *task); /* any thread: SWAMP_OK, SWAMP_E_CLOSED (the task was not taken) */
int swamp__loop_is_here(const swamp__loop *loop);       /* 1 on the loop's thread */
int64_t swamp__loop_ticked_ms(const swamp__loop *loop); /* any thread: when the loop last turned, monotonic */
/* Ends the thread after the tasks that were posted before; joins. Connections must have been closed. Not from the loop's thread. */
void swamp__loop_stop(swamp__loop *loop);
void swamp__loop_free(swamp__loop *loop);

#endif
