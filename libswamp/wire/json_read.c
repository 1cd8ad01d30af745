/* Walks checked JSON in place, and decodes its strings. */
#include "json.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/utf8.h"
#include "json_part.h"

#define REPLACEMENT 0xfffd

static const char *
skip_space(const char *at, const char *end)
{
    while (at < end && swamp__json_is_space(*at))
        at++;
    return at;
}

/* At the opening quote; returns what follows the closing one. */
static const char *
skip_string(const char *at, const char *end)
{
    for (at++; (at = swamp__json_skip_plain(at, end)) < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

/* At a container; its depth is only counted, so that no depth is too much. */
static const char *
skip_container(const char *at, const char *end)
{
    size_t depth = 0;

    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        if (*at == '{' || *at == '[')
            depth++;
        else if (*at == '}' || *at == ']')
            depth--;
        at++;
        if (!depth)
            break;
    }
    return at;
}

static const char *
take_value(const char *at, const char *end, swamp__json *out)
{
    static const char ends_scalar[] = ",]} \t\r\n";

    out->at = at;
    switch (*at) {
    case '{':
    case '[':
        out->type = *at == '{' ? SWAMP__JSON_OBJECT : SWAMP__JSON_ARRAY;
        at = skip_container(at, end);
        break;
    case '"':
        out->type = SWAMP__JSON_STRING;
        at = skip_string(at, end);
        break;
    default:
        out->type = *at == 't'   ? SWAMP__JSON_TRUE
                    : *at == 'f' ? SWAMP__JSON_FALSE
                    : *at == 'n' ? SWAMP__JSON_NULL
                                 : SWAMP__JSON_NUMBER;
        while (at < end && !memchr(ends_scalar, *at, sizeof(ends_scalar) - 1))
            at++;
    }
    out->len = (size_t)(at - out->at);
    return at;
}

void
swamp__json_enter(swamp__json container, swamp__json_iter *iter)
{
    iter->at = iter->end = container.at;
    if (container.type == SWAMP__JSON_OBJECT || container.type == SWAMP__JSON_ARRAY) {
        iter->at = container.at + 1;
        iter->end = container.at + container.len - 1;
    }
}

/* Before the next key or element; NULL: there is none. */
static const char *
find_next(const swamp__json_iter *iter)
{
    const char *at = skip_space(iter->at, iter->end);

    if (at < iter->end && *at == ',')
        at = skip_space(at + 1, iter->end);
    return at < iter->end ? at : NULL;
}

int
swamp__json_next_member(swamp__json_iter *iter, swamp__json *key, swamp__json *value)
{
    const char *at = find_next(iter);

    if (!at)
        return 0;
    at = skip_space(take_value(at, iter->end, key), iter->end);
    assert(at < iter->end && *at == ':'); /* an object was entered, and it was checked */
    at = skip_space(at + 1, iter->end);
    iter->at = take_value(at, iter->end, value);
    return 1;
}

int
swamp__json_next_element(swamp__json_iter *iter, swamp__json *value)
{
    const char *at = find_next(iter);

    if (!at)
        return 0;
    iter->at = take_value(at, iter->end, value);
    return 1;
}

int
swamp__json_find(swamp__json object, const char *key, swamp__json *value)
{
    swamp__json_iter iter;
    swamp__json name, found;

    if (object.type != SWAMP__JSON_OBJECT)
        return 0;
    swamp__json_enter(object, &iter);
    while (swamp__json_next_member(&iter, &name, &found)) {
        if (swamp__json_equals(name, key)) {
            *value = found;
            return 1;
        }
    }
    return 0;
}

static uint32_t
read_unit(const char *at)
{
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        char c = at[i];

        unit = unit * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return unit;
}

/* After the backslash. */
static uint32_t
read_escape(const char **at, const char *end)
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    char letter = *(*at)++;
    const char *found = memchr(letters, letter, sizeof(letters) - 1);
    uint32_t first, second;

    if (found)
        return (uint32_t)meanings[found - letters];
    if (letter != 'u')
        return (uint32_t)letter;
    first = read_unit(*at);
    *at += 4;
    if (first < 0xd800 || first > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return first;
    second = read_unit(*at + 2);
    if (second < 0xdc00 || second > 0xdfff)
        return first;
    *at += 6;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

uint32_t
swamp__json_character(const char **at, const char *end)
{
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t size = (uint8_t) * *at < 0x80 ? 1 : swamp__utf8_size(*at, end);
    uint32_t character;

    assert(size);
    if (**at == '\\') {
        (*at)++;
        return read_escape(at, end);
    }
    character = (uint8_t) * *at & lead_bits[size];
    for (size_t i = 1; i < size; i++)
        character = character << 6 | ((uint8_t)(*at)[i] & 0x3f);
    *at += size;
    return character;
}

/* A string decoded piece by piece, as UTF-8. */
typedef struct decoder {
    const char *at, *end;
} decoder;

static int
start_decoding(swamp__json string, decoder *d)
{
    if (string.type != SWAMP__JSON_STRING)
        return SWAMP_E_INVALID;
    d->at = string.at + 1;
    d->end = string.at + string.len - 1;
    return SWAMP_OK;
}

/* The next bytes, in place where they need no decoding, else in `room`; 0 at the end. */
static size_t
decode_piece(decoder *d, char room[4], const char **piece)
{
    const char *start = d->at;
    uint32_t character;

    while (d->at < d->end && *d->at != '\\')
        d->at++;
    if (d->at > start || d->at == d->end) {
        *piece = start;
        return (size_t)(d->at - start);
    }
    character = swamp__json_character(&d->at, d->end);
    if (character >= 0xd800 && character <= 0xdfff) /* alone: cannot be written as UTF-8 */
        character = REPLACEMENT;
    *piece = room;
    return swamp__utf8_write(room, character);
}

int
swamp__json_equals(swamp__json string, const char *text)
{
    decoder d;
    char room[4];
    const char *piece;
    size_t size;

    if (start_decoding(string, &d) < 0)
        return 0;
    /* Most keys differ in their first byte, and this is asked for each of them in each event. */
    if (d.at < d.end && *d.at != *text && *d.at != '\\')
        return 0;
    while ((size = decode_piece(&d, room, &piece)) > 0) {
        if (strncmp(text, piece, size) != 0 || memchr(piece, '\0', size))
            return 0;
        text += size;
    }
    return *text == '\0';
}

int
swamp__json_copy(swamp__json string, char *out, size_t cap)
{
    decoder d;
    char room[4];
    const char *piece;
    size_t size, len = 0;
    int rc = start_decoding(string, &d);

    while (rc == SWAMP_OK && (size = decode_piece(&d, room, &piece)) > 0) {
        if (memchr(piece, '\0', size))
            rc = SWAMP_E_INVALID;
        else if (len >= cap || size >= cap - len)
            rc = SWAMP_E_TOO_BIG;
        else
            memcpy(out + len, piece, size);
        len += size;
    }
    if (rc == SWAMP_OK && !cap)
        rc = SWAMP_E_TOO_BIG;
    if (cap)
        out[rc == SWAMP_OK ? len : 0] = '\0';
    return rc;
}

int
swamp__json_decode(swamp__json string, swamp__buf *out)
{
    decoder d;
    char room[4];
    const char *piece;
    size_t size;

    if (start_decoding(string, &d) < 0)
        return SWAMP_E_INVALID;
    while ((size = decode_piece(&d, room, &piece)) > 0)
        swamp__buf_append(out, piece, size);
    return swamp__buf_status(out);
}

size_t
swamp__json_characters(swamp__json string)
{
    decoder d;
    size_t count = 0;

    if (start_decoding(string, &d) < 0)
        return 0;
    for (; d.at < d.end; count++)
        swamp__json_character(&d.at, d.end);
    return count;
}

int
swamp__json_member_text(swamp__json object, const char *key, char *out, size_t cap)
{
    swamp__json value;

    if (cap)
        out[0] = '\0';
    if (!swamp__json_find(object, key, &value))
        return SWAMP_ABSENT;
    return swamp__json_copy(value, out, cap);
}

int
swamp__json_member_i64(swamp__json object, const char *key, int64_t *out)
{
    swamp__json value;

    if (!swamp__json_find(object, key, &value))
        return SWAMP_ABSENT;
    return swamp__json_i64(value, out);
}

int
swamp__json_member_true(swamp__json object, const char *key)
{
    swamp__json value;

    return swamp__json_find(object, key, &value) && value.type == SWAMP__JSON_TRUE;
}
