/* The control-plane store: one vtable with get, list and commit, and the two stores that come with the library. */
#ifndef SWAMP_STORE_H
#define SWAMP_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/attributes.h>
#include <swamp/log.h>

SWAMP_BEGIN_DECLS

/* A store; counted: a server holds its own reference. */
typedef struct swamp_store swamp_store;

#define SWAMP_STORE_OPS_MAX 16       /* operations in one commit */
#define SWAMP_STORE_VALUE_MAX 262144 /* bytes of one value */
#define SWAMP_STORE_KEY_MAX 511      /* bytes of one key: printable ASCII, path segments split by '/' */

/* What an operation does. */
#define SWAMP_STORE_PUT 1    /* write value under key */
#define SWAMP_STORE_REMOVE 2 /* remove key; removing an absent key under condition ANY is done */
#define SWAMP_STORE_CHECK 3  /* only test the condition */

/* What must hold before the batch, for the batch to be done. */
#define SWAMP_STORE_ANY 1
#define SWAMP_STORE_ABSENT 2
#define SWAMP_STORE_PRESENT 3
#define SWAMP_STORE_REVISION 4 /* present, at exactly this revision */

/* One operation of a batch. A key may occur once in a batch. */
typedef struct swamp_store_op {
    const char *key;
    const void *value; /* PUT only */
    size_t value_len;
    uint64_t revision; /* condition REVISION only */
    int32_t action;    /* SWAMP_STORE_PUT, _REMOVE, _CHECK */
    int32_t condition; /* SWAMP_STORE_ANY, _ABSENT, _PRESENT, _REVISION */
} swamp_store_op;

#define SWAMP_STORE_REVERSE 1u   /* list: highest key first; `after` is then the upper bound, exclusive */
#define SWAMP_STORE_KEYS_ONLY 2u /* list: value is NULL, value_len 0 */

/**
 * Take one record from get or list.
 *
 * @param user      the pointer given to get or list
 * @param key       the record's key, zero-terminated; borrowed for the call
 * @param value     its bytes, borrowed for the call; NULL with KEYS_ONLY
 * @param value_len their number
 * @param revision  the revision of the commit that wrote it
 * @return 0 to go on; anything else ends a list early, which is not an error. Called on the thread that called
 *         get or list; it must not call into the same store (SWAMP_E_REENTRANT)
 */
typedef int (*swamp_store_sink)(void *user, const char *key, const void *value, size_t value_len,
                                uint64_t revision);

#define SWAMP_STORE_SERIAL 1u /* flags: the store cannot bear two calls at once; the library locks for it */

/*
 * What a store must do. Members are called from two threads at once unless SWAMP_STORE_SERIAL is set.
 * Every call returns within timeout_ms. Revisions rise and are never used twice, also not after a remove.
 */
typedef struct swamp_store_vtable {
    size_t size;
    uint64_t flags;

    /* Runs exactly once, also when swamp_store_custom() fails, on whichever thread drops the last reference. */
    void (*destroy)(void *self);

    /* SWAMP_OK after one call of sink; SWAMP_ABSENT; SWAMP_E_TIMEOUT, SWAMP_E_STORE, SWAMP_E_NOMEM. */
    int (*get)(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user);

    /*
     * Records whose key starts with prefix, in byte order of the keys, beginning after the key `after`
     * (NULL: from the first), at most `limit`. SWAMP_OK (also when there are none); SWAMP_E_TIMEOUT,
     * SWAMP_E_STORE, SWAMP_E_NOMEM.
     */
    int (*list)(void *self, const char *prefix, const char *after, size_t limit, unsigned flags,
                int timeout_ms, swamp_store_sink sink, void *user);

    /*
     * All operations or none; revision and failed are never NULL. SWAMP_OK: *revision is the new revision, that of every PUT of the batch.
     * SWAMP_CONFLICT: *failed is the index of the first operation whose condition did not hold.
     * SWAMP_E_UNKNOWN: it may or may not have been written. Any other error: nothing was written.
     */
    int (*commit)(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
                  size_t *failed);
} swamp_store_vtable;

typedef struct swamp_sqlite_options {
    size_t size;
    uint32_t synchronous_full; /* 1: fsync each commit (power loss keeps it); 0: kill -9 keeps it */
    uint32_t log_level;        /* 0: SWAMP_LOG_INFO */
    swamp_log_fn log;
    void *log_user;
} swamp_sqlite_options;

/**
 * Open the shared SQLite file that is the reference store.
 *
 * Creates the file (mode 0600) and its folder (mode 0700) where they are missing. Several processes may hold
 * the same file open. Refuses network file systems.
 *
 * @param[out] out      opened store; unchanged on failure; caller frees with swamp_store_free()
 * @param      path     file name; borrowed for the call, copied
 * @param      options  borrowed for the call; NULL means defaults
 * @param[out] error    on failure one line that says what to do, if not NULL; caller frees with swamp_free()
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_NOMEM, SWAMP_E_IO (cannot be opened, read-only, disk full),
 *         SWAMP_E_CORRUPT (not a database), SWAMP_E_UNSUPPORTED (file system), SWAMP_E_TIMEOUT (locked)
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_store_sqlite_open(swamp_store **out, const char *path,
                                                      const swamp_sqlite_options *options, char **error);

/**
 * Say what is known of a SQLite store's file without opening it as a store, as one JSON object.
 *
 * Members, each only where it can be had: sqliteVersion; walResetFault (true: this SQLite is of the
 * numbers 3.7.0 to 3.51.2, whose fault strikes those who write without the store's lock, such as the sqlite3
 * program); problem (why swamp_store_sqlite_open() would refuse the path); folder, folderMode ("0700"),
 * fileSystem ("ext4", "nfs", ...), fileSystemUsable, freeBytes; file (without symbolic links), kind ("swamp",
 * "sqlite": another program's, "other", "empty", "absent", "unreadable"), schema, mode ("0600"),
 * databaseBytes, walBytes; leftBehind (kind is "absent", but this file of its is there: the store was moved
 * away or removed); lockHolderPid (a process that is writing now, or is stuck). Makes and changes nothing.
 *
 * @param[out] out   zero-terminated JSON text; unchanged on failure; caller frees with swamp_free()
 * @param      path  as for swamp_store_sqlite_open(); borrowed for the call
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_store_sqlite_facts(char **out, const char *path);

/**
 * Make a store in this process's memory.
 *
 * Several servers of one process may share it. It is gone with its last reference.
 *
 * @param[out] out  new store; unchanged on failure; caller frees with swamp_store_free()
 * @return SWAMP_OK; SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_store_memory_open(swamp_store **out);

/**
 * Make a store of your own.
 *
 * @param[out] out     new store; unchanged on failure; caller frees with swamp_store_free()
 * @param      vtable  borrowed for the call, copied; its size member must be set
 * @param      self    given back to each member first; vtable->destroy(self) runs exactly once, also on
 * failure
 * @return SWAMP_OK; SWAMP_E_INVALID (a member is missing, or a flag is not known), SWAMP_E_NOMEM
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_store_custom(swamp_store **out, const swamp_store_vtable *vtable,
                                                 void *self);

/**
 * Drop the caller's reference to a store.
 *
 * @param      store  the store; NULL is fine
 * @return none
 * @thread any
 * @since  0.1
 */
SWAMP_API void swamp_store_free(swamp_store *store);

/**
 * Read one record.
 *
 * @param      store       the store
 * @param      key         its key
 * @param      timeout_ms  upper bound of the call, 0 or more
 * @param      sink        called once when the record exists
 * @param      user        given to sink
 * @return SWAMP_OK; SWAMP_ABSENT; SWAMP_E_INVALID, SWAMP_E_TIMEOUT, SWAMP_E_STORE, SWAMP_E_NOMEM, SWAMP_E_REENTRANT
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_store_get(swamp_store *store, const char *key, int timeout_ms,
                                              swamp_store_sink sink, void *user);

/**
 * Read the records below a prefix, in key order.
 *
 * @param      store       the store
 * @param      prefix      what the keys start with
 * @param      after       begin after this key (with SWAMP_STORE_REVERSE: below it); NULL: from the first
 * (last)
 * @param      limit       at most so many records, 1 to 100,000
 * @param      flags       SWAMP_STORE_REVERSE, SWAMP_STORE_KEYS_ONLY
 * @param      timeout_ms  upper bound of the call
 * @param      sink        called for each record
 * @param      user        given to sink
 * @return SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_TIMEOUT, SWAMP_E_STORE, SWAMP_E_NOMEM, SWAMP_E_REENTRANT
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_store_list(swamp_store *store, const char *prefix, const char *after,
                                               size_t limit, unsigned flags, int timeout_ms,
                                               swamp_store_sink sink, void *user);

/**
 * Write a batch, all of it or nothing.
 *
 * @param      store       the store
 * @param      ops         1 to SWAMP_STORE_OPS_MAX operations; borrowed for the call
 * @param      count       their number
 * @param      timeout_ms  upper bound of the call
 * @param[out] revision    the new revision, if not NULL
 * @param[out] failed      index of the operation whose condition did not hold, if not NULL
 * @return SWAMP_OK; SWAMP_CONFLICT; SWAMP_E_UNKNOWN (it may or may not have been written); SWAMP_E_INVALID,
 *         SWAMP_E_TOO_BIG (operations, or a value), SWAMP_E_TIMEOUT, SWAMP_E_STORE, SWAMP_E_NOMEM, SWAMP_E_REENTRANT
 *         (nothing was written)
 * @thread any
 * @since  0.1
 */
SWAMP_API SWAMP_NODISCARD int swamp_store_commit(swamp_store *store, const swamp_store_op *ops, size_t count,
                                                 int timeout_ms, uint64_t *revision, size_t *failed);

SWAMP_END_DECLS

#endif
