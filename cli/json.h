/* One tree for JSON and YAML: lines kept for messages, numbers kept as written, members found by exact name. */
#ifndef SWAMP_CLI_JSON_H
#define SWAMP_CLI_JSON_H

#include <stddef.h>
#include <stdint.h>
#include "text.h"

/*
 * Not cJSON: it keeps no line numbers, which every message about a file needs; it turns numbers into doubles,
 * so that an input of 2^53 + 1 would reach a command as another number; and it takes repeated keys and text
 * after the value.
 */
#define JSON_NULL 0
#define JSON_BOOLEAN 1
#define JSON_NUMBER 2
#define JSON_STRING 3
#define JSON_ARRAY 4
#define JSON_OBJECT 5

#define JSON_DEPTH_MAX 64

/* Read the members, or use the calls below; all texts are zero-terminated and hold no NUL. */
typedef struct json json;
struct json {
    char *key;   /* in an object; else NULL */
    char *words; /* of a string its value, of a number and a boolean its JSON text; else NULL */
    json *first; /* of an array or object */
    json *last;
    json *next; /* the next one in the same array or object */
    size_t count;
    int type;
    int line; /* in the text it was read from, from 1; 0: made by hand */
};

/* Reads exactly one value: RFC 8259, UTF-8, no NUL, no repeated keys, depth up to JSON_DEPTH_MAX. NULL:
 * *error (if wanted) is one line that the caller frees, *line where. */
json *json_read(const char *bytes, size_t len, char **error, int *line);
void json_free(json *value); /* NULL is fine */
/* For readers, at their end: what json_read() gives where `mistake` is the first one (taken over; NULL: none). */
json *json_give(json *value, char *mistake, int at_line, char **error, int *line);

/* Getters take NULL, and a value of another type, for an absent one. */
const json *json_get(const json *object, const char *key);
const char *json_string(const json *value);                       /* NULL: no string */
const char *json_get_string(const json *object, const char *key); /* NULL: absent, or no string */
int json_get_true(const json *object, const char *key);           /* 1 only for the boolean true */
int json_integer(const json *value, int64_t *out); /* 1: it is one, and fits; also 5.0 and 5e0 */
int64_t json_get_integer(const json *object, const char *key, int64_t otherwise); /* absent, or no integer */
const char *json_type_name(const json *value);      /* "string", "integer", "number", ... */
int json_equal(const json *one, const json *other); /* members in any order; 1 equals 1.0 */

/* Making values; words are copied. */
json *json_new(int type, const char *words, int line);
void json_add(json *parent, const char *key, json *value); /* key NULL in an array; takes value over */
const json *json_repeated(const json *object);             /* the first member whose key came before; NULL */
void json_write(const json *value, text *out);

#endif
