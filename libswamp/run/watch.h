/* The watches over the other instances: since when is each record unchanged, and whose time is over (PROTOCOL 5). */
#ifndef SWAMP_RUN_WATCH_H
#define SWAMP_RUN_WATCH_H

#include "heartbeat.h"
#include "membership.h"

int swamp__watch_init(swamp__membership *m); /* SWAMP_OK, SWAMP_E_NOMEM */
void swamp__watch_destroy(swamp__membership *m);

/* A pulse is about to be asked: what is seen from now on is not older than its list. */
void swamp__watch_before_pulse(swamp__membership *m);
/* What the pulse has read of the others, a whole list: changes and absences. */
void swamp__watch_take_list(swamp__membership *m, const swamp__pulse *pulse, int64_t now_ms);
/* The time measured so far does not count: every watch starts now, and is not known to be beating. */
void swamp__watch_restart_all(swamp__membership *m, int64_t now_ms);
/* When the next watch will pass its owner's TTL; INT64_MAX: none that could. */
int64_t swamp__watch_next_expiry(swamp__membership *m, int64_t now_ms);

/* 1 while the pulse that is awaited, or under way, is not more than half an interval late. */
int swamp__membership_on_schedule(const swamp__membership *m, int64_t now_ms);

#endif
