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

/* States of the handle, under its lock:  NEW --start--> UP --stop--> STOPPING --parts taken down--> DOWN */
#define SWAMP__SERVER_NEW 0
#define SWAMP__SERVER_UP 1
#define SWAMP__SERVER_STOPPING 2
#define SWAMP__SERVER_DOWN 3

struct swamp_server {
    swamp__settings settings;
    char instance_id[SWAMP__ID_SIZE];
    swamp__log log;
    swamp__error error;
    swamp_store *store; /* a reference; NULL: none */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* on the monotonic clock */
    int state;
    int listening; /* first heartbeat and read are done, or the wait for them is over */
    int ended;     /* 0; SWAMP_END, SWAMP_E_FENCED: what the core said */

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

/* The server's home and core, while it is up: SWAMP_OK and a reference to the home; SWAMP_E_STATE. */
int swamp__server_home(swamp_server *server, swamp__home **home);

int swamp__pool_start(swamp_server *server); /* executor.c: SWAMP_OK, SWAMP_E_IO, SWAMP_E_NOMEM */
void swamp__pool_join(swamp_server *server);
int swamp__pool_is_here(const swamp_server *server); /* 1 on one of the pool's threads */

#endif
