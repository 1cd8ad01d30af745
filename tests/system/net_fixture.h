/* A loop of net/ with a listener before a double of the core, and things done on the loop's thread. */
#ifndef SWAMP_TESTS_NET_FIXTURE_H
#define SWAMP_TESTS_NET_FIXTURE_H

#include "../../libswamp/net/listen.h"
#include "core_double.h"

typedef struct net_fixture {
    swamp__loop *loop;
    swamp__listener *listener;
    swamp__instance core;
    swamp__log log;
    size_t log_lines; /* of level WARN and worse; under core.lock */
    int port;
} net_fixture;

/* Under both loops: the argument of a libcheck loop test, 0 and 1. */
#define NET_LOOPS 2
int net_kind(int i);

/* A server's loop that listens on 127.0.0.1; cert_file NULL: no TLS. */
void net_start(net_fixture *fixture, int i, const char *cert_file, const char *key_file);
/* The same without TLS; `woken` is called with the fixture at each swamp__loop_wake(), on the loop's thread. */
void net_start_woken(net_fixture *fixture, int i, void (*woken)(void *user));
void net_stop(net_fixture *fixture);

swamp__loop *net_loop(int i, int role, const char *ca_cert_file); /* started */
/* Runs it on the loop's thread, and waits until it has run. */
void net_on_loop(swamp__loop *loop, void (*run)(void *user), void *user);

#endif
