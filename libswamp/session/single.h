/* One request, one answer, without I/O: for history, lists and cancels from outside a session. */
#ifndef SWAMP_SESSION_SINGLE_H
#define SWAMP_SESSION_SINGLE_H

#include "session.h"

typedef struct swamp__single swamp__single;

/* Dials once; a link lost before the answer is tried again up to max_tries within timeout_ms. io as for a session. */
typedef struct swamp__single_options {
    const char *url, *type, *payload; /* payload NULL: none */
    int64_t timeout_ms;
    int max_tries;
} swamp__single_options;

int swamp__single_new(swamp__single **out, const swamp__single_options *options, const swamp__world *world,
                      const swamp__session_io *io); /* deliver gets one ANSWER or ERROR, last of all */
void swamp__single_begin(swamp__single *single);
void swamp__single_free(swamp__single *single);
void swamp__single_connected(swamp__single *single);
void swamp__single_link_lost(swamp__single *single, int how, int64_t retry_after_ms, const char *why);
void swamp__single_message(swamp__single *single, const char *text, size_t len);

#endif
