/* A double of the client's core before an outgoing link of net/: it dials, and keeps what the link told it. */
#ifndef SWAMP_TESTS_DIAL_DOUBLE_H
#define SWAMP_TESTS_DIAL_DOUBLE_H

#include "../../libswamp/net/dial.h"
#include "core_double.h"

typedef struct dial_double dial_double;
struct dial_double {
    swamp__loop *loop;
    swamp__dialer *dialer;
    swamp__link_out *link; /* NULL: lost, or hung up; loop's thread */
    /* Set after dial_begin(), before dial_now(). */
    char url[128];
    const char *token;
    int64_t timeout_ms;
    const char *greeting; /* sent as soon as connected; NULL: nothing */
    void (*check)(dial_double *it, const char *text, size_t len); /* of each message; loop's thread */
    /* What it was told. */
    int rc; /* of swamp__dial() */
    int how;
    int64_t retry_after_ms;
    char why[512];
    swamp__instance record; /* its lock; opened: connected, freed: lost, messages, alive */
};

#define DIAL_MAX_MESSAGE (2u * 1024 * 1024)

/* On a loop that net_loop() made, which it takes over. */
void dial_begin(dial_double *it, swamp__loop *loop, const char *url);
void dial_now(dial_double *it); /* returns when swamp__dial() has */
void dial_end(dial_double *it);

#endif
