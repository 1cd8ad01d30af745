/* Checks across jobs and steps. Jobs are one graph, the steps of each job another. */
#include <stdlib.h>
#include <string.h>
#include "expression.h"
#include "fields.h"
#include "validate.h"
#include "../memory.h"

/* Nodes lie inside larger structs: the array is walked by its own stride. */
typedef struct graph {
    char *first;
    size_t count;
    size_t stride;
    const char *kind; /* "job", "step" */
} graph;

static workflow_node *
node_at(const graph *all, size_t index)
{
    return (workflow_node *)(void *)(all->first + index * all->stride);
}

static size_t
find_node(const graph *all, const char *name, size_t end)
{
    for (size_t i = 0; i < end; i++)
        if (node_at(all, i)->name && strcmp(node_at(all, i)->name, name) == 0)
            return i;
    return SIZE_MAX;
}

static void
refuse_need(const graph *all, const workflow_node *node, const workflow_need *need, const fields *at)
{
    text names = {0};
    for (size_t i = 0; i < all->count && names.len < 200; i++)
        if (node_at(all, i) != node && node_at(all, i)->name)
            text_addf(&names, "%s%s", names.len ? ", " : "", node_at(all, i)->name);
    fields_fault(at, need->line, "%s '%s' depends on the unknown %s '%.60s'; there are: %s", all->kind,
                 node->name ? node->name : "?", all->kind, need->name, names.len ? names.bytes : "no others");
    text_free(&names);
}

/* 1: names are unique and every dependency is known. */
static int
check_names(const graph *all, const fields *at)
{
    int fine = 1;
    for (size_t i = 0; i < all->count; i++) {
        workflow_node *node = node_at(all, i);
        size_t same = node->name ? find_node(all, node->name, i) : SIZE_MAX;
        if (same != SIZE_MAX)
            fields_fault(at, node->line, "the %s name '%s' is there twice, first in line %d", all->kind,
                         node->name, node_at(all, same)->line);
        for (size_t k = 0; k < node->need_count; k++) {
            workflow_need *need = &node->needs[k];
            need->on = need->name ? find_node(all, need->name, all->count) : SIZE_MAX;
            if (need->name && need->on == SIZE_MAX)
                refuse_need(all, node, need, at);
            fine = fine && need->on != SIZE_MAX;
        }
    }
    return fine;
}

/* Depth-first with an own stack: a file may chain a thousand steps. */
typedef struct walk {
    size_t *path;         /* the nodes from the start to here */
    size_t *next_need;    /* of each node: which need to follow next */
    unsigned char *state; /* 0: not seen, 1: on the path, 2: done */
    size_t depth;
} walk;

static void
refuse_circle(const graph *all, const walk *w, size_t from, const fields *at)
{
    text circle = {0};
    size_t start = 0;
    while (w->path[start] != from)
        start++;
    for (size_t i = start; i < w->depth && circle.len < 400; i++)
        text_addf(&circle, "'%s' -> ", node_at(all, w->path[i])->name ? node_at(all, w->path[i])->name : "?");
    fields_fault(at, node_at(all, from)->line, "%ss depend on each other in a circle: %s'%s'", all->kind,
                 circle.bytes, node_at(all, from)->name ? node_at(all, from)->name : "?");
    text_free(&circle);
}

/* 0: a circle was found and reported. */
static int
walk_from(const graph *all, walk *w, size_t start, const fields *at)
{
    w->depth = 0;
    w->path[w->depth++] = start;
    w->state[start] = 1;
    while (w->depth > 0) {
        size_t here = w->path[w->depth - 1];
        const workflow_node *node = node_at(all, here);
        if (w->next_need[here] == node->need_count) {
            w->state[here] = 2;
            w->depth--;
            continue;
        }
        size_t on = node->needs[w->next_need[here]++].on;
        if (w->state[on] == 1) {
            refuse_circle(all, w, on, at);
            return 0;
        }
        if (w->state[on] == 0) {
            w->state[on] = 1;
            w->path[w->depth++] = on;
        }
    }
    return 1;
}

static void
check_circles(const graph *all, const fields *at)
{
    walk w = {memory_new(all->count, sizeof(size_t)), memory_new(all->count, sizeof(size_t)),
              memory_new(all->count, 1), 0};
    int fine = 1;
    for (size_t i = 0; i < all->count && fine; i++)
        if (w.state[i] == 0)
            fine = walk_from(all, &w, i, at);
    free(w.path);
    free(w.next_need);
    free(w.state);
}

static void
check_graph(const graph *all, const fields *at)
{
    if (check_names(all, at))
        check_circles(all, at);
}

static void
check_text(workflow *flow, const char *words, int line, const char *what, const fields *at)
{
    text ignored = {0};
    char *error = NULL;
    if (words && !expression_to_text(flow, words, NULL, &ignored, &error))
        fields_fault(at, line, "%s: %s", what, error);
    free(error);
    text_free(&ignored);
}

static void
check_expressions(workflow *flow, workflow_step *step, const fields *at)
{
    text command = {0};
    char *error = NULL;
    int lines = 0;
    if (step->run && !expression_to_shell(flow, step->run, &command, &error, &lines))
        fields_fault(at, step->run_line, "'run', line %d of it: %s", lines + 1, error);
    free(error);
    step->command = text_take(&command);
    check_text(flow, step->working_dir, step->run_line, "'workingDir'", at);
    for (const json *one = step->env ? step->env->first : NULL; one; one = one->next)
        check_text(flow, json_string(one), one->line, one->key, at);
}

void
workflow_validate(workflow *flow, workflow_faults *faults)
{
    fields at = {faults, flow->file, ""};
    graph jobs = {(char *)flow->jobs, flow->job_count, sizeof(workflow_job), "job"};
    size_t step_count = 0;
    _Static_assert(offsetof(workflow_job, node) == 0 && offsetof(workflow_step, node) == 0, "see graph");
    for (size_t i = 0; i < flow->job_count; i++)
        step_count += flow->jobs[i].step_count;
    if (flow->job_count > WORKFLOW_STEPS_MAX || step_count > WORKFLOW_STEPS_MAX) {
        fields_fault(&at, 0, "it has more than %d steps", WORKFLOW_STEPS_MAX);
        return; /* before anything that takes the square of it */
    }
    check_graph(&jobs, &at);
    for (size_t i = 0; i < flow->job_count; i++) {
        workflow_job *job = &flow->jobs[i];
        graph steps = {(char *)job->steps, job->step_count, sizeof(workflow_step), "step"};
        text where = {0};
        text_addf(&where, "job '%.60s': ", job->node.name ? job->node.name : "?");
        fields in_job = {faults, flow->file, where.bytes};
        check_graph(&steps, &in_job);
        for (size_t k = 0; k < job->step_count; k++) {
            text step = {0};
            text_addf(&step, "%sstep '%.60s': ", where.bytes,
                      job->steps[k].node.name ? job->steps[k].node.name : "?");
            check_expressions(flow, &job->steps[k], &(fields){faults, flow->file, step.bytes});
            text_free(&step);
        }
        text_free(&where);
    }
}
