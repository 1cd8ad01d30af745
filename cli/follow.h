/* Follows one run to its end: events to stdout, news to stderr, Ctrl-C, and the exit code. */
#ifndef SWAMP_CLI_FOLLOW_H
#define SWAMP_CLI_FOLLOW_H

#include <swamp/swamp.h>
#include "ending.h"

#define FOLLOW_CANCEL_MS 10000 /* how long the end is waited for after Ctrl-C */

/* The exit code; a code other than 0 has had its one line. The session stays the caller's. */
int follow_session(swamp_session *session, const follow_options *options);

#endif
