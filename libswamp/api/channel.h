/* One WebSocket channel of a session: over the network to a URL, or to a server of this process without a port. */
#ifndef SWAMP_API_CHANNEL_H
#define SWAMP_API_CHANNEL_H

#include "../net/dial.h"
#include "../server/instance.h"
#include "../session/session.h"

typedef struct swamp__channel swamp__channel;

/* Where a session's lines lead. Borrowed texts; loop's thread only. */
typedef struct swamp__channel_target {
    swamp__dialer *dialer;      /* network */
    const char *token;          /* network; NULL: none */
    int64_t connect_timeout_ms; /* network */
    size_t max_message;         /* network */
    swamp__instance *instance;  /* local; NULL: network */
    const swamp__world *world;  /* of the loop */
} swamp__channel_target;

/*
 * Opens a channel; its events come later, never from within this call. SWAMP_OK, SWAMP_E_NOMEM, SWAMP_E_INVALID.
 * After `lost` the channel is gone; else it ends with swamp__channel_hang_up(), after which nothing is called
 * any more.
 */
int swamp__channel_open(swamp__channel **out, const swamp__channel_target *target, const char *url,
                        const swamp__dial_events *events);
void swamp__channel_send(swamp__channel *channel, const char *text, size_t len);
void swamp__channel_ping(swamp__channel *channel);
void swamp__channel_pause(swamp__channel *channel, int paused);
void swamp__channel_hang_up(swamp__channel *channel);

#endif
