/* A cluster in one process, from one seed: real instances and real sessions, simulated links, hosts, faults
 * and time. */
#ifndef SWAMP_TESTS_SIM_H
#define SWAMP_TESTS_SIM_H

#include <stdint.h>
#include "../../libswamp/server/instance.h"
#include "../../libswamp/session/session.h"
#include "../../libswamp/util/buf.h"
#include "../support/fake_world.h"

#define SIM_SLOTS_MAX 4 /* places (address and port) at which an instance can stand */
#define SIM_CLIENTS_MAX 12
#define SIM_RUNS_MAX 64
#define SIM_FAULTS_MAX 16 /* kinds of faults */
#define SIM_STREAMS_MAX 8 /* requests of one connection that are looked at */

typedef struct cluster cluster;
typedef struct sim_instance sim_instance;
typedef struct sim_link sim_link;
typedef struct sim_client sim_client;

/* One request's stream of events as its connection carried it. */
typedef struct sim_stream {
    char id[64];
    char run_id[64]; /* of an attach */
    uint64_t last;
    int ended;
} sim_stream;

typedef struct sim_wire {
    sim_stream streams[SIM_STREAMS_MAX];
    size_t next;
} sim_wire;

/* What a run really did, as its host knows it. */
typedef struct sim_run {
    char id[64];
    uint64_t emitted;  /* events that emit took, numbered from 1 in their order */
    int host_finished; /* finish was called; its return value is in finish_rc */
    int finish_rc;
    int host_status; /* SWAMP_RUN_... as given to finish */
    sim_instance *owner;
    char final[16]; /* final status as first seen in the store; "" not yet */
    char final_reason[32];
} sim_run;

/* One incarnation of an instance, with its host. Stays until the end of the simulation, so that late events
 * find it. */
struct sim_instance {
    sim_instance *next;
    cluster *of;
    int slot;
    char name[24], id[40];
    int alive;               /* takes dials */
    int dead;                /* killed: its node stands still for ever */
    int ended;               /* on.ended came */
    int disturbed;           /* ever killed, paused, stopped or cut from the store, it alone */
    int calls_to_live;       /* killed at that call to the store; 0: not */
    int faulty;              /* its store is */
    unsigned late_per_mille; /* so many of its commits land late, their answer is lost */
    fake_node *node;
    fake_asker *questions, *beats;
    swamp__instance *core;
    swamp__work_desk desk;
    swamp__list works;        /* sim_work: given back to the core later */
    swamp__list jobs;         /* sim_job: runs that the host executes */
    swamp__timer pause_timer; /* on the sim's node: the end of a pause, or of a store fault */
};

struct cluster {
    uint64_t seed;
    fake_world *world;
    fake_node *outside; /* clients, the balancer, faults: whatever no instance's pause can hold up */
    swamp_store *store;
    int slots;
    sim_instance *at[SIM_SLOTS_MAX];         /* who stands there now; NULL: nobody */
    swamp__timer slot_timers[SIM_SLOTS_MAX]; /* a new instance comes */
    sim_instance *instances;
    sim_link *links;
    sim_client *clients[SIM_CLIENTS_MAX];
    size_t client_count;
    sim_run runs[SIM_RUNS_MAX];
    size_t run_count;
    swamp__timer fault_timer, arrival_timer;
    swamp__timer outage_timer;
    int outage;              /* not 0: the store is down for everybody, in this way */
    swamp__list late_writes; /* late.c */
    int64_t chaos_until_ms;
    int calm; /* links are cut, nothing else goes wrong: every accepted run's client must see its end */
    unsigned log_events;                  /* run_log_events of the instances */
    unsigned starts[SIM_CLIENTS_MAX];     /* runs that hosts began for the request of this client */
    unsigned faults[SIM_FAULTS_MAX];      /* by kind: sim_fault_name() */
    unsigned told[SWAMP_EVENT_ERROR + 1]; /* events that clients got, by type */
    unsigned recorded[4]; /* runs with a final status: by SWAMP_RUN_..., [0]: interrupted ones */
    swamp__buf history;   /* what happened, line by line */
    char failure[1000];   /* the first rule that was broken; "": none */
};

/* Runs one seed: 0, or 1 and the failure and the history are in *out, to be freed with sim_free(). */
int sim_play(uint64_t seed, cluster **out);
void sim_free(cluster *sim);
const char *sim_fault_name(size_t kind); /* NULL: there is no such kind */

/* sim.c */
int64_t sim_pick(cluster *sim, int64_t low, int64_t high); /* uniform, from the seed */
int sim_odds(cluster *sim, int percent);
void sim_note(cluster *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_fail(cluster *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* instance.c */
sim_instance *sim_instance_new(cluster *sim, int slot);
void sim_instance_kill(sim_instance *instance);
void sim_instance_pause(sim_instance *instance, int64_t ms);
void sim_instance_store_fault(sim_instance *instance, int64_t ms);
void sim_instance_heal(sim_instance *instance); /* whatever was done to it ends now; not a kill */
void sim_instance_close(
    sim_instance *instance); /* at the end: everything it asked is answered, its host lets go */
void sim_instance_free(sim_instance *instance);

/* link.c */
sim_link *sim_link_dial(sim_client *client, const char *url);
void sim_link_send(sim_link *link, const char *text, size_t len);
void sim_link_ping(sim_link *link);
void sim_link_hang_up(sim_link *link); /* the client's side goes */
void sim_link_pause(sim_link *link, int paused);
#define SIM_CUT_RESET 0 /* both ends learn of it */
#define SIM_CUT_BOTH 1  /* nobody does: bytes vanish in both directions ... */
#define SIM_CUT_UP 2    /* ... towards the instance */
#define SIM_CUT_DOWN 3  /* ... towards the client */
void sim_link_cut(sim_link *link, int how);
void sim_links_of_dead(sim_instance *instance); /* its process is gone: most peers get a reset */
int sim_link_is_open(const sim_link *link);
void sim_links_close(cluster *sim); /* at the end */
void sim_links_free(cluster *sim);
sim_link *sim_link_random(cluster *sim); /* an open one; NULL: none */

/* client.c */
void sim_client_start(cluster *sim);                      /* a new client that starts a run */
void sim_client_attach(cluster *sim, const char *run_id); /* a new client that attaches */
void sim_client_connected(sim_client *client);
void sim_client_lost(sim_client *client, int how, int64_t retry_after_ms, const char *why);
void sim_client_heard(sim_client *client, const char *text, size_t len);
void sim_client_alive(sim_client *client);
void sim_client_cancel(sim_client *client);
void sim_client_restart(sim_client *client); /* the process ends; another goes on from its cursor */
int sim_client_has_ended(const sim_client *client);
void sim_client_check_end(sim_client *client);
void sim_client_free(sim_client *client);
cluster *sim_client_sim(const sim_client *client);
const char *sim_client_name(const sim_client *client);

/* wire.c: both are called as the text is sent, before it can get lost */
void sim_wire_asked(sim_wire *wire, const char *text, size_t len);
void sim_wire_said(sim_wire *wire, cluster *sim, const char *name, const char *text, size_t len);

/* late.c: the commit of this call is made later; the caller hears that nobody knows */
void sim_late_commit(cluster *sim, const fake_call *call);
void sim_late_free(cluster *sim);

/* check.c: the truth, and the store against it */
sim_run *sim_run_find(cluster *sim, const char *id); /* NULL: no host ever had it */
sim_run *sim_run_add(cluster *sim, const char *id);
/* Reads runs/{id}: 1 and status (final or not) and reason; 0: no record. */
int sim_recorded(cluster *sim, const char *id, char status[16], char reason[32]);
void sim_check_finals(cluster *sim); /* no final status changes */
/* A client was told that this instance is dead: then its heartbeat is gone. */
void sim_check_death(cluster *sim, const char *told, const char *instance_id);
void sim_check_leftovers(cluster *sim); /* after everything has settled */

#endif
