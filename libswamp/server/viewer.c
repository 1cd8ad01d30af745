/* Viewers: cursors into runs' logs. Builds their frames back to back around the shared bytes: the hot path. */
#include "inner.h"

#include <string.h>

static void
free_viewer(swamp__viewer *viewer)
{
    swamp__instance *instance = viewer->ticket->conn->instance;
    swamp_run *run = viewer->run;
    swamp__link_remove(&viewer->run_link);
    swamp__link_remove(&viewer->ready_link);
    run->viewer_count--;
    instance->viewer_count--;
    swamp__buf_free(&viewer->prefix);
    swamp__free(viewer);
    swamp__run_unref(run);
    swamp__stop_poke(instance);
}

static void
abandon_viewer(swamp__ticket *ticket)
{
    free_viewer(ticket->job);
}

static void
wake_viewer(swamp__viewer *viewer)
{
    swamp__conn *conn = viewer->ticket->conn;
    if (!swamp__link_linked(&viewer->ready_link))
        swamp__list_push(&conn->ready, &viewer->ready_link);
    swamp__conn_want(conn);
}

int
swamp__viewer_new(swamp_run *run, swamp__ticket *ticket, uint64_t after_seq, int attached)
{
    swamp__viewer *viewer = swamp__calloc(1, sizeof *viewer);
    if (!viewer)
        return SWAMP_E_NOMEM;
    swamp__buf_init(&viewer->prefix);
    swamp__answer_event_open(&viewer->prefix, ticket->id);
    if (swamp__buf_status(&viewer->prefix) != SWAMP_OK) {
        swamp__buf_free(&viewer->prefix);
        swamp__free(viewer);
        return SWAMP_E_NOMEM;
    }
    viewer->ticket = ticket;
    viewer->run = swamp__run_ref(run);
    viewer->cursor.next_seq = after_seq + 1;
    viewer->attached = attached;
    swamp__ticket_bind(ticket, viewer, abandon_viewer);
    swamp__list_push(&run->viewers, &viewer->run_link);
    run->viewer_count++;
    ticket->conn->instance->viewer_count++;
    wake_viewer(viewer);
    return SWAMP_OK;
}

void
swamp__viewer_cancel(swamp__ticket *ticket)
{
    swamp__viewer *viewer = ticket->job;
    (void)swamp__cancel_run(ticket->conn->instance, viewer->run, "", NULL);
}

/* Straight into the buffer: four checked appends a frame were a tenth of the network thread's time. */
static void
put_event(const swamp__viewer *viewer, swamp__buf *out, const char *event, size_t len)
{
    size_t payload = viewer->prefix.len + len + 1;
    if (swamp__buf_reserve(out, SWAMP__WS_HEADER_MAX + payload) != SWAMP_OK)
        return;
    char *to = out->data + out->len;
    to += swamp__ws_header((uint8_t *)to, SWAMP__WS_TEXT, payload);
    memcpy(to, viewer->prefix.data, viewer->prefix.len);
    to += viewer->prefix.len;
    memcpy(to, event, len);
    to += len;
    *to++ = '}';
    *to = '\0'; /* as behind every append; there is room for it */
    out->len = (size_t)(to - out->data);
}

static void
put_gap(const swamp__viewer *viewer, swamp__buf *out, uint64_t from_seq, uint64_t to_seq)
{
    swamp__buf text;
    swamp__buf_init(&text);
    swamp__answer_gap(&text, viewer->ticket->id, viewer->run->id, from_seq, to_seq);
    if (swamp__buf_status(&text) == SWAMP_OK)
        swamp__ws_put_text(out, text.data, text.len);
    else
        out->failed = 1;
    swamp__buf_free(&text);
}

#define FRAME_EXTRA                                                                                          \
    (SWAMP__WS_HEADER_MAX + 1)           /* of one frame beside prefix and event: header, closing brace */
#define GAP_EXTRA (SWAMP__ID_SIZE + 128) /* what a gap frame has instead of an event, at most */

/* One frame always fits, however large. */
static int
fits(const swamp__viewer *viewer, const swamp__buf *out, size_t base, size_t len)
{
    return out->len == base || out->len - base + viewer->prefix.len + FRAME_EXTRA + len <= SWAMP__BATCH_BYTES;
}

/* Without the run's lock. SWAMP__VIEWER_FULL: some of the span is left that did not fit; else _MORE. */
static int
put_span(swamp__viewer *viewer, swamp__log_span *span, swamp__buf *out, size_t base, size_t until)
{
    const char *event;
    size_t len;
    while (out->len < until && !out->failed && swamp__log_span_peek(span, &event, &len)) {
        if (!fits(viewer, out, base, len))
            return SWAMP__VIEWER_FULL;
        put_event(viewer, out, event, len);
        swamp__log_span_take(span, &viewer->cursor);
    }
    return SWAMP__VIEWER_MORE;
}

/*
 * Appends what the log has. The run's lock is taken for each stretch of the log, but not held while it is copied or
 * freed: the host's emits do not wait for that. SWAMP__VIEWER_IDLE: at the head.
 */
static int
fill_from_log(swamp__viewer *viewer, swamp__buf *out, size_t base, size_t slice)
{
    size_t until = out->len + slice;
    int found = SWAMP__VIEWER_MORE;
    swamp_run *run = viewer->run;
    swamp__log_span span = {0};
    for (;;) {
        int enough = found == SWAMP__VIEWER_FULL || out->failed || out->len >= until;
        int what = SWAMP__LOG_NONE;
        swamp__log_cursor cursor = viewer->cursor;
        uint64_t from_seq = 0, to_seq = 0;
        pthread_mutex_lock(&run->lock);
        void *evicted = swamp__event_log_unpin(run->log, &span);
        if (!enough)
            what = swamp__event_log_pin(run->log, &cursor, &span, &from_seq, &to_seq);
        if (!enough && what == SWAMP__LOG_NONE)
            swamp__run_await(run);
        pthread_mutex_unlock(&run->lock);
        swamp__free(evicted);
        if (enough)
            return found;
        if (what == SWAMP__LOG_NONE)
            return SWAMP__VIEWER_IDLE;
        if (what == SWAMP__LOG_GAP && !fits(viewer, out, base, GAP_EXTRA))
            return SWAMP__VIEWER_FULL;
        viewer->cursor = cursor;
        if (what == SWAMP__LOG_GAP)
            put_gap(viewer, out, from_seq, to_seq);
        else
            found = put_span(viewer, &span, out, base, until);
    }
}

/*
 * The terminal frame of a viewer at the head, by the run's state (PROTOCOL 3); 0: the run goes on.
 * An interruption hits a stream begun by a start as `error`, one begun by run.attach as `run.interrupted`.
 */
static int
put_terminal(const swamp__viewer *viewer, swamp__buf *text)
{
    const char *id = viewer->ticket->id;
    const swamp__instance_options *options = &viewer->ticket->conn->instance->options;
    swamp__answer_error_extra lost = {.reason = "instance_fenced", .instance_id = options->instance_id};
    swamp__answer_error_extra later = {.retry_after_ms = SWAMP__RETRY_AFTER_MS};
    if (viewer->run->state == SWAMP__RUN_FINISHED || viewer->run->state == SWAMP__RUN_GONE)
        swamp__answer_done(text, id);
    else if (viewer->run->state == SWAMP__RUN_LOST && viewer->attached)
        swamp__answer_interrupted(text, id, viewer->run->id, options->instance_id, lost.reason,
                                  options->stale_ttl_ms);
    else if (viewer->run->state == SWAMP__RUN_LOST)
        swamp__answer_error(text, id, "interrupted", "the instance was declared dead", &lost);
    else if (viewer->unavailable)
        swamp__answer_error(text, id, "unavailable", "the run's end cannot be recorded yet", &later);
    else
        return 0;
    return 1;
}

int
swamp__viewer_fill(swamp__viewer *viewer, swamp__buf *out, size_t base, size_t slice)
{
    (void)swamp__buf_reserve(out, SWAMP__BATCH_BYTES); /* outside the run's lock */
    int found = fill_from_log(viewer, out, base, slice);
    if (found != SWAMP__VIEWER_IDLE || out->failed)
        return found;
    swamp__buf text;
    swamp__buf_init(&text);
    if (put_terminal(viewer, &text)) {
        found = SWAMP__VIEWER_FULL;
        if (swamp__buf_status(&text) != SWAMP_OK) {
            out->failed = 1;
        } else if (out->len == base ||
                   out->len - base + text.len + SWAMP__WS_HEADER_MAX <= SWAMP__BATCH_BYTES) {
            swamp__ticket *ticket = viewer->ticket;
            swamp__ws_put_text(out, text.data, text.len);
            free_viewer(viewer);
            swamp__ticket_close(ticket);
            found = SWAMP__VIEWER_ENDED;
        }
    }
    swamp__buf_free(&text);
    return found;
}

/*
 * The coalescing window (DESIGN 3) by the number of a run's viewers; in between it grows evenly. It divides the cost of
 * fan-out, and few viewers never feel it. A window's writes to 1,000 viewers take the network thread some 5 ms: with
 * no more than that between them it would do nothing else.
 */
static const struct {
    size_t viewers;
    int64_t ms;
} windows[] = {{20, 1}, {100, 5}, {1000, 10}};

#define WINDOWS (sizeof windows / sizeof *windows)

static int64_t
flush_window_ms(size_t viewers)
{
    size_t i = 0;
    while (i < WINDOWS && windows[i].viewers <= viewers)
        i++;
    if (i == 0)
        return 0;
    int64_t ms = windows[i - 1].ms;
    if (i == WINDOWS)
        return ms;
    size_t steps = windows[i].viewers - windows[i - 1].viewers;
    return ms + (int64_t)((viewers - windows[i - 1].viewers) * (size_t)(windows[i].ms - ms) / steps);
}

static void
flush_run(swamp_run *run, int64_t now_ms)
{
    run->flushed_at_ms = now_ms;
    for (swamp__link *link = swamp__list_first(&run->viewers); link;
         link = swamp__list_next(&run->viewers, link))
        wake_viewer(SWAMP__OF(link, swamp__viewer, run_link));
}

static void
flush_window_over(swamp__timer *timer)
{
    swamp_run *run = SWAMP__OF(timer, swamp_run, flush_timer);
    flush_run(run, timer->due_ms);
}

int
swamp__viewers_init_run(swamp__instance *instance, swamp_run *run)
{
    return swamp__timer_init(instance->world->timers, &run->flush_timer, flush_window_over);
}

void
swamp__viewers_changed(swamp__instance *instance, swamp_run *run)
{
    if (!run->viewer_count || swamp__timer_is_set(&run->flush_timer))
        return;
    int64_t window_ms = flush_window_ms(run->viewer_count);
    int64_t now_ms = swamp__now_ms(instance->world);
    if (!window_ms || now_ms - run->flushed_at_ms >= window_ms)
        flush_run(run, now_ms); /* leading edge: at once */
    else
        swamp__timer_set(instance->world->timers, &run->flush_timer, run->flushed_at_ms + window_ms);
}

void
swamp__viewers_gone(swamp__instance *instance, swamp_run *run)
{
    /* Viewers that are still behind hold their own reference; nothing will change any more, so they need no
     * window. */
    if (swamp__timer_is_set(&run->flush_timer))
        flush_run(run, swamp__now_ms(instance->world));
    swamp__timer_destroy(instance->world->timers, &run->flush_timer);
}

/* DESIGN 6.4: viewers that have seen everything wait at most 30 s for a final commit that the store does not take. */
static int
tick_run(const char *key, void *value, void *user)
{
    (void)key;
    swamp_run *run = value;
    int64_t now_ms = *(const int64_t *)user;
    if (run->state != SWAMP__RUN_FINISHING)
        return 0;
    for (swamp__link *link = swamp__list_first(&run->viewers); link;
         link = swamp__list_next(&run->viewers, link)) {
        swamp__viewer *viewer = SWAMP__OF(link, swamp__viewer, run_link);
        if (swamp__link_linked(&viewer->ready_link))
            continue;
        if (!viewer->finishing_since_ms)
            viewer->finishing_since_ms = now_ms;
        if (now_ms - viewer->finishing_since_ms >= SWAMP__FINAL_WAIT_MS) {
            viewer->unavailable = 1;
            wake_viewer(viewer);
        }
    }
    return 0;
}

void
swamp__viewers_tick(swamp__instance *instance)
{
    int64_t now_ms = swamp__now_ms(instance->world);
    swamp__map_each(instance->registry->runs, tick_run, &now_ms);
}
