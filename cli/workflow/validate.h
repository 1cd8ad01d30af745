/* What needs the whole file: names that are there twice or not at all, circles, expressions. */
#ifndef SWAMP_CLI_WORKFLOW_VALIDATE_H
#define SWAMP_CLI_WORKFLOW_VALIDATE_H

#include "faults.h"
#include "workflow.h"

/* Also resolves each dependency to its index, and each command to what the shell gets. */
void workflow_validate(workflow *flow, workflow_faults *faults);

#endif
