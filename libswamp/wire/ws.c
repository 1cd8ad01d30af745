/* WebSocket framing of outgoing server frames (RFC 6455, section 5.2). */
#include "ws.h"

#include <string.h>
#include "../util/utf8.h"

#define FINAL 0x80
#define CLOSE_REASON_MAX 123 /* a control frame holds 125 bytes, two are the code */

size_t
swamp__ws_header(uint8_t out[SWAMP__WS_HEADER_MAX], int opcode, size_t len)
{
    size_t extra = len < 126 ? 0 : len <= 0xffff ? 2 : 8;

    out[0] = (uint8_t)(FINAL | opcode);
    out[1] = (uint8_t)(extra == 0 ? len : extra == 2 ? 126 : 127);
    for (size_t i = 0; i < extra; i++)
        out[2 + i] = (uint8_t)((uint64_t)len >> (8 * (extra - 1 - i)));
    return 2 + extra;
}

static void
put_header(swamp__buf *out, int opcode, size_t len)
{
    uint8_t header[SWAMP__WS_HEADER_MAX];

    swamp__buf_append(out, header, swamp__ws_header(header, opcode, len));
}

void
swamp__ws_put_text(swamp__buf *out, const char *text, size_t len)
{
    if (swamp__buf_reserve(out, len + SWAMP__WS_HEADER_MAX) <
        0) /* both or none: half a frame is worse than none */
        return;
    put_header(out, SWAMP__WS_TEXT, len);
    swamp__buf_append(out, text, len);
}

void
swamp__ws_put_ping(swamp__buf *out)
{
    /* Never empty: libwebsockets 4.1.6 tells nobody of an empty pong, and the peer would look dead. */
    static const char payload[] = {'s'};

    if (swamp__buf_reserve(out, sizeof(payload) + SWAMP__WS_HEADER_MAX) < 0)
        return;
    put_header(out, SWAMP__WS_PING, sizeof(payload));
    swamp__buf_append(out, payload, sizeof(payload));
}

void
swamp__ws_put_close(swamp__buf *out, int code, const char *reason)
{
    uint8_t bytes[2] = {(uint8_t)(code >> 8), (uint8_t)code};
    size_t len = reason ? swamp__utf8_cut(reason, strlen(reason), CLOSE_REASON_MAX) : 0;

    if (swamp__buf_reserve(out, sizeof(bytes) + len + SWAMP__WS_HEADER_MAX) < 0)
        return;
    put_header(out, SWAMP__WS_CLOSE, sizeof(bytes) + len);
    swamp__buf_append(out, bytes, sizeof(bytes));
    swamp__buf_append(out, reason, len);
}
