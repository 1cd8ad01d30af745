/* Incoming WebSocket messages put together from the pieces of fragments that libwebsockets gives; no sockets here. */
#ifndef SWAMP_WIRE_PIECES_H
#define SWAMP_WIRE_PIECES_H

#include <stddef.h>
#include "../util/buf.h"

typedef struct swamp__pieces {
    size_t max;  /* bytes of a message; one more is too many */
    size_t kept; /* a buffer that grew larger is given back after use */
    swamp__buf message;
} swamp__pieces;

/* A piece as it comes: part of one frame, which is one fragment of a message. */
typedef struct swamp__piece {
    const char *bytes; /* may be NULL when len is 0 */
    size_t len;
    size_t rest;  /* what the frame's header announced and is still to come */
    int is_first; /* the first piece of the first frame of a message */
    int is_last;  /* its frame ends the message */
} swamp__piece;

#define SWAMP__PIECES_MORE 0
#define SWAMP__PIECES_WHOLE 1

void swamp__pieces_init(swamp__pieces *pieces, size_t max, size_t kept);
void swamp__pieces_free(swamp__pieces *pieces);

/*
 * SWAMP__PIECES_WHOLE: *text is the message, to be used before the piece or this goes, then swamp__pieces_clear().
 * SWAMP_E_TOO_BIG (as soon as it is announced), SWAMP_E_NOMEM: what came so far is dropped.
 */
int swamp__pieces_add(swamp__pieces *pieces, const swamp__piece *piece, const char **text, size_t *len);
void swamp__pieces_clear(swamp__pieces *pieces);

#endif
