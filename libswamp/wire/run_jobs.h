/* The jobs and steps of a RUN (PROTOCOL 4), rewritten in place of bytes: shrunk, or ended. */
#ifndef SWAMP_WIRE_RUN_JOBS_H
#define SWAMP_WIRE_RUN_JOBS_H

#include "json.h"

/* How much is kept; each drops what the one before drops, too. */
#define SWAMP__JOBS_FULL 0               /* step errors up to 1 KiB */
#define SWAMP__JOBS_SHORT_ERRORS 1       /* step errors up to 100 bytes */
#define SWAMP__JOBS_NO_SUCCEEDED_STEPS 2 /* counted in stepsOmitted */
#define SWAMP__JOBS_BARE 3               /* name and status of each job */
#define SWAMP__JOBS_NONE 4               /* an empty array */

/*
 * Appends an array: the jobs (a checked value; anything but an array counts as none) in the given form. With
 * `ending`, what was running has failed; what was pending is skipped, but a job of which a step had begun has
 * failed. Members that need no change keep their bytes. SWAMP_OK, SWAMP_E_NOMEM.
 */
int swamp__run_jobs_write(swamp__buf *out, swamp__json jobs, int form, int ending);

#endif
