/* The sidecar lock file of a SQLite store: a lock with a deadline for all processes, and one byte for the
 * role of checkpointer. */
#ifndef SWAMP_STORE_SQLITE_LOCK_H
#define SWAMP_STORE_SQLITE_LOCK_H

#include <stdint.h>

/*
 * One open description of its own, so that two threads of a process exclude each other as two processes do. A
 * holder that is killed lets go at once; one that is stopped does not, hence the deadline.
 */
typedef struct swamp__file_lock {
    const char *path; /* borrowed */
    int fd;           /* -1: not open */
    uint32_t dice;
} swamp__file_lock;

int swamp__file_lock_open(swamp__file_lock *lock, const char *path); /* SWAMP_OK; SWAMP_E_IO with errno */
void swamp__file_lock_close(swamp__file_lock *lock);                 /* lets go too; fine when not open */

/* SWAMP_OK; SWAMP_E_TIMEOUT; SWAMP_E_IO with errno. Tries once when the deadline (monotonic) is past. */
int swamp__file_lock_take(swamp__file_lock *lock, int64_t deadline_us);
void swamp__file_lock_leave(swamp__file_lock *lock);

/* 1: this description has the role of checkpointer, until it is closed; 0: another one has it. */
int swamp__file_lock_elect(swamp__file_lock *lock);

/* The process that holds the lock, for messages to people; 0: none, or not told. */
int swamp__file_lock_holder(const char *path);

#endif
