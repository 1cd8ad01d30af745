/* Checks JSON text: RFC 8259, then the stricter rules; one pass, no recursion, O(n log n) also for hostile text. */
#include "json.h"

#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/utf8.h"
#include "json_keys.h"
#include "json_part.h"
#include "limits.h"

#define FEW_LEVELS 512
#define PLAINLY_FINITE 300 /* a number of fewer characters without exponent: below 10^300 */

/*
 * The place in the text is no member: it goes from function to function and so stays in a register. Each takes the
 * place where its piece begins and returns the one behind it; NULL: refused, `rc` says how.
 */
typedef struct checker {
    const char *end;
    int rc; /* SWAMP_E_JSON unless memory was wanting */
    int strict;
    int broken;           /* a stricter rule was broken */
    int twice_outside;    /* a key occurs twice in the outermost object */
    const char *reserved; /* a key that the outermost object must not have; NULL: none */
    size_t reserved_len;
    int has_reserved;
    int has_escapes; /* the string last passed */
    size_t depth;
    int in_object;               /* the innermost container; outside of all: 0 */
    int is_empty;                /* ... is just open: no comma comes before what it holds */
    uint8_t few[FEW_LEVELS / 8]; /* enough without memory of its own for all but hostile text */
    uint8_t *levels;             /* one bit a level: 1 object, 0 array */
    size_t levels_max;
    swamp__json_keys keys;                   /* of the open objects, outermost first */
    size_t first_key[SWAMP__JSON_DEPTH_MAX]; /* where those of each open object begin */
} checker;

static inline const char *
skip_space(const checker *c, const char *at)
{
    while (at < c->end && swamp__json_is_space(*at))
        at++;
    return at;
}

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The four digits after \u at `at`; -1: they are not there. */
static int
read_unit(const char *at, const char *end)
{
    int unit = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int value = hex_value(at[i]);

        if (value < 0)
            return -1;
        unit = unit * 16 + value;
    }
    return unit;
}

/* At the u of \uXXXX. The second half of a pair is taken with the first. */
static const char *
skip_unit(checker *c, const char *at)
{
    int unit = read_unit(at + 1, c->end);
    int second = -1;

    if (unit < 0)
        return NULL;
    at += 5;
    if (unit >= 0xd800 && unit <= 0xdbff && c->end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        second = read_unit(at + 2, c->end);
        if (second >= 0xdc00 && second <= 0xdfff)
            return at + 6;
    }
    if (unit == 0 || (unit >= 0xd800 && unit <= 0xdfff))
        c->broken = 1;
    return at;
}

/* At the backslash. */
static const char *
skip_escape(checker *c, const char *at)
{
    c->has_escapes = 1;
    at++;
    if (at == c->end)
        return NULL;
    if (*at == 'u')
        return skip_unit(c, at);
    return *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
}

/* At the opening quote. */
static inline const char *
skip_string(checker *c, const char *at)
{
    c->has_escapes = 0;
    at++;
    while (at && (at = swamp__json_skip_plain(at, c->end)) < c->end) {
        uint8_t byte = (uint8_t)*at;

        if (byte == '"')
            return at + 1;
        if (byte == '\\') {
            at = skip_escape(c, at);
        } else {
            size_t size = byte < 0x20 ? 0 : swamp__utf8_size(at, c->end);
            at = size ? at + size : NULL;
        }
    }
    return NULL;
}

/* At least one digit. */
static const char *
skip_digits(const checker *c, const char *at)
{
    const char *start = at;

    while (at < c->end && *at >= '0' && *at <= '9')
        at++;
    return at > start ? at : NULL;
}

static const char *
skip_number(checker *c, const char *at)
{
    const char *start = at;
    int has_exponent = 0;

    if (*at == '-')
        at++;
    if (at < c->end && *at == '0')
        at++; /* nothing but a point or an exponent follows a leading zero */
    else
        at = skip_digits(c, at);
    if (at && at < c->end && *at == '.')
        at = skip_digits(c, at + 1);
    if (at && at < c->end && (*at == 'e' || *at == 'E')) {
        has_exponent = 1;
        at++;
        if (at < c->end && (*at == '+' || *at == '-'))
            at++;
        at = skip_digits(c, at);
    }
    if (!at || !c->strict || (!has_exponent && at - start < PLAINLY_FINITE))
        return at;
    if (!swamp__json_number_is_finite(start, (size_t)(at - start)))
        c->broken = 1;
    return at;
}

static const char *
skip_word(const checker *c, const char *at, const char *word)
{
    size_t len = strlen(word);

    return (size_t)(c->end - at) >= len && memcmp(at, word, len) == 0 ? at + len : NULL;
}

static const char *
fail_memory(checker *c)
{
    c->rc = SWAMP_E_NOMEM;
    return NULL;
}

static int
grow_levels(checker *c)
{
    uint8_t *levels = swamp__realloc(c->levels == c->few ? NULL : c->levels, c->levels_max / 4);

    if (!levels)
        return SWAMP_E_NOMEM;
    if (c->levels == c->few)
        memcpy(levels, c->few, sizeof(c->few));
    c->levels = levels;
    c->levels_max *= 2;
    return SWAMP_OK;
}

/* Beyond the allowed depth the text is refused anyway: only its grammar still matters there. */
static inline int
keeps_keys(const checker *c)
{
    return c->strict && c->depth <= SWAMP__JSON_DEPTH_MAX;
}

static inline const char *
open_container(checker *c, const char *at, int is_object)
{
    uint8_t bit = (uint8_t)(1 << (c->depth % 8));

    if (c->depth == c->levels_max && grow_levels(c) < 0)
        return fail_memory(c);
    if (is_object)
        c->levels[c->depth / 8] |= bit;
    else
        c->levels[c->depth / 8] &= (uint8_t)~bit;
    c->depth++;
    c->in_object = is_object;
    c->is_empty = 1;
    if (c->depth > SWAMP__JSON_DEPTH_MAX)
        c->broken = 1;
    if (is_object && keeps_keys(c))
        c->first_key[c->depth - 1] = c->keys.count;
    return at + 1;
}

static inline const char *
close_container(checker *c, const char *at)
{
    if (c->in_object && keeps_keys(c)) {
        int twice = swamp__json_keys_twice(&c->keys, c->first_key[c->depth - 1]);

        if (twice < 0)
            return fail_memory(c);
        c->broken |= twice;
        if (c->depth == 1)
            c->twice_outside = twice;
    }
    c->depth--;
    c->in_object = c->depth ? c->levels[(c->depth - 1) / 8] >> ((c->depth - 1) % 8) & 1 : 0;
    c->is_empty = 0;
    return at + 1;
}

/* Whole, or the opening bracket of a container. */
static inline const char *
enter_value(checker *c, const char *at)
{
    c->is_empty = 0;
    switch (*at) {
    case '"':
        return skip_string(c, at);
    case '{':
        return open_container(c, at, 1);
    case '[':
        return open_container(c, at, 0);
    case 't':
        return skip_word(c, at, "true");
    case 'f':
        return skip_word(c, at, "false");
    case 'n':
        return skip_word(c, at, "null");
    default:
        return skip_number(c, at);
    }
}

/* `key` is between quotes. However it is spelt: "\u0073eq" is "seq". */
static inline int
is_reserved(const checker *c, const char *key, size_t len)
{
    if (!c->has_escapes)
        return len == c->reserved_len && memcmp(key, c->reserved, len) == 0;
    return swamp__json_equals((swamp__json){key - 1, len + 2, SWAMP__JSON_STRING}, c->reserved);
}

/* With the colon and the space on both sides of it. */
static inline const char *
skip_key(checker *c, const char *at)
{
    const char *key = at + 1;

    if (*at != '"' || !(at = skip_string(c, at)))
        return NULL;
    if (c->reserved && c->depth == 1)
        c->has_reserved |= is_reserved(c, key, (size_t)(at - 1 - key));
    if (keeps_keys(c) && swamp__json_keys_add(&c->keys, key, at - 1, c->has_escapes) < 0)
        return fail_memory(c);
    at = skip_space(c, at);
    return at < c->end && *at == ':' ? skip_space(c, at + 1) : NULL;
}

/* In a container, at a byte that is no white space: its end, or its next member or element. */
static inline const char *
step(checker *c, const char *at)
{
    if (*at == (c->in_object ? '}' : ']'))
        return close_container(c, at);
    if (!c->is_empty) {
        if (*at != ',')
            return NULL;
        at = skip_space(c, at + 1);
    }
    if (at < c->end && c->in_object)
        at = skip_key(c, at);
    return at && at < c->end ? enter_value(c, at) : NULL;
}

/* From the first byte of the value on; returns its end, or NULL. */
static const char *
check_text(checker *c, const char *at)
{
    const char *value_end;

    at = at < c->end ? enter_value(c, at) : NULL;
    while (at && c->depth) {
        at = skip_space(c, at);
        at = at < c->end ? step(c, at) : NULL;
    }
    value_end = at;
    return at && skip_space(c, at) == c->end ? value_end : NULL;
}

static int
type_at(char first)
{
    switch (first) {
    case '{':
        return SWAMP__JSON_OBJECT;
    case '[':
        return SWAMP__JSON_ARRAY;
    case '"':
        return SWAMP__JSON_STRING;
    case 't':
        return SWAMP__JSON_TRUE;
    case 'f':
        return SWAMP__JSON_FALSE;
    case 'n':
        return SWAMP__JSON_NULL;
    default:
        return SWAMP__JSON_NUMBER;
    }
}

/* Everything but what is asked of the value as a whole; the checker says what else was seen. */
static int
check(checker *c, const char *text, size_t len, unsigned rules, const char *reserved, swamp__json *out)
{
    const char *start, *value_end;

    c->end = text + len;
    c->rc = SWAMP_E_JSON;
    c->strict = (rules & SWAMP__JSON_STRICT) != 0;
    c->broken = 0;
    c->twice_outside = 0;
    c->reserved = reserved;
    c->reserved_len = reserved ? strlen(reserved) : 0;
    c->has_reserved = 0;
    c->depth = 0;
    c->in_object = 0;
    c->levels = c->few;
    c->levels_max = FEW_LEVELS;
    swamp__json_keys_init(&c->keys);

    start = skip_space(c, text);
    value_end = check_text(c, start);
    if (c->levels != c->few)
        swamp__free(c->levels);
    swamp__json_keys_free(&c->keys);
    if (!value_end)
        return c->rc;
    out->at = start;
    out->len = (size_t)(value_end - start);
    out->type = c->strict && c->twice_outside ? 0 : type_at(*start);
    return c->strict && c->broken ? SWAMP_E_RULES : SWAMP_OK;
}

int
swamp__json_check(const char *text, size_t len, unsigned rules, swamp__json *out)
{
    checker c; /* not zeroed: it is large, and this is the hot path */

    return check(&c, text, len, rules, NULL, out);
}

int
swamp__json_check_object(const char *text, size_t len, const char *reserved, swamp__json *out)
{
    checker c;
    int rc = check(&c, text, len, SWAMP__JSON_STRICT, reserved, out);

    if (rc == SWAMP_OK && (out->type != SWAMP__JSON_OBJECT || c.has_reserved))
        rc = SWAMP_E_INVALID;
    return rc;
}
