/* UTF-8, one character at a time. */
#include "utf8.h"

#include <assert.h>
#include <string.h>

/* What may follow a lead byte: how many bytes in all, and the range of the second (RFC 3629, section 4). */
typedef struct lead_rule {
    uint8_t first, last;
    uint8_t size;
    uint8_t second_low, second_high;
} lead_rule;

static const lead_rule lead_rules[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf},                              /* c0, c1 would be overlong */
    {0xe0, 0xe0, 3, 0xa0, 0xbf},                              /* below: overlong */
    {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, /* above: surrogates */
    {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf}, /* below: overlong */
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f}, /* above: more than U+10FFFF */
};

size_t
swamp__utf8_size(const char *at, const char *end)
{
    uint8_t lead;

    assert(at < end);
    lead = (uint8_t)*at;
    if (lead < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof(lead_rules) / sizeof(lead_rules[0]); i++) {
        const lead_rule *rule = &lead_rules[i];

        if (lead < rule->first || lead > rule->last)
            continue;
        if ((size_t)(end - at) < rule->size)
            return 0;
        if ((uint8_t)at[1] < rule->second_low || (uint8_t)at[1] > rule->second_high)
            return 0;
        for (size_t k = 2; k < rule->size; k++)
            if (((uint8_t)at[k] & 0xc0) != 0x80)
                return 0;
        return rule->size;
    }
    return 0;
}

int
swamp__utf8_is_whole(const char *text, size_t len)
{
    const char *end = text + len;

    for (size_t size; text < end; text += size) {
        size = (unsigned char)*text < 0x80 ? 1 : swamp__utf8_size(text, end);
        if (size == 0)
            return 0;
    }
    return 1;
}

size_t
swamp__utf8_write(char out[4], uint32_t code_point)
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xc0 | (code_point >> 6));
        out[1] = (char)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xe0 | (code_point >> 12));
        out[1] = (char)(0x80 | ((code_point >> 6) & 0x3f));
        out[2] = (char)(0x80 | (code_point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (code_point >> 18));
    out[1] = (char)(0x80 | ((code_point >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((code_point >> 6) & 0x3f));
    out[3] = (char)(0x80 | (code_point & 0x3f));
    return 4;
}

size_t
swamp__utf8_cut(const char *text, size_t len, size_t max)
{
    size_t at;

    if (len <= max)
        return len;
    for (at = max; at > 0 && max - at < 4; at--)
        if (((uint8_t)text[at] & 0xc0) != 0x80)
            return at;
    return max; /* no UTF-8: any place is as good */
}

void
swamp__utf8_clean_line(char *text)
{
    char *end = text + strlen(text);
    char *at = text;

    while (at < end) {
        size_t size = swamp__utf8_size(at, end);

        if (size == 0 || (size == 1 && ((uint8_t)*at < 0x20 || *at == 0x7f)))
            *at = '?';
        at += size ? size : 1;
    }
}
