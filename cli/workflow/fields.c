/* Members with their types; all messages about a single member are made here. */
#include <string.h>
#include "expression.h"
#include "fields.h"
#include "workflow.h"

void
fields_fault(const fields *at, int line, const char *format, ...)
{
    text words = {0};
    va_list args;
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    workflow_faults_add(at->faults, at->file, line, "%s%s", at->where, words.bytes);
    text_free(&words);
}

static void
refuse_type(const fields *at, const json *value, const char *wanted)
{
    int scalar = value->type == JSON_NUMBER || value->type == JSON_BOOLEAN;
    fields_fault(at, value->line, "'%s' must be %s, but is %s%s", value->key, wanted, json_type_name(value),
                 scalar && strncmp(wanted, "text", 4) == 0 ? ": put it in quotes" : "");
}

static void
refuse_member(const fields *at, const json *member, const char *what, const field_rule *rules)
{
    text allowed = {0};
    for (const field_rule *rule = rules; rule->key; rule++)
        if (rule->support == FIELD_KNOWN)
            text_addf(&allowed, "%s%s", allowed.len ? ", " : "", rule->key);
    fields_fault(at, member->line, "%s has an unknown member '%.60s'; allowed are: %s", what, member->key,
                 allowed.bytes);
    text_free(&allowed);
}

int
fields_check(const fields *at, const json *value, const char *what, const field_rule *rules)
{
    if (value->type != JSON_OBJECT) {
        fields_fault(at, value->line, "%s must be an object, but is %s", what, json_type_name(value));
        return 0;
    }
    for (const json *member = value->first; member; member = member->next) {
        const field_rule *rule = rules;
        while (rule->key && strcmp(rule->key, member->key) != 0)
            rule++;
        if (!rule->key)
            refuse_member(at, member, what, rules);
        else if (rule->support == FIELD_UNSUPPORTED)
            fields_fault(at, member->line, "'%s' is not supported", member->key);
    }
    return 1;
}

const char *
fields_text(const fields *at, const json *object, const char *key)
{
    const json *value = json_get(object, key);
    if (!value)
        return NULL;
    if (value->type != JSON_STRING) {
        refuse_type(at, value, "text");
        return NULL;
    }
    return value->words;
}

const char *
fields_required(const fields *at, const json *object, const char *key)
{
    const json *value = json_get(object, key);
    const char *words = fields_text(at, object, key);
    if (!value)
        fields_fault(at, object->line, "'%s' is missing", key);
    else if (words && words[strspn(words, " \t\n")] == '\0')
        fields_fault(at, value->line, "'%s' is empty", key);
    else
        return words;
    return NULL;
}

const char *
fields_name(const fields *at, const json *object, const char *key)
{
    const char *words = fields_required(at, object, key);
    if (!words)
        return NULL;
    int line = json_get(object, key)->line;
    if (strlen(words) > WORKFLOW_NAME_MAX)
        fields_fault(at, line, "'%s' has %zu bytes, at most %d are allowed", key, strlen(words),
                     WORKFLOW_NAME_MAX);
    else if (expression_is_in(words))
        fields_fault(at, line, "an expression in '%s' is not supported", key);
    else {
        for (const char *letter = words; *letter; letter++)
            if ((unsigned char)*letter < 0x20 || *letter == 0x7f) {
                fields_fault(at, line, "'%s' holds a control character", key);
                return NULL;
            }
        return words;
    }
    return NULL;
}

int64_t
fields_count(const fields *at, const json *object, const char *key, int64_t low, int64_t high)
{
    const json *value = json_get(object, key);
    int64_t number;
    if (!value)
        return 0;
    if (json_integer(value, &number) && number >= low && number <= high)
        return number;
    fields_fault(at, value->line, "'%s' must be a whole number from %lld to %lld, but is %.60s", key,
                 (long long)low, (long long)high,
                 value->type == JSON_NUMBER ? value->words : json_type_name(value));
    return 0;
}

int
fields_flag(const fields *at, const json *object, const char *key)
{
    const json *value = json_get(object, key);
    if (value && value->type != JSON_BOOLEAN)
        refuse_type(at, value, "true or false");
    return json_get_true(object, key);
}

const json *
fields_list(const fields *at, const json *object, const char *key)
{
    const json *value = json_get(object, key);
    if (!value || value->type == JSON_ARRAY)
        return value;
    refuse_type(at, value, "a list");
    return NULL;
}
