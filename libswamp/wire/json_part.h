/* What the JSON files share: the inside of strings and numbers, for text whose grammar was checked. */
#ifndef SWAMP_WIRE_JSON_PART_H
#define SWAMP_WIRE_JSON_PART_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The character at *at, inside a checked string, escapes and surrogate pairs resolved; moves *at after it. A
 * lone surrogate is returned as it is (0xd800 to 0xdfff), so that two of them compare as different texts.
 */
uint32_t swamp__json_character(const char **at, const char *end);

/* 1 if the nearest double of a checked number is finite. Exact, and the same in every locale. */
int swamp__json_number_is_finite(const char *at, size_t len);

static inline int
swamp__json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

#define SWAMP__EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Which bytes of the word are zero: their top bits, and perhaps some above the first one. */
static inline uint64_t
swamp__zero_bytes(uint64_t word)
{
    return (word - SWAMP__EACH_BYTE(0x01)) & ~word & SWAMP__EACH_BYTE(0x80);
}

/*
 * Past text that is plain in a string, eight bytes at a time, to the first quote, backslash, control character or
 * byte beyond ASCII: most of an event is such text, and each is checked on its way in. The last seven bytes before
 * `end` are left to the caller.
 */
static inline const char *
swamp__json_skip_plain(const char *at, const char *end)
{
    while (end - at >= (ptrdiff_t)sizeof(uint64_t)) {
        uint64_t word, special;

        memcpy(&word, at, sizeof(word));
        special = (word & SWAMP__EACH_BYTE(0x80)) |
                  ((word - SWAMP__EACH_BYTE(0x20)) & ~word & SWAMP__EACH_BYTE(0x80)) |
                  swamp__zero_bytes(word ^ SWAMP__EACH_BYTE('"')) |
                  swamp__zero_bytes(word ^ SWAMP__EACH_BYTE('\\'));
        if (special) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            at += __builtin_ctzll(special) / 8; /* the lowest is exact */
#endif
            return at;
        }
        at += sizeof(word);
    }
    return at;
}

#endif
