/* A growable byte buffer; a failed allocation sticks until it is asked for, so that writers need no checks. */
#ifndef SWAMP_UTIL_BUF_H
#define SWAMP_UTIL_BUF_H

#include <stddef.h>
#include <stdint.h>

typedef struct swamp__buf {
    char *data; /* zero-terminated after every append (the zero is not counted) */
    size_t len;
    size_t cap;
    int failed; /* an append did not fit in memory: the content is incomplete */
} swamp__buf;

void swamp__buf_init(swamp__buf *buf);
void swamp__buf_free(swamp__buf *buf);
void swamp__buf_clear(swamp__buf *buf);               /* keeps the memory */
int swamp__buf_reserve(swamp__buf *buf, size_t more); /* SWAMP_OK, SWAMP_E_NOMEM (sticky) */
void swamp__buf_append(swamp__buf *buf, const void *data, size_t len);
void swamp__buf_text(swamp__buf *buf, const char *text);
void swamp__buf_u64(swamp__buf *buf, uint64_t number);
void swamp__buf_i64(swamp__buf *buf, int64_t number);
void swamp__buf_consume(swamp__buf *buf, size_t len); /* drops bytes at the front */
int swamp__buf_status(const swamp__buf *buf);         /* SWAMP_OK, SWAMP_E_NOMEM */
char *swamp__buf_steal(swamp__buf *buf);              /* the text, owned by the caller; NULL if failed */

#endif
