/*
 * A double of the server core for tests of net/: it does what the client's message says, and counts what it is told.
 * The messages: "echo TEXT", "ping", "close CODE REASON", "pause", "flood COUNT SIZE".
 */
#ifndef SWAMP_TESTS_CORE_DOUBLE_H
#define SWAMP_TESTS_CORE_DOUBLE_H

#include <pthread.h>
#include <stddef.h>
#include "../../libswamp/net/loop.h"
#include "../../libswamp/server/instance.h"

struct swamp__instance {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    swamp__loop *loop;
    int refuse; /* what swamp__conn_new() returns */
    /* All below under the lock: use core_await() and core_get(). */
    size_t opened, freed, messages, binaries, alive, abandoned;
    size_t fills, filled; /* calls of swamp__conn_fill(), and the bytes that they gave */
    char last[256];       /* the beginning of the last message */
    size_t last_len;
    swamp__list conns; /* loop's thread */
    int insists;       /* loop's thread: each fill that gives bytes asks for another one at once */
};

void core_init(swamp__instance *core, swamp__loop *loop);
void core_destroy(swamp__instance *core);
/* Waits until the counter has this value at least; fails the test after some seconds. */
void core_await(swamp__instance *core, const size_t *counter, size_t value);
size_t core_get(swamp__instance *core, const size_t *counter);
/* Loop's thread: lets all connections be read again. */
void core_resume(swamp__instance *core);
/* Loop's thread: all connections have one more message to send. */
void core_say(swamp__instance *core, const char *text);
/* What byte `at` of frame `frame` of a flood is. */
char core_flood_byte(size_t frame, size_t at);

#endif
