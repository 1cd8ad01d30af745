/* `task`: {type: model_method, modelType: command/shell, ...}, the one kind that this program runs. */
#include <string.h>
#include "expression.h"
#include "task.h"

#define TIMEOUT_MAX_MS (30ll * 24 * 3600 * 1000)

/* 1: the task is of the kind that is run here. */
static int
check_type(const json *task, const fields *at)
{
    static const char *const unsupported[] = {"manual_approval", "assert", "workflow"};
    const char *type = fields_required(at, task, "type");
    if (!type)
        return 0;
    for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++)
        if (strcmp(type, unsupported[i]) == 0) {
            fields_fault(at, json_get(task, "type")->line,
                         "the task type '%s' is not supported; allowed is: "
                         "model_method",
                         type);
            return 0;
        }
    if (strcmp(type, "model_method") == 0)
        return 1;
    fields_fault(at, json_get(task, "type")->line,
                 "the task type '%.60s' is unknown; allowed is: model_method", type);
    return 0;
}

static void
check_method(const json *task, const fields *at)
{
    const char *model = json_get(task, "modelIdOrName") ? NULL : fields_required(at, task, "modelType");
    if (model && strcmp(model, "command/shell") != 0)
        fields_fault(at, json_get(task, "modelType")->line,
                     "the model type '%.60s' is not supported; allowed is: command/shell", model);
    const char *method = fields_required(at, task, "methodName");
    if (method && strcmp(method, "execute") != 0)
        fields_fault(at, json_get(task, "methodName")->line,
                     "the method '%.60s' of command/shell is not supported; allowed is: execute", method);
}

static int
is_variable_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *name && !strchr("0123456789", *name) && name[strspn(name, letters)] == '\0';
}

static const json *
read_env(const json *inputs, const fields *at)
{
    const json *env = json_get(inputs, "env");
    if (!env)
        return NULL;
    if (env->type != JSON_OBJECT) {
        fields_fault(at, env->line, "'env' must be an object of texts, but is %s", json_type_name(env));
        return NULL;
    }
    for (const json *one = env->first; one; one = one->next) {
        if (!is_variable_name(one->key))
            fields_fault(at, one->line, "'%.60s' in 'env' is no name of a variable", one->key);
        else if (strncmp(one->key, EXPRESSION_VARIABLE, strlen(EXPRESSION_VARIABLE)) == 0)
            fields_fault(at, one->line,
                         "'%.60s' in 'env': names that begin with " EXPRESSION_VARIABLE " are taken",
                         one->key);
        fields_text(at, env, one->key);
    }
    return env;
}

static void
read_inputs(workflow_step *step, const json *inputs, const fields *at)
{
    static const field_rule rules[] = {
        {"run", FIELD_KNOWN}, {"workingDir", FIELD_KNOWN},     {"timeout", FIELD_KNOWN},
        {"env", FIELD_KNOWN}, {"ignoreExitCode", FIELD_KNOWN}, {NULL, 0}};
    if (!fields_check(at, inputs, "the task's 'inputs'", rules))
        return;
    step->run = fields_required(at, inputs, "run");
    step->run_line = step->run ? json_get(inputs, "run")->line : inputs->line;
    step->working_dir = json_get(inputs, "workingDir") ? fields_required(at, inputs, "workingDir") : NULL;
    step->env = read_env(inputs, at);
    step->ignore_exit_code = fields_flag(at, inputs, "ignoreExitCode");
    step->timeout_ms = json_get(inputs, "timeout") ? fields_count(at, inputs, "timeout", 1, TIMEOUT_MAX_MS)
                                                   : 0; /* milliseconds */
}

void
task_read(workflow_step *step, const json *step_object, const fields *at)
{
    static const field_rule rules[] = {{"type", FIELD_KNOWN},
                                       {"modelType", FIELD_KNOWN},
                                       {"modelName", FIELD_KNOWN},
                                       {"methodName", FIELD_KNOWN},
                                       {"inputs", FIELD_KNOWN},
                                       {"modelIdOrName", FIELD_UNSUPPORTED},
                                       {"globalArgs", FIELD_UNSUPPORTED},
                                       {NULL, 0}};
    const json *task = json_get(step_object, "task");
    if (!task) {
        fields_fault(at, step_object->line, "'task' is missing");
        return;
    }
    if (task->type != JSON_OBJECT) {
        fields_fault(at, task->line, "'task' must be an object, but is %s", json_type_name(task));
        return;
    }
    if (!check_type(task, at)) /* the members of other kinds would only be more noise */
        return;
    fields_check(at, task, "'task'", rules);
    check_method(task, at);
    step->model_name = json_get(task, "modelIdOrName") ? NULL : fields_name(at, task, "modelName");
    if (json_get(task, "inputs"))
        read_inputs(step, json_get(task, "inputs"), at);
    else
        fields_fault(at, task->line, "'inputs' is missing; it holds the command as 'run'");
}
