/* A growing, zero-terminated piece of text, and its spelling as JSON. */
#ifndef SWAMP_CLI_TEXT_H
#define SWAMP_CLI_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* The ending of a word that is counted: "1 file", "2 files". */
#define TEXT_PLURAL(count) ((count) == 1 ? "" : "s")

/* {0} is an empty one. bytes is NULL until something was added. */
typedef struct text {
    char *bytes;
    size_t len;
    size_t cap;
} text;

void text_add_bytes(text *out, const void *bytes, size_t len);
void text_add(text *out, const char *words);
void text_addf(text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_addv(text *out, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* A JSON string, quotes included. Bytes that are not UTF-8, and NUL, become U+FFFD. */
void text_add_json(text *out, const char *words);
void text_add_json_part(text *out, const char *bytes, size_t len);
void text_clear(text *out); /* keeps the memory */
void text_free(text *out);
char *text_take(text *out); /* never NULL; the caller frees; leaves an empty text */

/* Bytes of words up to max, without a character cut in two. */
size_t text_fit(const char *words, size_t max);

/* Length of the UTF-8 sequence at bytes: 1 to 4; 0: it is none; -1: it is one so far, but len ends it. */
int text_utf8(const char *bytes, size_t len);

#endif
