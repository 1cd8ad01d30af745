/* The event log of one run: finished bytes, numbered once, with cursors into them. The caller holds the run's
 * lock, unless it is said that it need not. */
#ifndef SWAMP_RUN_EVENT_LOG_H
#define SWAMP_RUN_EVENT_LOG_H

#include <stddef.h>
#include <stdint.h>

/*
 * Events lie back to back in chunks (an event never crosses one), each with "seq":N already in it as the last
 * member. The oldest are evicted when the bytes or the count pass their limit. Knows nothing of viewers or
 * threads.
 */
typedef struct swamp__event_log swamp__event_log;

/* A place in a log. Zeroed it stands before the first event. Never owns anything; survives eviction. */
typedef struct swamp__log_cursor {
    uint64_t next_seq; /* 0 is taken as 1 */
    uint64_t chunk;    /* hint: number of the chunk that holds next_seq, and ... */
    size_t offset;     /* ... its place there; found by search when the hint does not fit */
} swamp__log_cursor;

swamp__event_log *swamp__event_log_new(size_t max_bytes, size_t max_events); /* NULL: out of memory */
void swamp__event_log_free(swamp__event_log *log);

/*
 * Appends one event: `json` is a checked JSON object of `len` bytes without a member "seq"; the log adds it.
 * SWAMP_OK and *seq; SWAMP_E_NOMEM. No allocation but that of a chunk every 64 KiB, and none
 * once the log is full: the chunk that is driven out is used again.
 */
int swamp__event_log_append(swamp__event_log *log, const char *json, size_t len, uint64_t *seq);

uint64_t
swamp__event_log_first(const swamp__event_log *log);         /* the oldest kept; head + 1 when none is kept */
uint64_t swamp__event_log_head(const swamp__event_log *log); /* the newest ever; 0: none yet */
size_t swamp__event_log_bytes(const swamp__event_log *log);
size_t swamp__event_log_evict(swamp__event_log *log,
                              size_t bytes); /* drops the oldest; returns the bytes given back */

#define SWAMP__LOG_NONE 0  /* the cursor is at the head */
#define SWAMP__LOG_EVENT 1 /* *span begins with its event; the cursor did not move */
#define SWAMP__LOG_GAP 2   /* *from .. *to were evicted; the cursor went behind them */

/*
 * Events back to back, from a cursor's on: as many as lie in one chunk. Pinned, they stay where they are, whatever is
 * evicted meanwhile, and are read without the lock: whoever copies 64 KiB must not keep the host's emits waiting.
 */
typedef struct swamp__log_span {
    struct swamp__log_chunk *chunk; /* NULL: nothing is pinned */
    const char *at, *end;
} swamp__log_span;

int swamp__event_log_pin(const swamp__event_log *log, swamp__log_cursor *cursor, swamp__log_span *span,
                         uint64_t *from, uint64_t *to);
/* Fine when nothing is pinned. What it returns, or NULL, is for swamp__free() without the lock: to give memory back to the
 * system takes a call of it. */
void *swamp__event_log_unpin(swamp__event_log *log, swamp__log_span *span);

/* Without the lock: the first event of the span: 1, or 0: it is read. Taken, it and the cursor go on to the next. */
int swamp__log_span_peek(const swamp__log_span *span, const char **event, size_t *len);
void swamp__log_span_take(swamp__log_span *span, swamp__log_cursor *cursor);

#endif
