/* A workflow file to a model that can be run, or to the list of its mistakes. */
#ifndef SWAMP_CLI_WORKFLOW_LOAD_H
#define SWAMP_CLI_WORKFLOW_LOAD_H

#include <stddef.h>
#include "faults.h"
#include "workflow.h"

/* 1: *.yaml, *.yml or *.json. */
int workflow_is_file_name(const char *name);

/*
 * Reads, checks and resolves everything. NULL: at least one fault was added to faults; each names the file as
 * path is given, so give the path that the reader knows. The caller drops the result with workflow_unref().
 */
workflow *workflow_load(const char *path, workflow_faults *faults);
/* The same; where there is no workflow, *name gets the name that the file gives itself, or NULL: the caller frees it. */
workflow *workflow_load_named(const char *path, workflow_faults *faults, char **name);

/* The same for text that is already here; file is for messages, and its ending chooses YAML or JSON. */
workflow *workflow_load_text(const char *file, const char *bytes, size_t len, workflow_faults *faults);

#endif
