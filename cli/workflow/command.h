/* What a step's command is given: its environment and its directory, with the inputs filled in. */
#ifndef SWAMP_CLI_WORKFLOW_COMMAND_H
#define SWAMP_CLI_WORKFLOW_COMMAND_H

#include "inputs.h"
#include "workflow.h"

/*
 * The program's own environment, over it SWAMP_RUN_ID and SWAMP_INPUT_n, over it the step's env. One block
 * for each variable, NULL-terminated; freed with command_free_env().
 */
char **command_env(workflow *flow, const workflow_step *step, const input_values *values, const char *run_id);
void command_free_env(char **env);

char *command_dir(workflow *flow, const workflow_step *step,
                  const input_values *values); /* NULL: none; free() */

#endif
