/* Writes JSON strings and members; whoever appends puts the braces. */
#include "json.h"

#include <string.h>
#include "../util/utf8.h"

/* Bytes that go out as they are: no quote, backslash or control character; UTF-8 that is valid. 0: none here. */
static size_t
plain_size(const char *at, const char *end)
{
    uint8_t byte = (uint8_t)*at;

    if (byte >= 0x80)
        return swamp__utf8_size(at, end);
    return byte >= 0x20 && byte != '"' && byte != '\\';
}

static void
put_escape(swamp__buf *out, char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    const char *found = memchr(plain, c, sizeof(plain) - 1);
    char text[6] = {'\\', 'u', '0', '0', hex[(uint8_t)c >> 4], hex[(uint8_t)c & 15]};

    if (found)
        text[1] = letters[found - plain];
    swamp__buf_append(out, text, found ? 2 : sizeof(text));
}

void
swamp__json_put_string_n(swamp__buf *out, const char *text, size_t len)
{
    const char *at = text, *end = text + len;

    swamp__buf_append(out, "\"", 1);
    while (at < end) {
        const char *start = at;
        size_t size;

        while (at < end && (size = plain_size(at, end)) > 0)
            at += size;
        swamp__buf_append(out, start, (size_t)(at - start));
        if (at == end)
            break;
        if ((uint8_t)*at >= 0x80)
            swamp__buf_text(out, "\xef\xbf\xbd"); /* U+FFFD for a byte that is no UTF-8 */
        else
            put_escape(out, *at);
        at++;
    }
    swamp__buf_append(out, "\"", 1);
}

void
swamp__json_put_string(swamp__buf *out, const char *text)
{
    swamp__json_put_string_n(out, text, strlen(text));
}

static void
put_name(swamp__buf *out, const char *name)
{
    if (out->len && out->data[out->len - 1] != '{' && out->data[out->len - 1] != '[')
        swamp__buf_append(out, ",", 1);
    swamp__json_put_string(out, name);
    swamp__buf_append(out, ":", 1);
}

void
swamp__json_put_member(swamp__buf *out, const char *name, const char *text)
{
    if (!text)
        return;
    put_name(out, name);
    swamp__json_put_string(out, text);
}

void
swamp__json_put_member_i64(swamp__buf *out, const char *name, int64_t number)
{
    put_name(out, name);
    swamp__buf_i64(out, number);
}

void
swamp__json_put_member_raw(swamp__buf *out, const char *name, const char *json, size_t len)
{
    put_name(out, name);
    swamp__buf_append(out, json, len);
}
