/* The config file: YAML or JSON, one object whose members have the names of the command's flags. */
#include "config.h"
#include <string.h>
#include "json.h"
#include "source.h"

#define USAGE 2

static int
read_member(const char *file, const json *member, config_take *take, void *user, text *error)
{
    int is_plain = member->type == JSON_STRING || member->type == JSON_NUMBER || member->type == JSON_BOOLEAN;
    text where = {0};

    if (strcmp(member->key, "config") == 0) {
        text_addf(error, "%s:%d: a config file cannot name another one; leave config out", file,
                  member->line);
        return USAGE;
    }
    text_addf(&where, "%s:%d: %s", file, member->line, member->key);
    int rc = take(user, where.bytes, member->key, is_plain ? member->words : NULL, error);
    if (rc == 0 && !is_plain) {
        text_addf(error, "%s is of type %s: allowed is one plain value", where.bytes, json_type_name(member));
        rc = USAGE;
    }
    text_free(&where);
    return rc;
}

int
config_read(const char *file, config_take *take, void *user, text *error)
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
        rc = read_member(file, member, take, user, error);
    json_free(tree);
    return rc;
}
