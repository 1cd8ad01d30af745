/* A byte stream to lines of valid text, for events. */
#ifndef SWAMP_CLI_WORKFLOW_LINES_H
#define SWAMP_CLI_WORKFLOW_LINES_H

#include <stddef.h>
#include "../text.h"

#define LINE_MAX_BYTES                                                                                       \
    32768 /* a longer one is split here; as JSON, escaped, it is below an event's 256 KiB */

/* Takes one line, without its line end; it may hold any bytes: text_add_json_part() replaces what is no UTF-8. */
typedef void (*lines_sink)(void *user, const char *bytes, size_t len);

/* {0} is a stream from which nothing came yet. */
typedef struct lines {
    text open; /* of the line that has not ended */
} lines;

void lines_add(lines *stream, const char *bytes, size_t len, lines_sink sink, void *user);
void lines_end(lines *stream, lines_sink sink, void *user); /* gives the last line, if it has no line end */
void lines_free(lines *stream);

#endif
