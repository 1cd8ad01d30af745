/* The model of one workflow file: what is left of it once every mistake has been refused. */
#ifndef SWAMP_CLI_WORKFLOW_WORKFLOW_H
#define SWAMP_CLI_WORKFLOW_WORKFLOW_H

#include <stddef.h>
#include <stdint.h>
#include "../json.h"

#define WORKFLOW_FILE_MAX (1024 * 1024) /* bytes */
#define WORKFLOW_STEPS_MAX 1000         /* in all jobs together; each is a line of the run's history */
#define WORKFLOW_NAME_MAX 128           /* bytes of a name or id */

/* When a dependency lets its dependent start; evaluated once it has ended. */
#define WORKFLOW_ALWAYS 0
#define WORKFLOW_SUCCEEDED 1
#define WORKFLOW_FAILED 2
#define WORKFLOW_COMPLETED 3 /* succeeded or failed, not skipped */
#define WORKFLOW_SKIPPED 4
#define WORKFLOW_AND 5
#define WORKFLOW_OR 6
#define WORKFLOW_NOT 7

typedef struct workflow_condition workflow_condition;
struct workflow_condition {
    workflow_condition *parts; /* of AND, OR and NOT */
    size_t part_count;
    int type;
};

typedef struct workflow_need {
    const char *name;
    size_t on; /* index of the job or step that is waited for, in the same list */
    workflow_condition condition;
    int line;
} workflow_need;

/* What jobs and steps have in common: a place in a graph. */
typedef struct workflow_node {
    const char *name;
    workflow_need *needs;
    size_t need_count;
    int64_t weight; /* of two that may start, the lighter one does; then the earlier one */
    int line;
} workflow_node;

/* A command/shell step. */
typedef struct workflow_step {
    workflow_node node;
    const char *model_name;
    const char *run;         /* as it stands in the file */
    char *command;           /* with every expression turned into a reference to a variable */
    const char *working_dir; /* may hold expressions; NULL: the program's */
    const json *env;         /* object of strings, which may hold expressions; NULL: none */
    int64_t timeout_ms;      /* 0: none */
    int run_line;
    int ignore_exit_code;
    int allow_failure;
} workflow_step;

typedef struct workflow_job {
    workflow_node node;
    workflow_step *steps;
    size_t step_count;
    int64_t concurrency; /* 0: no cap */
} workflow_job;

typedef struct workflow_input {
    const char *name;
    const char *type;     /* "string", ...; NULL: any */
    const json *allowed;  /* enum; NULL: all */
    const json *fallback; /* default; NULL: none */
    int required;
    int used; /* an expression names it */
    int line;
} workflow_input;

typedef struct workflow {
    char *file; /* its name in messages */
    json *tree; /* owns all borrowed texts of the model */
    const char *id;
    const char *name;
    const char *description; /* NULL: none */
    workflow_input *inputs;
    size_t input_count;
    workflow_job *jobs;
    size_t job_count;
    int64_t concurrency; /* of jobs; 0: no cap */
    int refs;
} workflow;

/* Counted, any thread: the catalogue and each run hold a reference. */
workflow *workflow_ref(workflow *flow);
void workflow_unref(workflow *flow); /* NULL is fine */

/* SIZE_MAX: there is none. */
size_t workflow_find_input(const workflow *flow, const char *name, size_t len);

#endif
