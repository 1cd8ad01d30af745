/* The last words about a followed run: its result, how to look at it again, and the exit code. */
#ifndef SWAMP_CLI_ENDING_H
#define SWAMP_CLI_ENDING_H

#include <swamp/swamp.h>
#include "text.h"

/* How it is followed, and how it is called. */
typedef struct follow_options {
    const char *what;  /* "workflow deploy", "run 0193..." for messages before the run has an id */
    const char *again; /* flags that lead another command to the same place; "" for none */
    int only_leaves;   /* Ctrl-C leaves at once and the run goes on: run attach */
    int is_local;      /* the run lives in this process */
} follow_options;

/* What is known of the run when the following ends. */
typedef struct ending {
    const follow_options *options;
    const char *run_id; /* "" before the run was accepted */
    const char *cursor; /* "" before the run was accepted */
    text error_code;    /* of the run's last `error` event */
    text error_message;
    int cancelled_here;
} ending;

/* Each writes the last line, on stdout for DONE, on stderr for a code other than 0, and returns the code. */
int ending_done(const ending *end, const swamp_event *event);
int ending_error(const ending *end, const swamp_event *event);
/* Ctrl-C twice, or the time after the first was over, or Ctrl-C of an attach. */
int ending_left(const ending *end);
int ending_broken(const ending *end); /* stdout is gone */
int ending_closed(const ending *end); /* the session was closed under us */

#endif
