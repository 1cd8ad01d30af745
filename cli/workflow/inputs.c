/* Types, enum, default and required; and the text that a value becomes. */
#include <stdlib.h>
#include <string.h>
#include "expression.h"
#include "inputs.h"
#include "../memory.h"

static const char *const input_types[] = {"string", "number", "integer", "boolean", "array", "object", NULL};

static int
has_type(const json *value, const char *type)
{
    const char *name = json_type_name(value);
    return !type || strcmp(name, type) == 0 || (strcmp(type, "number") == 0 && strcmp(name, "integer") == 0);
}

static int
is_allowed(const workflow_input *input, const json *value)
{
    if (!input->allowed)
        return 1;
    for (const json *one = input->allowed->first; one; one = one->next)
        if (json_equal(one, value))
            return 1;
    return 0;
}

/* 1: fine; else why says what is wrong, as the end of "the input 'x' ...". */
static int
accepts(const workflow_input *input, const json *value, text *why)
{
    if (!has_type(value, input->type)) {
        text_addf(why, "must be of type %s, but is %s", input->type, json_type_name(value));
        if (value->type == JSON_STRING && input->type[0] != 's')
            text_addf(why, " (on the command line: --input %s:json=VALUE)", input->name);
        return 0;
    }
    if (!is_allowed(input, value)) {
        text list = {0};
        json_write(input->allowed, &list);
        text_addf(why, "must be one of %.100s%s", list.bytes, list.len > 100 ? "..." : "");
        text_free(&list);
        return 0;
    }
    return 1;
}

static void
add_words(const json *value, text *out)
{
    if (value->type == JSON_STRING)
        text_add(out, value->words);
    else if (value->type != JSON_NULL)
        json_write(value, out); /* numbers as they were written, lists and objects as JSON */
}

static int
resolve(const workflow_input *input, const json *value, char **out, text *why)
{
    text words = {0};
    if (!value)
        value = input->fallback; /* checked when the file was read */
    else if (!accepts(input, value, why))
        return 0;
    if (!value) {
        if (input->required)
            text_add(why, "is required");
        else if (input->used)
            text_add(why, "has no value and no default, but is used");
        return !input->required && !input->used;
    }
    add_words(value, &words);
    if (words.len > INPUT_VALUE_MAX) {
        text_addf(why, "has %zu bytes, at most %d are allowed", words.len, INPUT_VALUE_MAX);
        text_free(&words);
        return 0;
    }
    *out = text_take(&words);
    return 1;
}

static const char *
first_unknown(const workflow *flow, const json *given)
{
    for (const json *one = given ? given->first : NULL; one; one = one->next)
        if (workflow_find_input(flow, one->key, strlen(one->key)) == SIZE_MAX)
            return one->key;
    return NULL;
}

int
inputs_check(const workflow *flow, const json *given, input_values *out, char **error)
{
    text why = {0};
    input_values values = {memory_new(flow->input_count, sizeof(char *)), flow->input_count};
    const char *wrong = NULL;
    if (given && given->type != JSON_OBJECT)
        text_addf(&why, "inputs must be an object, but is %s", json_type_name(given));
    else if ((wrong = first_unknown(flow, given)))
        text_addf(&why, "the input '%.60s' is not declared by the workflow", wrong);
    for (size_t i = 0; i < flow->input_count && !why.len; i++) {
        text end = {0};
        const workflow_input *input = &flow->inputs[i];
        if (!resolve(input, json_get(given, input->name), &values.words[i], &end))
            text_addf(&why, "the input '%s' %s", input->name, end.bytes);
        text_free(&end);
    }
    if (!why.len) {
        *out = values;
        return 1;
    }
    input_values_free(&values);
    *error = text_take(&why);
    return 0;
}

void
input_values_free(input_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        free(values->words[i]);
    free(values->words);
    *values = (input_values){0};
}

/* ---- the declaration ---- */

static int
is_input_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    return *name && strchr(letters, *name) && strlen(name) <= 64 && name[strspn(name, rest)] == '\0';
}

static void
read_type(workflow_input *input, const json *schema, const fields *at)
{
    size_t i = 0;
    input->type = fields_text(at, schema, "type");
    while (input->type && input_types[i] && strcmp(input_types[i], input->type) != 0)
        i++;
    if (!input->type || input_types[i])
        return;
    fields_fault(
        at, json_get(schema, "type")->line,
        "the type '%.60s' is not supported; allowed are: string, number, integer, boolean, array, object",
        input->type);
    input->type = NULL;
}

static void
check_own_values(const workflow_input *input, const fields *at)
{
    text why = {0};
    workflow_input typed = *input;
    typed.allowed = NULL;
    for (const json *one = input->allowed ? input->allowed->first : NULL; one && !why.len; one = one->next)
        if (!accepts(&typed, one, &why))
            fields_fault(at, one->line, "a value of 'enum' %s", why.bytes);
    if (!why.len && input->fallback && !accepts(input, input->fallback, &why))
        fields_fault(at, input->fallback->line, "'default' %s", why.bytes);
    text_free(&why);
}

static void
read_input(workflow *flow, const json *schema, const fields *above, int flat)
{
    static const field_rule rules[] = {{"type", FIELD_KNOWN},
                                       {"enum", FIELD_KNOWN},
                                       {"default", FIELD_KNOWN},
                                       {"description", FIELD_KNOWN},
                                       {"title", FIELD_KNOWN},
                                       {"required", FIELD_KNOWN},
                                       {"const", FIELD_UNSUPPORTED},
                                       {"format", FIELD_UNSUPPORTED},
                                       {"items", FIELD_UNSUPPORTED},
                                       {"minimum", FIELD_UNSUPPORTED},
                                       {"maximum", FIELD_UNSUPPORTED},
                                       {"pattern", FIELD_UNSUPPORTED},
                                       {"oneOf", FIELD_UNSUPPORTED},
                                       {"anyOf", FIELD_UNSUPPORTED},
                                       {"allOf", FIELD_UNSUPPORTED},
                                       {"minItems", FIELD_UNSUPPORTED},
                                       {"maxItems", FIELD_UNSUPPORTED},
                                       {"minLength", FIELD_UNSUPPORTED},
                                       {"$ref", FIELD_UNSUPPORTED},
                                       {"not", FIELD_UNSUPPORTED},
                                       {"maxLength", FIELD_UNSUPPORTED},
                                       {"exclusiveMinimum", FIELD_UNSUPPORTED},
                                       {"exclusiveMaximum", FIELD_UNSUPPORTED},
                                       {"properties", FIELD_UNSUPPORTED},
                                       {"additionalProperties", FIELD_UNSUPPORTED},
                                       {"sensitive", FIELD_UNSUPPORTED},
                                       {NULL, 0}};
    workflow_input *input = &flow->inputs[flow->input_count];
    text where = {0};
    text_addf(&where, "input '%.60s': ", schema->key);
    fields at = {above->faults, above->file, where.bytes};
    if (!is_input_name(schema->key))
        fields_fault(&at, schema->line,
                     "its name must be of A-Z a-z 0-9 _ -, not begin with a digit, and have at "
                     "most 64 letters");
    else if (fields_check(&at, schema, "it", rules)) {
        input->name = schema->key;
        input->line = schema->line;
        read_type(input, schema, &at);
        input->allowed = fields_list(&at, schema, "enum");
        if (input->allowed && input->allowed->count == 0)
            fields_fault(&at, input->allowed->line, "'enum' is empty");
        input->fallback = json_get(schema, "default");
        if (flat)
            input->required = fields_flag(&at, schema, "required");
        else if (json_get(schema, "required"))
            fields_fault(&at, schema->line, "'required' belongs beside 'properties', as a list of names");
        check_own_values(input, &at);
        flow->input_count++;
    }
    text_free(&where);
}

static void
read_required(workflow *flow, const json *declared, const fields *at)
{
    const json *names = fields_list(at, declared, "required");
    for (const json *name = names ? names->first : NULL; name; name = name->next) {
        const char *words = json_string(name);
        size_t index = words ? workflow_find_input(flow, words, strlen(words)) : SIZE_MAX;
        if (index == SIZE_MAX)
            fields_fault(at, name->line, "'required' names '%.60s', which is not among the properties",
                         words ? words : json_type_name(name));
        else
            flow->inputs[index].required = 1;
    }
}

void
inputs_read(workflow *flow, const json *declared, const fields *above)
{
    static const field_rule rules[] = {{"type", FIELD_KNOWN},
                                       {"properties", FIELD_KNOWN},
                                       {"required", FIELD_KNOWN},
                                       {"description", FIELD_KNOWN},
                                       {"title", FIELD_KNOWN},
                                       {"$schema", FIELD_KNOWN},
                                       {"additionalProperties", FIELD_KNOWN},
                                       {NULL, 0}};
    fields at = {above->faults, above->file, "inputs: "};
    const json *list = declared, *inner = json_get(declared, "properties"),
               *type = json_get(declared, "type");
    if (declared->type != JSON_OBJECT) {
        fields_fault(above, declared->line, "'inputs' must be an object, but is %s",
                     json_type_name(declared));
        return;
    }
    if (inner ||
        (type && type->type == JSON_STRING)) { /* in the flat form `type` would be an input: an object */
        fields_check(&at, declared, "it", rules);
        if (type && (!json_string(type) || strcmp(type->words, "object") != 0))
            fields_fault(&at, type->line, "'type' must be object");
        if (json_get_true(declared, "additionalProperties"))
            fields_fault(
                &at, json_get(declared, "additionalProperties")->line,
                "'additionalProperties: true' is not supported; inputs that are not declared are refused");
        list = inner;
    }
    if (list && list->type != JSON_OBJECT) {
        fields_fault(&at, list->line, "'properties' must be an object, but is %s", json_type_name(list));
        return;
    }
    flow->inputs = memory_new(list ? list->count : 0, sizeof(*flow->inputs));
    for (const json *schema = list ? list->first : NULL; schema; schema = schema->next)
        read_input(flow, schema, above, list == declared);
    if (list != declared)
        read_required(flow, declared, &at);
}
