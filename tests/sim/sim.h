/* A cluster in one process, from one seed: real instances and real sessions, simulated links, hosts, faults
 * and time. */
#ifndef SWAMP_TESTS_SIM_H
#define SWAMP_TESTS_SIM_H

#include <stdint.h>
#include "../../libswamp/server/instance.h"
#include "../../libswamp/session/session.h"
#include "../../libswamp/util/buf.h"
#include "../support/fake_world.h"

#define SIM_SLOTS_MAX 7 /* places (address and port) at which an instance can stand */
#define SIM_CLIENTS_MAX 20
#define SIM_RUNS_MAX 64
#define SIM_RECORDS_MAX 512
#define SIM_PLAN_MAX 96   /* what a seed lets happen, clients included */
#define SIM_KINDS_MAX 40  /* of it */
#define SIM_STREAMS_MAX 8 /* requests of one connection that are looked at */

typedef struct cluster cluster;
typedef struct sim_instance sim_instance;
typedef struct sim_link sim_link;
typedef struct sim_client sim_client;
typedef struct sim_greedy sim_greedy;

/*
 * What happens in a play is a list that the seed alone decides. Each entry draws from dice of its own, and so do
 * each instance, client and link, so that leaving an entry out changes little else: shrink.c lives on that.
 */
typedef struct sim_entry {
    int64_t at_ms;
    int kind; /* sim_kind_name() */
    uint64_t dice;
} sim_entry;

/* Which play of a seed. */
typedef struct sim_choice {
    uint64_t seed;
    int64_t chaos_ms;        /* 0: as the seed has it; shorter: what comes later does not happen */
    int keeps;               /* 1: only those entries of the plan happen that `keep` names */
    char keep[SIM_PLAN_MAX]; /* 1: it happens */
    int recording;           /* 1: what happens is written down in `history`; it changes nothing else */
} sim_choice;

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
} sim_run;

/* runs/{id} as it lies in the store. */
typedef struct sim_record {
    char id[64];
    int present, is_final;
    char status[16], reason[32];
} sim_record;

/*
 * The directed fault of a seed: one step of a run's life, of a death or of a stop, and what is done exactly
 * then (steps.c).
 */
typedef struct sim_aim {
    int step, act; /* 0: none */
    int skip;      /* so many times the step passes before */
    int taken;
    unsigned strikes; /* so far: two where a reaper is killed, too */
    uint64_t dice;
    char victim[40]; /* whose reaper shall die too; "": none */
} sim_aim;

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
    int next_fault;          /* of its next commit; FAKE_FINE: none */
    const void *reaping;     /* steps.c: the question that reaps */
    int phase;               /* cover.c: of its stop, as last seen */
    int64_t beat_ms;         /* when its heartbeat was last written; 0: not yet */
    int gone;                /* its heartbeat was removed, by whomever */
    int64_t began_ms;
    int64_t phase_since_ms;
    int pulsing, joined, fenced; /* cover.c: as last seen */
    unsigned held, withheld;
    uint64_t restarts;
    fake_node *node;
    fake_asker *questions, *beats;
    swamp__instance *core;
    swamp__work_desk desk;
    swamp__list works;         /* sim_work: given back to the core later */
    swamp__list jobs;          /* sim_job: runs that the host executes */
    swamp__timer listen_timer; /* it listens, whether it has joined or not (DESIGN 6) */
    swamp__timer pause_timer;  /* on the sim's node: the end of a pause, or of a store fault */
};

/* A place for an instance: the timer puts a new one up. */
typedef struct sim_slot {
    cluster *of;
    int number;
    unsigned incarnations;
    sim_instance *at; /* who stands there now; NULL: nobody */
    swamp__timer timer;
} sim_slot;

struct cluster {
    sim_choice choice;
    uint64_t *dice; /* what sim_pick() draws from: the entry that happens, else the cluster's own */
    uint64_t own_dice;
    fake_world *world;
    fake_node *outside; /* clients, the balancer, faults: whatever no instance's pause can hold up */
    swamp_store *store; /* record.c around the real one */
    swamp_store *real;
    sim_instance *writer; /* whose commit it is */
    int slots;
    sim_slot slot[SIM_SLOTS_MAX];
    sim_instance *instances;
    sim_link *links;
    sim_greedy *greedy;
    sim_client *clients[SIM_CLIENTS_MAX];
    size_t client_count;
    sim_run runs[SIM_RUNS_MAX];
    size_t run_count;
    sim_record records[SIM_RECORDS_MAX];
    size_t record_count, starts_sent;
    sim_entry plan[SIM_PLAN_MAX];
    size_t plan_count, plan_at;
    swamp__timer plan_timer;
    sim_aim aim;
    swamp__timer outage_timer, refusal_timer;
    int outage;       /* not 0: the store is down for everybody, in this way */
    int refusal;      /* 1: dials are refused; 2: they vanish */
    int dials_struck; /* by it so far */
    int balancer;
    unsigned turn;           /* of the round robin */
    swamp__list late_writes; /* late.c */
    int64_t chaos_until_ms, healed_ms;
    int64_t clients_ms, store_ms; /* after healing: until every client had ended, until the store was clean */
    int calm; /* links are cut, nothing else goes wrong: every accepted run's client must see its end */
    unsigned log_events; /* run_log_events of the instances */
    unsigned max_connections;
    size_t all_logs_bytes;
    int64_t linger_ms;
    unsigned starts[SIM_CLIENTS_MAX];     /* runs that hosts began for the request of this client */
    unsigned happened[SIM_KINDS_MAX];     /* what did something, by kind: sim_kind_name() */
    unsigned told[SWAMP_EVENT_ERROR + 1]; /* events that clients got, by type */
    unsigned recorded[4]; /* runs with a final status: by SWAMP_RUN_..., [0]: interrupted ones */
    swamp__buf history;   /* what happened, line by line */
    char failure[1000];   /* the first rule that was broken: "validator: what"; "": none */
};

/* Plays once: 0, or 1 and the failure is in *out, to be freed with sim_free(). */
int sim_play(const sim_choice *choice, cluster **out);
void sim_free(cluster *sim);

/* sim.c */
int64_t sim_draw(uint64_t *dice, int64_t low, int64_t high);      /* uniform */
uint64_t sim_dice(const cluster *sim, int what, uint64_t number); /* not 0; of this seed, for one thing */
#define SIM_DICE_PLAN 1
#define SIM_DICE_NODE 2
#define SIM_DICE_CLIENT 3
#define SIM_DICE_LINK 4
int64_t sim_pick(cluster *sim, int64_t low, int64_t high);
int sim_odds(cluster *sim, int percent);
void sim_note(cluster *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The format begins with the validator's name: ordered, unique, reliable, resumable, terminal, fenced, clean,
 * bounded, live, or sim for what cannot be. */
void sim_fail(cluster *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* plan.c */
const char *sim_kind_name(size_t kind); /* NULL: there is no such kind */
void sim_plan_make(cluster *sim);
void sim_plan_begin(cluster *sim);
void sim_plan_print(const cluster *sim, swamp__buf *out); /* what of it happened, a line each */

/* faults.c: what the entries of a plan do */
typedef struct sim_kind {
    const char *name;
    int weight, weight_when_calm; /* 0: never by chance */
    /* What is done, to all or to one that is picked when it happens, if there is one. One of the four is given.
     * 1: something was done; 0: there was nothing to do, or not yet, and who does it counts it. */
    int (*to_all)(cluster *sim);
    int (*to_link)(cluster *sim, sim_link *link, int how);
    int (*to_client)(cluster *sim, sim_client *client);
    int (*to_instance)(cluster *sim, sim_instance *instance, int how);
    sim_instance *(*pick)(cluster *sim); /* which instance */
    int how;
} sim_kind;
extern const sim_kind sim_kinds[];
extern const size_t sim_kind_count;
int sim_kind_happen(cluster *sim, const sim_kind *kind); /* 1: it did something */
/* Places in it of what plan.c puts into a plan itself, and of what is counted where it strikes. */
#define SIM_KIND_CLIENT 0
#define SIM_KIND_DEATH 1
#define SIM_KIND_STOP 2
#define SIM_KIND_GREEDY 3
#define SIM_KIND_WRONG_CLOCK 4
#define SIM_KIND_DRIFTING_CLOCK 5
#define SIM_KIND_TEAR 10
#define SIM_KIND_REFUSAL 12
#define SIM_KIND_STORE_KILL 14
int sim_faults_init(cluster *sim);
void sim_faults_end(cluster *sim); /* everything heals */
void sim_faults_destroy(cluster *sim);

/* steps.c */
#define SIM_STEPS 23
#define SIM_ACTS 6
#define SIM_STEP_START 1
#define SIM_STEP_ADMISSION 2
#define SIM_STEP_ACCEPTED 3
#define SIM_STEP_FIRST_EVENT 4
#define SIM_STEP_ANY_EVENT 5
#define SIM_STEP_FINISH 6
#define SIM_STEP_FINAL 7
#define SIM_STEP_LAST_EVENT 8
#define SIM_STEP_DONE 9
#define SIM_STEP_LINGER 10
#define SIM_STEP_DEATH 11
#define SIM_STEP_REAP_RUNS 12
#define SIM_STEP_REAP_LIVING 13
#define SIM_STEP_REAP_ACTIVE 14
#define SIM_STEP_REAP_RUN 15
#define SIM_STEP_REAP_COMMIT 16
#define SIM_STEP_ENDING 20
#define SIM_STEP_GRACE 17 /* and one for each phase of a stop until 23, LEAVING */
const char *sim_step_name(int step);
const char *sim_act_name(int act); /* 1 to SIM_ACTS */
void sim_aim_make(cluster *sim);
int sim_aim_wants(const cluster *sim, int first, int last); /* is its step one of these? */
void sim_step(sim_instance *actor, int step);
int sim_step_at_store(sim_instance *actor, const fake_call *call); /* a fault for this call */

/* cover.c, cover_rows.c: which transitions of the core's machines were taken, in this process */
size_t sim_cover_rows(void);
const char *sim_cover_name(size_t row);
unsigned long long sim_cover_taken(size_t row);
const char *
sim_cover_elsewhere(size_t row); /* the test that holds a row which no play can reach; NULL: none */
/* NULL, or a bug that a test plants: called when the store has done a write of a run's life (life_write.h). */
extern void (*sim_after_write)(const char *kind, swamp__question *question);
void sim_cover_after(sim_instance *instance); /* its core was busy; also tells steps.c of its stop */

/* instance.c */
sim_instance *sim_instance_new(cluster *sim, int slot);
sim_instance *sim_instance_find(cluster *sim, const char *id);   /* NULL: there never was one */
void sim_instance_kill(sim_instance *instance, int64_t back_ms); /* -1: as its dice say */
void sim_instance_pause(sim_instance *instance, int64_t ms);
#define SIM_STORE_DOWN 0
#define SIM_STORE_FAILS 1
#define SIM_STORE_SLOW 2
#define SIM_STORE_HANGS 3
#define SIM_STORE_LATE 4
#define SIM_STORE_LOSES 5
void sim_instance_store_fault(sim_instance *instance, int way, int64_t ms);
void sim_instance_heal(sim_instance *instance);         /* whatever was done to it ends now; not a kill */
int sim_instance_is_idle(const sim_instance *instance); /* nothing is being done to it */
void sim_instance_close(
    sim_instance *instance); /* at the end: everything it asked is answered, its host lets go */
void sim_instance_free(sim_instance *instance);

/* host.c */
void sim_host_init(sim_instance *instance);
void sim_host_close(sim_instance *instance);
int sim_host_is_busy(const sim_instance *instance);

/* link.c */
sim_link *sim_link_dial(sim_client *client, const char *url, uint64_t dice);
void sim_link_send(sim_link *link, const char *text, size_t len);
void sim_link_ping(sim_link *link);
void sim_link_hang_up(sim_link *link); /* the client's side goes */
void sim_link_pause(sim_link *link, int paused);
#define SIM_CUT_RESET 0 /* both ends learn of it */
#define SIM_CUT_BOTH 1  /* nobody does: bytes vanish in both directions ... */
#define SIM_CUT_UP 2    /* ... towards the instance */
#define SIM_CUT_DOWN 3  /* ... towards the client */
#define SIM_CUT_TORN 4  /* in the midst of the next message: it is lost, then both ends learn of it */
int sim_link_cut(sim_link *link, int how);
int sim_link_delay(sim_link *link, int64_t ms); /* from now on, each message */
void sim_links_of_dead(sim_instance *instance); /* its process is gone: most peers get a reset */
void sim_links_close(cluster *sim);             /* at the end */
void sim_links_free(cluster *sim);
sim_link *sim_link_random(cluster *sim); /* an open one; NULL: none */
unsigned sim_links_to(const sim_instance *instance);

/* balancer.c */
const char *sim_balancer_name(const cluster *sim);
int sim_balancer_kinds(void);
sim_instance *sim_balancer_choose(cluster *sim, const char *url, const char *client, uint64_t *dice);

/* client.c */
void sim_client_start(cluster *sim, int number);                      /* a new client that starts a run */
void sim_client_attach(cluster *sim, int number, const char *run_id); /* a new client that attaches */
void sim_client_connected(sim_client *client);
void sim_client_lost(sim_client *client, int how, int64_t retry_after_ms, const char *why);
void sim_client_heard(sim_client *client, const char *text, size_t len);
void sim_client_alive(sim_client *client);
/* 1: it did so. */
int sim_client_cancel(sim_client *client);
int sim_client_restart(sim_client *client); /* the process ends; another goes on from its cursor */
int sim_client_stop_reading(sim_client *client, int64_t ms);
int sim_client_has_ended(const sim_client *client);
void sim_client_free(sim_client *client);
cluster *sim_client_sim(const sim_client *client);
const char *sim_client_name(const sim_client *client);

/* greedy.c */
int sim_greedy_come(sim_instance *instance, int64_t ms); /* reads after so long, and leaves; 0: was refused */
void sim_greedy_leave(cluster *sim);                     /* at the end */
void sim_greedy_free(cluster *sim);

/* wire.c: both are called as the text is sent, before it can get lost */
void sim_wire_asked(sim_wire *wire, const char *text, size_t len);
void sim_wire_said(sim_wire *wire, sim_instance *instance, const char *name, const char *text, size_t len);

/* late.c: the commit of this call is made later; the caller hears that nobody knows */
void sim_late_commit(cluster *sim, const fake_call *call, int64_t ms);
void sim_late_free(cluster *sim);

/* record.c: the store as everybody has it, watched */
void sim_records_open(cluster *sim);
void sim_records_close(cluster *sim);
/* Reads runs/{id}: 1 and status (final or not) and reason; 0: no record. */
int sim_recorded(cluster *sim, const char *id, char status[16], char reason[32]);
/* A client was told that this instance is dead: then its heartbeat is gone. */
void sim_check_death(cluster *sim, const char *told, const char *instance_id);

/* check.c: the truth, and the store against it */
sim_run *sim_run_find(cluster *sim, const char *id); /* NULL: no host ever had it */
sim_run *sim_run_add(cluster *sim, const char *id);
void sim_check_memory(sim_instance *instance); /* whenever its core was busy */
int sim_is_clean(cluster *sim);                /* nothing is under way any more */
void sim_check_leftovers(cluster *sim);        /* after everything has settled */

#endif
