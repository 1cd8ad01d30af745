/* A growable byte buffer with a sticky failure. */
#include "buf.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "alloc.h"

#define FIRST_CAP 64

void
swamp__buf_init(swamp__buf *buf)
{
    memset(buf, 0, sizeof(*buf));
}

void
swamp__buf_free(swamp__buf *buf)
{
    swamp__free(buf->data);
    swamp__buf_init(buf);
}

void
swamp__buf_clear(swamp__buf *buf)
{
    buf->len = 0;
    buf->failed = 0; /* what was incomplete is gone */
    if (buf->data)
        buf->data[0] = '\0';
}

int
swamp__buf_reserve(swamp__buf *buf, size_t more)
{
    size_t cap = buf->cap ? buf->cap : FIRST_CAP;
    char *data;

    if (buf->failed)
        return SWAMP_E_NOMEM;
    if (more < buf->cap - buf->len) /* one byte is kept for the zero; cap 0 and len 0 never pass */
        return SWAMP_OK;
    if (more > SIZE_MAX / 2 - buf->len - 1) {
        buf->failed = 1;
        return SWAMP_E_NOMEM;
    }
    while (cap - buf->len <= more)
        cap *= 2;
    data = swamp__realloc(buf->data, cap);
    if (!data) {
        buf->failed = 1;
        return SWAMP_E_NOMEM;
    }
    data[buf->len] = '\0';
    buf->data = data;
    buf->cap = cap;
    return SWAMP_OK;
}

void
swamp__buf_append(swamp__buf *buf, const void *data, size_t len)
{
    if (swamp__buf_reserve(buf, len) < 0)
        return;
    if (len)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void
swamp__buf_text(swamp__buf *buf, const char *text)
{
    swamp__buf_append(buf, text, strlen(text));
}

void
swamp__buf_u64(swamp__buf *buf, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    swamp__buf_append(buf, digits + at, sizeof(digits) - at);
}

void
swamp__buf_i64(swamp__buf *buf, int64_t number)
{
    if (number < 0)
        swamp__buf_append(buf, "-", 1);
    swamp__buf_u64(buf, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void
swamp__buf_consume(swamp__buf *buf, size_t len)
{
    assert(len <= buf->len);
    if (!len)
        return;
    buf->len -= len;
    memmove(buf->data, buf->data + len, buf->len + 1);
}

int
swamp__buf_status(const swamp__buf *buf)
{
    return buf->failed ? SWAMP_E_NOMEM : SWAMP_OK;
}

char *
swamp__buf_steal(swamp__buf *buf)
{
    char *text;

    if (swamp__buf_reserve(buf, 0) < 0) { /* an empty text needs its zero too */
        swamp__buf_free(buf);
        return NULL;
    }
    text = buf->data;
    swamp__buf_init(buf);
    return text;
}
