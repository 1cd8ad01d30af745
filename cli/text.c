/* Growing text: doubling memory, printf into it, JSON strings, UTF-8 as Unicode 15 defines it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"
#include "text.h"

static void
make_room(text *out, size_t more)
{
    size_t need = out->len + more + 1;
    if (need <= out->cap)
        return;
    out->cap = need > out->cap * 2 ? need + 32 : out->cap * 2;
    out->bytes = memory_grow(out->bytes, out->cap, 1);
}

void
text_add_bytes(text *out, const void *bytes, size_t len)
{
    make_room(out, len);
    if (len)
        memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
    out->bytes[out->len] = '\0';
}

void
text_add(text *out, const char *words)
{
    text_add_bytes(out, words, strlen(words));
}

void
text_addv(text *out, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    assert(len >= 0);
    make_room(out, (size_t)len);
    vsnprintf(out->bytes + out->len, (size_t)len + 1, format, again);
    out->len += (size_t)len;
    va_end(again);
}

void
text_addf(text *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_addv(out, format, args);
    va_end(args);
}

int
text_utf8(const char *bytes, size_t len)
{
    const unsigned char *at = (const unsigned char *)bytes;
    /* the second byte's range says no to overlong forms, surrogates and what is beyond U+10FFFF */
    unsigned char low = 0x80, high = 0xbf;
    int want;
    if (len == 0)
        return -1;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    want = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (at[0] == 0xe0)
        low = 0xa0;
    if (at[0] == 0xed)
        high = 0x9f;
    if (at[0] == 0xf0)
        low = 0x90;
    if (at[0] == 0xf4)
        high = 0x8f;
    for (int i = 1; i < want; i++) {
        if ((size_t)i >= len)
            return -1;
        if (at[i] < low || at[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return want;
}

size_t
text_fit(const char *words, size_t max)
{
    size_t len = strlen(words), at = 0;
    while (at < len) {
        int step = text_utf8(words + at, len - at);
        size_t next = at + (step > 0 ? (size_t)step : 1);
        if (next > max)
            break;
        at = next;
    }
    return at;
}

static void
add_escaped(text *out, unsigned char byte)
{
    static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
    const char *letter = byte ? strchr(letters, byte) : NULL;
    if (letter)
        text_addf(out, "\\%c", names[letter - letters]);
    else
        text_addf(out, "\\u%04x", byte);
}

void
text_add_json_part(text *out, const char *bytes, size_t len)
{
    text_add_bytes(out, "\"", 1);
    for (size_t i = 0; i < len;) {
        size_t plain = i;
        int step = 1;
        while (plain < len && (unsigned char)bytes[plain] >= 0x20 && bytes[plain] != '"' &&
               bytes[plain] != '\\' && (step = text_utf8(bytes + plain, len - plain)) > 0)
            plain += (size_t)step;
        text_add_bytes(out, bytes + i, plain - i);
        i = plain;
        if (i >= len)
            break;
        if (bytes[i] == '\0' || step <= 0)
            text_add(out, "\xef\xbf\xbd");
        else
            add_escaped(out, (unsigned char)bytes[i]);
        i++;
    }
    text_add_bytes(out, "\"", 1);
}

void
text_add_json(text *out, const char *words)
{
    text_add_json_part(out, words, strlen(words));
}

void
text_clear(text *out)
{
    out->len = 0;
    if (out->bytes)
        out->bytes[0] = '\0';
}

void
text_free(text *out)
{
    free(out->bytes);
    *out = (text){0};
}

char *
text_take(text *out)
{
    char *bytes = out->bytes ? out->bytes : memory_copy("");
    *out = (text){0};
    return bytes;
}
