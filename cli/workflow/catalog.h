/* The directory of workflow files: found by name or id, read again when they change. */
#ifndef SWAMP_CLI_WORKFLOW_CATALOG_H
#define SWAMP_CLI_WORKFLOW_CATALOG_H

#include <swamp/swamp.h>
#include "../text.h"
#include "faults.h"
#include "workflow.h"

typedef struct workflow_catalog workflow_catalog;

/* Reads nothing yet. Broken files are logged when they are read (log may be NULL), and are otherwise not there. */
workflow_catalog *workflow_catalog_new(const char *dir, swamp_log_fn log, void *log_user);
void workflow_catalog_free(workflow_catalog *catalog); /* NULL is fine */

/* Each call looks at the directory first. Any thread. */

/* By id, then by name. NULL: there is none; the caller drops the result with workflow_unref(). */
workflow *workflow_catalog_find(workflow_catalog *catalog, const char *id_or_name);
/* Appends the array of workflow.search: [{id, name, description?, jobCount, hasInputs}], by file name. query:
 * a part of the id, name or description, in any case; NULL or "": all. */
void workflow_catalog_search(workflow_catalog *catalog, const char *query, text *out);
size_t workflow_catalog_count(workflow_catalog *catalog); /* the number of workflows that can be run */
/* Adds all mistakes, also that the directory cannot be read. Returns the number of workflow files. */
size_t workflow_catalog_check(workflow_catalog *catalog, workflow_faults *out);
/* The first mistake of the file that has this name, "FILE:LINE: ...", without the folder; NULL: there is none. The
 * caller frees it. As of the last look. */
char *workflow_catalog_mistake(workflow_catalog *catalog, const char *name);
size_t workflow_catalog_broken(workflow_catalog *catalog); /* the number of files with mistakes */

#endif
