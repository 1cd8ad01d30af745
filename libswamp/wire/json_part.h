/* What the JSON files share: the inside of strings and numbers, for text whose grammar was checked. */
#ifndef SWAMP_WIRE_JSON_PART_H
#define SWAMP_WIRE_JSON_PART_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

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
    return (unsigned char)c <= ' ' &&
           (c == ' ' || c == '\n' || c == '\r' || c == '\t'); /* mostly it is none */
}

#define SWAMP__EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Which bytes of the word are zero: their top bits, and perhaps some above the first one. */
static inline uint64_t
swamp__zero_bytes(uint64_t word)
{
    return (word - SWAMP__EACH_BYTE(0x01)) & ~word & SWAMP__EACH_BYTE(0x80);
}

/* May this byte stand in a string as it is, and alone? */
static inline int
swamp__json_is_plain(char c)
{
    return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

/*
 * Past text that is plain in a string, to the first quote, backslash, control character or byte beyond ASCII, or to
 * the end: most of an event is such text, and each is checked on its way in. Sixteen bytes at a time where the
 * processor always can, then eight, then one.
 */
static inline const char *
swamp__json_skip_plain(const char *at, const char *end)
{
#ifdef __SSE2__
    while (end - at >= (ptrdiff_t)sizeof(__m128i)) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        const __m128i escapes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        const __m128i others = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)); /* signed: also beyond ASCII */
        int special = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, escapes), others));

        if (special)
            return at + __builtin_ctz((unsigned)special);
        at += sizeof(bytes);
    }
#endif
    while (end - at >= (ptrdiff_t)sizeof(uint64_t)) {
        uint64_t word, special;

        memcpy(&word, at, sizeof(word));
        special = (word & SWAMP__EACH_BYTE(0x80)) |
                  ((word - SWAMP__EACH_BYTE(0x20)) & ~word & SWAMP__EACH_BYTE(0x80)) |
                  swamp__zero_bytes(word ^ SWAMP__EACH_BYTE('"')) |
                  swamp__zero_bytes(word ^ SWAMP__EACH_BYTE('\\'));
        if (special)
            break;
        at += sizeof(word);
    }
    while (at < end && swamp__json_is_plain(*at))
        at++;
    return at;
}

#endif
