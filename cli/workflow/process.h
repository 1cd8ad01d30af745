/* One shell command in a process group of its own: its lines, its end, and the end of all that it started. */
#ifndef SWAMP_CLI_WORKFLOW_PROCESS_H
#define SWAMP_CLI_WORKFLOW_PROCESS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_KILL_AFTER_MS 5000 /* between TERM and KILL */
#define PROCESS_FDS 3

#define PROCESS_STDOUT 0
#define PROCESS_STDERR 1

typedef struct process process;

typedef struct process_spec {
    const char *command; /* for /bin/sh -c */
    const char *dir;     /* NULL: the program's */
    char *const *env;    /* the whole environment, NULL-terminated */
    int64_t timeout_ms;  /* 0: none */
    /* Called in process_step(), for each line; bytes as they came. */
    void (*line)(void *user, int stream, const char *bytes, size_t len);
    void *user;
} process_spec;

typedef struct process_end {
    int exit_code; /* -1: a signal ended it, or nothing is known */
    int signal;    /* 0: none */
    int timed_out; /* it was ended at timeout_ms */
    int stopped;   /* process_stop() was called before its end */
} process_end;

/*
 * Starts it; spec's texts are borrowed for the call. NULL: *error is a line that the caller frees. A process
 * belongs to the thread that started it: when that thread ends, or the program dies, the kernel kills the
 * shell.
 */
process *process_start(const process_spec *spec, int64_t now_ms, char **error);

size_t process_poll(const process *p, struct pollfd fds[PROCESS_FDS]); /* what to wait for; how many */
int64_t process_due_ms(const process *p); /* call process_step() then at the latest; INT64_MAX: no need */
/* Reads, looks, and ends what is due. 1: over: the command has ended, its output was read, its group is gone. */
int process_step(process *p, int64_t now_ms);
/* TERM to the whole group, KILL after PROCESS_KILL_AFTER_MS; go on calling process_step(). */
void process_stop(process *p, int64_t now_ms);
/* KILL to the whole group at once, also where a stop has begun; go on calling process_step(). */
void process_kill(process *p, int64_t now_ms);
const process_end *process_result(const process *p); /* after process_step() gave 1 */
void process_free(process *p); /* one that is not over is killed at once, with its group */

#endif
