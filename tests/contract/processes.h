/* The program that tests start again as other processes on the same store, and talk to over a pipe. */
#ifndef SWAMP_TESTS_PROCESSES_H
#define SWAMP_TESTS_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>
#include <swamp/swamp.h>

struct worker {
    pid_t pid;
    int out; /* what it prints */
};

/* Starts this program again as `role` on the store at path. */
struct worker worker_start(const char *role, const char *path, const char *argument);
void worker_read_line(struct worker *worker, char *line, size_t cap); /* blocks; "" at the end */
int worker_join(struct worker *worker);  /* waits for its end: exit code, or -signal */
void worker_kill(struct worker *worker); /* SIGKILL, and waits */

/* Runs the role that argv names; -1: this is not a worker, go on as the test. */
int worker_main(int argc, char **argv);

#endif
