/* libyaml's events to a tree; the only file that sees libyaml. Scalars are told apart as YAML 1.2 says, which
 * libyaml (YAML 1.1, and untyped) leaves to its users. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "yaml_tree.h"
#include "../memory.h"

typedef struct reader {
    yaml_parser_t parser;
    char *error;
    int line;
    int depth;
} reader;

static json *read_node(reader *r, const yaml_event_t *event);
static json *refuse(reader *r, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

static json *
refuse(reader *r, int line, const char *format, ...)
{
    text words = {0};
    va_list args;
    if (r->error)
        return NULL;
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    r->line = line;
    r->error = text_take(&words);
    return NULL;
}

static int
line_of(const yaml_event_t *event)
{
    return (int)event->start_mark.line + 1;
}

static int
next_event(reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return 1;
    refuse(r,
           (int)(r->parser.problem_mark.line ? r->parser.problem_mark.line : r->parser.context_mark.line) + 1,
           "this is not YAML: %s%s%s", r->parser.problem ? r->parser.problem : "cannot be read",
           r->parser.context ? ", " : "", r->parser.context ? r->parser.context : "");
    return 0;
}

static int
is_one_of(const char *words, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(words, *list) == 0)
            return 1;
    return 0;
}

static size_t
count_digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? ; *whole: no fraction, no exponent */
static int
is_decimal(const char *at, int *whole)
{
    at += *at == '-' || *at == '+';
    size_t before = count_digits(at), after = 0;
    at += before;
    *whole = *at == '\0';
    if (*at == '.') {
        at++;
        after = count_digits(at);
        at += after;
    }
    if (before + after == 0)
        return 0;
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        if (count_digits(at) == 0)
            return 0;
        at += count_digits(at);
    }
    return *at == '\0';
}

/* An integer of any length keeps its digits: "+007" becomes "7", nothing passes through a double. */
static json *
whole_number(const char *words, int line)
{
    text out = {0};
    if (*words == '-')
        text_add(&out, "-");
    words += *words == '-' || *words == '+';
    while (words[0] == '0' && words[1])
        words++;
    text_add(&out, words);
    json *value = json_new(JSON_NUMBER, strcmp(out.bytes, "-0") == 0 ? "0" : out.bytes, line);
    text_free(&out);
    return value;
}

static json *
other_number(reader *r, const char *words, int line)
{
    char digits[64];
    double number = strtod(words, NULL);
    if (!isfinite(number))
        return refuse(r, line, "the number %.40s is too large", words);
    if (number == floor(number) && fabs(number) < 1e15) {
        snprintf(digits, sizeof(digits), "%.0f", number);
        return json_new(JSON_NUMBER, digits, line);
    }
    snprintf(digits, sizeof(digits), "%.17g", number);
    for (int precision = 1; precision < 17; precision++) { /* the shortest text that means the same number */
        char shorter[64];
        snprintf(shorter, sizeof(shorter), "%.*g", precision, number);
        if (strtod(shorter, NULL) == number) {
            memcpy(digits, shorter, sizeof(digits));
            break;
        }
    }
    return json_new(JSON_NUMBER, digits, line);
}

static json *
based_number(reader *r, const char *words, int line)
{
    char digits[32], *end;
    int base = words[1] == 'x' ? 16 : 8;
    unsigned long long number = strtoull(words + 2, &end, base);
    if (strlen(words + 2) > (base == 16 ? 15u : 20u))
        return refuse(r, line, "the number %.40s is too large", words);
    (void)end;
    snprintf(digits, sizeof(digits), "%llu", number);
    return json_new(JSON_NUMBER, digits, line);
}

static int
is_based(const char *words)
{
    const char *digits = words[0] != '0'   ? NULL
                         : words[1] == 'x' ? "0123456789abcdefABCDEF"
                         : words[1] == 'o' ? "01234567"
                                           : NULL;
    return digits && words[2] && words[2 + strspn(words + 2, digits)] == '\0';
}

static json *
plain_scalar(reader *r, const char *words, int line)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const no_numbers[] = {".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                             "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL};
    int whole;
    if (is_one_of(words, nulls))
        return json_new(JSON_NULL, NULL, line);
    if (is_one_of(words, trues))
        return json_new(JSON_BOOLEAN, "true", line);
    if (is_one_of(words, falses))
        return json_new(JSON_BOOLEAN, "false", line);
    if (is_one_of(words, no_numbers))
        return refuse(r, line, "%s is no number that JSON knows; put it in quotes if it is text", words);
    if (is_based(words))
        return based_number(r, words, line);
    if (is_decimal(words, &whole))
        return whole ? whole_number(words, line) : other_number(r, words, line);
    return json_new(JSON_STRING, words, line);
}

static int
is_plain(reader *r, const yaml_event_t *event, const void *anchor, const void *tag)
{
    /* anchors would need a bound on what aliases multiply; no workflow needs them */
    if (anchor)
        refuse(r, line_of(event),
               "anchors and aliases ('&', '*') are not supported; put a text with such a first "
               "letter in quotes");
    else if (tag)
        refuse(r, line_of(event),
               "tags ('!') are not supported; put a text with such a first letter in quotes");
    return !r->error;
}

static json *
read_scalar(reader *r, const yaml_event_t *event)
{
    const char *words = (const char *)event->data.scalar.value;
    if (strlen(words) != event->data.scalar.length)
        return refuse(r, line_of(event), "a text holds a NUL character");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return plain_scalar(r, words, line_of(event));
    json *value = json_new(JSON_STRING, words, line_of(event));
    return value;
}

static int
read_member(reader *r, json *object, const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT) {
        refuse(r, line_of(event), "a key must be a text");
        return 0;
    }
    if (!is_plain(r, event, event->data.scalar.anchor, event->data.scalar.tag))
        return 0;
    json *key = json_new(JSON_STRING, (const char *)event->data.scalar.value, line_of(event));
    yaml_event_t next;
    json *value = NULL;
    if (strlen(key->words) != event->data.scalar.length)
        refuse(r, key->line, "a key holds a NUL character");
    else if (strcmp(key->words, "<<") == 0)
        refuse(r, key->line, "merge keys ('<<') are not supported");
    else if (next_event(r, &next)) {
        value = read_node(r, &next);
        yaml_event_delete(&next);
    }
    if (value) {
        if (value->type == JSON_OBJECT || value->type == JSON_ARRAY)
            value->line = key->line; /* libyaml counts a block from its first line, people from its key */
        json_add(object, key->words, value);
    }
    json_free(key);
    return value != NULL;
}

static int
read_element(reader *r, json *array, const yaml_event_t *event)
{
    json *value = read_node(r, event);
    if (value)
        json_add(array, NULL, value);
    return value != NULL;
}

static json *
read_parts(reader *r, int type, int line)
{
    json *value = json_new(type, NULL, line);
    yaml_event_t event;
    int more = 1;
    if (++r->depth > JSON_DEPTH_MAX)
        refuse(r, line, "it is nested too deep, at most %d levels are allowed", JSON_DEPTH_MAX);
    while (more && !r->error && next_event(r, &event)) {
        if (event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT)
            more = 0;
        else
            more = type == JSON_OBJECT ? read_member(r, value, &event) : read_element(r, value, &event);
        yaml_event_delete(&event);
    }
    r->depth--;
    const json *repeated = r->error || type == JSON_ARRAY ? NULL : json_repeated(value);
    if (repeated)
        refuse(r, repeated->line, "the key '%s' is there twice", repeated->key);
    if (!r->error)
        return value;
    json_free(value);
    return NULL;
}

static json *
read_node(reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return is_plain(r, event, event->data.scalar.anchor, event->data.scalar.tag) ? read_scalar(r, event)
                                                                                     : NULL;
    case YAML_SEQUENCE_START_EVENT:
        return is_plain(r, event, event->data.sequence_start.anchor, event->data.sequence_start.tag)
                   ? read_parts(r, JSON_ARRAY, line_of(event))
                   : NULL;
    case YAML_MAPPING_START_EVENT:
        return is_plain(r, event, event->data.mapping_start.anchor, event->data.mapping_start.tag)
                   ? read_parts(r, JSON_OBJECT, line_of(event))
                   : NULL;
    case YAML_ALIAS_EVENT:
        is_plain(r, event, event, NULL);
        return NULL;
    default:
        return refuse(r, line_of(event), "a value is expected");
    }
}

/* Stream start, document start, the value, document end, stream end. */
static json *
read_document(reader *r)
{
    json *value = NULL;
    for (int over = 0; !over && !r->error;) {
        yaml_event_t event;
        if (!next_event(r, &event))
            break;
        if (event.type == YAML_STREAM_END_EVENT)
            over = 1;
        else if (event.type == YAML_DOCUMENT_START_EVENT && value)
            refuse(r, line_of(&event), "there is a second document; a file holds one");
        else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT &&
                 event.type != YAML_DOCUMENT_END_EVENT)
            value = read_node(r, &event);
        yaml_event_delete(&event);
    }
    if (!value)
        refuse(r, 1, "the file is empty");
    return value;
}

json *
yaml_read(const char *bytes, size_t len, char **error, int *line)
{
    reader r = {.line = 1};
    json *value = NULL;
    if (!yaml_parser_initialize(&r.parser)) {
        refuse(&r, 1, "out of memory");
    } else {
        yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, len);
        value = read_document(&r);
        yaml_parser_delete(&r.parser);
    }
    return json_give(value, r.error, r.line, error, line);
}
