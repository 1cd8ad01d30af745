/* Strict JSON: one pass that checks a text, and readers that walk it in place without copying. Builds no tree. */
#ifndef SWAMP_WIRE_JSON_H
#define SWAMP_WIRE_JSON_H

#include <stddef.h>
#include <stdint.h>
#include "../util/buf.h"

#define SWAMP__JSON_NULL 1
#define SWAMP__JSON_TRUE 2
#define SWAMP__JSON_FALSE 3
#define SWAMP__JSON_NUMBER 4
#define SWAMP__JSON_STRING 5 /* the bytes include the quotes */
#define SWAMP__JSON_OBJECT 6
#define SWAMP__JSON_ARRAY 7

/* A value in place: the bytes of a text that was checked. */
typedef struct swamp__json {
    const char *at;
    size_t len;
    int type; /* SWAMP__JSON_...; 0: no value */
} swamp__json;

#define SWAMP__JSON_STRICT                                                                                   \
    1u /* also: depth <= 64, no NUL and no lone surrogate in strings, no key twice, numbers finite */

/*
 * Checks the whole text: RFC 8259 grammar and UTF-8 always, the stricter rules if asked. O(n log n),
 * iterative. SWAMP_OK and SWAMP_E_RULES set *out to the value, without white space around it; SWAMP_E_JSON,
 * SWAMP_E_NOMEM do not. SWAMP_E_RULES with a key that occurs twice in the outermost object is told apart by
 * *out's type being 0: two readers must never see two messages in one text.
 */
int swamp__json_check(const char *text, size_t len, unsigned rules, swamp__json *out);

/*
 * The same, strictly, for an object that has no member `reserved` (NULL: none is): also SWAMP_E_INVALID. One pass
 * over each event.
 */
int swamp__json_check_object(const char *text, size_t len, const char *reserved, swamp__json *out);

/* Walks an object or array that was checked. */
typedef struct swamp__json_iter {
    const char *at, *end;
} swamp__json_iter;

void swamp__json_enter(swamp__json container, swamp__json_iter *iter);
int swamp__json_next_member(swamp__json_iter *iter, swamp__json *key,
                            swamp__json *value);                          /* 1, or 0: no more */
int swamp__json_next_element(swamp__json_iter *iter, swamp__json *value); /* 1, or 0: no more */

/* Looks a member up by walking; 1 found, 0 not (or no object). For several members of a large object, walk once. */
int swamp__json_find(swamp__json object, const char *key, swamp__json *value);

int swamp__json_equals(swamp__json string, const char *text); /* 1, 0; compares the decoded string */
/* Decoded text, zero-terminated: SWAMP_OK; SWAMP_E_INVALID (no string, or holds NUL), SWAMP_E_TOO_BIG. */
int swamp__json_copy(swamp__json string, char *out, size_t cap);
int swamp__json_decode(swamp__json string,
                       swamp__buf *out);           /* appends; SWAMP_OK, SWAMP_E_INVALID, SWAMP_E_NOMEM */
size_t swamp__json_characters(swamp__json string); /* decoded code points */
/* 0 .. 2^53-1 written without sign, fraction and exponent: SWAMP_OK, SWAMP_E_INVALID. */
int swamp__json_u53(swamp__json number, uint64_t *out);
/* Any JSON number as the nearest integer, for records that others wrote: SWAMP_OK, SWAMP_E_INVALID. */
int swamp__json_i64(swamp__json number, int64_t *out);

/* find + copy in one: SWAMP_OK; SWAMP_ABSENT; SWAMP_E_INVALID, SWAMP_E_TOO_BIG. out is "" unless SWAMP_OK. */
int swamp__json_member_text(swamp__json object, const char *key, char *out, size_t cap);
int swamp__json_member_i64(swamp__json object, const char *key,
                           int64_t *out); /* SWAMP_OK, SWAMP_ABSENT, SWAMP_E_INVALID */
int swamp__json_member_true(swamp__json object, const char *key); /* 1 if the member is true */

/* Writers: append a JSON string with quotes and escapes. Invalid UTF-8 becomes U+FFFD. */
void swamp__json_put_string(swamp__buf *out, const char *text);
void swamp__json_put_string_n(swamp__buf *out, const char *text, size_t len);
/* Appends ,"name":"text" - the comma only if the last byte is not '{' or '['. NULL text: nothing is appended. */
void swamp__json_put_member(swamp__buf *out, const char *name, const char *text);
void swamp__json_put_member_i64(swamp__buf *out, const char *name, int64_t number);
void swamp__json_put_member_raw(swamp__buf *out, const char *name, const char *json, size_t len);

#endif
