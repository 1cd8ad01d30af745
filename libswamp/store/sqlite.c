/* One connection to a SQLite store; the only file that sees sqlite3.h. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sqlite3.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/clock.h"
#include "sqlite.h"
#include "sqlite_sql.h"

#define TICK_STEPS 1000 /* steps of SQLite's machine between two looks at the clock: some 50 us */
#define BUSY_PAUSE_NS 500000

struct swamp__sqlite {
    sqlite3 *handle;
    sqlite3_stmt *statements[STATEMENTS]; /* made at first use */
    int64_t deadline_us;
    uint32_t wal_pages;
    const char *file;
    char message[768];
};

void
swamp__sqlite_set_deadline(swamp__sqlite *db, int64_t deadline_us)
{
    db->deadline_us = deadline_us;
}

const char *
swamp__sqlite_message(const swamp__sqlite *db)
{
    return db->message;
}

const char *
swamp__sqlite_version(int *number)
{
    if (number)
        *number = sqlite3_libversion_number();
    return sqlite3_libversion();
}

/* SQLite's word for an error becomes a status and one line that says what to do. */
static int
explain(swamp__sqlite *db, int code)
{
    int full =
        (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR ? sqlite3_system_errno(db->handle) : 0;
    /* A fault that did not come out of SQLite's interface, such as a sync of ours, has left its last word alone. */
    int is_last = db->handle && (sqlite3_errcode(db->handle) & 0xff) == (code & 0xff);
    const char *detail = is_last ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);
    const char *advice = "";
    int status = SWAMP_E_IO;

    switch (code & 0xff) {
    case SQLITE_NOMEM:
        status = SWAMP_E_NOMEM;
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
        status = SWAMP_E_TIMEOUT;
        detail = "not had within the time";
        advice = "; is the disk slow, or the file open in another program (`sqlite3`)? Close that one";
        break;
    case SQLITE_NOTADB:
        status = SWAMP_E_CORRUPT;
        advice = "; give another path, or move the file away";
        break;
    case SQLITE_CORRUPT:
        status = SWAMP_E_CORRUPT;
        advice = "; stop all instances and restore it from a backup, or save what is left with `sqlite3 "
                 "-readonly FILE .recover`";
        break;
    case SQLITE_FULL:
        detail = "the disk is full";
        advice = "; free space on its file system";
        break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        advice = "; check the owner and the modes of the file, its folder, and of FILE-wal and FILE-shm";
        break;
    default:
        advice = full == ENOSPC || full == EDQUOT ? "; the disk is full: free space"
                                                  : "; look at the system's log for faults of the disk";
        break;
    }
    snprintf(db->message, sizeof db->message, "store %s: %s (SQLite %d)%s", db->file, detail, code, advice);
    return status;
}

/* For the vtable's calls, which know one status for all faults of a store. */
static int
fail(swamp__sqlite *db, int code)
{
    int status = explain(db, code);

    return status == SWAMP_E_TIMEOUT || status == SWAMP_E_NOMEM ? status : SWAMP_E_STORE;
}

static int
is_late(const swamp__sqlite *db)
{
    return swamp__clock_monotonic_us() >= db->deadline_us;
}

/* Called every TICK_STEPS: non-zero ends the statement with SQLITE_INTERRUPT. */
static int
on_tick(void *user)
{
    return is_late(user);
}

/* Somebody outside the sidecar lock holds one of SQLite's: the sqlite3 program, or a recovery after a crash. */
static int
on_busy(void *user, int times)
{
    struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};

    (void)times;
    if (is_late(user))
        return 0;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    return 1;
}

static int
on_wal(void *user, sqlite3 *handle, const char *name, int pages)
{
    swamp__sqlite *db = user;

    (void)handle;
    (void)name;
    db->wal_pages = (uint32_t)pages;
    return SQLITE_OK;
}

/* The statement, reset and ready to bind; NULL: could not be made, sqlite3_errcode() says why. */
static sqlite3_stmt *
use(swamp__sqlite *db, int which)
{
    if (!db->statements[which])
        sqlite3_prepare_v3(db->handle, statement_text[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &db->statements[which], NULL);
    return db->statements[which];
}

/* Runs a statement without rows that is bound already. SQLITE_OK or the error's extended code. */
static int
run_bound(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int
run(swamp__sqlite *db, int which)
{
    sqlite3_stmt *statement = use(db, which);

    return statement ? run_bound(statement) : sqlite3_extended_errcode(db->handle);
}

static void
roll_back(swamp__sqlite *db)
{
    if (sqlite3_get_autocommit(db->handle)) /* SQLite has rolled back already: disk full, I/O error */
        return;
    db->deadline_us = INT64_MAX;
    run(db, ROLLBACK);
}

/* Gives a row of (key, revision[, value]) to the sink. SQLITE_OK, SQLITE_NOMEM; *more is 0 when the sink has
 * enough. */
static int
give_row(swamp__sqlite *db, sqlite3_stmt *row, swamp_store_sink sink, void *user, int *more)
{
    int bare = sqlite3_column_count(row) < 3;
    const char *key = (const char *)sqlite3_column_text(row, 0);
    const void *value = bare ? NULL : sqlite3_column_blob(row, 2);
    int len = bare ? 0 : sqlite3_column_bytes(row, 2);

    if (!key || (!value && len > 0) || sqlite3_errcode(db->handle) == SQLITE_NOMEM)
        return SQLITE_NOMEM;
    /* No store wrote this: without its bytes it is one record that cannot be read, and stops no list. */
    if (len > (int)SWAMP_STORE_VALUE_MAX)
        len = 0;
    *more = sink(user, key, value, (size_t)len, (uint64_t)sqlite3_column_int64(row, 1)) == 0;
    return SQLITE_OK;
}

int
swamp__sqlite_get(swamp__sqlite *db, const char *key, swamp_store_sink sink, void *user)
{
    sqlite3_stmt *statement = use(db, GET);
    int more, code;

    if (!statement)
        return fail(db, sqlite3_extended_errcode(db->handle));
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        code = give_row(db, statement, sink, user, &more);
    sqlite3_reset(statement);
    if (code == SQLITE_DONE)
        return SWAMP_ABSENT;
    return code == SQLITE_OK ? SWAMP_OK : fail(db, code);
}

/*
 * Keys are printable ASCII: prefix + 0x7f lies behind all keys below the prefix, and key + 0x01 is the least
 * text behind the key. So each list is one range of the index, from `low` up to but without `high`.
 */
static void
make_range(const char *prefix, const char *after, int reverse, char low[SWAMP_STORE_KEY_MAX + 2],
           char high[SWAMP_STORE_KEY_MAX + 2])
{
    snprintf(low, SWAMP_STORE_KEY_MAX + 2, "%s", prefix);
    snprintf(high, SWAMP_STORE_KEY_MAX + 2, "%s\x7f", prefix);
    if (after && reverse && strcmp(after, high) < 0)
        snprintf(high, SWAMP_STORE_KEY_MAX + 2, "%s", after);
    else if (after && !reverse && strcmp(after, low) >= 0)
        snprintf(low, SWAMP_STORE_KEY_MAX + 2, "%s\x01", after);
}

int
swamp__sqlite_list(swamp__sqlite *db, const char *prefix, const char *after, size_t limit, unsigned flags,
                   swamp_store_sink sink, void *user)
{
    sqlite3_stmt *statement = use(db, LIST + (int)flags);
    char low[SWAMP_STORE_KEY_MAX + 2], high[SWAMP_STORE_KEY_MAX + 2];
    int more = 1;
    int code = SQLITE_ROW;

    if (!statement)
        return fail(db, sqlite3_extended_errcode(db->handle));
    make_range(prefix, after, (flags & SWAMP_STORE_REVERSE) != 0, low, high);
    sqlite3_bind_text(statement, 1, low, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, high, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)limit);
    while (more && code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW && give_row(db, statement, sink, user, &more) != SQLITE_OK)
            code = SQLITE_NOMEM;
    }
    sqlite3_reset(statement); /* ends the read transaction: one that stays open lets the WAL grow for ever */
    sqlite3_clear_bindings(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SWAMP_OK : fail(db, code);
}

/* What the store holds under the key of an operation; id 0: nothing. */
struct found {
    sqlite3_int64 id, revision;
};

static int
find_record(swamp__sqlite *db, const char *key, struct found *found)
{
    sqlite3_stmt *statement = use(db, FIND);
    int code;

    if (!statement)
        return sqlite3_extended_errcode(db->handle);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        found->id = sqlite3_column_int64(statement, 0);
        found->revision = sqlite3_column_int64(statement, 1);
        code = SQLITE_DONE;
    }
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int
condition_holds(const swamp_store_op *op, const struct found *found)
{
    switch (op->condition) {
    case SWAMP_STORE_ABSENT:
        return found->id == 0;
    case SWAMP_STORE_PRESENT:
        return found->id != 0;
    case SWAMP_STORE_REVISION:
        return found->id != 0 && (uint64_t)found->revision == op->revision;
    default:
        return 1;
    }
}

static int
write_op(swamp__sqlite *db, const swamp_store_op *op, const struct found *found, sqlite3_int64 revision)
{
    sqlite3_stmt *statement;

    if (op->action == SWAMP_STORE_CHECK || (op->action == SWAMP_STORE_REMOVE && found->id == 0))
        return SQLITE_OK;
    statement = use(db, op->action == SWAMP_STORE_REMOVE ? REMOVE : found->id ? UPDATE : INSERT);
    if (!statement)
        return sqlite3_extended_errcode(db->handle);
    if (found->id)
        sqlite3_bind_int64(statement, 1, found->id);
    else
        sqlite3_bind_text(statement, 1, op->key, -1, SQLITE_STATIC);
    if (op->action == SWAMP_STORE_PUT) {
        sqlite3_bind_int64(statement, 2, revision);
        /* "" and not NULL: a NULL pointer would bind SQL's NULL */
        sqlite3_bind_blob(statement, 3, op->value_len ? op->value : "", (int)op->value_len, SQLITE_STATIC);
    }
    return run_bound(statement);
}

/* The next revision: kept in a row of its own, so that it also grows past records that are gone. */
static int
count_revision(swamp__sqlite *db, sqlite3_int64 *revision)
{
    sqlite3_stmt *statement = use(db, LAST_REVISION);
    int code;

    if (!statement)
        return sqlite3_extended_errcode(db->handle);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *revision = sqlite3_column_int64(statement, 0) + 1;
    sqlite3_reset(statement);
    if (code != SQLITE_ROW)
        return code == SQLITE_DONE ? SQLITE_CORRUPT : code; /* no row: somebody emptied the table */
    statement = use(db, SET_LAST_REVISION);
    if (!statement)
        return sqlite3_extended_errcode(db->handle);
    sqlite3_bind_int64(statement, 1, *revision);
    return run_bound(statement);
}

/*
 * COMMIT itself. A disk that is full means that the frame which makes the batch count was not written whole;
 * any other failure may come after that frame, which a recovery would then bring back: nobody knows.
 */
static int
finish_batch(swamp__sqlite *db)
{
    int code, status;

    if (is_late(db)) {
        roll_back(db);
        return fail(db, SQLITE_INTERRUPT);
    }
    db->deadline_us = INT64_MAX; /* never leave by a deadline from here on: the outcome would be lost */
    code = run(db, COMMIT);
    if (code == SQLITE_OK)
        return SWAMP_OK;
    status = fail(db, code);
    roll_back(db);
    return (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_BUSY ? status : SWAMP_E_UNKNOWN;
}

int
swamp__sqlite_commit(swamp__sqlite *db, const swamp_store_op *ops, size_t count, uint64_t *revision,
                     size_t *failed)
{
    struct found found[SWAMP_STORE_OPS_MAX] = {{0, 0}};
    sqlite3_int64 next = 0;
    int status;
    int code = run(db, BEGIN);

    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        code = find_record(db, ops[i].key, &found[i]);
        if (code == SQLITE_OK && !condition_holds(&ops[i], &found[i])) {
            roll_back(db);
            *failed = i;
            return SWAMP_CONFLICT;
        }
    }
    if (code == SQLITE_OK)
        code = count_revision(db, &next);
    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = write_op(db, &ops[i], &found[i], next);
    if (code != SQLITE_OK) {
        status = fail(db, code);
        roll_back(db);
        return status;
    }
    status = finish_batch(db);
    if (status == SWAMP_OK)
        *revision = (uint64_t)next;
    return status;
}

uint32_t
swamp__sqlite_wal_pages(const swamp__sqlite *db)
{
    return db->wal_pages;
}

int
swamp__sqlite_sync_wal(swamp__sqlite *db)
{
    sqlite3_file *wal = NULL;
    int code = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);

    if (code == SQLITE_OK && wal && wal->pMethods)
        code = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
    return code == SQLITE_OK ? SWAMP_OK : fail(db, code);
}

int
swamp__sqlite_checkpoint(swamp__sqlite *db, int truncate)
{
    int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
    int code = sqlite3_wal_checkpoint_v2(db->handle, NULL, mode, NULL, NULL);

    return code == SQLITE_OK ? SWAMP_OK : fail(db, code);
}

int
swamp__sqlite_open(swamp__sqlite **out, const char *file, int synchronous_full, int64_t deadline_us,
                   char *why, size_t cap)
{
    swamp__sqlite *db;
    int status = SWAMP_OK;
    int code;

    if (!sqlite3_threadsafe()) {
        snprintf(why, cap,
                 "this SQLite was built without threads; use one built with SQLITE_THREADSAFE 1 or 2");
        return SWAMP_E_UNSUPPORTED;
    }
    db = swamp__calloc(1, sizeof *db);
    if (!db) {
        snprintf(why, cap, "out of memory");
        return SWAMP_E_NOMEM;
    }
    db->file = file;
    db->deadline_us = deadline_us;
    code = sqlite3_open_v2(file, &db->handle,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(db->handle, 1);
        sqlite3_busy_handler(db->handle, on_busy, db);
        sqlite3_progress_handler(db->handle, TICK_STEPS, on_tick, db);
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        code = sqlite3_exec(db->handle, CONNECTION_SETTINGS, NULL, NULL, NULL);
    }
    if (code == SQLITE_OK)
        code = sqlite3_exec(db->handle,
                            synchronous_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK && sqlite3_db_readonly(db->handle, "main"))
        code = SQLITE_READONLY;
    if (code != SQLITE_OK) {
        status = explain(db, code);
        snprintf(why, cap, "%s", db->message);
        swamp__sqlite_close(db, 0);
        return status;
    }
    sqlite3_wal_hook(db->handle, on_wal, db); /* after wal_autocheckpoint, which takes the hook away */
    *out = db;
    return SWAMP_OK;
}

void
swamp__sqlite_close(swamp__sqlite *db, int checkpoint)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(db->statements[i]);
    if (checkpoint)
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    sqlite3_close_v2(db->handle);
    swamp__free(db);
}

/* The first column of the first row, as number and as text. SQLITE_OK or an error. */
static int
ask(swamp__sqlite *db, const char *sql, sqlite3_int64 *number, char text[16])
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const unsigned char *word = sqlite3_column_text(statement, 0);
        snprintf(text, 16, "%s", word ? (const char *)word : "");
        *number = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

int
swamp__sqlite_set_up(swamp__sqlite *db, char *why, size_t cap)
{
    sqlite3_int64 application = 0, version = 0, objects = 0, ignored;
    char text[16];
    int code = ask(db, "PRAGMA application_id", &application, text);

    if (code == SQLITE_OK)
        code = ask(db, "PRAGMA user_version", &version, text);
    if (code == SQLITE_OK)
        code = ask(db, "SELECT count(*) FROM sqlite_master", &objects, text);
    if (code == SQLITE_OK && application == 0 && version == 0 && objects == 0) {
        code = sqlite3_exec(db->handle, RECORDS_CREATE, NULL, NULL, NULL);
        application = SWAMP__SQLITE_APPLICATION_ID;
        version = SWAMP__SQLITE_SCHEMA;
    }
    if (code == SQLITE_OK && application != SWAMP__SQLITE_APPLICATION_ID) {
        snprintf(why, cap, "%s is a SQLite database of another program; give another path", db->file);
        return SWAMP_E_CORRUPT;
    }
    if (code == SQLITE_OK && version != SWAMP__SQLITE_SCHEMA) {
        snprintf(why, cap,
                 "%s was made by another version of swamp (schema %d, known here: %d); use that version",
                 db->file, (int)version, SWAMP__SQLITE_SCHEMA);
        return SWAMP_E_UNSUPPORTED;
    }
    if (code == SQLITE_OK)
        code = ask(db, "PRAGMA journal_mode = WAL", &ignored, text);
    if (code == SQLITE_OK && strcmp(text, "wal") != 0) {
        snprintf(why, cap, "%s cannot be put into WAL mode (it stays in \"%s\"); put it on a local disk",
                 db->file, text);
        return SWAMP_E_UNSUPPORTED;
    }
    if (code == SQLITE_OK)
        return SWAMP_OK;
    code = explain(db, code);
    roll_back(db);
    snprintf(why, cap, "%s", db->message);
    return code;
}

int
swamp__sqlite_read_header(const char *file, unsigned char header[SWAMP__SQLITE_HEADER_SIZE])
{
    sqlite3 *handle = NULL;
    sqlite3_file *raw = NULL;
    int code = sqlite3_open_v2(file, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

    memset(header, 0, SWAMP__SQLITE_HEADER_SIZE);
    if (code == SQLITE_OK)
        code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &raw);
    if (code == SQLITE_OK)
        code = raw && raw->pMethods ? raw->pMethods->xRead(raw, header, SWAMP__SQLITE_HEADER_SIZE, 0)
                                    : SQLITE_CANTOPEN;
    sqlite3_close_v2(handle);
    return code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ ? SWAMP_OK : SWAMP_E_IO;
}
