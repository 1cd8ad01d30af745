/* Lenient reading of objects that others wrote: one walk fills a struct from a table of members. */
#ifndef SWAMP_WIRE_FIELDS_H
#define SWAMP_WIRE_FIELDS_H

#include <stddef.h>
#include "json.h"

#define SWAMP__FIELD_ID 1     /* char[cap]; what does not fit becomes "": a cut id would be another one */
#define SWAMP__FIELD_TEXT 2   /* char[cap]; what does not fit is cut */
#define SWAMP__FIELD_NUMBER 3 /* int64_t */
#define SWAMP__FIELD_FLAG 4   /* int: 1 when the member is true, else 0 */
#define SWAMP__FIELD_JSON 5   /* swamp__json: the value in place, of any type */

typedef struct swamp__field {
    const char *name;
    int form;
    size_t offset;
    size_t cap;
} swamp__field;

/* A row of a table; `cap` is the member's own size. */
#define SWAMP__FIELD(name, form, type, member)                                                               \
    {                                                                                                        \
        name, form, offsetof(type, member), sizeof(((type *)0)->member)                                      \
    }

/*
 * Walks `object` once; members that are missing or of another type leave their place in `out` as it is, so
 * the caller sets the defaults. Without effect on what is no object. Of a key that occurs twice the last one
 * counts.
 */
void swamp__fields_read(swamp__json object, const swamp__field *fields, size_t count, void *out);

/* Decoded, zero-terminated, cut between two characters where it does not fit; "" for no usable string. */
void swamp__fields_cut(swamp__json string, char *out, size_t cap);

#endif
