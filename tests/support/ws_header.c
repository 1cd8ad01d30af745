/* The header of a WebSocket frame: see ws_header.h. */
#include "ws_header.h"

#include <string.h>

/* Bytes of a length that does not fit the second byte. */
static size_t
wide_of(unsigned char second_byte)
{
    int size = second_byte & 0x7f;
    return size < 126 ? 0 : size == 126 ? 2 : 8;
}

size_t
ws_header_put(unsigned char *to, int first_byte, uint64_t payload, const unsigned char *mask)
{
    uint64_t short_size = payload < 126 ? payload : payload <= 0xffff ? 126 : 127;
    size_t len = 2;

    to[0] = (unsigned char)first_byte;
    to[1] = (unsigned char)((mask ? 0x80 : 0) | short_size);
    for (size_t left = wide_of(to[1]); left > 0; left--)
        to[len++] = (unsigned char)(payload >> (8 * (left - 1)));
    if (mask)
        memcpy(to + len, mask, 4);
    return len + (mask ? 4 : 0);
}

size_t
ws_header_size(unsigned char second_byte)
{
    return 2 + wide_of(second_byte) + (second_byte & 0x80 ? 4 : 0);
}

size_t
ws_header_read(const unsigned char *at, size_t len, uint64_t *payload)
{
    if (len < 2 || len < ws_header_size(at[1]))
        return 0;
    size_t wide = wide_of(at[1]);
    *payload = wide ? 0 : at[1] & 0x7f;
    for (size_t i = 0; i < wide; i++)
        *payload = *payload << 8 | at[2 + i];
    return ws_header_size(at[1]);
}
