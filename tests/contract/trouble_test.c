/* A SQLite store on bad paths, files and disks: the right status, and one line that says what to do. */
#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>
#include <swamp/swamp.h>
#include "../../libswamp/store/sqlite_path.h"
#include "scratch.h"
#include "tap.h"

#define TIMEOUT_MS 5000

static char *folder;
static char path[SCRATCH_PATH_MAX];

static void
set_up(void)
{
    folder = scratch_make();
    scratch_path(path, folder, "store.db");
}

static void
tear_down(void)
{
    scratch_remove(folder);
}

/* The open fails with this status, and its line is one line that has the words. */
static void
assert_refused(const char *file, int status, const char *words)
{
    swamp_store *store = NULL;
    char *error = NULL;
    int rc = swamp_store_sqlite_open(&store, file, NULL, &error);

    ck_assert_msg(rc == status, "%s: %s", swamp_status_name(rc), error ? error : "opened");
    ck_assert_ptr_null(store);
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error, words) != NULL, "%s", error);
    ck_assert_ptr_null(strchr(error, '\n'));
    swamp_free(error);
}

static swamp_store *
open_store(const char *file, const swamp_sqlite_options *options)
{
    swamp_store *store = NULL;
    char *error = NULL;

    ck_assert_msg(swamp_store_sqlite_open(&store, file, options, &error) == SWAMP_OK, "%s", error);
    return store;
}

static int
put(swamp_store *store, const char *key, const void *value, size_t len, int timeout_ms)
{
    swamp_store_op op = {.key = key,
                         .value = value,
                         .value_len = len,
                         .action = SWAMP_STORE_PUT,
                         .condition = SWAMP_STORE_ANY};

    return swamp_store_commit(store, &op, 1, timeout_ms, NULL, NULL);
}

static int
keep_length(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key;
    (void)value;
    (void)revision;
    *(size_t *)user = value_len;
    return 0;
}

static void
write_file(const char *file, const void *bytes, size_t len)
{
    FILE *out = fopen(file, "w");

    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, len, out), len);
    ck_assert_int_eq(fclose(out), 0);
}

static unsigned
mode_of(const char *name)
{
    char file[SCRATCH_PATH_MAX];
    struct stat found;

    ck_assert_msg(stat(scratch_path(file, folder, name), &found) == 0, "%s", name);
    return (unsigned)found.st_mode & 07777;
}

START_TEST(a_missing_folder_is_made_and_all_files_are_private)
{
    char file[SCRATCH_PATH_MAX];
    swamp_store *store;

    umask(0); /* the modes must not lean on it */
    store = open_store(scratch_path(file, folder, ".swamp/control-plane.db"), NULL);
    ck_assert_int_eq(put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_uint_eq(mode_of(".swamp"), 0700);
    ck_assert_uint_eq(mode_of(".swamp/control-plane.db"), 0600);
    ck_assert_uint_eq(mode_of(".swamp/control-plane.db-wal"), 0600);
    ck_assert_uint_eq(mode_of(".swamp/control-plane.db-shm"), 0600);
    ck_assert_uint_eq(mode_of(".swamp/control-plane.db.lock"), 0600);
    swamp_store_free(store);
}
END_TEST

START_TEST(paths_that_name_no_file)
{
    char file[1024];

    assert_refused(NULL, SWAMP_E_INVALID, "empty");
    assert_refused("", SWAMP_E_INVALID, "empty");
    assert_refused("/", SWAMP_E_INVALID, "names no file");
    assert_refused("..", SWAMP_E_INVALID, "names no file");
    assert_refused(folder, SWAMP_E_IO, "is a folder");
    assert_refused(scratch_path(file, folder, ""), SWAMP_E_INVALID, "names no file");
    assert_refused(scratch_path(file, folder, "no/such/store.db"), SWAMP_E_IO, "create it first");
    assert_refused("/dev/null", SWAMP_E_IO, "not a plain file");
    memset(file, 'x', sizeof file);
    file[sizeof file - 1] = '\0';
    assert_refused(file, SWAMP_E_INVALID, "longer than");
    write_file(path, "", 0);
    snprintf(file, sizeof file, "%s/store.db", path);
    assert_refused(file, SWAMP_E_IO, "is not a folder");
}
END_TEST

START_TEST(a_file_that_is_no_database_is_left_alone)
{
    char text[5000];
    struct stat found;

    memset(text, 'x', sizeof text);
    write_file(path, text, sizeof text);
    assert_refused(path, SWAMP_E_CORRUPT, "not a database");
    ck_assert_int_eq(stat(path, &found), 0);
    ck_assert_int_eq((int)found.st_size, (int)sizeof text);
    write_file(path, "hello", 5);
    assert_refused(path, SWAMP_E_CORRUPT, "not a database");
}
END_TEST

static void
run_sql(const char *sql)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

START_TEST(another_programs_database_is_refused)
{
    run_sql("CREATE TABLE bookmarks(url)");
    assert_refused(path, SWAMP_E_CORRUPT, "another program");
}
END_TEST

START_TEST(a_newer_schema_is_refused)
{
    swamp_store_free(open_store(path, NULL));
    run_sql("PRAGMA user_version = 2");
    assert_refused(path, SWAMP_E_UNSUPPORTED, "another version of swamp");
}
END_TEST

START_TEST(hard_links_are_refused_and_symbolic_links_followed)
{
    char other[SCRATCH_PATH_MAX];
    swamp_store *store = open_store(path, NULL), *same;
    size_t len = 0;

    ck_assert_int_eq(symlink(path, scratch_path(other, folder, "link.db")), 0);
    same = open_store(other, NULL);
    ck_assert_int_eq(put(store, "k", "12345", 5, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(same, "k", TIMEOUT_MS, keep_length, &len), SWAMP_OK);
    ck_assert_uint_eq(len, 5);
    ck_assert_int_eq(access(scratch_path(other, folder, "link.db.lock"), F_OK),
                     -1); /* one lock for both names */
    swamp_store_free(same);
    swamp_store_free(store);
    ck_assert_int_eq(link(path, scratch_path(other, folder, "second.db")), 0);
    assert_refused(path, SWAMP_E_UNSUPPORTED, "hard links");
}
END_TEST

/* Root may write anywhere: become somebody else, for this case's process only. */
static void
become_nobody(void)
{
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(setgroups(0, NULL), 0);
    ck_assert_int_eq(setegid(65534), 0);
    ck_assert_int_eq(seteuid(65534), 0);
}

static void
become_root_again(void)
{
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}

START_TEST(files_that_may_not_be_written)
{
    swamp_store_free(open_store(path, NULL));
    chmod(folder, 0755);
    become_nobody();
    if (geteuid() == 65534)
        assert_refused(path, SWAMP_E_IO, "Permission denied"); /* another user's lock file */
    become_root_again();
    chmod(folder, 0555);
    become_nobody();
    if (geteuid() == 65534) {
        char file[SCRATCH_PATH_MAX];
        assert_refused(scratch_path(file, folder, "other.db"), SWAMP_E_IO, "run as the user");
        assert_refused(scratch_path(file, folder, "sub/other.db"), SWAMP_E_IO, "run as the user");
    }
    become_root_again();
    chmod(folder, 0777);
    chmod(path, 0444);
    unlink(strcat(path, ".lock"));
    path[strlen(path) - 5] = '\0';
    become_nobody();
    assert_refused(path, SWAMP_E_IO, "Permission denied");
    become_root_again();
}
END_TEST

START_TEST(a_lock_of_the_sqlite3_program_costs_only_the_time)
{
    swamp_store *store = open_store(path, NULL);
    sqlite3 *db;
    size_t len;

    ck_assert_int_eq(put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(put(store, "k", "w", 1, 200), SWAMP_E_TIMEOUT);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, keep_length, &len), SWAMP_OK);
    sqlite3_close(db);
    ck_assert_int_eq(put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

struct lines {
    int count;
    char last[1200];
};

static void
keep_line(int level, const char *line, void *user)
{
    struct lines *lines = user;

    (void)level;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

START_TEST(a_file_that_was_replaced_takes_no_more_writes)
{
    struct lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = keep_line, .log_user = &lines};
    swamp_store *store = open_store(path, &options);
    char moved[SCRATCH_PATH_MAX];

    ck_assert_int_eq(put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(rename(path, scratch_path(moved, folder, "moved.db")), 0);
    ck_assert_int_eq(put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_E_STORE);
    ck_assert_msg(strstr(lines.last, "removed or replaced") != NULL, "%s", lines.last);
    ck_assert_int_eq(put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_E_STORE);
    ck_assert_int_eq(lines.count, 1); /* one line in ten seconds is enough */
    ck_assert_int_eq(rename(moved, path), 0);
    ck_assert_int_eq(put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

/* DESIGN 6: an instance starts, and says so, in a store that is out of order. */
START_TEST(a_lock_that_is_held_does_not_keep_a_whole_store_from_opening)
{
    struct lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = keep_line, .log_user = &lines};
    char lock[SCRATCH_PATH_MAX];
    size_t len;
    swamp_store *store = open_store(path, NULL);
    ck_assert_int_eq(put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
    int fd = open(scratch_path(lock, folder, "store.db.lock"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);

    store = open_store(path, &options);
    ck_assert_msg(strstr(lines.last, "its lock is held") != NULL, "%s", lines.last);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, keep_length, &len), SWAMP_OK);
    ck_assert_int_eq(put(store, "k", "w", 1, 200), SWAMP_E_TIMEOUT);
    close(fd);
    ck_assert_int_eq(put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

START_TEST(a_lock_that_is_held_keeps_a_store_from_being_made)
{
    char lock[SCRATCH_PATH_MAX];
    int fd = open(scratch_path(lock, folder, "store.db.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_refused(path, SWAMP_E_TIMEOUT, "locked by another process");
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
    swamp_store *store = open_store(path, NULL);
    ck_assert_int_eq(put(store, "a/1", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(put(store, "a/3", "v", 1, TIMEOUT_MS), SWAMP_OK);
    run_sql("INSERT INTO records(key, revision, value) VALUES('a/2', 77, zeroblob(10485760))");
    ck_assert_int_eq(swamp_store_list(store, "a/", NULL, 10, 0, TIMEOUT_MS, count_lengths, counted),
                     SWAMP_OK);
    ck_assert_uint_eq(counted[0], 3);
    ck_assert_uint_eq(counted[1], 2);
    ck_assert_int_eq(swamp_store_get(store, "a/2", TIMEOUT_MS, keep_length, &len), SWAMP_OK);
    ck_assert_uint_eq(len, 0);
    swamp_store_free(store);
}
END_TEST

START_TEST(a_mode_for_others_is_told)
{
    struct lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = keep_line, .log_user = &lines};

    swamp_store_free(open_store(path, NULL));
    chmod(path, 0644);
    swamp_store_free(open_store(path, &options));
    ck_assert_msg(strstr(lines.last, "chmod 0600") != NULL, "%s", lines.last);
}
END_TEST

/* A small file system of this case's own; 0 where that is not allowed. */
static int
mount_small(const char *size)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", folder, "tmpfs", 0, size) < 0) {
        fprintf(stderr, "# not run: a full disk needs root and a mount of its own\n");
        return 0;
    }
    return 1;
}

START_TEST(a_full_disk_writes_nothing_and_loses_nothing)
{
    static char value[30000];
    struct lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = keep_line, .log_user = &lines};
    swamp_store *store;
    char ballast[SCRATCH_PATH_MAX], key[32];
    size_t len;
    int count = 0, rc;

    if (!mount_small("size=2m"))
        return;
    store = open_store(path, &options);
    write_file(scratch_path(ballast, folder, "ballast"), value, sizeof value);
    ck_assert_int_eq(truncate(ballast, 0), 0);
    do {
        snprintf(key, sizeof key, "rows/%04d", count);
        rc = put(store, key, value, sizeof value, TIMEOUT_MS);
        count += rc == SWAMP_OK;
    } while (rc == SWAMP_OK);
    ck_assert_msg(rc == SWAMP_E_STORE, "%s", swamp_status_name(rc));
    ck_assert_int_gt(count, 10);
    ck_assert_msg(strstr(lines.last, "full") != NULL, "%s", lines.last);
    ck_assert_int_eq(swamp_store_get(store, key, TIMEOUT_MS, keep_length, &len), SWAMP_ABSENT);
    ck_assert_int_eq(mount(NULL, folder, NULL, MS_REMOUNT, "size=8m"), 0);
    ck_assert_int_eq(put(store, key, value, sizeof value, TIMEOUT_MS), SWAMP_OK);
    for (int i = 0; i <= count; i++) {
        snprintf(key, sizeof key, "rows/%04d", i);
        ck_assert_msg(swamp_store_get(store, key, TIMEOUT_MS, keep_length, &len) == SWAMP_OK, "lost %s", key);
    }
    swamp_store_free(store);
    umount2(folder, MNT_DETACH);
}
END_TEST

START_TEST(a_full_disk_at_open)
{
    static char value[100000];
    char ballast[SCRATCH_PATH_MAX];

    if (!mount_small("size=64k"))
        return;
    FILE *out = fopen(scratch_path(ballast, folder, "ballast"), "w");
    ck_assert_ptr_nonnull(out);
    (void)!fwrite(value, 1, sizeof value, out);
    fclose(out);
    assert_refused(path, SWAMP_E_IO, "full");
    umount2(folder, MNT_DETACH);
}
END_TEST

/* The file-size limit makes the write of the last frame fail: what a broken disk does, without breaking one. */
START_TEST(a_commit_that_failed_in_the_middle_is_unknown)
{
    static char value[100000];
    struct rlimit limit, tight;
    swamp_store *store = open_store(path, NULL);
    size_t len = 0;
    int rc;

    ck_assert_int_eq(put(store, "k", "old", 3, TIMEOUT_MS), SWAMP_OK);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    tight = limit;
    tight.rlim_cur = 65536;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
    rc = put(store, "k", value, sizeof value, TIMEOUT_MS);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_msg(rc == SWAMP_E_UNKNOWN, "%s", swamp_status_name(rc));
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, keep_length, &len), SWAMP_OK);
    ck_assert_msg(len == 3 || len == sizeof value, "%zu",
                  len); /* the old or the new one, nothing in between */
    ck_assert_int_eq(put(store, "k", "newer", 5, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, keep_length, &len), SWAMP_OK);
    ck_assert_uint_eq(len, 5);
    swamp_store_free(store);
}
END_TEST

START_TEST(a_long_list_ends_at_its_deadline)
{
    swamp_store *store = open_store(path, NULL);
    struct timespec before, after;
    size_t len;
    int rc;

    /* a million rows would take a second to write one by one: let SQLite make them */
    run_sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
        "INSERT INTO records(key, revision, value) SELECT printf('many/%06d', i), 1, zeroblob(500) FROM n");
    clock_gettime(CLOCK_MONOTONIC, &before);
    rc = swamp_store_list(store, "many/", NULL, 100000, 0, 1, keep_length, &len);
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert_msg(rc == SWAMP_E_TIMEOUT, "%s", swamp_status_name(rc));
    ck_assert_int_lt((int)(after.tv_sec - before.tv_sec), 2);
    ck_assert_int_eq(swamp_store_list(store, "many/", NULL, 100000, 0, 60000, keep_length, &len), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

START_TEST(network_file_systems_are_not_usable)
{
    /* magic numbers of statfs(2): NFS, CIFS, SMB2, FUSE and virtiofs, 9p, Ceph; then ext4, XFS, btrfs, tmpfs,
     * overlayfs */
    static const uint64_t bad[] = {0x6969, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x00c36400};
    static const uint64_t good[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x12345678};
    int usable;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        swamp__sqlite_file_system(bad[i], &usable);
        ck_assert_msg(!usable, "%zu", i);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        swamp__sqlite_file_system(good[i], &usable);
        ck_assert_msg(usable, "%zu", i);
    }
}
END_TEST

START_TEST(facts_are_told_without_touching_anything)
{
    char missing[SCRATCH_PATH_MAX];
    swamp_store *store;
    char *facts = NULL;

    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, scratch_path(missing, folder, "none/store.db")),
                     SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"problem\":") && strstr(facts, "\"sqliteVersion\":\""), "%s", facts);
    swamp_free(facts);
    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, path), SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"kind\":\"absent\"") && strstr(facts, "\"fileSystem\":"), "%s", facts);
    swamp_free(facts);
    ck_assert_int_eq(access(path, F_OK), -1);
    write_file(path, "hello world", 11);
    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, path), SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"kind\":\"other\"") != NULL, "%s", facts);
    swamp_free(facts);
    unlink(path);

    store = open_store(path, NULL);
    ck_assert_int_eq(put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, path), SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"kind\":\"swamp\"") && strstr(facts, "\"schema\":1") &&
                      strstr(facts, "\"mode\":\"0600\"") && !strstr(facts, "\"walBytes\":0"),
                  "%s", facts);
    swamp_free(facts);
    ck_assert_int_eq(put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

static Suite *
trouble_suite(void)
{
    Suite *suite = suite_create("trouble");
    TCase *tcase = tcase_create("sqlite");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_missing_folder_is_made_and_all_files_are_private);
    tcase_add_test(tcase, paths_that_name_no_file);
    tcase_add_test(tcase, a_file_that_is_no_database_is_left_alone);
    tcase_add_test(tcase, another_programs_database_is_refused);
    tcase_add_test(tcase, a_newer_schema_is_refused);
    tcase_add_test(tcase, hard_links_are_refused_and_symbolic_links_followed);
    tcase_add_test(tcase, files_that_may_not_be_written);
    tcase_add_test(tcase, a_lock_of_the_sqlite3_program_costs_only_the_time);
    tcase_add_test(tcase, a_file_that_was_replaced_takes_no_more_writes);
    tcase_add_test(tcase, a_lock_that_is_held_does_not_keep_a_whole_store_from_opening);
    tcase_add_test(tcase, a_lock_that_is_held_keeps_a_store_from_being_made);
    tcase_add_test(tcase, a_value_above_the_limit_is_one_record_that_cannot_be_read_and_stops_no_list);
    tcase_add_test(tcase, a_mode_for_others_is_told);
    tcase_add_test(tcase, a_full_disk_writes_nothing_and_loses_nothing);
    tcase_add_test(tcase, a_full_disk_at_open);
    tcase_add_test(tcase, a_commit_that_failed_in_the_middle_is_unknown);
    tcase_add_test(tcase, a_long_list_ends_at_its_deadline);
    tcase_add_test(tcase, network_file_systems_are_not_usable);
    tcase_add_test(tcase, facts_are_told_without_touching_anything);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(trouble_suite());
}
