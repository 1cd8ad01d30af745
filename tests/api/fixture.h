/* A host with a server of its own, and shorthands for sessions: the public interface only. */
#ifndef SWAMP_TESTS_API_FIXTURE_H
#define SWAMP_TESTS_API_FIXTURE_H

#include <pthread.h>
#include <string.h>
#include <swamp/swamp.h>
#include "tap.h"

#define LONG_MS 30000 /* an upper bound, never a wait */
#define HELD_MAX 32

/* Workflows: "count" (5 events, then completed), "many" (`many` events of `pad` bytes), "hold" (until told). */
typedef struct host {
    swamp_store *store;
    swamp_server *server;
    char url[128];
    pthread_t puller;
    int pulls;
    int obey;      /* a CANCEL ends the run */
    int many, pad; /* of "many" */
    int destroyed; /* calls of the executor's destroy */
    swamp_executor executor;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    swamp_run *held[HELD_MAX];
    size_t held_count;
    int cancels;
    char reason[256];
} host;

/* Quick heartbeats, no drain grace. */
void host_options(swamp_server_options *options);
/* host->store NULL: one in memory is made. with_executor 0: a thread of the host's pulls. */
void host_start(host *h, const swamp_server_options *options, int with_executor);
/* The same with the options above and these flags. */
void host_begin(host *h, uint32_t flags, int with_executor);
/* Makes the host and its store only. */
void host_init(host *h);
swamp_run *host_take(host *h); /* waits for the next "hold" */
void host_wait_cancels(host *h, int cancels);
void host_stop(host *h); /* stops at once, frees all */
void do_work(host *h, swamp_work *work);

swamp_server *
local_server(void); /* SWAMP_SERVER_LOCAL, started; the test itself takes its work. Caller frees. */
/* The next piece of work, which is of this kind. */
swamp_work *next_work(swamp_server *server, int kind);
void answer_known(swamp_work *resolve); /* the name is known */
/* What an observer does that has seen no beat for long enough (PROTOCOL 5). Its id goes to id. */
void declare_dead(swamp_server *server, swamp_store *store, char *id, size_t cap);

int emit_text(swamp_run *run, const char *line);
int finish_now(swamp_run *run, int status);

swamp_client *client_of(const char *url);
/* Small delays; the rest as by default. */
void session_options(swamp_session_options *options);
swamp_session *start_remote(swamp_client *client, const char *workflow);
swamp_session *start_local(swamp_server *server, const char *workflow);
swamp_session *attach_to(swamp_client *client, const char *run_or_cursor);
/* The next event of this type, those before are dropped; fails when the session ends without. Caller frees. */
swamp_event *next_of(swamp_session *session, int type);
void expect_end(swamp_session *session); /* SWAMP_END is next */
/* Takes all: checks that the numbers rise by one, except across gaps; returns the status of DONE in buf. */
void read_all(swamp_session *session, int *events, int *gaps, char *status, size_t cap);

#endif
