/* A SQLite store on a disk that fails at one call, each in turn: the answer is true, and nothing is wrong after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <swamp/swamp.h>
#include "faulty_disk.h"
#include "scratch.h"
#include "tap.h"

#define TIMEOUT_MS 5000
#define SHORT_MS 60 /* for a lock that is never had */
#define VALUE 20000 /* some pages each */
#define BIG (256 * 1024)
#define BIGS 16 /* one commit of more WAL than is left uncopied */
#define CALLS_MAX 20000

static const struct disk_fault {
    const char *name;
    enum faulty_call call;
    int code, all;
} faults[] = {
    {"a read fails", FAULTY_READ, SQLITE_IOERR_READ, 0},
    {"reads fail", FAULTY_READ, SQLITE_IOERR_READ, 1},
    {"a write fails", FAULTY_WRITE, SQLITE_IOERR_WRITE, 0},
    {"writes fail", FAULTY_WRITE, SQLITE_IOERR_WRITE, 1},
    {"a write is torn", FAULTY_WRITE_TORN, SQLITE_IOERR_WRITE, 0},
    {"the disk is full for a moment", FAULTY_WRITE, SQLITE_FULL, 0},
    {"the disk is full", FAULTY_WRITE, SQLITE_FULL, 1},
    {"the disk is full in the middle of a write", FAULTY_WRITE_TORN, SQLITE_FULL, 1},
    {"a sync fails", FAULTY_SYNC, SQLITE_IOERR_FSYNC, 0},
    {"syncs fail", FAULTY_SYNC, SQLITE_IOERR_FSYNC, 1},
    {"a truncation fails", FAULTY_TRUNCATE, SQLITE_IOERR_TRUNCATE, 0},
    {"the size cannot be had", FAULTY_SIZE, SQLITE_IOERR_FSTAT, 1},
    {"a file cannot be opened", FAULTY_OPEN, SQLITE_CANTOPEN, 0},
    {"a lock fails", FAULTY_LOCK, SQLITE_IOERR_LOCK, 0},
    {"a lock is busy for a moment", FAULTY_LOCK, SQLITE_BUSY, 0},
    {"the shared memory cannot be had", FAULTY_SHM_MAP, SQLITE_IOERR_SHMMAP, 0},
    {"there is no memory for the shared memory", FAULTY_SHM_MAP, SQLITE_NOMEM, 0},
    {"a lock of the shared memory fails", FAULTY_SHM_LOCK, SQLITE_IOERR_SHMLOCK, 0},
    {"a lock of the shared memory is busy for a moment", FAULTY_SHM_LOCK, SQLITE_BUSY, 0},
    {"the locks of the shared memory stay busy", FAULTY_SHM_LOCK, SQLITE_BUSY, 1},
};
#define FAULTS (int)(sizeof faults / sizeof faults[0])

static const struct disk_fault *fault;
static unsigned long at; /* the call that fails */
static char *folder;
static char path[SCRATCH_PATH_MAX];

static void
set_up(void)
{
    folder = scratch_make();
    scratch_path(path, folder, "store.db");
    faulty_disk_fail(FAULTY_READ, 0, 0, 0);
}

static void
tear_down(void)
{
    scratch_remove(folder);
}

/* One call fails from here on, and none after faulty_disk_fail(..., 0, ...). Patience only where it ends. */
static int
begin_fault(void)
{
    faulty_disk_fail(fault->call, fault->code, at, fault->all);
    return fault->code == SQLITE_BUSY && fault->all ? SHORT_MS : TIMEOUT_MS;
}

static unsigned long
end_fault(void)
{
    unsigned long failed = faulty_disk_failed();
    faulty_disk_fail(FAULTY_READ, 0, 0, 0);
    return failed;
}

static swamp_store *
open_at(const char *file)
{
    swamp_sqlite_options options = {.size = sizeof options, .synchronous_full = 1};
    swamp_store *store = NULL;
    char *error = NULL;
    int rc = swamp_store_sqlite_open(&store, file, &options, &error);
    ck_assert_msg(rc == SWAMP_OK, "%s, call %lu: %s", fault->name, at, error ? error : "?");
    return store;
}

/* What a store holds, so far as the tests wrote it: 'o' all of the batch is old, 'n' all of it new. */
typedef struct seen {
    int count, last_beat;
    char one, two, three; /* first byte of the value, 0: absent */
    int torn;
} seen;

static int
note_record(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    seen *so_far = user;
    const char *bytes = value;
    (void)revision;
    so_far->count++;
    if (strcmp(key, "beat") == 0) {
        so_far->last_beat = len == sizeof(int) ? *(const int *)value : -1;
        return 0;
    }
    for (size_t i = 1; i < len; i++)
        so_far->torn |= bytes[i] != bytes[0];
    so_far->torn |= len != VALUE;
    if (strcmp(key, "r/1") == 0)
        so_far->one = bytes[0];
    else if (strcmp(key, "r/2") == 0)
        so_far->two = bytes[0];
    else if (strcmp(key, "r/3") == 0)
        so_far->three = bytes[0];
    return 0;
}

static char
state_of(swamp_store *store)
{
    seen all = {0};
    int rc = swamp_store_list(store, "r/", NULL, 100, 0, TIMEOUT_MS, note_record, &all);
    ck_assert_msg(rc == SWAMP_OK, "%s, call %lu: %s", fault->name, at, swamp_status_name(rc));
    ck_assert_msg(!all.torn, "%s, call %lu: a value is torn", fault->name, at);
    if (all.one == 'o' && all.two == 'o' && all.three == 0)
        return 'o';
    ck_assert_msg(all.one == 'n' && all.two == 0 && all.three == 'n', "%s, call %lu: half a batch: %c%c%c",
                  fault->name, at, all.one ? all.one : '-', all.two ? all.two : '-',
                  all.three ? all.three : '-');
    return 'n';
}

static swamp_store_op
put_op(const char *key, const void *value, size_t len)
{
    return (swamp_store_op){.key = key,
                            .value = value,
                            .value_len = len,
                            .action = SWAMP_STORE_PUT,
                            .condition = SWAMP_STORE_ANY};
}

static void
put_old(swamp_store *store)
{
    static char value[VALUE];
    memset(value, 'o', sizeof value);
    swamp_store_op ops[] = {put_op("r/1", value, VALUE), put_op("r/2", value, VALUE)};
    ck_assert_int_eq(swamp_store_commit(store, ops, 2, TIMEOUT_MS, NULL, NULL), SWAMP_OK);
}

/* A change, an addition and a removal. */
static int
put_new(swamp_store *store, int timeout_ms)
{
    static char value[VALUE];
    memset(value, 'n', sizeof value);
    swamp_store_op ops[] = {
        put_op("r/1", value, VALUE),
        {.key = "r/2", .action = SWAMP_STORE_REMOVE, .condition = SWAMP_STORE_PRESENT},
        put_op("r/3", value, VALUE),
    };
    return swamp_store_commit(store, ops, 3, timeout_ms, NULL, NULL);
}

/* The store goes on: it takes a write, gives it back, and counts on. */
static void
check_goes_on(swamp_store *store, int beat)
{
    uint64_t before = 0, after = 0;
    seen all = {0};
    swamp_store_op op = put_op("beat", &beat, sizeof beat);
    int rc = swamp_store_commit(store, &op, 1, TIMEOUT_MS, &before, NULL);
    ck_assert_msg(rc == SWAMP_OK, "%s, call %lu: then %s", fault->name, at, swamp_status_name(rc));
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, &after, NULL), SWAMP_OK);
    ck_assert_uint_gt(after, before);
    ck_assert_int_eq(swamp_store_get(store, "beat", TIMEOUT_MS, note_record, &all), SWAMP_OK);
    ck_assert_int_eq(all.last_beat, beat);
}

static void
copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t count;
    ck_assert(in && out);
    while ((count = fread(bytes, 1, sizeof bytes, in)) > 0)
        ck_assert_uint_eq(fwrite(bytes, 1, count, out), count);
    fclose(in);
    ck_assert_int_eq(fclose(out), 0);
}

static void
check_integrity(const char *file)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    ck_assert_msg(strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0, "%s, call %lu: %s",
                  fault->name, at, sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

/* What the next process finds if this one is killed now: the files as they are, without the shared memory. */
static char
state_after_a_crash(void)
{
    char file[SCRATCH_PATH_MAX], from[SCRATCH_PATH_MAX], to[SCRATCH_PATH_MAX];
    char *other = scratch_make();
    copy_file(path, scratch_path(file, other, "store.db"));
    copy_file(scratch_path(from, folder, "store.db-wal"), scratch_path(to, other, "store.db-wal"));
    swamp_store *store = open_at(file);
    char state = state_of(store);
    check_goes_on(store, 7);
    swamp_store_free(store);
    check_integrity(file);
    scratch_remove(other);
    return state;
}

static void
check_outcome(int rc, char state, const char *where)
{
    int is_true = rc == SWAMP_OK ? state == 'n' : rc == SWAMP_E_UNKNOWN || state == 'o';
    ck_assert_msg(rc == SWAMP_OK || rc == SWAMP_E_STORE || rc == SWAMP_E_UNKNOWN || rc == SWAMP_E_NOMEM ||
                      rc == SWAMP_E_TIMEOUT,
                  "%s, call %lu: %s", fault->name, at, swamp_status_name(rc));
    ck_assert_msg(is_true, "%s, call %lu: the commit gave %s, and %s the batch is %s", fault->name, at,
                  swamp_status_name(rc), where, state == 'n' ? "there" : "not there");
}

/* On a connection that has its statements, and on a fresh one, which opens and reads more. */
static void
commit_under_fault(int fresh)
{
    for (at = 1; at < CALLS_MAX; at += 1 + at / 6) {
        swamp_store *store = open_at(path);
        put_old(store);
        if (fresh) {
            swamp_store_free(store);
            store = open_at(path);
        }
        int timeout_ms = begin_fault();
        int rc = put_new(store, timeout_ms);
        unsigned long failed = end_fault();
        check_outcome(rc, state_after_a_crash(), "after a crash");
        check_outcome(rc, state_of(store), "afterwards");
        check_goes_on(store, 1);
        swamp_store_free(store);
        check_integrity(path);
        scratch_remove(folder);
        set_up();
        if (failed == 0) { /* on a busy machine a short patience ends by itself */
            ck_assert(rc == SWAMP_OK || (rc == SWAMP_E_TIMEOUT && timeout_ms == SHORT_MS));
            return;
        }
    }
    ck_abort_msg("%s: it never came to an end", fault->name);
}

START_TEST(commit_tells_the_truth_whatever_fails)
{
    fault = &faults[_i];
    commit_under_fault(0);
    commit_under_fault(1);
}
END_TEST

/* A get never says absent, and a list is never short, because something could not be read. */
START_TEST(reads_are_right_or_refused_whatever_fails)
{
    fault = &faults[_i];
    swamp_store *store = open_at(path);
    unsigned long failed = 1;
    put_old(store);
    for (at = 1; failed && at < CALLS_MAX; at++) {
        swamp_store_free(store); /* a fresh connection reads the pages itself */
        store = open_at(path);
        seen one = {0}, all = {0};
        int timeout_ms = begin_fault();
        int got = swamp_store_get(store, "r/2", timeout_ms, note_record, &one);
        failed = end_fault();
        timeout_ms = begin_fault();
        int listed = swamp_store_list(store, "r/", NULL, 100, 0, timeout_ms, note_record, &all);
        failed += end_fault();
        ck_assert_msg(got == SWAMP_OK ? one.two == 'o' && !one.torn : got < 0, "%s, call %lu: get gave %s",
                      fault->name, at, swamp_status_name(got));
        ck_assert_msg(listed < 0 || (all.count == 2 && !all.torn), "%s, call %lu: %d of 2 records",
                      fault->name, at, all.count);
        ck_assert_int_eq(state_of(store), 'o');
    }
    ck_assert_uint_eq(failed, 0);
    swamp_store_free(store);
}
END_TEST

/* The making of a file, and the opening of one that is there. */
START_TEST(open_is_refused_in_words_and_works_later_whatever_fails)
{
    fault = &faults[_i];
    for (int there = 0; there < 2; there++) {
        unsigned long failed = 1;
        for (at = 1; failed && at < CALLS_MAX; at++) {
            swamp_store *store = NULL;
            char *error = NULL;
            if (there) {
                store = open_at(path);
                put_old(store);
                swamp_store_free(store);
                store = NULL;
            }
            begin_fault();
            int busy = fault->code == SQLITE_BUSY && fault->all; /* for all of the 5 s that an opening has */
            int rc = busy ? SWAMP_E_TIMEOUT : swamp_store_sqlite_open(&store, path, NULL, &error);
            failed = end_fault();
            ck_assert_msg((rc < 0) == (store == NULL), "%s, call %lu: %s", fault->name, at,
                          swamp_status_name(rc));
            ck_assert_msg(busy || rc == SWAMP_OK || (error && *error && !strchr(error, '\n')),
                          "%s, call %lu: %s", fault->name, at, error ? error : "without a word");
            swamp_free(error);
            swamp_store_free(store);
            store = open_at(path);
            if (there)
                ck_assert_int_eq(state_of(store), 'o');
            check_goes_on(store, 1);
            swamp_store_free(store);
            check_integrity(path);
            scratch_remove(folder);
            set_up();
        }
        ck_assert_uint_eq(failed, 0);
    }
}
END_TEST

static int
put_big(swamp_store *store)
{
    static char value[BIG], keys[BIGS][32];
    swamp_store_op ops[BIGS];
    memset(value, 'b', sizeof value);
    for (int i = 0; i < BIGS; i++) {
        snprintf(keys[i], sizeof keys[i], "z/%02d", i);
        ops[i] = put_op(keys[i], value, BIG);
    }
    return swamp_store_commit(store, ops, BIGS, TIMEOUT_MS, NULL, NULL);
}

/* The WAL is copied back at the end of a long commit and when the store is closed: neither may lose what was done. */
START_TEST(a_checkpoint_and_a_close_that_fail_lose_nothing)
{
    fault = &faults[_i];
    unsigned long failed = 1;
    for (at = 1; failed && at < CALLS_MAX; at += 1 + at / 2) {
        swamp_store *store = open_at(path);
        put_old(store);
        begin_fault();
        int rc = put_big(store);
        failed = end_fault();
        ck_assert_int_eq(state_of(store), 'o');
        begin_fault();
        if (fault->code != SQLITE_BUSY || !fault->all) /* would wait for as long as it takes */
            swamp_store_free(store);
        failed += end_fault();
        if (fault->code == SQLITE_BUSY && fault->all)
            swamp_store_free(store);
        store = open_at(path);
        ck_assert_int_eq(state_of(store), 'o');
        seen big = {0};
        int got = swamp_store_get(store, "z/15", TIMEOUT_MS, note_record, &big);
        ck_assert_msg(rc == SWAMP_OK ? got == SWAMP_OK : rc == SWAMP_E_UNKNOWN || got == SWAMP_ABSENT,
                      "%s, call %lu: the commit gave %s, the get %s", fault->name, at, swamp_status_name(rc),
                      swamp_status_name(got));
        check_goes_on(store, 1);
        swamp_store_free(store);
        check_integrity(path);
        scratch_remove(folder);
        set_up();
    }
    ck_assert_uint_eq(failed, 0);
}
END_TEST

static void
keep_line(int level, const char *line, void *user)
{
    (void)level;
    snprintf(user, 1024, "%s", line);
}

/* The wait for the WAL is no call of SQLite's interface, whose last word was that all is well. */
START_TEST(a_wal_that_cannot_be_synced_is_told_by_its_name)
{
    char line[1024] = "";
    fault = &(const struct disk_fault){"syncs fail", FAULTY_SYNC, SQLITE_IOERR_FSYNC, 1};
    at = 1;
    swamp_sqlite_options options = {.size = sizeof options, .log = keep_line, .log_user = line};
    swamp_store *store = NULL;
    ck_assert_int_eq(swamp_store_sqlite_open(&store, path, &options, NULL), SWAMP_OK);
    ck_assert_int_eq(put_big(store), SWAMP_OK);
    line[0] = '\0';
    begin_fault();
    /* written, and now the WAL is long enough to be copied back */
    ck_assert_int_eq(put_big(store), SWAMP_OK);
    ck_assert_uint_eq(end_fault(), 1);
    ck_assert_msg(strstr(line, "disk I/O error (SQLite 1034)") != NULL, "%s", line);
    swamp_store_free(store);
    check_integrity(path);
}
END_TEST

static Suite *
disk_suite(void)
{
    Suite *suite = suite_create("disk");
    TCase *tcase = tcase_create("sqlite"), *lines = tcase_create("lines");

    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, faulty_disk_install, NULL);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, commit_tells_the_truth_whatever_fails, 0, FAULTS);
    tcase_add_loop_test(tcase, reads_are_right_or_refused_whatever_fails, 0, FAULTS);
    tcase_add_loop_test(tcase, open_is_refused_in_words_and_works_later_whatever_fails, 0, FAULTS);
    tcase_add_loop_test(tcase, a_checkpoint_and_a_close_that_fail_lose_nothing, 0, FAULTS);
    tcase_add_unchecked_fixture(lines, faulty_disk_install, NULL);
    tcase_add_checked_fixture(lines, set_up, tear_down);
    tcase_add_test(lines, a_wal_that_cannot_be_synced_is_told_by_its_name);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, lines);
    return suite;
}

int
main(void)
{
    return tap_main(disk_suite());
}
