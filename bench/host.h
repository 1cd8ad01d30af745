/* A host with the library in it, for the programs that measure the library. */
#ifndef SWAMP_BENCH_HOST_H
#define SWAMP_BENCH_HOST_H

#include <swamp/swamp.h>
#include "common.h"

/* Ends the program where rc is an error; server may be NULL. */
void bench_check(int rc, swamp_server *server, const char *what);

/* A SQLite store; ends the program where there is none to be had. */
swamp_store *bench_open_store(const char *path);

/* A server on loopback: --port, --connections, --log-events, --log-bytes, --loop, --beat MS. With a store of
 * NULL, the one at --store, or one in memory. */
swamp_server *bench_start_server(int argc, char **argv, swamp_store *store);

/* Starts a run from within, and stops following it. */
swamp_run *bench_start_run(swamp_server *server);

#endif
