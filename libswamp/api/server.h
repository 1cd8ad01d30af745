/* The public server handle's inside, shared by the files of api/ that serve it. */
#ifndef SWAMP_API_SERVER_H
#define SWAMP_API_SERVER_H

#include <swamp/server.h>
#include "asker.h"
#include "desk.h"
#include "home.h"
#include "settings.h"
#include "../net/listen.h"
#include "../util/error.h"

/*
 * States of the handle, under its lock. A start that fails, and a stop before any start, lead to DOWN at once.
 *
 *   NEW --start--> STARTING --parts stand--> UP --stop--> STOPPING --parts taken down--> DOWN
 */
#define SWAMP__SERVER_NEW 0
#define SWAMP__SERVER_STARTING 1
#define SWAMP__SERVER_UP 2
#define SWAMP__SERVER_STOPPING 3
#define SWAMP__SERVER_DOWN 4

struct swamp_server {
    swamp__settings settings;
    char instance_id[SWAMP__ID_SIZE];
    swamp__log log;
    swamp__error error;
    swamp_store *store; /* a reference; NULL: none */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* on the monotonic clock */
    int state;
    int listening;  /* first heartbeat and read are done, or the wait for them is over */
    int emptied;    /* the core has ended and no connection is left */
    int ended;      /* 0; SWAMP_END, SWAMP_E_FENCED: what the core said */
    int callers;    /* calls that may be asleep in here: free waits for them */
    pthread_t busy; /* STARTING, STOPPING: who does it */
    size_t held;    /* runs that the host still held when the server went down */

    /* made by start, taken down by stop */
    swamp__loop *loop;
    swamp__home *home;         /* of the local sessions */
    swamp__listener *listener; /* NULL: a server without a port */
    swamp__asker_thread questions, beats;
    swamp__desk *desk;
    swamp__instance *instance;
    pthread_t *pool;
    size_t pool_count;
    swamp_executor executor; /* size 0: the host calls swamp_server_next() */
};

/* How another thread reaches the core: all of it for use on the loop's thread, in tasks of this home only. */
typedef struct swamp__server_door {
    swamp__home *home; /* a reference */
    swamp__instance *instance;
    const swamp__world *world;
} swamp__server_door;

/* While the server is up: SWAMP_OK; else SWAMP_E_STATE. */
int swamp__server_reach(swamp_server *server, swamp__server_door *out);
void swamp__server_enter(swamp_server *server);
void swamp__server_leave(swamp_server *server);

/* server_parts.c */
int swamp__parts_make(swamp_server *server);       /* SWAMP_OK, or what swamp_server_start() returns */
int swamp__parts_start(swamp_server *server);      /* the same; the threads */
void swamp__parts_listen(void *arg);               /* loop's thread; the first call counts */
void swamp__parts_take_down(swamp_server *server); /* also a server that was only half made */

int swamp__pool_start(swamp_server *server); /* executor.c: SWAMP_OK, SWAMP_E_IO, SWAMP_E_NOMEM */
void swamp__pool_join(swamp_server *server);
int swamp__pool_is_here(const swamp_server *server); /* 1 on one of this server's pool's threads */

#endif
