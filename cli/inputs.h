/* The inputs of `workflow run`, gathered from --input-file, --stdin and --input into one JSON object. */
#ifndef SWAMP_CLI_INPUTS_H
#define SWAMP_CLI_INPUTS_H

#include "args.h"

/*
 * Appends the object. A later source replaces a member of an earlier one: the file, then stdin, then the
 * flags in their order. 0, or 2: error is one line.
 */
int inputs_gather(const struct args *args, text *out, text *error);

#endif
