/* What `${{ inputs.NAME }}` becomes: a reference to a variable in a command, plain text elsewhere. */
#ifndef SWAMP_CLI_WORKFLOW_EXPRESSION_H
#define SWAMP_CLI_WORKFLOW_EXPRESSION_H

#include "../text.h"
#include "workflow.h"

#define EXPRESSION_VARIABLE "SWAMP_INPUT_" /* + the input's number, from 1 */

/*
 * Never splices a value into a command line: the value travels in the environment, and the expression becomes
 * a reference that is quoted as its place wants it. Where that place cannot be told for certain (inside
 * $(...),
 * ${...}, backticks, here-documents, $'...', comments, after a backslash) it is refused. Marks the inputs
 * that are used. Appends to out. 1: done; 0: refused, *error is a line that the caller frees, *lines the
 * number of lines before the place.
 */
int expression_to_shell(workflow *flow, const char *run, text *out, char **error, int *lines);

/*
 * Plain substitution, for working directories and env values. values: the words of each input; NULL: only
 * check, and mark the inputs that are used. Results as above.
 */
int expression_to_text(workflow *flow, const char *words, char *const *values, text *out, char **error);

int expression_is_in(const char *words); /* where none is allowed */

#endif
