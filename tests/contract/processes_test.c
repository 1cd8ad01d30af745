/* Several processes on one SQLite store: no lost update, no lost row after kill -9, and nobody waits past the
 * deadline. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>
#include "processes.h"
#include "scratch_store.h"
#include "tap.h"

#define TIMEOUT_MS 20000
#define WORKERS 4

static int
keep_text(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key;
    (void)revision;
    snprintf(user, 32, "%.*s", (int)value_len, (const char *)value);
    return 0;
}

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
assert_sound(void)
{
    sqlite3 *db;
    sqlite3_stmt *check;

    ck_assert_int_eq(sqlite3_open_v2(scratch_db, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &check, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(check), SQLITE_ROW);
    ck_assert_str_eq((const char *)sqlite3_column_text(check, 0), "ok");
    sqlite3_finalize(check);
    ck_assert_int_eq(
        sqlite3_prepare_v2(db, "SELECT count(*) - count(DISTINCT key) FROM records", -1, &check, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(check), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(check, 0), 0);
    sqlite3_finalize(check);
    sqlite3_close(db);
}

static void
count_with(const char *const roles[WORKERS], const char *each, const char *sum)
{
    swamp_store *store = scratch_open(scratch_db, NULL);
    struct worker workers[WORKERS];
    char text[32] = "";

    ck_assert_int_eq(scratch_put(store, "counter", "0", 1, TIMEOUT_MS), SWAMP_OK);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = worker_start(roles[i], scratch_db, each);
    for (int i = 0; i < WORKERS; i++)
        ck_assert_int_eq(worker_join(&workers[i]), 0);
    ck_assert_int_eq(swamp_store_get(store, "counter", TIMEOUT_MS, keep_text, text), SWAMP_OK);
    ck_assert_str_eq(text, sum);
    swamp_store_free(store);
    assert_sound();
}

START_TEST(four_processes_lose_no_update)
{
    static const char *const roles[WORKERS] = {"count", "count", "count", "count"};

    count_with(roles, "250", "1000");
}
END_TEST

START_TEST(opening_and_closing_beside_writers_loses_nothing)
{
    static const char *const roles[WORKERS] = {"count", "reopen", "count", "reopen"};

    count_with(roles, "100", "400");
}
END_TEST

/* Rows told by the workers until `enough` came in all. Returns how many; they are put into keys. */
static int
gather_rows(struct worker *workers, int enough, char keys[][64])
{
    struct pollfd polled[WORKERS];
    int count = 0;

    for (int i = 0; i < WORKERS; i++)
        polled[i] = (struct pollfd){.fd = workers[i].out, .events = POLLIN};
    while (count < enough) {
        ck_assert_int_gt(poll(polled, WORKERS, TIMEOUT_MS), 0);
        for (int i = 0; i < WORKERS && count < enough; i++) {
            if (!(polled[i].revents & (POLLIN | POLLHUP)))
                continue;
            worker_read_line(&workers[i], keys[count], 64);
            ck_assert_msg(keys[count][0] != '\0', "worker %d ended by itself", i);
            count++;
        }
    }
    return count;
}

START_TEST(kill_9_loses_no_acknowledged_row)
{
    static char keys[512][64];
    char name[32];

    for (int round = 0; round < 10; round++) {
        struct worker workers[WORKERS];
        swamp_store *store;
        size_t len;
        int count;

        for (int i = 0; i < WORKERS; i++) {
            snprintf(name, sizeof name, "%d-%d", round, i);
            workers[i] = worker_start("append", scratch_db, name);
        }
        count = gather_rows(workers, 40 + round * 37, keys);
        for (int i = 0; i < WORKERS; i++) /* all first, so that the last of them dies while it writes alone */
            kill(workers[i].pid, SIGKILL);
        for (int i = 0; i < WORKERS; i++)
            ck_assert_int_eq(worker_join(&workers[i]), -SIGKILL);
        store = scratch_open(scratch_db, NULL);
        for (int i = 0; i < count; i++)
            ck_assert_msg(swamp_store_get(store, keys[i], TIMEOUT_MS, scratch_keep_length, &len) == SWAMP_OK,
                          "lost %s", keys[i]);
        ck_assert_int_eq(scratch_put(store, "after", "v", 1, TIMEOUT_MS), SWAMP_OK);
        swamp_store_free(store);
        assert_sound();
    }
}
END_TEST

START_TEST(a_stopped_holder_of_the_lock_blocks_nobody_past_the_deadline)
{
    swamp_store *store = scratch_open(scratch_db, NULL), *other = NULL;
    struct worker holder;
    char line[32];
    int64_t before;
    size_t len;

    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    holder = worker_start("hold", scratch_db, "transaction");
    worker_read_line(&holder, line, sizeof line);
    ck_assert_str_eq(line, "held");
    kill(holder.pid, SIGSTOP);

    before = now_ms();
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, 300), SWAMP_E_TIMEOUT);
    ck_assert_int_ge((int)(now_ms() - before), 300);
    ck_assert_int_lt((int)(now_ms() - before), 2000);
    before = now_ms();
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, 0), SWAMP_E_TIMEOUT);
    ck_assert_int_eq(swamp_store_get(store, "k", 1000, scratch_keep_length, &len),
                     SWAMP_OK); /* readers do not care */
    ck_assert_int_lt((int)(now_ms() - before), 1000);
    /* a store that is whole opens and is read without the lock; only its writes wait */
    ck_assert_int_eq(swamp_store_sqlite_open(&other, scratch_db, NULL, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(other, "k", 1000, scratch_keep_length, &len), SWAMP_OK);
    ck_assert_int_eq(scratch_put(other, "k", "w", 1, 300), SWAMP_E_TIMEOUT);

    worker_kill(&holder);
    ck_assert_int_eq(scratch_put(store, "k", "x", 1, 300), SWAMP_OK);
    ck_assert_int_eq(scratch_put(other, "k", "y", 1, 300), SWAMP_OK);
    swamp_store_free(other);
    swamp_store_free(store);
    assert_sound();
}
END_TEST

static int64_t
wal_bytes(void)
{
    char wal[SCRATCH_PATH_MAX + 8];
    struct stat found;

    snprintf(wal, sizeof wal, "%s-wal", scratch_db);
    return stat(wal, &found) == 0 ? (int64_t)found.st_size : 0;
}

#define MIB ((int64_t)1 << 20)

/* 200 KB a commit, different each time: SQLite does not write again what did not change. */
static void
put_many(swamp_store *store, int count)
{
    static char value[200000];

    for (int i = 0; i < count; i++) {
        memset(value, 'a' + i % 26, sizeof value);
        ck_assert_int_eq(scratch_put(store, "big", value, sizeof value, TIMEOUT_MS), SWAMP_OK);
    }
}

START_TEST(the_wal_is_copied_back)
{
    swamp_store *store = scratch_open(scratch_db, NULL);

    put_many(store, 200); /* 40 MB; copied back at 8 MiB */
    ck_assert_int_lt(wal_bytes(), 10 * MIB);
    swamp_store_free(store);
    ck_assert_int_eq(wal_bytes(), 0); /* and gone with the last one that closes */
    assert_sound();
}
END_TEST

START_TEST(a_stopped_checkpointer_is_passed_over)
{
    struct worker checkpointer = worker_start("elect", scratch_db, "");
    swamp_store *store;
    char line[32];

    worker_read_line(&checkpointer, line, sizeof line);
    ck_assert_str_eq(line, "elected");
    kill(checkpointer.pid, SIGSTOP);
    store = scratch_open(scratch_db, NULL);
    put_many(store, 400); /* 80 MB; copied back at 32 MiB */
    ck_assert_int_lt(wal_bytes(), 40 * MIB);
    worker_kill(&checkpointer);
    swamp_store_free(store);
    assert_sound();
}
END_TEST

START_TEST(a_removed_lock_file_still_locks)
{
    swamp_store *store = scratch_open(scratch_db, NULL), *other;
    char lock[SCRATCH_PATH_MAX + 8];
    struct worker holder;
    char line[32];

    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    snprintf(lock, sizeof lock, "%s.lock", scratch_db);
    ck_assert_int_eq(unlink(lock), 0);
    other = scratch_open(scratch_db, NULL); /* makes a new one, which the first store must notice */
    swamp_store_free(other);
    holder = worker_start("hold", scratch_db, "lock");
    worker_read_line(&holder, line, sizeof line);
    ck_assert_str_eq(line, "held");
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, 200), SWAMP_E_TIMEOUT);
    worker_kill(&holder);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
    assert_sound();
}
END_TEST

START_TEST(a_child_may_not_use_its_parents_store)
{
    swamp_store *store = scratch_open(scratch_db, NULL);
    int status;
    pid_t child;

    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    child = fork();
    if (child == 0) {
        int rc = scratch_put(store, "k", "child", 5, 1000);
        swamp_store_free(store);
        _exit(rc == SWAMP_E_STORE ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
    assert_sound();
}
END_TEST

static Suite *
processes_suite(void)
{
    Suite *suite = suite_create("processes");
    TCase *tcase = tcase_create("sqlite");

    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, scratch_set_up, scratch_tear_down);
    tcase_add_test(tcase, four_processes_lose_no_update);
    tcase_add_test(tcase, opening_and_closing_beside_writers_loses_nothing);
    tcase_add_test(tcase, kill_9_loses_no_acknowledged_row);
    tcase_add_test(tcase, a_stopped_holder_of_the_lock_blocks_nobody_past_the_deadline);
    tcase_add_test(tcase, the_wal_is_copied_back);
    tcase_add_test(tcase, a_stopped_checkpointer_is_passed_over);
    tcase_add_test(tcase, a_removed_lock_file_still_locks);
    tcase_add_test(tcase, a_child_may_not_use_its_parents_store);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(int argc, char **argv)
{
    int rc = worker_main(argc, argv);

    return rc >= 0 ? rc : tap_main(processes_suite());
}
