/* Takes members out of an object of a file: with their type, or with a line that says what is wrong. */
#ifndef SWAMP_CLI_WORKFLOW_FIELDS_H
#define SWAMP_CLI_WORKFLOW_FIELDS_H

#include <stdint.h>
#include "../json.h"
#include "faults.h"

/* Where a reader is: the file, and the words that begin each message, such as "job 'build': ". */
typedef struct fields {
    workflow_faults *faults;
    const char *file;
    const char *where;
} fields;

/* What an object may hold. */
#define FIELD_KNOWN 0
#define FIELD_UNSUPPORTED 1 /* known in the format, but not to this program */

typedef struct field_rule {
    const char *key; /* NULL ends a table */
    int support;
} field_rule;

void fields_fault(const fields *at, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Every member must be in the table. 0: value is no object; what names it. */
int fields_check(const fields *at, const json *value, const char *what, const field_rule *rules);

/* A member's value, or the fallback when it is absent; a wrong one is a fault. */
const char *fields_text(const fields *at, const json *object, const char *key); /* NULL: absent; "" too */
const char *fields_required(const fields *at, const json *object,
                            const char *key); /* not empty; NULL: fault */
/* Required, at most WORKFLOW_NAME_MAX bytes, no control characters, no expression. */
const char *fields_name(const fields *at, const json *object, const char *key);
int64_t fields_count(const fields *at, const json *object, const char *key, int64_t low, int64_t high);
int fields_flag(const fields *at, const json *object, const char *key);
const json *fields_list(const fields *at, const json *object,
                        const char *key); /* an array; NULL: absent, fault */

#endif
