/* One WebSocket line of a session: over the network to a URL, or to a server of this process without a port.
 */
#ifndef SWAMP_API_LINE_H
#define SWAMP_API_LINE_H

#include "../net/dial.h"
#include "../server/instance.h"
#include "../session/session.h"

typedef struct swamp__line swamp__line;

/* Where a session's lines lead. Borrowed texts; loop's thread only. */
typedef struct swamp__line_target {
    swamp__dialer *dialer;      /* network */
    const char *token;          /* network; NULL: none */
    int64_t connect_timeout_ms; /* network */
    size_t max_message;         /* network */
    swamp__instance *instance;  /* local; NULL: network */
    const swamp__world *world;  /* of the loop */
} swamp__line_target;

/*
 * Opens a line; its events come later, never from within this call. SWAMP_OK, SWAMP_E_NOMEM, SWAMP_E_INVALID.
 * After `lost` the line is gone; else it ends with swamp__line_hang_up(), after which nothing is called any
 * more.
 */
int swamp__line_open(swamp__line **out, const swamp__line_target *target, const char *url,
                     const swamp__dial_events *events);
void swamp__line_send(swamp__line *line, const char *text, size_t len);
void swamp__line_ping(swamp__line *line);
void swamp__line_pause(swamp__line *line, int paused);
void swamp__line_hang_up(swamp__line *line);

#endif
