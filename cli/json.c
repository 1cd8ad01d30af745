/* The tree itself: making, finding, comparing, writing. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "memory.h"

json *
json_new(int type, const char *words, int line)
{
    json *value = memory_new(1, sizeof(*value));
    value->type = type;
    value->words = memory_copy(words);
    value->line = line;
    return value;
}

void
json_free(json *value)
{
    if (!value)
        return;
    for (json *part = value->first, *next; part; part = next) {
        next = part->next;
        json_free(part); /* as deep as JSON_DEPTH_MAX */
    }
    free(value->key);
    free(value->words);
    free(value);
}

void
json_add(json *parent, const char *key, json *value)
{
    assert(parent->type == (key ? JSON_OBJECT : JSON_ARRAY));
    free(value->key);
    value->key = memory_copy(key);
    if (parent->last)
        parent->last->next = value;
    else
        parent->first = value;
    parent->last = value;
    parent->count++;
}

const json *
json_get(const json *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const json *part = object->first; part; part = part->next)
        if (strcmp(part->key, key) == 0)
            return part;
    return NULL;
}

const char *
json_string(const json *value)
{
    return value && value->type == JSON_STRING ? value->words : NULL;
}

const char *
json_get_string(const json *object, const char *key)
{
    return json_string(json_get(object, key));
}

int
json_get_true(const json *object, const char *key)
{
    const json *value = json_get(object, key);
    return value && value->type == JSON_BOOLEAN && value->words[0] == 't';
}

int
json_integer(const json *value, int64_t *out)
{
    char *end;
    if (!value || value->type != JSON_NUMBER)
        return 0;
    errno = 0;
    long long whole = strtoll(value->words, &end, 10);
    if (*end == '\0') {
        if (errno)
            return 0;
        *out = whole;
        return 1;
    }
    double number = strtod(value->words, &end);
    if (number != floor(number) || fabs(number) > 9007199254740992.0) /* 2^53: exact up to here */
        return 0;
    *out = (int64_t)number;
    return 1;
}

int64_t
json_get_integer(const json *object, const char *key, int64_t otherwise)
{
    int64_t number;
    return json_integer(json_get(object, key), &number) ? number : otherwise;
}

const char *
json_type_name(const json *value)
{
    static const char *const names[] = {"null", "boolean", "number", "string", "array", "object"};
    int64_t whole;
    if (!value)
        return "nothing";
    return json_integer(value, &whole) ? "integer" : names[value->type];
}

static int
equal_parts(const json *one, const json *other)
{
    const json *b = other->first;
    for (const json *a = one->first; a; a = a->next) {
        if (!json_equal(a, one->type == JSON_OBJECT ? json_get(other, a->key) : b))
            return 0;
        b = b->next;
    }
    return 1;
}

int
json_equal(const json *one, const json *other)
{
    if (!one || !other || one->type != other->type || one->count != other->count)
        return 0;
    if (one->type >= JSON_ARRAY)
        return equal_parts(one, other);
    if (one->type == JSON_NULL || strcmp(one->words, other->words) == 0)
        return 1;
    int64_t a, b;
    if (one->type != JSON_NUMBER)
        return 0;
    if (json_integer(one, &a) && json_integer(other, &b))
        return a == b;
    return strtod(one->words, NULL) == strtod(other->words, NULL);
}

static int
by_key(const void *a, const void *b)
{
    const json *one = *(const json *const *)a, *other = *(const json *const *)b;
    int order = strcmp(one->key, other->key);
    return order ? order : (one->line > other->line) - (one->line < other->line);
}

const json *
json_repeated(const json *object)
{
    const json **members, *found = NULL;
    size_t count = 0;
    if (object->count < 2)
        return NULL;
    members = memory_new(object->count, sizeof(*members)); /* sorted: a file of 90,000 keys is read at once */
    for (const json *part = object->first; part; part = part->next)
        members[count++] = part;
    qsort(members, count, sizeof(*members), by_key);
    for (size_t i = 1; i < count && !found; i++)
        if (strcmp(members[i - 1]->key, members[i]->key) == 0)
            found = members[i];
    free(members);
    return found;
}

void
json_write(const json *value, text *out)
{
    if (value->type == JSON_STRING) {
        text_add_json(out, value->words);
    } else if (value->type < JSON_ARRAY) {
        text_add(out, value->type == JSON_NULL ? "null" : value->words);
    } else {
        text_add(out, value->type == JSON_ARRAY ? "[" : "{");
        for (const json *part = value->first; part; part = part->next) {
            if (part != value->first)
                text_add(out, ",");
            if (part->key) {
                text_add_json(out, part->key);
                text_add(out, ":");
            }
            json_write(part, out);
        }
        text_add(out, value->type == JSON_ARRAY ? "]" : "}");
    }
}
