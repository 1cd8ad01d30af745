/* JSON text to tree, strictly (RFC 8259 and the rules of json.h), with the line of every value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "memory.h"

typedef struct reader {
    const char *at;
    const char *end;
    char *error; /* the first mistake */
    int line;
    int depth;
} reader;

static json *read_value(reader *r);

/* Notes the first mistake; always NULL, so that callers can return it. */
static json *
refuse(reader *r, const char *what)
{
    text line = {0};
    if (r->error)
        return NULL;
    text_add(&line, what);
    if (r->at<r->end && * r->at> 0x20 && *r->at < 0x7f)
        text_addf(&line, ", at '%c'", *r->at);
    else if (r->at >= r->end)
        text_add(&line, ", at the end of the text");
    r->error = text_take(&line);
    return NULL;
}

static void
skip_space(reader *r)
{
    for (; r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at; r->at++)
        r->line += *r->at == '\n';
}

static int
take(reader *r, char letter)
{
    skip_space(r);
    if (r->at >= r->end || *r->at != letter)
        return 0;
    r->at++;
    return 1;
}

static int
read_hex4(reader *r, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF", *digit;
        if (r->at >= r->end || !*r->at || !(digit = strchr(digits, *r->at)))
            return 0;
        *out = *out * 16 + (unsigned)((digit - digits) % 16);
    }
    return 1;
}

static void
add_code_point(text *out, unsigned code)
{
    char bytes[4];
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(marks[len] | code);
    text_add_bytes(out, bytes, len);
}

static int
read_unicode(reader *r, text *out)
{
    unsigned code, low;
    if (!read_hex4(r, &code) || code == 0)
        return 0;
    if (code >= 0xdc00 && code <= 0xdfff)
        return 0;
    if (code >= 0xd800 && code <= 0xdbff) {
        if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
            return 0;
        r->at += 2;
        if (!read_hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_code_point(out, code);
    return 1;
}

static int
read_escape(reader *r, text *out)
{
    static const char names[] = "\"\\/bfnrt", letters[] = "\"\\/\b\f\n\r\t";
    const char *name;
    r->at++;
    if (r->at >= r->end || !*r->at)
        return 0;
    if (*r->at == 'u') {
        r->at++;
        return read_unicode(r, out);
    }
    if (!(name = strchr(names, *r->at)))
        return 0;
    text_add_bytes(out, &letters[name - names], 1);
    r->at++;
    return 1;
}

/* After the opening quote. NULL: refused. */
static char *
read_string(reader *r)
{
    text out = {0};
    while (r->at < r->end && *r->at != '"') {
        int len = text_utf8(r->at, (size_t)(r->end - r->at));
        if (len < 1 || (unsigned char)*r->at < 0x20) {
            refuse(r, len < 1 ? "a string is not UTF-8" : "a string holds a line end or control character");
            break;
        }
        if (*r->at == '\\') {
            if (!read_escape(r, &out)) {
                refuse(r, "a string holds an escape that is not allowed");
                break;
            }
            continue;
        }
        text_add_bytes(&out, r->at, (size_t)len);
        r->at += len;
    }
    if (!r->error && !take(r, '"'))
        refuse(r, "a string has no closing quote");
    char *words = text_take(&out);
    if (!r->error)
        return words;
    free(words);
    return NULL;
}

static size_t
read_digits(reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return (size_t)(r->at - start);
}

static json *
read_number(reader *r)
{
    const char *start = r->at;
    int fine;
    if (*r->at == '-')
        r->at++;
    const char *digits = r->at;
    size_t count = read_digits(r);
    fine = count == 1 || (count > 1 && *digits != '0');
    if (fine && r->at < r->end && *r->at == '.') {
        r->at++;
        fine = read_digits(r) > 0;
    }
    if (fine && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
            r->at++;
        fine = read_digits(r) > 0;
    }
    if (!fine)
        return refuse(r, "a number is not written as JSON wants it");
    json *value = json_new(JSON_NUMBER, NULL, r->line);
    value->words = memory_copy_part(start, (size_t)(r->at - start));
    return value;
}

static int
read_member(reader *r, json *object)
{
    char *key = NULL;
    if (object->type == JSON_OBJECT) {
        if (!take(r, '"')) {
            refuse(r, "a key in double quotes is expected");
            return 0;
        }
        key = read_string(r);
        if (key && !take(r, ':'))
            refuse(r, "a ':' is expected after a key");
    }
    json *value = r->error ? NULL : read_value(r);
    if (value)
        json_add(object, key, value);
    free(key);
    return value != NULL;
}

static json *
read_parts(reader *r, int type)
{
    char close = type == JSON_ARRAY ? ']' : '}';
    json *value = json_new(type, NULL, r->line);
    r->at++;
    if (++r->depth > JSON_DEPTH_MAX)
        refuse(r, "it is nested too deep, at most 64 levels are allowed");
    else if (!take(r, close)) {
        while (read_member(r, value) && take(r, ','))
            ;
        if (!r->error && !take(r, close))
            refuse(r, type == JSON_ARRAY ? "',' or ']' is expected" : "',' or '}' is expected");
    }
    r->depth--;
    const json *repeated = r->error || type == JSON_ARRAY ? NULL : json_repeated(value);
    if (repeated) {
        text line = {0};
        text_addf(&line, "the key '%s' is there twice", repeated->key);
        r->line = repeated->line;
        r->error = text_take(&line);
    }
    if (!r->error)
        return value;
    json_free(value);
    return NULL;
}

static json *
read_value(reader *r)
{
    static const struct {
        const char *word;
        int type;
    } words[] = {{"true", JSON_BOOLEAN}, {"false", JSON_BOOLEAN}, {"null", JSON_NULL}};
    skip_space(r);
    if (r->at >= r->end)
        return refuse(r, "a value is expected");
    if (*r->at == '{' || *r->at == '[')
        return read_parts(r, *r->at == '{' ? JSON_OBJECT : JSON_ARRAY);
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'))
        return read_number(r);
    if (*r->at == '"') {
        json *value = json_new(JSON_STRING, NULL, r->line);
        r->at++;
        if ((value->words = read_string(r)))
            return value;
        json_free(value);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i].word);
        if ((size_t)(r->end - r->at) >= len && memcmp(r->at, words[i].word, len) == 0) {
            r->at += len;
            return json_new(words[i].type, words[i].type == JSON_NULL ? NULL : words[i].word, r->line);
        }
    }
    return refuse(r, "a value is expected");
}

json *
json_give(json *value, char *mistake, int at_line, char **error, int *line)
{
    if (!mistake)
        return value;
    json_free(value);
    if (line)
        *line = at_line;
    if (error)
        *error = mistake;
    else
        free(mistake);
    return NULL;
}

json *
json_read(const char *bytes, size_t len, char **error, int *line)
{
    reader r = {.at = bytes, .end = bytes + len, .line = 1};
    json *value = read_value(&r);
    skip_space(&r);
    if (value && r.at < r.end)
        refuse(&r, "there is more text after the value");
    return json_give(value, r.error, r.line, error, line);
}
