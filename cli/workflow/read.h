/* A file's tree to the model, member by member; what needs the whole file is validate.h's. */
#ifndef SWAMP_CLI_WORKFLOW_READ_H
#define SWAMP_CLI_WORKFLOW_READ_H

#include "faults.h"
#include "workflow.h"

/* Takes tree over. Never NULL: where there were faults the model is only good for more messages. */
workflow *workflow_read(const char *file, json *tree, workflow_faults *faults);

#endif
