/* A run's inputs against what the workflow declares: a subset of JSON schema. */
#ifndef SWAMP_CLI_WORKFLOW_INPUTS_H
#define SWAMP_CLI_WORKFLOW_INPUTS_H

#include "../json.h"
#include "fields.h"
#include "workflow.h"

#define INPUT_VALUE_MAX 98304 /* bytes of one value as text: Linux takes 128 KiB for one variable */

/* Reads the member `inputs` of a file, in both its forms; mistakes are faults. */
void inputs_read(workflow *flow, const json *declared, const fields *above);

/* The values of one run, by the index of the input, as text; NULL where there is none. */
typedef struct input_values {
    char **words;
    size_t count;
} input_values;

/*
 * Checks all of them before anything starts: types, enum, default, required, names. given: the request's
 * `inputs`; NULL: none. 1: done, out is freed with input_values_free(); 0: *error is a line that names the
 * input and is freed by the caller.
 */
int inputs_check(const workflow *flow, const json *given, input_values *out, char **error);
void input_values_free(input_values *values);

#endif
