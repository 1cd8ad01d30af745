/* A SQLite store in a scratch folder, as a libcheck fixture, and shorthands to fill and read it. */
#ifndef SWAMP_TESTS_SCRATCH_STORE_H
#define SWAMP_TESTS_SCRATCH_STORE_H

#include <stdint.h>
#include <swamp/swamp.h>
#include "scratch.h"

extern char *scratch_folder;
extern char scratch_db[SCRATCH_PATH_MAX]; /* store.db in it; not made yet */

void scratch_set_up(void);
void scratch_tear_down(void);

/* Fails the test where it cannot be opened. options may be NULL. */
swamp_store *scratch_open(const char *file, const swamp_sqlite_options *options);
/* The open fails with this status, and its line is one line that has the words. */
void scratch_assert_refused(const char *file, int status, const char *words);
int scratch_put(swamp_store *store, const char *key, const void *value, size_t len, int timeout_ms);
int scratch_keep_length(void *user, const char *key, const void *value, size_t len,
                        uint64_t revision); /* a reader: the value's length to *(size_t *)user */

/* The file itself, past the library. */
void scratch_sql(const char *sql);
void scratch_write_file(const char *file, const void *bytes, size_t len);

/* What the store logged: .log = scratch_keep_line, .log_user = a struct of this. */
struct scratch_lines {
    int count;
    char last[1200];
};
void scratch_keep_line(int level, const char *line, void *user);

#endif
