/* What may go to a terminal: colours only where they are wanted, received text with control characters escaped. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "term.h"

static int
is_dumb(void)
{
    const char *kind = getenv("TERM");
    return !kind || !kind[0] || strcmp(kind, "dumb") == 0;
}

int
term_has_colours(FILE *stream, int no_color)
{
    const char *unwanted = getenv("NO_COLOR");
    return !no_color && !(unwanted && unwanted[0]) && isatty(fileno(stream)) && !is_dumb();
}

int
term_is_live(FILE *stream)
{
    return isatty(fileno(stream)) && !is_dumb();
}

void
term_size(FILE *stream, int *columns, int *rows)
{
    struct winsize size = {0};
    int known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
    *columns = known && size.ws_col ? size.ws_col : 80;
    *rows = known && size.ws_row ? size.ws_row : 24;
}

/* Of the valid UTF-8 sequence at bytes. */
static uint32_t
decode(const unsigned char *bytes, int len)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = bytes[0] & masks[len];
    for (int i = 1; i < len; i++)
        point = point << 6 | (bytes[i] & 0x3f);
    return point;
}

/* Moves the cursor, switches modes, or turns the direction of writing and so hides what is there. */
static int
is_dangerous(uint32_t point)
{
    return (point < 0x20 && point != '\t') || (point >= 0x7f && point <= 0x9f) ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void
add_escaped(text *out, uint32_t point)
{
    if (point == '\n')
        text_add(out, "\\n");
    else if (point == '\r')
        text_add(out, "\\r");
    else if (point < 0x80)
        text_addf(out, "\\x%02x", (unsigned)point);
    else
        text_addf(out, "\\u%04x", (unsigned)point);
}

void
term_add_words(text *out, const char *bytes, size_t len)
{
    size_t plain = 0, at = 0; /* bytes[plain..at) go out as they are */
    while (at < len) {
        int step = text_utf8(bytes + at, len - at);
        uint32_t point = step > 0 ? decode((const unsigned char *)bytes + at, step) : 0;
        if (step > 0 && !is_dangerous(point)) {
            at += (size_t)step;
            continue;
        }
        text_add_bytes(out, bytes + plain, at - plain);
        if (step > 0)
            add_escaped(out, point);
        else
            text_addf(out, "\\x%02x", (unsigned char)bytes[at]);
        at += step > 0 ? (size_t)step : 1;
        plain = at;
    }
    text_add_bytes(out, bytes + plain, len - plain);
}

/* Line ends stand only between JSON's tokens: a space there is the same value on one line. */
static int
needs_change(uint32_t point, int strict)
{
    return point == '\n' || point == '\r' || (!strict && is_dangerous(point));
}

void
term_add_json(text *out, const char *bytes, size_t len, int strict)
{
    size_t plain = 0, at = 0;
    while (at < len) {
        int step = text_utf8(bytes + at, len - at);
        uint32_t point = step > 0 ? decode((const unsigned char *)bytes + at, step) : 0xfffd;
        size_t bytes_here = step > 0 ? (size_t)step : 1;
        if (needs_change(point, strict)) {
            text_add_bytes(out, bytes + plain, at - plain);
            if (point == '\n' || point == '\r')
                text_add(out, " ");
            else
                text_addf(out, "\\u%04x", (unsigned)point);
            plain = at + bytes_here;
        }
        at += bytes_here;
    }
    text_add_bytes(out, bytes + plain, len - plain);
}
