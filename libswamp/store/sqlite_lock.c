/* flock() polled up to a deadline: it has no time-out of its own, and SQLite's busy handler starves (FACTS: 1
 * to 6,101). */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../util/clock.h"
#include "sqlite_lock.h"

#define POLL_MIN_US 100
#define POLL_SPAN_US 101 /* 100 to 200 us, so that waiters do not march in step */

int
swamp__file_lock_open(swamp__file_lock *lock, const char *path)
{
    lock->path = path;
    lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (lock->fd < 0)
        return SWAMP_E_IO;
    lock->dice = (uint32_t)swamp__clock_monotonic_us() ^ ((uint32_t)getpid() << 8);
    return SWAMP_OK;
}

void
swamp__file_lock_close(swamp__file_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}

/* Somebody removed the lock file: whoever comes next makes another one, and would not be excluded by this one. */
static int
is_removed(const swamp__file_lock *lock)
{
    struct stat here;

    return fstat(lock->fd, &here) == 0 && here.st_nlink == 0;
}

static void
sleep_a_little(swamp__file_lock *lock, int64_t left_us)
{
    int64_t pause_us;
    struct timespec pause = {0};

    lock->dice = lock->dice * 1664525u + 1013904223u;
    pause_us = POLL_MIN_US + (lock->dice >> 8) % POLL_SPAN_US;
    if (pause_us > left_us)
        pause_us = left_us;
    pause.tv_nsec = (long)pause_us * 1000;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL); /* a signal only makes the poll come early */
}

int
swamp__file_lock_take(swamp__file_lock *lock, int64_t deadline_us)
{
    assert(lock->fd >= 0);
    for (;;) {
        if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0) {
            if (!is_removed(lock))
                return SWAMP_OK;
            swamp__file_lock_close(lock);
            if (swamp__file_lock_open(lock, lock->path) < 0)
                return SWAMP_E_IO;
        } else if (errno == EWOULDBLOCK) {
            int64_t left_us = deadline_us - swamp__clock_monotonic_us();
            if (left_us <= 0)
                return SWAMP_E_TIMEOUT;
            sleep_a_little(lock, left_us);
        } else if (errno != EINTR) {
            return SWAMP_E_IO;
        }
    }
}

void
swamp__file_lock_leave(swamp__file_lock *lock)
{
    flock(lock->fd, LOCK_UN);
}

int
swamp__file_lock_elect(swamp__file_lock *lock)
{
    /* An open-file-description lock: its own, apart from flock(), gone with the description. */
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

    return fcntl(lock->fd, F_OFD_SETLK, &byte) == 0;
}

int
swamp__file_lock_holder(const char *path)
{
    struct stat file;
    FILE *locks;
    char line[256];
    int holder = 0;

    if (stat(path, &file) < 0)
        return 0;
    locks = fopen("/proc/locks", "re");
    if (!locks)
        return 0;
    while (!holder && fgets(line, sizeof line, locks)) {
        int pid;
        unsigned major_number, minor_number;
        unsigned long inode;
        /* "4: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; a waiter's line has "->" before FLOCK */
        /* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it, each number fits */
        if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%lu", &pid, &major_number, &minor_number,
                   &inode) == 4 &&
            inode == file.st_ino && major_number == major(file.st_dev) && minor_number == minor(file.st_dev))
            holder = pid;
    }
    fclose(locks);
    return holder > 0 ? holder : 0; /* -1: in a process namespace that cannot be seen from here */
}
