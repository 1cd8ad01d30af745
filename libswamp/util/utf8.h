/* UTF-8, one character at a time (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SWAMP_UTIL_UTF8_H
#define SWAMP_UTIL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `at`, 1 to 4; 0: invalid, or cut off by the end. at < end. */
size_t swamp__utf8_size(const char *at, const char *end);

/* 1: every byte of it is part of a whole character. */
int swamp__utf8_is_whole(const char *text, size_t len);

/* Writes a code point up to U+10FFFF, no surrogate; returns its bytes, 1 to 4. */
size_t swamp__utf8_write(char out[4], uint32_t code_point);

/* The longest prefix of at most max bytes that ends between two characters. */
size_t swamp__utf8_cut(const char *text, size_t len, size_t max);

/* Makes one printable line of a zero-terminated text, in place: control characters and invalid bytes become '?'. */
void swamp__utf8_clean_line(char *text);

#endif
