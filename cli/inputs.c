/* The inputs of `workflow run`, gathered from --input-file, --stdin and --input into one JSON object. */
#include <stdlib.h>
#include <string.h>
#include "inputs.h"
#include "json.h"
#include "memory.h"
#include "outcome.h"
#include "source.h"

/* Members in the order in which they came, each name once. */
typedef struct member {
    char *name;
    text value; /* JSON */
} member;

typedef struct members {
    member *list;
    size_t count;
} members;

/* The value's text, empty, to be filled in. */
static text *
put_member(members *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, name) == 0) {
            text_clear(&all->list[i].value);
            return &all->list[i].value;
        }
    }
    all->list = memory_grow(all->list, all->count + 1, sizeof(*all->list));
    all->list[all->count] = (member){.name = memory_copy(name)};
    return &all->list[all->count++].value;
}

static int
take_source(members *all, const char *flag, const char *file, text *error)
{
    json *tree = source_read(file, error);
    int rc = 0;

    if (!tree)
        return OUTCOME_USAGE;
    if (tree->type == JSON_OBJECT) {
        for (const json *one = tree->first; one; one = one->next)
            json_write(one, put_member(all, one->key));
    } else {
        text_addf(error, "%s holds a value of type %s: allowed is an object such as {\"env\": \"prod\"}",
                  flag, json_type_name(tree));
        rc = OUTCOME_USAGE;
    }
    json_free(tree);
    return rc;
}

/* k=v is a text; k:json=V is the JSON value V. */
static int
take_flag(members *all, const char *given, text *error)
{
    const char *equals = strchr(given, '=');
    size_t len = equals ? (size_t)(equals - given) : 0;
    int is_json = len > 5 && strncmp(given + len - 5, ":json", 5) == 0;
    char *name, *why = NULL;
    json *value = NULL;
    int rc = 0;

    if (len == 0) {
        text_addf(error, "--input is \"%s\": allowed is k=v for a text, or k:json=V for a JSON value", given);
        return OUTCOME_USAGE;
    }
    name = memory_copy_part(given, is_json ? len - 5 : len);
    if (!is_json) {
        text_add_json(put_member(all, name), equals + 1);
    } else if ((value = json_read(equals + 1, strlen(equals + 1), &why, NULL))) {
        json_write(value, put_member(all, name));
    } else {
        text_addf(error, "--input is \"%s\": what follows = is no JSON: %s; a text is given as %s=...", given,
                  why ? why : "it cannot be read", name);
        rc = OUTCOME_USAGE;
    }
    json_free(value);
    free(why);
    free(name);
    return rc;
}

int
inputs_gather(const struct args *args, text *out, text *error)
{
    const char *file = args_text(args, "input-file");
    members all = {0};
    int rc = 0;

    if (file)
        rc = take_source(&all, "--input-file", file, error);
    if (rc == 0 && args_number(args, "stdin"))
        rc = take_source(&all, "--stdin", "-", error);
    for (size_t i = 0; i < args->repeat_count && rc == 0; i++)
        if (strcmp(args->repeats[i].flag->name, "input") == 0)
            rc = take_flag(&all, args->repeats[i].text, error);
    text_add(out, "{");
    for (size_t i = 0; i < all.count; i++) {
        text_add(out, i ? "," : "");
        text_add_json(out, all.list[i].name);
        text_add(out, ":");
        text_add_bytes(out, all.list[i].value.bytes, all.list[i].value.len);
        free(all.list[i].name);
        text_free(&all.list[i].value);
    }
    text_add(out, "}");
    free(all.list);
    return rc;
}
