/* Fuzzes the putting together of incoming messages: fragments, frames cut anywhere, announced lengths, the limit. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/pieces.h"
#include "fuzz.h"

/*
 * Input: one byte of limit, then frames. A frame: 0x80 is FIN, 0x40 announces 2^40 bytes more than there are, the rest
 * is its length; a byte that says into how long pieces the network cuts it; its bytes. What libwebsockets gives of
 * them is what swamp__pieces_add() gets: control frames never reach it.
 */

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static unsigned
next_byte(reader *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* What the message should be so far. */
typedef struct model {
    uint8_t bytes[256];
    size_t len;
    int is_open; /* a fragment came, the last one is still to come */
} model;

/* As libwebsockets cuts it; each piece in memory of its own, as short as it is. 0: the connection is closed. */
static int
add_piece(swamp__pieces *pieces, model *want, const swamp__piece *from)
{
    char *copy = malloc(from->len ? from->len : 1);
    swamp__piece piece = *from;
    const char *text = NULL;
    size_t len = 0;
    if (!copy)
        abort();
    memcpy(copy, from->bytes, from->len);
    piece.bytes = copy;
    if (from->is_first)
        want->len = 0;
    int too_big = from->rest > pieces->max || want->len + from->len + from->rest > pieces->max;
    int rc = swamp__pieces_add(pieces, &piece, &text, &len);
    if (too_big) {
        MUST(rc == SWAMP_E_TOO_BIG);
        MUST(pieces->message.cap == 0); /* nothing is kept for who is sent away */
    } else {
        memcpy(want->bytes + want->len, from->bytes, from->len);
        want->len += from->len;
        MUST(rc == (from->rest == 0 && from->is_last ? SWAMP__PIECES_WHOLE : SWAMP__PIECES_MORE));
        MUST(pieces->message.cap <=
             2 * pieces->max + 64); /* memory for what came, not for what was announced */
    }
    if (rc == SWAMP__PIECES_WHOLE) {
        MUST(len == want->len && (len == 0 || memcmp(text, want->bytes, len) == 0));
        swamp__pieces_clear(pieces);
        MUST(pieces->message.len == 0 && pieces->message.cap <= pieces->kept);
        want->len = 0;
    }
    free(copy);
    return rc >= 0;
}

static int
add_frame(swamp__pieces *pieces, model *want, reader *in)
{
    unsigned what = next_byte(in), cut = next_byte(in) % 32 + 1;
    size_t left = what & 0x3f;
    size_t more = what & 0x40 ? (size_t)1 << 40 : 0;
    int is_first = !want->is_open;
    if (left > (size_t)(in->end - in->at))
        left = (size_t)(in->end - in->at);
    want->is_open = !(what & 0x80);
    do {
        size_t len = left < cut ? left : cut;
        left -= len;
        swamp__piece piece = {(const char *)in->at, len, left + more, is_first, (what & 0x80) != 0};
        if (!add_piece(pieces, want, &piece))
            return 0;
        in->at += len;
        is_first = 0;
    } while (left > 0);
    return more == 0; /* the rest of what was announced never comes */
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reader in = {data, data + size};
    swamp__pieces pieces;
    model want = {{0}, 0, 0};
    size_t max = next_byte(&in) + 1u;
    swamp__pieces_init(&pieces, max < sizeof want.bytes ? max : sizeof want.bytes, 32);
    while (in.at < in.end && add_frame(&pieces, &want, &in))
        ;
    swamp__pieces_free(&pieces); /* a connection may go in mid-message */
    return 0;
}
