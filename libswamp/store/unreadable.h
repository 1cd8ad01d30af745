/* Records that cannot be read: each is named in the log once and counted, however often it is met. Not their handling. */
#ifndef SWAMP_STORE_UNREADABLE_H
#define SWAMP_STORE_UNREADABLE_H

#include <pthread.h>
#include <stdint.h>
#include "../util/log.h"

#define SWAMP__UNREADABLE_MAX 1024 /* that are told apart; those beyond are neither named nor counted */

/* One for each store handle, so that its users need not agree on anything. Every function may be called on any thread. */
typedef struct swamp__unreadable {
    pthread_mutex_t lock;
    const swamp__log *log; /* of the server that was started last; NULL: counted only */
    uint64_t count;
    uint64_t seen[SWAMP__UNREADABLE_MAX *
                  2]; /* hashes of key and revision (0: whichever), open addressing; 0: free */
} swamp__unreadable;

void swamp__unreadable_init(swamp__unreadable *records);
void swamp__unreadable_destroy(swamp__unreadable *records);
/* The next line goes there. */
void swamp__unreadable_set_log(swamp__unreadable *records, const swamp__log *log);
void
swamp__unreadable_unset_log(swamp__unreadable *records,
                            const swamp__log *log); /* if it is still this one; no line is under way then */
void swamp__unreadable_note(swamp__unreadable *records, const char *key, uint64_t revision);
uint64_t swamp__unreadable_count(swamp__unreadable *records);

#endif
