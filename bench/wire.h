/* A WebSocket's bytes on loopback, of either side, as little as a benchmark needs. */
#ifndef SWAMP_BENCH_WIRE_H
#define SWAMP_BENCH_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include "../tests/support/ws_header.h"

#define BENCH_CLIENT_MAX 768 /* bytes of anything that a client says */

#define BENCH_TEXT 0x81 /* a header's first byte: a whole text */
#define BENCH_PONG 0x8a

/* A descriptor, connected or, where nonblocking, on its way; -1 where nobody listens. From 10,000 on, a
 * viewer's number changes the address that it comes from, so that ports never run out. */
int bench_connect(int port, int number, int nonblocking);

/* A client's request for a WebSocket, and the answer to it. The key is that of RFC 6455 1.3: nothing here
 * depends on its being random. Returns the bytes written to `to`. */
size_t bench_put_upgrade(char *to, int port, const char *path);
extern const char bench_upgraded[];

/* A whole frame of a client, and the one that asks for a run; their mask is zeros, so that the text stays as
 * it is. Return their bytes. */
size_t bench_put_said(char *to, int first_byte, const char *text, size_t len);
size_t bench_put_attach(char *to, const char *id, const char *run_id, uint64_t after_seq);

#endif
