/* A SQLite store on a disk and beside programs in trouble: locks that are held, files replaced, disks full, slow lists. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>
#include "scratch_store.h"
#include "tap.h"

#define TIMEOUT_MS 5000

START_TEST(a_lock_of_the_sqlite3_program_costs_only_the_time)
{
    swamp_store *store = scratch_open(scratch_db, NULL);
    sqlite3 *db;
    size_t len;

    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, 200), SWAMP_E_TIMEOUT);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_OK);
    sqlite3_close(db);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

START_TEST(a_file_that_was_replaced_takes_no_more_writes)
{
    struct scratch_lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = scratch_keep_line, .log_user = &lines};
    swamp_store *store = scratch_open(scratch_db, &options);
    char moved[SCRATCH_PATH_MAX];

    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(rename(scratch_db, scratch_path(moved, scratch_folder, "moved.db")), 0);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_E_STORE);
    ck_assert_msg(strstr(lines.last, "removed or replaced") != NULL, "%s", lines.last);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_E_STORE);
    ck_assert_int_eq(lines.count, 1); /* one line in ten seconds is enough */
    ck_assert_int_eq(rename(moved, scratch_db), 0);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

/* What it lacks was not removed by anybody: a heartbeat that is absent there is no death (PROTOCOL 5). */
START_TEST(a_file_that_was_put_in_its_place_is_not_read_either)
{
    swamp_sqlite_options options = {
        .size = sizeof options, .log = scratch_keep_line, .log_user = &(struct scratch_lines){0, ""}};
    swamp_store *store = scratch_open(scratch_db, &options);
    const char *const ends[] = {"", "-wal", "-shm"};
    char from[3][SCRATCH_PATH_MAX + 8], to[3][SCRATCH_PATH_MAX + 8];
    size_t len = 0;

    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    for (int i = 0; i < 3; i++) {
        snprintf(from[i], sizeof from[i], "%s%s", scratch_db, ends[i]);
        snprintf(to[i], sizeof to[i], "%s/moved.db%s", scratch_folder, ends[i]);
        ck_assert_int_eq(rename(from[i], to[i]), 0);
    }
    swamp_store_free(scratch_open(scratch_db, NULL)); /* another one, and empty */
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_E_STORE);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_E_STORE);
    ck_assert_int_eq(swamp_store_list(store, "k", NULL, 1, 0, TIMEOUT_MS, scratch_keep_length, &len),
                     SWAMP_E_STORE);
    for (int i = 0; i < 3; i++) {
        remove(from[i]);
        ck_assert_int_eq(rename(to[i], from[i]), 0);
    }
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_OK);
    ck_assert_int_eq(len, 1);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

/* DESIGN 6: an instance starts, and says so, in a store that is out of order. */
START_TEST(a_lock_that_is_held_does_not_keep_a_whole_store_from_opening)
{
    struct scratch_lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = scratch_keep_line, .log_user = &lines};
    char lock[SCRATCH_PATH_MAX];
    size_t len;
    swamp_store *store = scratch_open(scratch_db, NULL);
    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
    int fd = open(scratch_path(lock, scratch_folder, "store.db.lock"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);

    store = scratch_open(scratch_db, &options);
    ck_assert_msg(strstr(lines.last, "its lock is held") != NULL, "%s", lines.last);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_OK);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, 200), SWAMP_E_TIMEOUT);
    close(fd);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

START_TEST(a_lock_that_is_held_keeps_a_store_from_being_made)
{
    char lock[SCRATCH_PATH_MAX];
    int fd = open(scratch_path(lock, scratch_folder, "store.db.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    scratch_assert_refused(scratch_db, SWAMP_E_TIMEOUT, "locked by another process");
    close(fd);
}
END_TEST

static int
count_lengths(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    size_t *counted = user;

    (void)key, (void)value, (void)revision;
    counted[0]++;
    counted[1] += value_len;
    return 0;
}

START_TEST(a_value_above_the_limit_is_one_record_that_cannot_be_read_and_stops_no_list)
{
    size_t counted[2] = {0, 0}, len = 99;
    swamp_store *store = scratch_open(scratch_db, NULL);
    ck_assert_int_eq(scratch_put(store, "a/1", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(scratch_put(store, "a/3", "v", 1, TIMEOUT_MS), SWAMP_OK);
    scratch_sql("INSERT INTO records(key, revision, value) VALUES('a/2', 77, zeroblob(10485760))");
    ck_assert_int_eq(swamp_store_list(store, "a/", NULL, 10, 0, TIMEOUT_MS, count_lengths, counted),
                     SWAMP_OK);
    ck_assert_uint_eq(counted[0], 3);
    ck_assert_uint_eq(counted[1], 2);
    ck_assert_int_eq(swamp_store_get(store, "a/2", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_OK);
    ck_assert_uint_eq(len, 0);
    swamp_store_free(store);
}
END_TEST

/* A small file system of this case's own; 0 where that is not allowed. */
static int
mount_small(const char *size)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", scratch_folder, "tmpfs", 0, size) < 0) {
        fprintf(stderr, "# not run: a full disk needs root and a mount of its own\n");
        return 0;
    }
    return 1;
}

START_TEST(a_full_disk_writes_nothing_and_loses_nothing)
{
    static char value[30000];
    struct scratch_lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = scratch_keep_line, .log_user = &lines};
    swamp_store *store;
    char ballast[SCRATCH_PATH_MAX], key[32];
    size_t len;
    int count = 0, rc;

    if (!mount_small("size=2m"))
        return;
    store = scratch_open(scratch_db, &options);
    scratch_write_file(scratch_path(ballast, scratch_folder, "ballast"), value, sizeof value);
    ck_assert_int_eq(truncate(ballast, 0), 0);
    do {
        snprintf(key, sizeof key, "rows/%04d", count);
        rc = scratch_put(store, key, value, sizeof value, TIMEOUT_MS);
        count += rc == SWAMP_OK;
    } while (rc == SWAMP_OK);
    ck_assert_msg(rc == SWAMP_E_STORE, "%s", swamp_status_name(rc));
    ck_assert_int_gt(count, 10);
    ck_assert_msg(strstr(lines.last, "full") != NULL, "%s", lines.last);
    ck_assert_int_eq(swamp_store_get(store, key, TIMEOUT_MS, scratch_keep_length, &len), SWAMP_ABSENT);
    ck_assert_int_eq(mount(NULL, scratch_folder, NULL, MS_REMOUNT, "size=8m"), 0);
    ck_assert_int_eq(scratch_put(store, key, value, sizeof value, TIMEOUT_MS), SWAMP_OK);
    for (int i = 0; i <= count; i++) {
        snprintf(key, sizeof key, "rows/%04d", i);
        ck_assert_msg(swamp_store_get(store, key, TIMEOUT_MS, scratch_keep_length, &len) == SWAMP_OK,
                      "lost %s", key);
    }
    swamp_store_free(store);
    umount2(scratch_folder, MNT_DETACH);
}
END_TEST

START_TEST(a_full_disk_at_open)
{
    static char value[100000];
    char ballast[SCRATCH_PATH_MAX];

    if (!mount_small("size=64k"))
        return;
    FILE *out = fopen(scratch_path(ballast, scratch_folder, "ballast"), "w");
    ck_assert_ptr_nonnull(out);
    (void)!fwrite(value, 1, sizeof value, out);
    fclose(out);
    scratch_assert_refused(scratch_db, SWAMP_E_IO, "full");
    umount2(scratch_folder, MNT_DETACH);
}
END_TEST

/* The file-size limit makes the write of the last frame fail: what a broken disk does, without breaking one. */
START_TEST(a_commit_that_failed_in_the_middle_is_unknown)
{
    static char value[100000];
    struct rlimit limit, tight;
    swamp_store *store = scratch_open(scratch_db, NULL);
    size_t len = 0;
    int rc;

    ck_assert_int_eq(scratch_put(store, "k", "old", 3, TIMEOUT_MS), SWAMP_OK);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    tight = limit;
    tight.rlim_cur = 65536;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
    rc = scratch_put(store, "k", value, sizeof value, TIMEOUT_MS);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_msg(rc == SWAMP_E_UNKNOWN, "%s", swamp_status_name(rc));
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_OK);
    ck_assert_msg(len == 3 || len == sizeof value, "%zu",
                  len); /* the old or the new one, nothing in between */
    ck_assert_int_eq(scratch_put(store, "k", "newer", 5, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_OK);
    ck_assert_uint_eq(len, 5);
    swamp_store_free(store);
}
END_TEST

START_TEST(a_long_list_ends_at_its_deadline)
{
    swamp_store *store = scratch_open(scratch_db, NULL);
    struct timespec before, after;
    size_t len;
    int rc;

    /* a million rows would take a second to write one by one: let SQLite make them */
    scratch_sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
        "INSERT INTO records(key, revision, value) SELECT printf('many/%06d', i), 1, zeroblob(500) FROM n");
    clock_gettime(CLOCK_MONOTONIC, &before);
    rc = swamp_store_list(store, "many/", NULL, 100000, 0, 1, scratch_keep_length, &len);
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert_msg(rc == SWAMP_E_TIMEOUT, "%s", swamp_status_name(rc));
    ck_assert_int_lt((int)(after.tv_sec - before.tv_sec), 2);
    ck_assert_int_eq(swamp_store_list(store, "many/", NULL, 100000, 0, 60000, scratch_keep_length, &len),
                     SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

static Suite *
trouble_suite(void)
{
    Suite *suite = suite_create("trouble");
    TCase *tcase = tcase_create("sqlite");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, scratch_set_up, scratch_tear_down);
    tcase_add_test(tcase, a_lock_of_the_sqlite3_program_costs_only_the_time);
    tcase_add_test(tcase, a_file_that_was_replaced_takes_no_more_writes);
    tcase_add_test(tcase, a_file_that_was_put_in_its_place_is_not_read_either);
    tcase_add_test(tcase, a_lock_that_is_held_does_not_keep_a_whole_store_from_opening);
    tcase_add_test(tcase, a_lock_that_is_held_keeps_a_store_from_being_made);
    tcase_add_test(tcase, a_value_above_the_limit_is_one_record_that_cannot_be_read_and_stops_no_list);
    tcase_add_test(tcase, a_full_disk_writes_nothing_and_loses_nothing);
    tcase_add_test(tcase, a_full_disk_at_open);
    tcase_add_test(tcase, a_commit_that_failed_in_the_middle_is_unknown);
    tcase_add_test(tcase, a_long_list_ends_at_its_deadline);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(trouble_suite());
}
