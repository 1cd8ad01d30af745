/* The task of a step: a shell command, and everything about it that is refused. */
#ifndef SWAMP_CLI_WORKFLOW_TASK_H
#define SWAMP_CLI_WORKFLOW_TASK_H

#include "fields.h"
#include "workflow.h"

void task_read(workflow_step *step, const json *step_object, const fields *at);

#endif
