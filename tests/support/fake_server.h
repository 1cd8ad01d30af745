/* An instance with all that stands around it: a world, a store, a host, and clients whose frames can be read. */
#ifndef SWAMP_TESTS_FAKE_SERVER_H
#define SWAMP_TESTS_FAKE_SERVER_H

#include "../../libswamp/server/inner.h"
#include "fake_world.h"

#define FAKE_RUNS_MAX 128

/* Everything happens inside fake_world_advance(): the host takes work and peers take bytes by timers of the node. */
typedef struct fake_server {
    fake_world *world;
    fake_node *node;
    fake_asker *questions, *beats;
    swamp__instance *instance;
    swamp__instance_options options;
    int ready, ended; /* ended: the status */
    swamp__work_desk desk;

    /* the host */
    swamp__list work, returned;
    swamp__timer host_timer;
    int hold_kind;                  /* work of this kind stays on the desk */
    int start_status;               /* what START is answered with; SWAMP_OK */
    int finish_on_cancel;           /* 1: as a good host */
    swamp_run *runs[FAKE_RUNS_MAX]; /* started, not finished; in the order of START */
    size_t run_count;
    size_t resolves, starts, cancels;
    char reason[600]; /* of the last CANCEL */
} fake_server;

/* store NULL: none. options NULL: those of fake_server_options(). */
fake_server *fake_server_new(fake_world *world, swamp_store *store, const swamp__instance_options *options);
void fake_server_options(swamp__instance_options *options); /* the product's defaults */
void
fake_server_kill(fake_server *server); /* the process is gone: no more beats, no answers; free it later */
void fake_server_free(fake_server *server);
void fake_server_emit(fake_server *server, size_t run, size_t count); /* {"kind":"tick","n":N} */
void fake_server_finish(fake_server *server, size_t run, int status);
void fake_server_let_go(fake_server *server); /* hold_kind 0: the host takes what it was kept from */

typedef struct fake_frame {
    struct fake_frame *next;
    int opcode;
    size_t len;
    char text[];
} fake_frame;

/* A client's end of a connection. */
typedef struct fake_peer {
    fake_server *server;
    swamp__conn *conn; /* NULL: closed and freed */
    swamp__timer timer;
    swamp__buf bytes; /* of one fill */
    int wants, blocked, paused, closed,
        mute;       /* closed: the code; blocked: takes no bytes; mute: answers no ping */
    uint64_t taken; /* what the transport says that it took; tests set it */
    size_t fills, largest_fill;
    fake_frame *first, *last;
    size_t count;
} fake_peer;

fake_peer *fake_peer_new(fake_server *server); /* asserts that the connection is taken */
void fake_peer_free(fake_peer *peer);
void fake_peer_send(fake_peer *peer, const char *text);
void fake_peer_unblock(fake_peer *peer);
/* Takes the oldest text frame; NULL: none. Valid until the next call. */
const char *fake_peer_next(fake_peer *peer);
/* Lets up to ms pass until a text frame is there, and takes it; NULL: none came. */
const char *fake_peer_wait(fake_peer *peer, int64_t ms);

#endif
