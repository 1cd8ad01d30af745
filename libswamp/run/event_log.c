/* The event log of one run: finished bytes, numbered once, with cursors into them. */
#include "event_log.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"

/*
 * A chunk is 64 KiB, the first two are smaller: most runs are short, and thousands of them linger. An event
 * that needs more gets a chunk of its own size. Chunks are numbered from 1, so that the hint of a zeroed
 * cursor never fits.
 */
#define CHUNK_FIRST 4096u
#define CHUNK_FULL 65536u

/* Before each event; seq_low lets a stale hint be told from a good one. */
typedef struct event_head {
    uint32_t len;
    uint32_t seq_low;
} event_head;

typedef struct swamp__log_chunk {
    uint64_t first_seq; /* of the first event still kept in it */
    size_t start;       /* where that one lies */
    size_t used, cap;
    unsigned pins;
    int evicted; /* all of it, while it was pinned: goes with the last pin */
    char bytes[];
} log_chunk;

struct swamp__event_log {
    size_t max_bytes, max_events;
    size_t bytes;         /* of the events kept, without their heads */
    uint64_t first, head; /* seq of the oldest kept and of the newest ever */
    log_chunk **chunks;   /* those with kept events are [front, front + count) */
    size_t front, count, cap;
    uint64_t front_number; /* the number of chunks[front] */
    log_chunk *spare; /* a full-sized one that nobody needs now: a full log lives without the allocator */
};

swamp__event_log *
swamp__event_log_new(size_t max_bytes, size_t max_events)
{
    swamp__event_log *log = swamp__calloc(1, sizeof *log);
    if (!log)
        return NULL;
    log->max_bytes = max_bytes;
    log->max_events = max_events;
    log->first = 1;
    log->front_number = 1;
    return log;
}

void
swamp__event_log_free(swamp__event_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->count; i++) {
        assert(!log->chunks[log->front + i]->pins);
        swamp__free(log->chunks[log->front + i]);
    }
    swamp__free(log->spare);
    swamp__free(log->chunks);
    swamp__free(log);
}

uint64_t
swamp__event_log_first(const swamp__event_log *log)
{
    return log->first;
}

uint64_t
swamp__event_log_head(const swamp__event_log *log)
{
    return log->head;
}

size_t
swamp__event_log_bytes(const swamp__event_log *log)
{
    return log->bytes;
}

/* Writing. */

static int
make_room_for_pointer(swamp__event_log *log)
{
    if (log->front + log->count < log->cap)
        return SWAMP_OK;
    if (log->front > log->cap / 2) {
        memmove(log->chunks, log->chunks + log->front, log->count * sizeof(*log->chunks));
        log->front = 0;
        return SWAMP_OK;
    }
    size_t cap = log->cap ? log->cap * 2 : 4;
    log_chunk **chunks = swamp__realloc(log->chunks, cap * sizeof(*chunks));
    if (!chunks)
        return SWAMP_E_NOMEM;
    log->chunks = chunks;
    log->cap = cap;
    return SWAMP_OK;
}

/* The chunk into which `need` bytes go: the newest if they fit, else a new one; NULL: out of memory. */
static log_chunk *
chunk_for(swamp__event_log *log, size_t need)
{
    if (log->count) {
        log_chunk *newest = log->chunks[log->front + log->count - 1];
        if (newest->cap - newest->used >= need)
            return newest;
    }
    if (make_room_for_pointer(log) != SWAMP_OK)
        return NULL;
    uint64_t number = log->front_number + log->count;
    size_t cap = number > 2 ? CHUNK_FULL : CHUNK_FIRST << (2 * (number - 1));
    if (cap < need)
        cap = need;
    log_chunk *chunk = cap == CHUNK_FULL ? log->spare : NULL;
    if (chunk)
        log->spare = NULL;
    else if (!(chunk = swamp__alloc(sizeof *chunk + cap)))
        return NULL;
    chunk->pins = 0;
    chunk->evicted = 0;
    chunk->first_seq = log->head + 1;
    chunk->start = chunk->used = 0;
    chunk->cap = cap;
    log->chunks[log->front + log->count++] = chunk;
    return chunk;
}

static event_head
head_at(const log_chunk *chunk, size_t offset)
{
    event_head head;
    memcpy(&head, chunk->bytes + offset, sizeof head); /* heads lie unaligned */
    return head;
}

/* Returns what is to be freed; NULL: it is still pinned, or kept as the spare one. */
static log_chunk *
drop_chunk(swamp__event_log *log, log_chunk *chunk)
{
    if (chunk->pins) {
        chunk->evicted = 1;
        return NULL;
    }
    if (chunk->cap == CHUNK_FULL && !log->spare) {
        log->spare = chunk;
        return NULL;
    }
    return chunk;
}

static size_t
drop_oldest(swamp__event_log *log)
{
    log_chunk *chunk = log->chunks[log->front];
    size_t len = head_at(chunk, chunk->start).len;
    chunk->start += sizeof(event_head) + len;
    chunk->first_seq++;
    log->first++;
    log->bytes -= len;
    if (chunk->start == chunk->used) {
        log->front++;
        log->front_number++;
        log->count--;
        swamp__free(drop_chunk(log, chunk));
    } else {
        __builtin_prefetch(chunk->bytes + chunk->start); /* long cold, and the next event drives it out */
    }
    return len;
}

size_t
swamp__event_log_evict(swamp__event_log *log, size_t bytes)
{
    size_t given_back = 0;
    while (given_back < bytes && log->count)
        given_back += drop_oldest(log);
    swamp__free(log->spare); /* memory is wanted */
    log->spare = NULL;
    return given_back;
}

/* The newest event is always kept, even where it is larger than the limit: somebody is waiting for it. */
static void
keep_limits(swamp__event_log *log)
{
    while (log->first < log->head &&
           (log->bytes > log->max_bytes || log->head - log->first + 1 > log->max_events))
        drop_oldest(log);
}

/* Writes ,"seq":N} (the comma where there are other members) to the end of `space`; this is the hot path, no
 * printf here. */
static const char *
write_tail(char *space, size_t size, uint64_t seq, int is_only_member, size_t *len)
{
    static const char name[] = ",\"seq\":";
    char *at = space + size;
    *--at = '}';
    do {
        *--at = (char)('0' + seq % 10);
        seq /= 10;
    } while (seq);
    at -= sizeof name - 1;
    memcpy(at, name, sizeof name - 1);
    at += is_only_member;
    *len = (size_t)(space + size - at);
    return at;
}

static int
is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

int
swamp__event_log_append(swamp__event_log *log, const char *json, size_t len, uint64_t *seq)
{
    assert(len >= 2 && json[0] == '{' && json[len - 1] == '}');

    /* {"kind":"x" } becomes {"kind":"x","seq":7}, and { } becomes {"seq":7} (PROTOCOL 3: seq is the last member). */
    size_t inside = len - 1;
    while (inside > 1 && is_space(json[inside - 1]))
        inside--;
    char space[40];
    size_t tail_len;
    const char *tail = write_tail(space, sizeof space, log->head + 1, inside == 1, &tail_len);
    event_head head = {(uint32_t)(inside + tail_len), (uint32_t)(log->head + 1)};

    log_chunk *chunk = chunk_for(log, sizeof head + head.len);
    if (!chunk)
        return SWAMP_E_NOMEM;
    char *to = chunk->bytes + chunk->used;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, json, inside);
    memcpy(to + sizeof head + inside, tail, tail_len);
    chunk->used += sizeof head + head.len;
    log->bytes += head.len;
    *seq = ++log->head;
    keep_limits(log);
    return SWAMP_OK;
}

/* Reading. */

/* The chunk with this number; NULL: evicted, or not yet made. */
static log_chunk *
chunk_by_number(const swamp__event_log *log, uint64_t number)
{
    if (number < log->front_number || number - log->front_number >= log->count)
        return NULL;
    return log->chunks[log->front + (number - log->front_number)];
}

/* Does the event `seq` lie at this place? */
static int
event_is_at(const log_chunk *chunk, size_t offset, uint64_t seq)
{
    if (offset < chunk->start || offset > chunk->used || chunk->used - offset < sizeof(event_head))
        return 0;
    event_head head = head_at(chunk, offset);
    return head.seq_low == (uint32_t)seq && head.len <= chunk->used - offset - sizeof head;
}

static int
hint_fits(const swamp__event_log *log, swamp__log_cursor *cursor)
{
    const log_chunk *chunk = chunk_by_number(log, cursor->chunk);
    if (!chunk)
        return 0;
    if (cursor->offset == chunk->used) { /* the chunk was full behind the last event read */
        chunk = chunk_by_number(log, ++cursor->chunk);
        cursor->offset = 0;
        if (!chunk)
            return 0;
    }
    return event_is_at(chunk, cursor->offset, cursor->next_seq);
}

/* Sets the hint of a cursor whose event is kept: by halves to the chunk, then from event to event. */
static void
search(const swamp__event_log *log, swamp__log_cursor *cursor)
{
    size_t low = 0, high = log->count; /* the chunk is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (log->chunks[log->front + middle]->first_seq <= cursor->next_seq)
            low = middle;
        else
            high = middle;
    }
    const log_chunk *chunk = log->chunks[log->front + low];
    size_t offset = chunk->start;
    for (uint64_t seq = chunk->first_seq; seq < cursor->next_seq; seq++)
        offset += sizeof(event_head) + head_at(chunk, offset).len;
    cursor->chunk = log->front_number + low;
    cursor->offset = offset;
}

int
swamp__event_log_pin(const swamp__event_log *log, swamp__log_cursor *cursor, swamp__log_span *span,
                     uint64_t *from, uint64_t *to)
{
    assert(!span->chunk);
    if (!cursor->next_seq)
        cursor->next_seq = 1;
    if (cursor->next_seq > log->head)
        return SWAMP__LOG_NONE;
    if (cursor->next_seq < log->first) {
        *from = cursor->next_seq;
        *to = log->first - 1;
        cursor->next_seq = log->first;
        return SWAMP__LOG_GAP;
    }
    if (!hint_fits(log, cursor))
        search(log, cursor);
    log_chunk *chunk = chunk_by_number(log, cursor->chunk);
    chunk->pins++;
    *span = (swamp__log_span){chunk, chunk->bytes + cursor->offset, chunk->bytes + chunk->used};
    return SWAMP__LOG_EVENT;
}

void *
swamp__event_log_unpin(swamp__event_log *log, swamp__log_span *span)
{
    log_chunk *chunk = span->chunk;
    span->chunk = NULL;
    return chunk && --chunk->pins == 0 && chunk->evicted ? drop_chunk(log, chunk) : NULL;
}

static event_head
first_head(const swamp__log_span *span)
{
    event_head head;
    memcpy(&head, span->at, sizeof head);
    return head;
}

int
swamp__log_span_peek(const swamp__log_span *span, const char **event, size_t *len)
{
    if (span->at == span->end)
        return 0;
    *event = span->at + sizeof(event_head);
    *len = first_head(span).len;
    return 1;
}

void
swamp__log_span_take(swamp__log_span *span, swamp__log_cursor *cursor)
{
    size_t size = sizeof(event_head) + first_head(span).len;
    span->at += size;
    cursor->offset += size;
    cursor->next_seq++;
}
