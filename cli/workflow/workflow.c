/* The model's memory. */
#include <stdlib.h>
#include <string.h>
#include "workflow.h"

workflow *
workflow_ref(workflow *flow)
{
    __atomic_add_fetch(&flow->refs, 1, __ATOMIC_RELAXED);
    return flow;
}

static void
free_condition(workflow_condition *condition)
{
    for (size_t i = 0; i < condition->part_count; i++)
        free_condition(&condition->parts[i]);
    free(condition->parts);
}

static void
free_node(workflow_node *node)
{
    for (size_t i = 0; i < node->need_count; i++)
        free_condition(&node->needs[i].condition);
    free(node->needs);
}

void
workflow_unref(workflow *flow)
{
    if (!flow || __atomic_sub_fetch(&flow->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < flow->job_count; i++) {
        workflow_job *job = &flow->jobs[i];
        for (size_t k = 0; k < job->step_count; k++) {
            free_node(&job->steps[k].node);
            free(job->steps[k].command);
        }
        free(job->steps);
        free_node(&job->node);
    }
    free(flow->jobs);
    free(flow->inputs);
    json_free(flow->tree);
    free(flow->file);
    free(flow);
}

size_t
workflow_find_input(const workflow *flow, const char *name, size_t len)
{
    for (size_t i = 0; i < flow->input_count; i++)
        if (strlen(flow->inputs[i].name) == len && memcmp(flow->inputs[i].name, name, len) == 0)
            return i;
    return SIZE_MAX;
}
