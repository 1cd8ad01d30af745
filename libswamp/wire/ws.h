/* WebSocket framing of outgoing server frames (RFC 6455): unmasked, final, whole. Incoming framing is the
 * network's. */
#ifndef SWAMP_WIRE_WS_H
#define SWAMP_WIRE_WS_H

#include <stddef.h>
#include <stdint.h>
#include "../util/buf.h"

#define SWAMP__WS_TEXT 0x1
#define SWAMP__WS_CLOSE 0x8
#define SWAMP__WS_PING 0x9
#define SWAMP__WS_HEADER_MAX 10

/* Writes the header of a frame with `len` bytes of payload; returns its size, 2 to 10. */
size_t swamp__ws_header(uint8_t out[SWAMP__WS_HEADER_MAX], int opcode, size_t len);

void swamp__ws_put_text(swamp__buf *out, const char *text, size_t len);
void swamp__ws_put_ping(swamp__buf *out);
void swamp__ws_put_close(swamp__buf *out, int code, const char *reason); /* reason cut to 123 bytes */

#endif
