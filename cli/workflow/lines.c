/* Splits at the newline, or at LINE_MAX_BYTES, there between two characters. */
#include <string.h>
#include "lines.h"

/* Where to cut a line that is too long: a character that ends behind the limit goes to the next piece. */
static size_t
find_cut(const text *open)
{
    for (size_t back = 1; back <= 3; back++) {
        size_t at = LINE_MAX_BYTES - back;
        if (text_utf8(open->bytes + at, back) == -1)
            return at;
    }
    return LINE_MAX_BYTES;
}

static void
give_long(lines *stream, lines_sink sink, void *user)
{
    text rest = {0};
    size_t cut = find_cut(&stream->open);
    sink(user, stream->open.bytes, cut);
    text_add_bytes(&rest, stream->open.bytes + cut, stream->open.len - cut);
    text_free(&stream->open);
    stream->open = rest;
}

void
lines_add(lines *stream, const char *bytes, size_t len, lines_sink sink, void *user)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len;
        size_t room = LINE_MAX_BYTES - stream->open.len;
        if (part > room) {
            text_add_bytes(&stream->open, bytes, room);
            give_long(stream, sink, user);
            bytes += room;
            len -= room;
            continue;
        }
        text_add_bytes(&stream->open, bytes, part);
        bytes += part;
        len -= part;
        if (end) {
            sink(user, stream->open.bytes, stream->open.len);
            text_clear(&stream->open);
            bytes++;
            len--;
        }
    }
}

void
lines_end(lines *stream, lines_sink sink, void *user)
{
    if (stream->open.len > 0)
        sink(user, stream->open.bytes, stream->open.len);
    lines_free(stream);
}

void
lines_free(lines *stream)
{
    text_free(&stream->open);
}
