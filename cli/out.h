/* Everything that the program writes: lines on stdout, status lines and the last word on stderr; any thread. */
#ifndef SWAMP_CLI_OUT_H
#define SWAMP_CLI_OUT_H

#include <stddef.h>
#include "text.h"

/* Once, before anything is written. command: "workflow run", in front of failures. */
void out_setup(const char *command, int json, int quiet, int verbose, int no_color);
int out_is_json(void);
int out_is_quiet(void);
int out_is_verbose(void);
int out_has_colours(void); /* stdout */
int out_is_live(void);     /* both streams are one terminal's, and --json was not given */

/* Lines on stdout; the line end is added. What was received must have passed term_add_words(). */
void out_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void out_bytes(const char *bytes, size_t len);
/* A received JSON value as one line. */
void out_json(const char *json, size_t len);
/* A line on stderr that is news, no failure: not with --quiet. Control characters are escaped, also received ones. */
void out_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same as JSON, for --json. */
void out_status_json(const char *json);

/*
 * The one line of a non-zero exit: what happened and what to do next. With --json an object with "swamp":
 * "error". Returns code. run_id may be NULL; it is a member in JSON, and must stand in the words too.
 */
int out_fail(int code, const char *run_id, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* 1: stdout is gone (a closed pipe, a full disk): writing on makes no sense. */
int out_is_broken(void);

/*
 * A block below the lines that is drawn again and again (view.c). While out_begin() .. out_end() is open, it
 * is erased; both may nest. NULL: none any more.
 */
typedef struct out_block {
    void (*erase)(void *user);
    void (*paint)(void *user);
    void *user;
} out_block;
void out_set_block(const out_block *block);
void out_begin(void);
void out_end(void);

/* For swamp_log_fn of clients and servers in the foreground: stderr, "swamp: warning: ...". */
void out_log(int level, const char *words, void *user);

#endif
