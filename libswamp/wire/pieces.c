/* Incoming WebSocket messages put together from their pieces: see pieces.h. */
#include "pieces.h"

#include <swamp/status.h>

void
swamp__pieces_init(swamp__pieces *pieces, size_t max, size_t kept)
{
    pieces->max = max;
    pieces->kept = kept;
    swamp__buf_init(&pieces->message);
}

void
swamp__pieces_free(swamp__pieces *pieces)
{
    swamp__buf_free(&pieces->message);
}

/*
 * Also an unfragmented message comes in pieces. No memory is taken for what is only announced: a header of ten
 * bytes would cost a mebibyte.
 */
int
swamp__pieces_add(swamp__pieces *pieces, const swamp__piece *piece, const char **text, size_t *len)
{
    swamp__buf *message = &pieces->message;

    if (piece->is_first)
        swamp__buf_clear(message);
    if (piece->rest > pieces->max || piece->len > pieces->max ||
        message->len + piece->len + piece->rest > pieces->max) {
        swamp__buf_free(message);
        return SWAMP_E_TOO_BIG;
    }
    if (piece->rest == 0 && piece->is_last && message->len == 0) { /* whole in one piece: nothing to copy */
        *text = piece->bytes ? piece->bytes : "";
        *len = piece->len;
        return SWAMP__PIECES_WHOLE;
    }
    swamp__buf_append(message, piece->bytes, piece->len);
    if (swamp__buf_status(message) < 0) {
        swamp__buf_free(message);
        return SWAMP_E_NOMEM;
    }
    if (piece->rest > 0 || !piece->is_last)
        return SWAMP__PIECES_MORE;
    *text = message->data;
    *len = message->len;
    return SWAMP__PIECES_WHOLE;
}

void
swamp__pieces_clear(swamp__pieces *pieces)
{
    if (pieces->message.cap > pieces->kept)
        swamp__buf_free(&pieces->message);
    else
        swamp__buf_clear(&pieces->message);
}
