/* The mistakes found in workflow files, one line each, as a person reads them. */
#ifndef SWAMP_CLI_WORKFLOW_FAULTS_H
#define SWAMP_CLI_WORKFLOW_FAULTS_H

#include <stddef.h>

#define WORKFLOW_FAULTS_MAX 50 /* of one list; one more line says that there are more */

/* {0} is an empty list. */
typedef struct workflow_faults {
    char **lines; /* "FILE:LINE: what is wrong; what is allowed", or "FILE: ..." */
    size_t count;
} workflow_faults;

/* line 0: not known. */
void workflow_faults_add(workflow_faults *faults, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void workflow_faults_add_line(workflow_faults *faults, char *line); /* takes line over */
void workflow_faults_copy(const workflow_faults *from, workflow_faults *to);
void workflow_faults_move(workflow_faults *from, workflow_faults *to); /* leaves from empty */
void workflow_faults_free(workflow_faults *faults);                    /* leaves it empty */

#endif
