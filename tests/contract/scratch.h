/* A folder of its own for a test: made empty, removed with all that is in it. */
#ifndef SWAMP_TESTS_SCRATCH_H
#define SWAMP_TESTS_SCRATCH_H

#define SCRATCH_PATH_MAX 512

char *scratch_make(void);          /* its name, below TMPDIR; aborts where that cannot be */
void scratch_remove(void *folder); /* and frees the name */

/* folder/name, written to path, which is returned. */
const char *scratch_path(char path[SCRATCH_PATH_MAX], const char *folder, const char *name);

#endif
