/* A SQLite store in a scratch folder, as a libcheck fixture. */
#include "scratch_store.h"
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sqlite3.h>

char *scratch_folder;
char scratch_db[SCRATCH_PATH_MAX];

void
scratch_set_up(void)
{
    scratch_folder = scratch_make();
    scratch_path(scratch_db, scratch_folder, "store.db");
}

void
scratch_tear_down(void)
{
    scratch_remove(scratch_folder);
}

swamp_store *
scratch_open(const char *file, const swamp_sqlite_options *options)
{
    swamp_store *store = NULL;
    char *error = NULL;

    ck_assert_msg(swamp_store_sqlite_open(&store, file, options, &error) == SWAMP_OK, "%s", error);
    return store;
}

void
scratch_assert_refused(const char *file, int status, const char *words)
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

int
scratch_put(swamp_store *store, const char *key, const void *value, size_t len, int timeout_ms)
{
    swamp_store_op op = {.key = key,
                         .value = value,
                         .value_len = len,
                         .action = SWAMP_STORE_PUT,
                         .condition = SWAMP_STORE_ANY};

    return swamp_store_commit(store, &op, 1, timeout_ms, NULL, NULL);
}

int
scratch_keep_length(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    (void)key;
    (void)value;
    (void)revision;
    *(size_t *)user = len;
    return 0;
}

void
scratch_sql(const char *sql)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

void
scratch_write_file(const char *file, const void *bytes, size_t len)
{
    FILE *out = fopen(file, "w");

    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, len, out), len);
    ck_assert_int_eq(fclose(out), 0);
}

void
scratch_keep_line(int level, const char *line, void *user)
{
    struct scratch_lines *lines = user;

    (void)level;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}
