/* Workflow, jobs, steps and their dependencies out of the tree. */
#include <string.h>
#include "condition.h"
#include "fields.h"
#include "inputs.h"
#include "read.h"
#include "task.h"
#include "../memory.h"

static void
read_needs(workflow_node *node, const json *object, const char *kind, const fields *at)
{
    const field_rule rules[] = {{kind, FIELD_KNOWN}, {"condition", FIELD_KNOWN}, {NULL, 0}};
    const json *list = fields_list(at, object, "dependsOn");
    node->needs = memory_new(list ? list->count : 0, sizeof(*node->needs));
    for (const json *one = list ? list->first : NULL; one; one = one->next) {
        workflow_need *need = &node->needs[node->need_count];
        if (!fields_check(at, one, "an element of 'dependsOn'", rules))
            continue;
        need->name = fields_required(at, one, kind);
        need->line = one->line;
        need->condition.type = WORKFLOW_SUCCEEDED; /* when none is given */
        node->need_count++;
        if (json_get(one, "condition"))
            condition_read(&need->condition, json_get(one, "condition"), at);
    }
}

static void
read_step(workflow_step *step, const json *object, const fields *above)
{
    static const field_rule rules[] = {{"name", FIELD_KNOWN},
                                       {"description", FIELD_KNOWN},
                                       {"task", FIELD_KNOWN},
                                       {"dependsOn", FIELD_KNOWN},
                                       {"weight", FIELD_KNOWN},
                                       {"allowFailure", FIELD_KNOWN},
                                       {"forEach", FIELD_UNSUPPORTED},
                                       {"guard", FIELD_UNSUPPORTED},
                                       {"driver", FIELD_UNSUPPORTED},
                                       {"driverConfig", FIELD_UNSUPPORTED},
                                       {"concurrency", FIELD_UNSUPPORTED},
                                       {"dataOutputOverrides", FIELD_UNSUPPORTED},
                                       {NULL, 0}};
    text where = {0};
    const char *name = json_get_string(object, "name");
    text_addf(&where, name ? "%sstep '%.60s': " : "%sa step without a name: ", above->where, name);
    fields at = {above->faults, above->file, where.bytes};
    step->node.line = object->line;
    if (fields_check(&at, object, "a step", rules)) {
        step->node.name = fields_name(&at, object, "name");
        step->node.weight = fields_count(&at, object, "weight", -1000000, 1000000);
        step->allow_failure = fields_flag(&at, object, "allowFailure");
        fields_text(&at, object, "description");
        read_needs(&step->node, object, "step", &at);
        task_read(step, object, &at);
    }
    text_free(&where);
}

static void
read_job(workflow_job *job, const json *object, const fields *above)
{
    static const field_rule rules[] = {{"name", FIELD_KNOWN},         {"description", FIELD_KNOWN},
                                       {"steps", FIELD_KNOWN},        {"dependsOn", FIELD_KNOWN},
                                       {"weight", FIELD_KNOWN},       {"concurrency", FIELD_KNOWN},
                                       {"guard", FIELD_UNSUPPORTED},  {"forEach", FIELD_UNSUPPORTED},
                                       {"driver", FIELD_UNSUPPORTED}, {"driverConfig", FIELD_UNSUPPORTED},
                                       {"inputs", FIELD_UNSUPPORTED}, {NULL, 0}};
    text where = {0};
    const char *name = json_get_string(object, "name");
    text_addf(&where, name ? "job '%.60s': " : "a job without a name: ", name);
    fields at = {above->faults, above->file, where.bytes};
    job->node.line = object->line;
    if (fields_check(&at, object, "a job", rules)) {
        const json *steps = fields_list(&at, object, "steps");
        job->node.name = fields_name(&at, object, "name");
        job->node.weight = fields_count(&at, object, "weight", -1000000, 1000000);
        job->concurrency = fields_count(&at, object, "concurrency", 0, 1000000);
        fields_text(&at, object, "description");
        read_needs(&job->node, object, "job", &at);
        if (!json_get(object, "steps"))
            fields_fault(&at, object->line, "'steps' is missing");
        else if (steps && steps->count == 0)
            fields_fault(&at, steps->line, "'steps' is empty");
        job->steps = memory_new(steps ? steps->count : 0, sizeof(*job->steps));
        for (const json *step = steps ? steps->first : NULL; step; step = step->next)
            read_step(&job->steps[job->step_count++], step, &at);
    }
    text_free(&where);
}

/* The id is part of a key in the store (PROTOCOL 5): printable ASCII without a slash. */
static const char *
read_id(const json *tree, const fields *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    const char *id;
    if (!json_get(tree, "id")) {
        fields_fault(at, tree->line,
                     "'id' is missing; give the workflow one of its own, such as a line from uuidgen");
        return NULL;
    }
    id = fields_name(at, tree, "id");
    if (id && id[strspn(id, letters)] != '\0') {
        fields_fault(at, json_get(tree, "id")->line, "'id' may hold A-Z a-z 0-9 - . _ only; a UUID is usual");
        return NULL;
    }
    return id;
}

static void
read_jobs(workflow *flow, const json *tree, const fields *at)
{
    const json *jobs = fields_list(at, tree, "jobs");
    if (!json_get(tree, "jobs"))
        fields_fault(at, tree->line, "'jobs' is missing");
    else if (jobs && jobs->count == 0)
        fields_fault(at, jobs->line, "'jobs' is empty");
    flow->jobs = memory_new(jobs ? jobs->count : 0, sizeof(*flow->jobs));
    for (const json *job = jobs ? jobs->first : NULL; job; job = job->next)
        read_job(&flow->jobs[flow->job_count++], job, at);
}

workflow *
workflow_read(const char *file, json *tree, workflow_faults *faults)
{
    static const field_rule rules[] = {{"id", FIELD_KNOWN},
                                       {"name", FIELD_KNOWN},
                                       {"description", FIELD_KNOWN},
                                       {"version", FIELD_KNOWN},
                                       {"tags", FIELD_KNOWN},
                                       {"inputs", FIELD_KNOWN},
                                       {"jobs", FIELD_KNOWN},
                                       {"concurrency", FIELD_KNOWN},
                                       {"trigger", FIELD_UNSUPPORTED},
                                       {"reports", FIELD_UNSUPPORTED},
                                       {"guard", FIELD_UNSUPPORTED},
                                       {"driver", FIELD_UNSUPPORTED},
                                       {"driverConfig", FIELD_UNSUPPORTED},
                                       {NULL, 0}};
    workflow *flow = memory_new(1, sizeof(*flow));
    fields at = {faults, file, ""};
    const json *version = json_get(tree, "version");
    flow->refs = 1;
    flow->file = memory_copy(file);
    flow->tree = tree;
    if (!fields_check(&at, tree, "a workflow", rules))
        return flow;
    flow->id = read_id(tree, &at);
    flow->name = fields_name(&at, tree, "name");
    flow->description = fields_text(&at, tree, "description");
    flow->concurrency = fields_count(&at, tree, "concurrency", 0, 1000000);
    if (version && version->type != JSON_NUMBER && version->type != JSON_STRING)
        fields_fault(&at, version->line, "'version' must be a number or text, but is %s",
                     json_type_name(version));
    if (json_get(tree, "tags") && json_get(tree, "tags")->type != JSON_OBJECT)
        fields_fault(&at, json_get(tree, "tags")->line, "'tags' must be an object");
    if (json_get(tree, "inputs"))
        inputs_read(flow, json_get(tree, "inputs"), &at);
    read_jobs(flow, tree, &at);
    return flow;
}
