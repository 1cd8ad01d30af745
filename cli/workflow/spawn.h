/* Starts /bin/sh in a clean state: own process group, default signals, no descriptor but three. */
#ifndef SWAMP_CLI_WORKFLOW_SPAWN_H
#define SWAMP_CLI_WORKFLOW_SPAWN_H

#include <sys/types.h>

/* outputs: the reading ends of its stdout and stderr, not blocking. -1: *error is a line that the caller frees. */
pid_t spawn_shell(const char *command, const char *dir, char *const *env, int outputs[2], char **error);

#endif
