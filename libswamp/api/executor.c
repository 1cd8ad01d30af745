/* The executor: a small pool of threads over the desk that calls the host's callback (DESIGN 3). */
#include <swamp/status.h>
#include "server.h"
#include "../util/alloc.h"

/* Whose pool this thread is of. Not looked up in the pool: that is being made and joined by other threads. */
static _Thread_local const swamp_server *pool_of;

static void
work_from(swamp_server *server, int which)
{
    swamp_work *work;
    pool_of = server;
    while (swamp__desk_next(server->desk, which, -1, &work) == SWAMP_WORK)
        server->executor.work(work, server->settings.given.executor_user);
}

static void *
serve_cancels(void *server)
{
    work_from(server, SWAMP__DESK_CANCELS);
    return NULL;
}

static void *
serve_others(void *server)
{
    work_from(server, SWAMP__DESK_OTHERS);
    return NULL;
}

int
swamp__pool_start(swamp_server *server)
{
    size_t count = (size_t)server->settings.given.executor_threads + 1;
    if (!server->executor.size)
        return SWAMP_OK;
    server->pool = swamp__calloc(count, sizeof(*server->pool));
    if (!server->pool)
        return SWAMP_E_NOMEM;
    for (; server->pool_count < count; server->pool_count++) {
        void *(*serve)(void *) = server->pool_count == 0 ? serve_cancels : serve_others;
        if (pthread_create(&server->pool[server->pool_count], NULL, serve, server) != 0)
            return SWAMP_E_IO; /* those that run are joined when the parts are taken down */
    }
    return SWAMP_OK;
}

void
swamp__pool_join(swamp_server *server)
{
    for (size_t i = 0; i < server->pool_count; i++)
        pthread_join(server->pool[i], NULL);
    server->pool_count = 0;
    swamp__free(server->pool);
    server->pool = NULL;
}

int
swamp__pool_is_here(const swamp_server *server)
{
    return pool_of == server;
}
