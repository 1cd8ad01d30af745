/* Who is alive: own beats, watches over the others, deaths as commits (PROTOCOL 5). Starts no thread. */
#ifndef SWAMP_RUN_MEMBERSHIP_H
#define SWAMP_RUN_MEMBERSHIP_H

#include <stdint.h>
#include "../store/question.h"
#include "../store/record.h"
#include "../util/map.h"
#include "../util/world.h"

/*
 * Every half interval one question, the pulse, goes to the heartbeat thread's asker: every other pulse
 * commits the own beat (the first one: if absent; later ones on condition of the previous revision; after an
 * unknown outcome it reads back and knows its own beat by the counter); every pulse lists heartbeats/. The
 * pulse is asked from the core's own timer, so a hung core stops beating; so does one whose store thread has
 * not answered for one TTL (on.healthy).
 *
 * What a pulse brings:
 *
 *   own beat               read of heartbeats/     then
 *   --------------------   ---------------------   ---------------------------------------------------
 *   done, or not due       done                    joined, at the first time; watches count on
 *   failed, not asked      done                    changes and absences are taken, then all watches start afresh
 *   any                    failed                  all watches start afresh
 *   either came late (> half an interval)          the same; `late` is measured from the moment the pulse was due
 *   condition failed       -                       fenced: no further pulse
 *   -                      own record is absent    the same
 *
 * A failed beat is tried again with the next pulse, half an interval later.
 */

/* What this instance has seen of another one. */
typedef struct swamp__watch {
    char instance_id[65];
    uint64_t revision;
    int64_t since_ms; /* own monotonic time: this revision was first seen, or the watch began afresh */
    int64_t interval_ms, stale_ttl_ms; /* the owner's own; defaults where the record cannot be read */
    int fresh; /* the watch has not yet seen a change: alive, but not known to be beating */
    int readable;
    int declaring;                  /* the removal of its heartbeat is with the store */
    int seen_in_list;               /* by the pulse that is being looked at */
    swamp__heartbeat_record record; /* as last read */
} swamp__watch;

typedef struct swamp__membership_events {
    void (*joined)(void *user); /* first own beat and first read are done, once */
    void (*changed)(void *user,
                    const swamp__watch *watch);        /* seen for the first time, or its revision changed */
    void (*dead)(void *user, const char *instance_id); /* its heartbeat is gone, by whomever */
    void (*fenced)(void *user);                        /* own beat's condition failed: declared dead */
    int (*healthy)(void *user);                        /* 0: do not beat (a hung store thread) */
    void (*describe)(void *user,
                     swamp__heartbeat_record *record); /* fill active_runs, draining before a beat */
    void *user;
} swamp__membership_events;

typedef struct swamp__membership {
    const swamp__world *world;
    const swamp__asker *beats; /* the heartbeat thread */
    swamp__membership_events on;
    swamp__heartbeat_record me; /* instance_id, hostname, pid, started_at, address, interval, ttl, local */
    int observer;               /* no own beats: watches only, declares nobody dead */
    swamp__map *watches;        /* instance id -> swamp__watch, without oneself */
    uint64_t revision;          /* of the own record; 0: not yet written */
    int joined, stopped, fenced, read_once;
    int asking; /* questions with the heartbeat thread: pulse, removals; destroy at 0 only */
    int64_t pulse_due_ms, last_pulse_ms, last_good_beat_ms;
    unsigned pulses;
    swamp__timer timer;
    uint64_t watches_restarted; /* counter: how often all watches started afresh */
    uint64_t deaths_declared;   /* counter: heartbeats removed by this instance */

    /* private to membership.c and watch.c */
    struct swamp__pulse *pulse; /* the one question, used again and again */
    int pulsing;        /* it is with the heartbeat thread; pulse_due_ms is then the moment it was due */
    unsigned next_beat; /* number of the pulse that beats next */
    int faulty;         /* the schedule is broken */
    int fault_told;     /* the log says so: it shall say, too, when it is mended */
    int64_t fault_told_ms;
    int in_doubt; /* a first beat, unanswered at doubt_ms, may still land */
    int64_t doubt_ms;
    swamp__map *buried;       /* who was seen to be gone since the pulse was asked: its list may be older */
    void (*left)(void *user); /* of leave */
    void *left_user;
} swamp__membership;

/* The members above `watches` are set by the caller; any function of `on` may be NULL. SWAMP_OK, SWAMP_E_NOMEM. */
int swamp__membership_init(swamp__membership *m);
void swamp__membership_start(swamp__membership *m);
/* Take the own heartbeat away on condition of its revision; `done` runs on the core's thread, whatever came of it. */
void swamp__membership_leave(swamp__membership *m, void (*done)(void *user), void *user);
/* This instance was declared dead, as a pulse or any refused write says: tells on.fenced once; no pulse follows. */
void swamp__membership_fence(swamp__membership *m);
void swamp__membership_destroy(swamp__membership *m); /* no question may be under way: see asking */

/* An attach read the owner's record: the watch learns it too. revision 0: it was absent. */
void swamp__membership_observe(swamp__membership *m, const char *instance_id, uint64_t revision,
                               const char *value, size_t len);
swamp__watch *swamp__membership_find(swamp__membership *m,
                                     const char *instance_id); /* NULL: never seen, or dead */
int64_t swamp__membership_unchanged_ms(const swamp__membership *m, const swamp__watch *watch);
/* Changed within 1.5 of its own intervals (PROTOCOL 6.5); 0 for a watch that has not seen a change yet. */
int swamp__membership_is_current(const swamp__membership *m, const swamp__watch *watch);
/* Look at every watch now: those past their TTL are declared dead. Also called by each pulse. */
void swamp__membership_judge(swamp__membership *m);

#endif
