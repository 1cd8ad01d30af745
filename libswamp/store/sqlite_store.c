/* The SQLite store: a pool of connections, the sidecar lock around every write, and who copies the WAL back
 * (DESIGN 5). */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <swamp/status.h>
#include <swamp/store.h>
#include "../util/alloc.h"
#include "../util/clock.h"
#include "../util/list.h"
#include "../util/log.h"
#include "../util/options.h"
#include "sqlite.h"
#include "sqlite_lock.h"
#include "sqlite_path.h"

#define OPEN_TIMEOUT_US 5000000
#define OPEN_MADE_US 500000      /* for the lock, where nothing is to be made */
#define CLOSE_TIMEOUT_US 1000000 /* for the lock; then the WAL is left for the next one */
/*
 * Pages of WAL after a commit: 8 MiB, the checkpointer's to copy back; 32 MiB, anybody's, waiting for
 * readers; 128 MiB, a reader holds them and somebody should look.
 */
#define WAL_PAGES 2000
#define WAL_PAGES_MANY 8000
#define WAL_PAGES_STUCK 32000
#define CHECKPOINT_MIN_US 50000 /* what a commit must have left of its time for a checkpoint */
#define CHECKPOINT_WAIT_US 100000
#define COMPLAIN_EVERY_MS 10000
#define WHY_SIZE 1024

/*
 * A connection and a description of the lock file for one calling thread at a time. They are pooled and not
 * bound to threads: there are as many as there ever were calls at once, and a thread that ends leaves nothing
 * behind.
 */
struct lane {
    swamp__link link;
    swamp__sqlite *db;
    swamp__file_lock lock;
};

struct sqlite_store {
    swamp__sqlite_path path;
    swamp__log log;
    int synchronous_full;
    pid_t pid; /* SQLite's connections do not survive a fork */
    dev_t device;
    ino_t inode;           /* of the database, to notice that it was replaced */
    pthread_mutex_t mutex; /* all below */
    swamp__list idle;      /* lanes nobody uses */
    swamp__file_lock role; /* the description that may carry the role of checkpointer */
    int elected;
    uint32_t tried_at_pages; /* WAL size at the last checkpoint: one that readers hold back is not tried each
                                time */
    int64_t complained_ms;
};

static int64_t
deadline_after_ms(int timeout_ms)
{
    return swamp__clock_monotonic_us() + (int64_t)timeout_ms * 1000;
}

/* One line for whoever is on call, at most every ten seconds: the caller gets the status each time. */
static void
complain(struct sqlite_store *store, const char *line)
{
    int64_t now_ms = swamp__clock_monotonic_ms();
    int quiet;

    pthread_mutex_lock(&store->mutex);
    quiet = store->complained_ms && now_ms - store->complained_ms < COMPLAIN_EVERY_MS;
    if (!quiet)
        store->complained_ms = now_ms;
    pthread_mutex_unlock(&store->mutex);
    if (!quiet)
        swamp__log_write(&store->log, SWAMP_LOG_WARN, "%s", line);
}

static void
complain_locked(struct sqlite_store *store)
{
    char line[WHY_SIZE];
    int holder = swamp__file_lock_holder(store->path.lock);

    snprintf(line, sizeof line, "store %s: not had within the time: its lock is held by process %d%s",
             store->path.file, holder,
             holder ? "; is that one stopped, or its disk slow?" : " (not visible from here)");
    complain(store, line);
}

static void
free_lane(struct lane *lane, int checkpoint)
{
    if (!lane)
        return;
    if (lane->db)
        swamp__sqlite_close(lane->db, checkpoint);
    swamp__file_lock_close(&lane->lock);
    swamp__free(lane);
}

/* SWAMP_OK, or a status of swamp__sqlite_open() with why[]. */
static int
make_lane(struct sqlite_store *store, int64_t deadline_us, struct lane **out, char *why, size_t cap)
{
    struct lane *lane = swamp__calloc(1, sizeof *lane);
    int rc = SWAMP_E_NOMEM;

    if (!lane) {
        snprintf(why, cap, "out of memory");
        return SWAMP_E_NOMEM;
    }
    if (swamp__file_lock_open(&lane->lock, store->path.lock) < 0)
        rc = swamp__sqlite_path_explain(store->path.lock, errno, why, cap);
    else
        rc = swamp__sqlite_open(&lane->db, store->path.file, store->synchronous_full, deadline_us, why, cap);
    if (rc < 0) {
        free_lane(lane, 0);
        return rc;
    }
    *out = lane;
    return SWAMP_OK;
}

/*
 * A file that was moved away or removed would still take our writes, and nobody else would ever see them. And what
 * was put in its place knows nothing of us: read from it, every instance would be dead and no run would exist.
 */
static int
check_in_place(struct sqlite_store *store)
{
    struct stat now;
    char line[WHY_SIZE];

    if (stat(store->path.file, &now) == 0 && now.st_dev == store->device && now.st_ino == store->inode)
        return SWAMP_OK;
    snprintf(line, sizeof line,
             "store %s: the file was removed or replaced; put it back, or restart all instances that use it",
             store->path.file);
    complain(store, line);
    return SWAMP_E_STORE;
}

/* Takes a lane for one call. SWAMP_OK; SWAMP_E_STORE, SWAMP_E_TIMEOUT, SWAMP_E_NOMEM. */
static int
borrow_lane(struct sqlite_store *store, int64_t deadline_us, struct lane **out)
{
    struct lane *lane = NULL;
    swamp__link *link;
    char why[WHY_SIZE];
    int rc;

    if (getpid() != store->pid) {
        swamp__log_write(&store->log, SWAMP_LOG_ERROR,
                         "store %s: used after fork(); the child must open its own", store->path.file);
        return SWAMP_E_STORE;
    }
    pthread_mutex_lock(&store->mutex);
    link = swamp__list_pop(&store->idle);
    pthread_mutex_unlock(&store->mutex);
    if (link)
        lane = SWAMP__OF(link, struct lane, link);
    rc = lane ? SWAMP_OK : make_lane(store, deadline_us, &lane, why, sizeof why);
    if (rc < 0) {
        complain(store, why);
        return rc == SWAMP_E_TIMEOUT || rc == SWAMP_E_NOMEM ? rc : SWAMP_E_STORE;
    }
    if (!link && check_in_place(store) < 0) {
        free_lane(lane, 0);
        return SWAMP_E_STORE;
    }
    swamp__sqlite_set_deadline(lane->db, deadline_us);
    *out = lane;
    return SWAMP_OK;
}

/* After a fault the connection goes too: a fresh one looks at the file as it is now. */
static void
return_lane(struct sqlite_store *store, struct lane *lane, int status)
{
    if (status == SWAMP_E_STORE || status == SWAMP_E_UNKNOWN) {
        free_lane(lane, 0);
        return;
    }
    pthread_mutex_lock(&store->mutex);
    swamp__list_push(&store->idle, &lane->link);
    pthread_mutex_unlock(&store->mutex);
}

static int
get_record(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    struct sqlite_store *store = self;
    struct lane *lane;
    int rc = borrow_lane(store, deadline_after_ms(timeout_ms), &lane);

    if (rc < 0)
        return rc;
    rc = swamp__sqlite_get(lane->db, key, sink, user);
    if (rc < 0)
        complain(store, swamp__sqlite_message(lane->db));
    return_lane(store, lane, rc);
    return rc;
}

static int
list_records(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
             swamp_store_sink sink, void *user)
{
    struct sqlite_store *store = self;
    struct lane *lane;
    int rc = borrow_lane(store, deadline_after_ms(timeout_ms), &lane);

    if (rc < 0)
        return rc;
    rc = swamp__sqlite_list(lane->db, prefix, after, limit, flags, sink, user);
    if (rc < 0)
        complain(store, swamp__sqlite_message(lane->db));
    return_lane(store, lane, rc);
    return rc;
}

/*
 * After a commit: is a checkpoint due, and this process's to do? The role keeps processes from doing it by turns; it
 * is a preference and no safety: that is the lock. So a checkpointer that is stopped, or never commits, is passed over
 * when the WAL gets long.
 */
static int
is_checkpoint_due(struct sqlite_store *store, const struct lane *lane, int64_t deadline_us)
{
    uint32_t pages = swamp__sqlite_wal_pages(lane->db);
    int due = 0;

    if (deadline_us - swamp__clock_monotonic_us() < CHECKPOINT_MIN_US)
        return 0;
    pthread_mutex_lock(&store->mutex);
    if (pages < store->tried_at_pages)
        store->tried_at_pages = 0; /* the WAL was begun anew */
    if (pages < WAL_PAGES || (store->tried_at_pages && pages - store->tried_at_pages < WAL_PAGES))
        goto out;
    if (!store->elected)
        store->elected = swamp__file_lock_elect(&store->role);
    due = store->elected || pages >= WAL_PAGES_MANY;
    if (due)
        store->tried_at_pages = pages;
out:
    pthread_mutex_unlock(&store->mutex);
    return due;
}

/* SWAMP_OK: the lock is held and the file is the one that was opened. */
static int
lock_for_write(struct sqlite_store *store, struct lane *lane, int64_t deadline_us)
{
    char why[WHY_SIZE];
    int rc = swamp__file_lock_take(&lane->lock, deadline_us);

    if (rc == SWAMP_E_TIMEOUT) {
        complain_locked(store);
        return SWAMP_E_TIMEOUT;
    }
    if (rc < 0) {
        swamp__sqlite_path_explain(store->path.lock, errno, why, sizeof why);
        complain(store, why);
        return SWAMP_E_STORE;
    }
    rc = check_in_place(store);
    if (rc < 0)
        swamp__file_lock_leave(&lane->lock);
    return rc;
}

/*
 * After a commit that made the WAL long. Most of what a checkpoint takes is waiting for the disk to have the WAL. That
 * is done first and without the sidecar lock, so that others commit meanwhile; the copying is done under it: without a
 * writer there is no race with a reset of the WAL.
 */
static void
copy_wal_back(struct sqlite_store *store, struct lane *lane, int64_t deadline_us)
{
    uint32_t pages = swamp__sqlite_wal_pages(lane->db);
    char line[WHY_SIZE];
    int rc = swamp__sqlite_sync_wal(lane->db);
    int64_t wait_us = swamp__clock_monotonic_us() + CHECKPOINT_WAIT_US;

    if (deadline_us > wait_us)
        deadline_us = wait_us; /* the commit is done, and its caller waits for nothing else */
    if (rc == SWAMP_OK) {
        if (swamp__file_lock_take(&lane->lock, deadline_us) < 0)
            return; /* tried again when the WAL has grown by another round */
        swamp__sqlite_set_deadline(lane->db, deadline_us);
        rc = swamp__sqlite_checkpoint(lane->db, pages >= WAL_PAGES_MANY);
        swamp__file_lock_leave(&lane->lock);
    }
    if (rc == SWAMP_E_TIMEOUT && pages >= WAL_PAGES_STUCK) {
        snprintf(line, sizeof line,
                 "store %s: a long read keeps %u MiB of WAL from being copied back; find and end it",
                 store->path.file, pages / 256);
        complain(store, line);
    } else if (rc < 0 && rc != SWAMP_E_TIMEOUT) {
        complain(store, swamp__sqlite_message(lane->db));
    }
}

static int
commit_records(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
               size_t *failed)
{
    struct sqlite_store *store = self;
    int64_t deadline_us = deadline_after_ms(timeout_ms);
    struct lane *lane;
    int rc = borrow_lane(store, deadline_us, &lane);
    int is_due = 0;

    if (rc < 0)
        return rc;
    rc = lock_for_write(store, lane, deadline_us);
    if (rc < 0) {
        return_lane(store, lane, rc);
        return rc;
    }
    rc = swamp__sqlite_commit(lane->db, ops, count, revision, failed);
    if (rc < 0)
        complain(store, swamp__sqlite_message(lane->db));
    else if (rc == SWAMP_OK)
        is_due = is_checkpoint_due(store, lane, deadline_us);
    swamp__file_lock_leave(&lane->lock);
    if (is_due)
        copy_wal_back(store, lane, deadline_us);
    return_lane(store, lane, rc);
    return rc;
}

static void
free_store(struct sqlite_store *store)
{
    swamp__file_lock_close(&store->role);
    pthread_mutex_destroy(&store->mutex);
    swamp__free(store);
}

/* Closing the last connection of all copies the WAL back: under the lock, or not at all. */
static void
destroy_store(void *self)
{
    struct sqlite_store *store = self;
    swamp__link *link;
    int locked;

    if (getpid() != store->pid) {
        /* A forked child: the connections are its parent's. Closing them here would harm the file; they are left. */
        free_store(store);
        return;
    }
    locked = swamp__file_lock_take(&store->role, swamp__clock_monotonic_us() + CLOSE_TIMEOUT_US) == SWAMP_OK;
    while ((link = swamp__list_pop(&store->idle)) != NULL)
        free_lane(SWAMP__OF(link, struct lane, link), locked);
    free_store(store);
}

static const swamp_store_vtable sqlite_vtable = {
    .size = sizeof sqlite_vtable,
    .destroy = destroy_store,
    .get = get_record,
    .list = list_records,
    .commit = commit_records,
};

/*
 * Makes or recognises the database, under the lock: nobody else sees a file that is half made. A file that is
 * whole opens also while somebody sits on the lock, so that an instance can start, and say so, in a store that
 * is out of order (DESIGN 6).
 */
static int
open_first(struct sqlite_store *store, char *why, size_t cap)
{
    int64_t now_us = swamp__clock_monotonic_us(), deadline_us = now_us + OPEN_TIMEOUT_US;
    int made = store->path.exists && swamp__sqlite_is_made(store->path.file);
    struct lane *lane = NULL;
    struct stat file = {0};
    int rc = swamp__file_lock_take(&store->role, made ? now_us + OPEN_MADE_US : deadline_us);
    int locked = rc == SWAMP_OK;

    if (rc == SWAMP_E_TIMEOUT && !made) {
        snprintf(why, cap, "%s is locked by another process (%d); wait for it, or see whether it is stopped",
                 store->path.file, swamp__file_lock_holder(store->path.lock));
        return SWAMP_E_TIMEOUT;
    }
    if (rc < 0 && rc != SWAMP_E_TIMEOUT)
        return swamp__sqlite_path_explain(store->path.lock, errno, why, cap);
    if (!locked)
        complain_locked(store);
    rc = swamp__sqlite_path_make(&store->path, why, cap);
    if (rc == SWAMP_OK)
        rc = make_lane(store, deadline_us, &lane, why, cap);
    if (rc == SWAMP_OK && locked)
        rc = swamp__sqlite_set_up(lane->db, why, cap);
    if (rc == SWAMP_OK && stat(store->path.file, &file) < 0)
        rc = swamp__sqlite_path_explain(store->path.file, errno, why, cap);
    if (locked)
        swamp__file_lock_leave(&store->role);
    if (rc < 0) {
        free_lane(lane, 0);
        return rc;
    }
    store->device = file.st_dev;
    store->inode = file.st_ino;
    if (file.st_mode & 077)
        swamp__log_write(&store->log, SWAMP_LOG_WARN,
                         "store %s: others may read it (mode %04o); chmod 0600 it", store->path.file,
                         (unsigned)file.st_mode & 07777);
    assert(lane); /* no error: make_lane() gave one */
    swamp__list_push(&store->idle, &lane->link);
    return SWAMP_OK;
}

static int
open_store(swamp_store **out, const char *path, const swamp_sqlite_options *options, char *why, size_t cap)
{
    struct sqlite_store *store = swamp__calloc(1, sizeof *store);
    int rc;

    if (!store || pthread_mutex_init(&store->mutex, NULL) != 0) {
        swamp__free(store);
        snprintf(why, cap, "out of memory");
        return SWAMP_E_NOMEM;
    }
    store->role.fd = -1;
    store->pid = getpid();
    store->synchronous_full = options->synchronous_full != 0;
    store->log = (swamp__log){options->log, options->log_user,
                              (int)swamp__options_or(options->log_level, SWAMP_LOG_INFO)};
    swamp__list_init(&store->idle);
    rc = swamp__sqlite_path_find(&store->path, path, 1, why, cap);
    if (rc == SWAMP_OK && swamp__file_lock_open(&store->role, store->path.lock) < 0)
        rc = swamp__sqlite_path_explain(store->path.lock, errno, why, cap);
    if (rc == SWAMP_OK)
        rc = open_first(store, why, cap);
    if (rc < 0) {
        free_store(store);
        return rc;
    }
    rc = swamp_store_custom(out, &sqlite_vtable, store);
    if (rc < 0)
        snprintf(why, cap, "out of memory");
    return rc;
}

int
swamp_store_sqlite_open(swamp_store **out, const char *path, const swamp_sqlite_options *options,
                        char **error)
{
    swamp_sqlite_options copy = {.size = sizeof copy};
    char why[WHY_SIZE] = "";
    int rc = SWAMP_OK;

    if (options)
        rc = swamp__options_read(&copy, sizeof copy, options);
    if (!out || rc < 0) {
        snprintf(why, sizeof why, "options of the store: set size with sizeof; unknown members must be zero");
        rc = SWAMP_E_INVALID;
    } else if (!path || !*path) {
        snprintf(why, sizeof why, "the store's path is empty; give a path such as .swamp/control-plane.db");
        rc = SWAMP_E_INVALID;
    } else {
        rc = open_store(out, path, &copy, why, sizeof why);
    }
    if (rc < 0 && error)
        *error = swamp__strdup(why);
    return rc;
}
