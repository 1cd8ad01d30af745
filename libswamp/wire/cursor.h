/* The text cursor of a session: run id, epoch, seq, as one printable text that another process can go on from. */
#ifndef SWAMP_WIRE_CURSOR_H
#define SWAMP_WIRE_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#define SWAMP__CURSOR_MAX 400

typedef struct swamp__cursor {
    char run_id[65];
    char epoch[257]; /* "" when not known */
    uint64_t seq;
} swamp__cursor;

/* "swc1:SEQ:RUNID:EPOCH", every byte of the ids that is not A-Za-z0-9._~- as %XX. SWAMP_OK, SWAMP_E_TOO_BIG. */
int swamp__cursor_write(const swamp__cursor *cursor, char *out, size_t cap);
/* Also takes a bare run id (seq 0, no epoch). SWAMP_OK, SWAMP_E_INVALID. */
int swamp__cursor_read(const char *text, swamp__cursor *out);

#endif
