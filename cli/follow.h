/* Follows one run to its end: events to stdout, news to stderr, Ctrl-C, and the exit code. */
#ifndef SWAMP_CLI_FOLLOW_H
#define SWAMP_CLI_FOLLOW_H

#include <swamp/swamp.h>

#define FOLLOW_CANCEL_MS 10000 /* how long the end is waited for after Ctrl-C */

typedef struct follow_options {
    const char *what;  /* "workflow deploy", "run 0193..." for messages before the run has an id */
    const char *again; /* flags that lead another command to the same place; "" for none */
    int only_leaves;   /* Ctrl-C leaves at once and the run goes on: run attach */
    int is_local;      /* the run lives in this process */
} follow_options;

/* The exit code; a code other than 0 has had its one line. The session stays the caller's. */
int follow_session(swamp_session *session, const follow_options *options);

#endif
