/* A resume machine in a scripted world: the peer's lines and the machine's outputs in order, under a virtual
 * clock. */
#ifndef SWAMP_TESTS_SESSION_SCRIPT_H
#define SWAMP_TESTS_SESSION_SCRIPT_H

#include <stdint.h>
#include "../../libswamp/session/session.h"
#include "../support/fake_world.h"

#define OUT_DIAL 1
#define OUT_SENT 2
#define OUT_PING 3
#define OUT_TOLD 4

/* One thing that the machine did, in the order in which it did them. */
typedef struct script_out {
    struct script_out *next;
    int what;
    char *text; /* DIAL: the URL; SENT: the message */
    swamp_event *event;
} script_out;

typedef struct scripted {
    fake_world *world;
    fake_node *node;
    swamp__session *session;
    script_out *outs, **end;
    int link; /* 0 none, 1 dialling, 2 up */
    int paused;
    int dials_while_linked;     /* must stay 0: at most one pending dial or live link */
    char id[64], cancel_id[64]; /* of the last request, of the last run.cancel */
} scripted;

void script_open(scripted *script, const swamp__session_options *options);
void script_close(scripted *script);
void script_default_options(swamp__session_options *options);
/* The next output, waited for until max_ms from now; NULL: there is none. Owned by the caller: script_out_free(). */
script_out *script_take(scripted *script, int64_t max_ms);
void script_out_free(script_out *out);
const char *script_out_name(const script_out *out, char *buf, size_t cap); /* for messages */

#endif
