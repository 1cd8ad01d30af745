/* One connection to a SQLite store: records in a transaction, checkpoints, identity. Knows no locks but
 * SQLite's own. */
#ifndef SWAMP_STORE_SQLITE_H
#define SWAMP_STORE_SQLITE_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/store.h>

#define SWAMP__SQLITE_APPLICATION_ID 0x7377616d /* "swam"; file(1) shows it */
#define SWAMP__SQLITE_SCHEMA 1                  /* user_version */
#define SWAMP__SQLITE_HEADER_SIZE 100

/* Used by one thread at a time; may go from one to another. */
typedef struct swamp__sqlite swamp__sqlite;

/* All calls return by the deadline (monotonic) but for what the disk holds up inside COMMIT and checkpoints. */
void swamp__sqlite_set_deadline(swamp__sqlite *db, int64_t deadline_us);

/* SWAMP_OK; SWAMP_E_NOMEM, _IO, _CORRUPT, _TIMEOUT, _UNSUPPORTED: why[] has the line. `file` is absolute and
 * exists. */
int swamp__sqlite_open(swamp__sqlite **out, const char *file, int synchronous_full, int64_t deadline_us,
                       char *why, size_t cap);
/* Recognises the store, or makes one of an empty file. Under the sidecar lock. As swamp__sqlite_open(). */
int swamp__sqlite_set_up(swamp__sqlite *db, char *why, size_t cap);
/* `checkpoint`: the last connection of all copies the WAL back and removes it; only under the sidecar lock. */
void swamp__sqlite_close(swamp__sqlite *db, int checkpoint);

/* The vtable's calls. Errors leave no transaction behind; swamp__sqlite_message() says more. */
int swamp__sqlite_get(swamp__sqlite *db, const char *key, swamp_store_sink sink, void *user);
int swamp__sqlite_list(swamp__sqlite *db, const char *prefix, const char *after, size_t limit, unsigned flags,
                       swamp_store_sink sink, void *user);
/* Under the sidecar lock. */
int swamp__sqlite_commit(swamp__sqlite *db, const swamp_store_op *ops, size_t count, uint64_t *revision,
                         size_t *failed);

uint32_t
swamp__sqlite_wal_pages(const swamp__sqlite *db); /* in the WAL after this connection's last commit */
/* Waits until the disk has the WAL as it is now; no lock is needed. SWAMP_OK, < 0. */
int swamp__sqlite_sync_wal(swamp__sqlite *db);
/* Under the sidecar lock. `truncate` waits for readers up to the deadline. SWAMP_OK, SWAMP_E_TIMEOUT
 * (readers), < 0. */
int swamp__sqlite_checkpoint(swamp__sqlite *db, int truncate);

/* The line for the last error, for a log: what failed, why, and what to do. */
const char *swamp__sqlite_message(const swamp__sqlite *db);

/* The header of a database file, read by way of SQLite, since closing the file ourselves would drop SQLite's
 * locks on it. */
int swamp__sqlite_read_header(const char *file,
                              unsigned char header[SWAMP__SQLITE_HEADER_SIZE]); /* SWAMP_OK, < 0 */
/* 1: a whole store of this version: making one ends with the change to WAL mode, which the header shows. */
int swamp__sqlite_is_made(const char *file);
const char *swamp__sqlite_version(int *number); /* "3.40.1", 3040001 */

#endif
