/* The config file: YAML or JSON, one object whose members have the names of the command's flags. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "args.h"
#include "json.h"
#include "source.h"

#define USAGE 2

static int
take_member(struct args *args, const char *file, const json *member, text *error)
{
    size_t index = args_find(args, member->key, strlen(member->key));
    text where = {0};

    if (strcmp(member->key, "config") == 0) {
        text_addf(error, "%s:%d: a config file cannot name another one; leave config out", file,
                  member->line);
        return USAGE;
    }
    if (index == SIZE_MAX || args->flags[index]->type == FLAG_LIST) {
        text_addf(error, "%s:%d: %s is no setting of swamp %s", file, member->line, member->key,
                  args->command->name);
        args_add_guess(args, member->key, error);
        return USAGE;
    }
    if (member->type != JSON_STRING && member->type != JSON_NUMBER && member->type != JSON_BOOLEAN) {
        text_addf(error, "%s:%d: %s is of type %s: allowed is one plain value", file, member->line,
                  member->key, json_type_name(member));
        return USAGE;
    }
    text_addf(&where, "%s:%d: %s", file, member->line, member->key);
    int rc = args_set(args, index, ARGS_FROM_CONFIG, where.bytes, member->words, error);
    text_free(&where);
    return rc;
}

int
config_read(struct args *args, const char *file, text *error)
{
    json *tree = source_read(file, error);
    int rc = 0;

    if (!tree)
        return USAGE;
    if (tree->type != JSON_OBJECT) {
        text_addf(error, "%s: is of type %s: allowed is an object such as {\"port\": 9090}", file,
                  json_type_name(tree));
        rc = USAGE;
    }
    for (const json *member = tree->first; member && rc == 0; member = member->next)
        rc = take_member(args, file, member, error);
    json_free(tree);
    return rc;
}
