/* The condition of a dependency: read from a file, asked once the dependency has ended. */
#ifndef SWAMP_CLI_WORKFLOW_CONDITION_H
#define SWAMP_CLI_WORKFLOW_CONDITION_H

#include "fields.h"
#include "workflow.h"

void condition_read(workflow_condition *out, const json *value, const fields *at);

/* ended: WORKFLOW_SUCCEEDED, WORKFLOW_FAILED or WORKFLOW_SKIPPED. */
int condition_holds(const workflow_condition *condition, int ended);

#endif
