/* The text cursor of a session. */
#include "cursor.h"

#include <string.h>
#include <swamp/status.h>
#include "../util/utf8.h"
#include "limits.h"

#define SEQ_DIGITS 16 /* of 2^53 - 1 */

static const char prefix[] = "swc1:";

/* Text of a bounded size being written; once something does not fit, nothing more is. */
typedef struct writer {
    char *out;
    size_t len, cap;
    int full;
} writer;

static void
put_bytes(writer *w, const char *bytes, size_t len)
{
    if (w->full || len >= w->cap - w->len) {
        w->full = 1;
        return;
    }
    memcpy(w->out + w->len, bytes, len);
    w->len += len;
}

static int
is_plain(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '~' || c == '-';
}

static void
put_coded(writer *w, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *text; text++) {
        char coded[3] = {'%', hex[(uint8_t)*text >> 4], hex[(uint8_t)*text & 15]};

        if (is_plain(*text))
            put_bytes(w, text, 1);
        else
            put_bytes(w, coded, sizeof(coded));
    }
}

static void
put_seq(writer *w, uint64_t seq)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + seq % 10);
        seq /= 10;
    } while (seq);
    put_bytes(w, digits + at, sizeof(digits) - at);
}

int
swamp__cursor_write(const swamp__cursor *cursor, char *out, size_t cap)
{
    writer w = {out, 0, cap < SWAMP__CURSOR_MAX ? cap : SWAMP__CURSOR_MAX, 0};

    if (!cap)
        return SWAMP_E_TOO_BIG;
    if (cursor->run_id[0]) { /* a run without an id has no place to go on from: "" */
        put_bytes(&w, prefix, sizeof(prefix) - 1);
        put_seq(&w, cursor->seq);
        put_bytes(&w, ":", 1);
        put_coded(&w, cursor->run_id);
        put_bytes(&w, ":", 1);
        put_coded(&w, cursor->epoch);
    }
    out[w.full ? 0 : w.len] = '\0';
    return w.full ? SWAMP_E_TOO_BIG : SWAMP_OK;
}

/* Each reader returns what follows its part, NULL if the part is not as written. */
static const char *
take_seq(const char *at, uint64_t *out)
{
    const char *start = at;
    uint64_t seq = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (at - start == SEQ_DIGITS)
            return NULL;
        seq = seq * 10 + (uint64_t)(*at - '0');
    }
    if (at == start || (*start == '0' && at - start > 1) || seq > SWAMP__SEQ_MAX || *at != ':')
        return NULL;
    *out = seq;
    return at + 1;
}

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static const char *
take_coded(const char *at, char end, char *out, size_t cap)
{
    size_t len = 0;

    for (; *at != end; len++) {
        char c = *at++;

        if (c == '%') {
            int high = hex_value(*at);
            int low = high < 0 ? -1 : hex_value(at[1]);

            if (low < 0 || high + low == 0) /* a zero would end the text */
                return NULL;
            c = (char)(high << 4 | low);
            at += 2;
        } else if (!is_plain(c)) {
            return NULL;
        }
        if (len + 1 >= cap)
            return NULL;
        out[len] = c;
    }
    out[len] = '\0';
    return at + (end != '\0');
}

/* What is read here goes into a JSON string, and must be the same text on the other side. */
static int
is_utf8(const char *text)
{
    const char *end = text + strlen(text);
    size_t size;

    for (; text < end; text += size) {
        size = swamp__utf8_size(text, end);
        if (!size)
            return 0;
    }
    return 1;
}

static int
read_bare_id(const char *text, swamp__cursor *out)
{
    size_t len = strlen(text);

    if (len >= sizeof(out->run_id))
        return SWAMP_E_INVALID;
    for (size_t i = 0; i < len; i++)
        if ((uint8_t)text[i] <= ' ' || text[i] == 0x7f)
            return SWAMP_E_INVALID;
    memcpy(out->run_id, text, len + 1);
    return SWAMP_OK;
}

int
swamp__cursor_read(const char *text, swamp__cursor *out)
{
    swamp__cursor cursor;
    const char *at;

    memset(&cursor, 0, sizeof(cursor));
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0) {
        if (read_bare_id(text, &cursor) < 0)
            return SWAMP_E_INVALID;
    } else {
        at = take_seq(text + sizeof(prefix) - 1, &cursor.seq);
        if (at)
            at = take_coded(at, ':', cursor.run_id, sizeof(cursor.run_id));
        if (at)
            at = take_coded(at, '\0', cursor.epoch, sizeof(cursor.epoch));
        if (!at)
            return SWAMP_E_INVALID;
    }
    if (!cursor.run_id[0] || !is_utf8(cursor.run_id) || !is_utf8(cursor.epoch))
        return SWAMP_E_INVALID;
    *out = cursor;
    return SWAMP_OK;
}
