/* What the JSON files share: the inside of strings and numbers, for text whose grammar was checked. */
#ifndef SWAMP_WIRE_JSON_PART_H
#define SWAMP_WIRE_JSON_PART_H

#include <stddef.h>
#include <stdint.h>

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

#endif
