/* Where the library's log lines go: one callback with a user pointer per handle. */
#ifndef SWAMP_LOG_H
#define SWAMP_LOG_H

#include <swamp/attributes.h>

SWAMP_BEGIN_DECLS

#define SWAMP_LOG_ERROR 1 /* somebody must act */
#define SWAMP_LOG_WARN 2  /* somebody should look */
#define SWAMP_LOG_INFO 3  /* start, stop, deaths, recoveries */
#define SWAMP_LOG_DEBUG 4 /* for people who change the library */

/**
 * Take one log line.
 *
 * Called on any of the handle's threads, also on several at once. It must not call into the handle.
 *
 * @param level  SWAMP_LOG_ERROR .. SWAMP_LOG_DEBUG
 * @param line   one line, no line end, valid UTF-8; borrowed for the call
 * @param user   the pointer given beside the function
 */
typedef void (*swamp_log_fn)(int level, const char *line, void *user);

SWAMP_END_DECLS

#endif
