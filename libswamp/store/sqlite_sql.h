/* The SQL of a SQLite store: its schema, its settings and its statements. Included by sqlite.c only. */
#ifndef SWAMP_STORE_SQLITE_SQL_H
#define SWAMP_STORE_SQLITE_SQL_H

#include <swamp/store.h>

/*
 * Every transaction that writes begins IMMEDIATE: one that reads first fails with BUSY_SNAPSHOT at once when
 * somebody else has written. The revision stands in the index so that a list of keys never touches the
 * values' pages.
 */
#define RECORDS_CREATE                                                                                       \
    "BEGIN IMMEDIATE;"                                                                                       \
    "CREATE TABLE records(id INTEGER PRIMARY KEY, key TEXT NOT NULL, revision INTEGER NOT NULL, value BLOB " \
    "NOT NULL);"                                                                                             \
    "CREATE UNIQUE INDEX records_key ON records(key, revision);"                                             \
    "CREATE TABLE counter(id INTEGER PRIMARY KEY CHECK(id = 1), revision INTEGER NOT NULL);"                 \
    "INSERT INTO counter VALUES(1, 0);"                                                                      \
    "PRAGMA application_id = 0x7377616d;"                                                                    \
    "PRAGMA user_version = 1;"                                                                               \
    "COMMIT"

/* wal_autocheckpoint: never outside the sidecar lock; mmap_size: not with several writers. */
#define CONNECTION_SETTINGS                                                                                  \
    "PRAGMA wal_autocheckpoint = 0;"                                                                         \
    "PRAGMA mmap_size = 0;"                                                                                  \
    "PRAGMA journal_size_limit = 16777216;"                                                                  \
    "PRAGMA trusted_schema = OFF"

#define LIST_FROM " FROM records WHERE key >= ?1 AND key < ?2 ORDER BY key "

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    GET,
    FIND,
    INSERT,
    UPDATE,
    REMOVE,
    LAST_REVISION,
    SET_LAST_REVISION,
    LIST, /* + SWAMP_STORE_REVERSE + SWAMP_STORE_KEYS_ONLY */
    STATEMENTS = LIST + 4
};

static const char *const statement_text[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [GET] = "SELECT key, revision, value FROM records WHERE key = ?1",
    [FIND] = "SELECT id, revision FROM records WHERE key = ?1",
    [INSERT] = "INSERT INTO records(key, revision, value) VALUES(?1, ?2, ?3)",
    [UPDATE] = "UPDATE records SET revision = ?2, value = ?3 WHERE id = ?1",
    [REMOVE] = "DELETE FROM records WHERE id = ?1",
    [LAST_REVISION] = "SELECT revision FROM counter WHERE id = 1",
    [SET_LAST_REVISION] = "UPDATE counter SET revision = ?1 WHERE id = 1",
    [LIST] = "SELECT key, revision, value" LIST_FROM "LIMIT ?3",
    [LIST + SWAMP_STORE_REVERSE] = "SELECT key, revision, value" LIST_FROM "DESC LIMIT ?3",
    [LIST + SWAMP_STORE_KEYS_ONLY] = "SELECT key, revision" LIST_FROM "LIMIT ?3",
    [LIST + SWAMP_STORE_REVERSE + SWAMP_STORE_KEYS_ONLY] = "SELECT key, revision" LIST_FROM "DESC LIMIT ?3",
};

#endif
