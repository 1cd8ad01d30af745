/* YAML text to the same tree as JSON; knows nothing of workflows. */
#ifndef SWAMP_CLI_WORKFLOW_YAML_TREE_H
#define SWAMP_CLI_WORKFLOW_YAML_TREE_H

#include <stddef.h>
#include "../json.h"

/*
 * Reads one document: YAML 1.2 core schema (so `on`, `yes` and `off` are strings), no tags, no anchors or
 * aliases, no repeated keys, keys are strings, depth up to JSON_DEPTH_MAX. Results as json_read().
 */
json *yaml_read(const char *bytes, size_t len, char **error, int *line);

#endif
