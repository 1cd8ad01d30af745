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

/* What may stand next. */
#define AT_VALUE 0         /* a value */
#define AT_FIRST_ELEMENT 1 /* a value, or ] */
#define AT_KEY 2           /* a key */
#define AT_FIRST_KEY 3     /* a key, or } */
#define AT_NEXT 4          /* after a value: a comma or the container's end; outermost: nothing */

typedef struct checker {
    const char *at, *end;
    int state;
    int strict;
    int broken;           /* a stricter rule was broken */
    int twice_outside;    /* a key occurs twice in the outermost object */
    const char *reserved; /* a key that the outermost object must not have; NULL: none */
    int has_reserved;
    size_t depth;
    uint8_t few[FEW_LEVELS / 8]; /* enough without memory of its own for all but hostile text */
    uint8_t *levels;             /* one bit a level: 1 object, 0 array */
    size_t levels_max;
    swamp__json_keys keys;                   /* of the open objects, outermost first */
    size_t first_key[SWAMP__JSON_DEPTH_MAX]; /* where those of each open object begin */
} checker;

static void
skip_space(checker *c)
{
    while (c->at < c->end && swamp__json_is_space(*c->at))
        c->at++;
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
static int
skip_unit(checker *c)
{
    int unit = read_unit(c->at + 1, c->end);
    int second = -1;

    if (unit < 0)
        return SWAMP_E_JSON;
    c->at += 5;
    if (unit >= 0xd800 && unit <= 0xdbff && c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u') {
        second = read_unit(c->at + 2, c->end);
        if (second >= 0xdc00 && second <= 0xdfff) {
            c->at += 6;
            return SWAMP_OK;
        }
    }
    if (unit == 0 || (unit >= 0xd800 && unit <= 0xdfff))
        c->broken = 1;
    return SWAMP_OK;
}

/* At the backslash. */
static int
skip_escape(checker *c)
{
    c->at++;
    if (c->at == c->end)
        return SWAMP_E_JSON;
    if (*c->at == 'u')
        return skip_unit(c);
    if (!*c->at || !strchr("\"\\/bfnrt", *c->at))
        return SWAMP_E_JSON;
    c->at++;
    return SWAMP_OK;
}

/* At the opening quote. */
static int
skip_string(checker *c)
{
    c->at++;
    while ((c->at = swamp__json_skip_plain(c->at, c->end)) < c->end) {
        uint8_t byte = (uint8_t)*c->at;
        size_t size = 1;

        if (byte == '"') {
            c->at++;
            return SWAMP_OK;
        }
        if (byte < 0x20)
            return SWAMP_E_JSON;
        if (byte == '\\') {
            if (skip_escape(c) < 0)
                return SWAMP_E_JSON;
            continue;
        }
        if (byte >= 0x80)
            size = swamp__utf8_size(c->at, c->end);
        if (!size)
            return SWAMP_E_JSON;
        c->at += size;
    }
    return SWAMP_E_JSON;
}

/* At least one digit. */
static int
skip_digits(checker *c)
{
    const char *start = c->at;

    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > start ? SWAMP_OK : SWAMP_E_JSON;
}

static int
skip_number(checker *c)
{
    const char *start = c->at;
    int has_exponent = 0;

    if (*c->at == '-')
        c->at++;
    if (c->at < c->end && *c->at == '0')
        c->at++; /* nothing but a point or an exponent follows a leading zero */
    else if (skip_digits(c) < 0)
        return SWAMP_E_JSON;
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (skip_digits(c) < 0)
            return SWAMP_E_JSON;
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        has_exponent = 1;
        c->at++;
        if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
            c->at++;
        if (skip_digits(c) < 0)
            return SWAMP_E_JSON;
    }
    if (!c->strict || (!has_exponent && c->at - start < PLAINLY_FINITE))
        return SWAMP_OK;
    if (!swamp__json_number_is_finite(start, (size_t)(c->at - start)))
        c->broken = 1;
    return SWAMP_OK;
}

static int
skip_word(checker *c, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
        return SWAMP_E_JSON;
    c->at += len;
    return SWAMP_OK;
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

static int
is_in_object(const checker *c)
{
    size_t level = c->depth - 1;

    return c->levels[level / 8] >> (level % 8) & 1;
}

/* Beyond the allowed depth the text is refused anyway: only its grammar still matters there. */
static int
keeps_keys(const checker *c)
{
    return c->strict && c->depth <= SWAMP__JSON_DEPTH_MAX;
}

static int
open_container(checker *c, int is_object)
{
    uint8_t bit = (uint8_t)(1 << (c->depth % 8));

    if (c->depth == c->levels_max && grow_levels(c) < 0)
        return SWAMP_E_NOMEM;
    if (is_object)
        c->levels[c->depth / 8] |= bit;
    else
        c->levels[c->depth / 8] &= (uint8_t)~bit;
    c->depth++;
    c->at++;
    if (c->depth > SWAMP__JSON_DEPTH_MAX)
        c->broken = 1;
    if (is_object && keeps_keys(c))
        c->first_key[c->depth - 1] = c->keys.count;
    c->state = is_object ? AT_FIRST_KEY : AT_FIRST_ELEMENT;
    return SWAMP_OK;
}

static int
close_container(checker *c)
{
    if (is_in_object(c) && keeps_keys(c)) {
        int twice = swamp__json_keys_twice(&c->keys, c->first_key[c->depth - 1]);

        if (twice < 0)
            return twice;
        c->broken |= twice;
        if (c->depth == 1)
            c->twice_outside = twice;
    }
    c->depth--;
    c->at++;
    c->state = AT_NEXT;
    return SWAMP_OK;
}

static int
step_value(checker *c)
{
    c->state = AT_NEXT;
    switch (*c->at) {
    case '{':
        return open_container(c, 1);
    case '[':
        return open_container(c, 0);
    case '"':
        return skip_string(c);
    case 't':
        return skip_word(c, "true");
    case 'f':
        return skip_word(c, "false");
    case 'n':
        return skip_word(c, "null");
    default:
        return skip_number(c);
    }
}

static int
step_first_element(checker *c)
{
    return *c->at == ']' ? close_container(c) : step_value(c);
}

static int
step_key(checker *c)
{
    const char *key = c->at;
    int rc;

    if (*key != '"')
        return SWAMP_E_JSON;
    rc = skip_string(c);
    if (rc == SWAMP_OK && c->reserved && c->depth == 1)
        c->has_reserved |=
            swamp__json_equals((swamp__json){key, (size_t)(c->at - key), SWAMP__JSON_STRING}, c->reserved);
    if (rc == SWAMP_OK && keeps_keys(c))
        rc = swamp__json_keys_add(&c->keys, key + 1, c->at - 1);
    if (rc < 0)
        return rc;
    skip_space(c);
    if (c->at == c->end || *c->at != ':')
        return SWAMP_E_JSON;
    c->at++;
    c->state = AT_VALUE;
    return SWAMP_OK;
}

static int
step_first_key(checker *c)
{
    return *c->at == '}' ? close_container(c) : step_key(c);
}

static int
step_next(checker *c)
{
    if (!c->depth)
        return SWAMP_E_JSON; /* text after the value */
    if (*c->at == ',') {
        c->at++;
        c->state = is_in_object(c) ? AT_KEY : AT_VALUE;
        return SWAMP_OK;
    }
    if (*c->at != (is_in_object(c) ? '}' : ']'))
        return SWAMP_E_JSON;
    return close_container(c);
}

/* By state. Each is called at a byte that is no white space. */
static int (*const steps[])(checker *c) = {
    [AT_VALUE] = step_value, [AT_FIRST_ELEMENT] = step_first_element,
    [AT_KEY] = step_key,     [AT_FIRST_KEY] = step_first_key,
    [AT_NEXT] = step_next,
};

static int
check_text(checker *c, const char **value_end)
{
    int rc = SWAMP_OK;

    for (;;) {
        if (c->state == AT_NEXT && !c->depth)
            *value_end = c->at;
        skip_space(c);
        if (c->at == c->end)
            return c->state == AT_NEXT && !c->depth ? SWAMP_OK : SWAMP_E_JSON;
        rc = steps[c->state](c);
        if (rc < 0)
            return rc;
    }
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
    const char *start, *value_end = NULL;
    int rc;

    if (!len)
        return SWAMP_E_JSON;
    c->at = text;
    c->end = text + len;
    c->state = AT_VALUE;
    c->strict = (rules & SWAMP__JSON_STRICT) != 0;
    c->broken = 0;
    c->twice_outside = 0;
    c->reserved = reserved;
    c->has_reserved = 0;
    c->depth = 0;
    c->levels = c->few;
    c->levels_max = FEW_LEVELS;
    swamp__json_keys_init(&c->keys);
    skip_space(c);
    start = c->at;

    rc = check_text(c, &value_end);
    if (c->levels != c->few)
        swamp__free(c->levels);
    swamp__json_keys_free(&c->keys);
    if (rc < 0)
        return rc;
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
