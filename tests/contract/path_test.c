/* What a path may name for a SQLite store, who may read it, and what is told of it: one line that says what to do. */
#include <check.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../libswamp/store/sqlite_path.h"
#include "scratch_store.h"
#include "tap.h"

#define TIMEOUT_MS 5000

static unsigned
mode_of(const char *name)
{
    char file[SCRATCH_PATH_MAX];
    struct stat found;

    ck_assert_msg(stat(scratch_path(file, scratch_folder, name), &found) == 0, "%s", name);
    return (unsigned)found.st_mode & 07777;
}

START_TEST(a_missing_folder_is_made_and_all_files_are_private)
{
    char file[SCRATCH_PATH_MAX];
    swamp_store *store;

    umask(0); /* the modes must not lean on it */
    store = scratch_open(scratch_path(file, scratch_folder, ".swamp/control-plane.db"), NULL);
    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
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

    scratch_assert_refused(NULL, SWAMP_E_INVALID, "empty");
    scratch_assert_refused("", SWAMP_E_INVALID, "empty");
    scratch_assert_refused("/", SWAMP_E_INVALID, "names no file");
    scratch_assert_refused("..", SWAMP_E_INVALID, "names no file");
    scratch_assert_refused(scratch_folder, SWAMP_E_IO, "is a folder");
    scratch_assert_refused(scratch_path(file, scratch_folder, ""), SWAMP_E_INVALID, "names no file");
    scratch_assert_refused(scratch_path(file, scratch_folder, "no/such/store.db"), SWAMP_E_IO,
                           "create it first");
    scratch_assert_refused("/dev/null", SWAMP_E_IO, "not a plain file");
    memset(file, 'x', sizeof file);
    file[sizeof file - 1] = '\0';
    scratch_assert_refused(file, SWAMP_E_INVALID, "longer than");
    scratch_write_file(scratch_db, "", 0);
    snprintf(file, sizeof file, "%s/store.db", scratch_db);
    scratch_assert_refused(file, SWAMP_E_IO, "is not a folder");
}
END_TEST

START_TEST(a_file_that_is_no_database_is_left_alone)
{
    char text[5000];
    struct stat found;

    memset(text, 'x', sizeof text);
    scratch_write_file(scratch_db, text, sizeof text);
    scratch_assert_refused(scratch_db, SWAMP_E_CORRUPT, "not a database");
    ck_assert_int_eq(stat(scratch_db, &found), 0);
    ck_assert_int_eq((int)found.st_size, (int)sizeof text);
    scratch_write_file(scratch_db, "hello", 5);
    scratch_assert_refused(scratch_db, SWAMP_E_CORRUPT, "not a database");
}
END_TEST

START_TEST(another_programs_database_is_refused)
{
    scratch_sql("CREATE TABLE bookmarks(url)");
    scratch_assert_refused(scratch_db, SWAMP_E_CORRUPT, "another program");
}
END_TEST

START_TEST(a_newer_schema_is_refused)
{
    swamp_store_free(scratch_open(scratch_db, NULL));
    scratch_sql("PRAGMA user_version = 2");
    scratch_assert_refused(scratch_db, SWAMP_E_UNSUPPORTED, "another version of swamp");
}
END_TEST

START_TEST(hard_links_are_refused_and_symbolic_links_followed)
{
    char other[SCRATCH_PATH_MAX];
    swamp_store *store = scratch_open(scratch_db, NULL), *same;
    size_t len = 0;

    ck_assert_int_eq(symlink(scratch_db, scratch_path(other, scratch_folder, "link.db")), 0);
    same = scratch_open(other, NULL);
    ck_assert_int_eq(scratch_put(store, "k", "12345", 5, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(same, "k", TIMEOUT_MS, scratch_keep_length, &len), SWAMP_OK);
    ck_assert_uint_eq(len, 5);
    ck_assert_int_eq(access(scratch_path(other, scratch_folder, "link.db.lock"), F_OK),
                     -1); /* one lock for both names */
    swamp_store_free(same);
    swamp_store_free(store);
    ck_assert_int_eq(link(scratch_db, scratch_path(other, scratch_folder, "second.db")), 0);
    scratch_assert_refused(scratch_db, SWAMP_E_UNSUPPORTED, "hard links");
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
    char file[SCRATCH_PATH_MAX];

    swamp_store_free(scratch_open(scratch_db, NULL));
    chmod(scratch_folder, 0755);
    become_nobody();
    if (geteuid() == 65534)
        scratch_assert_refused(scratch_db, SWAMP_E_IO, "Permission denied"); /* another user's lock file */
    become_root_again();
    chmod(scratch_folder, 0555);
    become_nobody();
    if (geteuid() == 65534) {
        scratch_assert_refused(scratch_path(file, scratch_folder, "other.db"), SWAMP_E_IO, "run as the user");
        scratch_assert_refused(scratch_path(file, scratch_folder, "sub/other.db"), SWAMP_E_IO,
                               "run as the user");
    }
    become_root_again();
    chmod(scratch_folder, 0777);
    chmod(scratch_db, 0444);
    unlink(scratch_path(file, scratch_folder, "store.db.lock"));
    become_nobody();
    scratch_assert_refused(scratch_db, SWAMP_E_IO, "Permission denied");
    become_root_again();
}
END_TEST

START_TEST(a_mode_for_others_is_told)
{
    struct scratch_lines lines = {0, ""};
    swamp_sqlite_options options = {.size = sizeof options, .log = scratch_keep_line, .log_user = &lines};

    swamp_store_free(scratch_open(scratch_db, NULL));
    chmod(scratch_db, 0644);
    swamp_store_free(scratch_open(scratch_db, &options));
    ck_assert_msg(strstr(lines.last, "chmod 0600") != NULL, "%s", lines.last);
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

    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, scratch_path(missing, scratch_folder, "none/store.db")),
                     SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"problem\":") && strstr(facts, "\"sqliteVersion\":\""), "%s", facts);
    swamp_free(facts);
    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, scratch_db), SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"kind\":\"absent\"") && strstr(facts, "\"fileSystem\":"), "%s", facts);
    swamp_free(facts);
    ck_assert_int_eq(access(scratch_db, F_OK), -1);
    scratch_write_file(scratch_db, "hello world", 11);
    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, scratch_db), SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"kind\":\"other\"") != NULL, "%s", facts);
    swamp_free(facts);
    unlink(scratch_db);

    store = scratch_open(scratch_db, NULL);
    ck_assert_int_eq(scratch_put(store, "k", "v", 1, TIMEOUT_MS), SWAMP_OK);
    ck_assert_int_eq(swamp_store_sqlite_facts(&facts, scratch_db), SWAMP_OK);
    ck_assert_msg(strstr(facts, "\"kind\":\"swamp\"") && strstr(facts, "\"schema\":1") &&
                      strstr(facts, "\"mode\":\"0600\"") && !strstr(facts, "\"walBytes\":0"),
                  "%s", facts);
    swamp_free(facts);
    ck_assert_int_eq(scratch_put(store, "k", "w", 1, TIMEOUT_MS), SWAMP_OK);
    swamp_store_free(store);
}
END_TEST

static Suite *
path_suite(void)
{
    Suite *suite = suite_create("path");
    TCase *tcase = tcase_create("sqlite");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, scratch_set_up, scratch_tear_down);
    tcase_add_test(tcase, a_missing_folder_is_made_and_all_files_are_private);
    tcase_add_test(tcase, paths_that_name_no_file);
    tcase_add_test(tcase, a_file_that_is_no_database_is_left_alone);
    tcase_add_test(tcase, another_programs_database_is_refused);
    tcase_add_test(tcase, a_newer_schema_is_refused);
    tcase_add_test(tcase, hard_links_are_refused_and_symbolic_links_followed);
    tcase_add_test(tcase, files_that_may_not_be_written);
    tcase_add_test(tcase, a_mode_for_others_is_told);
    tcase_add_test(tcase, network_file_systems_are_not_usable);
    tcase_add_test(tcase, facts_are_told_without_touching_anything);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(path_suite());
}
