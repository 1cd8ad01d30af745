/* The commands: each takes checked flags, writes its lines, and returns the exit code. */
#ifndef SWAMP_CLI_CMD_H
#define SWAMP_CLI_CMD_H

#include "args.h"

extern const struct flag cmd_serve_flags[], cmd_workflow_run_flags[], cmd_workflow_list_flags[],
    cmd_run_attach_flags[], cmd_run_cancel_flags[], cmd_run_history_flags[], cmd_doctor_flags[],
    cmd_token_flags[];

int cmd_serve(const struct args *args);
int cmd_workflow_run(const struct args *args);
int cmd_workflow_list(const struct args *args);
int cmd_workflow_validate(const struct args *args);
int cmd_workflow_history_get(const struct args *args);
int cmd_run_attach(const struct args *args);
int cmd_run_cancel(const struct args *args);
int cmd_run_history(const struct args *args);
int cmd_cluster_instances(const struct args *args);
int cmd_doctor(const struct args *args);
int cmd_version(const struct args *args);
int cmd_token(const struct args *args);
int cmd_completions(const struct args *args);

/* The table of main.c, for completions; a row without a name ends it. */
extern const struct command commands[];

#endif
