/* Reads a log event by event, by the way that viewers go. */
#ifndef TESTS_UNIT_RUN_LOG_READER_H
#define TESTS_UNIT_RUN_LOG_READER_H

#include "../../../libswamp/run/event_log.h"
#include "../../../libswamp/util/alloc.h"

/* SWAMP__LOG_...; *event and *len are borrowed until the log changes, the cursor goes on. */
static inline int
read_log(swamp__event_log *log, swamp__log_cursor *cursor, const char **event, size_t *len, uint64_t *from,
         uint64_t *to)
{
    swamp__log_span span = {0};
    int what = swamp__event_log_pin(log, cursor, &span, from, to);
    if (what == SWAMP__LOG_EVENT && swamp__log_span_peek(&span, event, len))
        swamp__log_span_take(&span, cursor);
    swamp__free(swamp__event_log_unpin(log, &span)); /* nothing: it was not evicted meanwhile */
    return what;
}

#endif
