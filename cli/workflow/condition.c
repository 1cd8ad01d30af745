/* always, succeeded, failed, completed, skipped; and, or, not of them. */
#include <string.h>
#include "condition.h"
#include "../memory.h"

static const char *const names[] = {
    [WORKFLOW_ALWAYS] = "always",   [WORKFLOW_SUCCEEDED] = "succeeded",
    [WORKFLOW_FAILED] = "failed",   [WORKFLOW_COMPLETED] = "completed",
    [WORKFLOW_SKIPPED] = "skipped", [WORKFLOW_AND] = "and",
    [WORKFLOW_OR] = "or",           [WORKFLOW_NOT] = "not",
};
#define NAME_COUNT ((int)(sizeof(names) / sizeof(names[0])))

static int
find_type(const char *name)
{
    int type = 0;
    while (type < NAME_COUNT && strcmp(names[type], name) != 0)
        type++;
    return type;
}

static void
read_parts(workflow_condition *out, const json *value, const fields *at)
{
    const json *one = json_get(value, "condition");
    if (out->type == WORKFLOW_NOT) {
        if (!one)
            fields_fault(at, value->line, "the condition 'not' has no 'condition'");
        out->parts = memory_new(1, sizeof(*out->parts));
        out->part_count = 1;
        if (one)
            condition_read(&out->parts[0], one, at);
        return;
    }
    const json *list = fields_list(at, value, "conditions");
    if (!list || list->count == 0) {
        fields_fault(at, value->line, "the condition '%s' has no 'conditions'", names[out->type]);
        return;
    }
    out->parts = memory_new(list->count, sizeof(*out->parts));
    for (one = list->first; one; one = one->next)
        condition_read(&out->parts[out->part_count++], one, at);
}

void
condition_read(workflow_condition *out, const json *value, const fields *at)
{
    static const field_rule simple[] = {{"type", FIELD_KNOWN}, {NULL, 0}};
    static const field_rule many[] = {{"type", FIELD_KNOWN}, {"conditions", FIELD_KNOWN}, {NULL, 0}};
    static const field_rule one[] = {{"type", FIELD_KNOWN}, {"condition", FIELD_KNOWN}, {NULL, 0}};
    const char *name;
    if (value->type != JSON_OBJECT) {
        fields_fault(at, value->line, "a condition must be an object such as {type: succeeded}, but is %s",
                     json_type_name(value));
        return;
    }
    if (!(name = fields_required(at, value, "type")))
        return;
    out->type = find_type(name);
    if (out->type == NAME_COUNT) {
        fields_fault(
            at, value->line,
            "the condition type '%.60s' is unknown; allowed are: always, succeeded, failed, completed, "
            "skipped, and, or, not",
            name);
        out->type = WORKFLOW_SUCCEEDED;
        return;
    }
    fields_check(at, value, "a condition",
                 out->type < WORKFLOW_AND    ? simple
                 : out->type == WORKFLOW_NOT ? one
                                             : many);
    if (out->type >= WORKFLOW_AND)
        read_parts(out, value, at);
}

int
condition_holds(const workflow_condition *condition, int ended)
{
    switch (condition->type) {
    case WORKFLOW_ALWAYS:
        return 1;
    case WORKFLOW_COMPLETED:
        return ended != WORKFLOW_SKIPPED;
    case WORKFLOW_NOT:
        return !condition_holds(&condition->parts[0], ended);
    case WORKFLOW_AND:
    case WORKFLOW_OR:
        for (size_t i = 0; i < condition->part_count; i++)
            if (condition_holds(&condition->parts[i], ended) == (condition->type == WORKFLOW_OR))
                return condition->type == WORKFLOW_OR;
        return condition->type == WORKFLOW_AND;
    default:
        return condition->type == ended;
    }
}
