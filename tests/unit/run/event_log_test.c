/* The event log: seq spliced in, exact gaps, eviction by bytes and by count, cursors that survive it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/run/event_log.h"
#include "../../../libswamp/util/alloc.h"
#include "log_reader.h"
#include "tap.h"

#define LARGE (16u << 20)
#define CHUNK 65536u

static uint64_t
append(swamp__event_log *log, const char *json)
{
    uint64_t seq = 0;
    if (swamp__event_log_append(log, json, strlen(json), &seq) != SWAMP_OK)
        ck_abort_msg("append failed: %.60s", json);
    return seq;
}

/* What the next call says, as text: "e:{...}", "g:1-4", or "none". */
static const char *
next_text(swamp__event_log *log, swamp__log_cursor *cursor)
{
    static char text[300];
    const char *event = NULL;
    size_t len = 0;
    uint64_t from = 0, to = 0;
    switch (read_log(log, cursor, &event, &len, &from, &to)) {
    case SWAMP__LOG_EVENT:
        snprintf(text, sizeof(text), "e:%.*s", (int)len, event);
        return text;
    case SWAMP__LOG_GAP:
        snprintf(text, sizeof(text), "g:%llu-%llu", (unsigned long long)from, (unsigned long long)to);
        return text;
    default:
        return "none";
    }
}

START_TEST(seq_is_the_last_member)
{
    static const char *const cases[][2] = {
        {"{\"kind\":\"x\"}", "e:{\"kind\":\"x\",\"seq\":1}"},
        {"{\"kind\":\"x\" \n}", "e:{\"kind\":\"x\",\"seq\":2}"},
        {"{}", "e:{\"seq\":3}"},
        {"{ \t}", "e:{\"seq\":4}"},
        {"{\"a\":{\"seq\":9}}", "e:{\"a\":{\"seq\":9},\"seq\":5}"},
        {"{\"a\":\"{\"}", "e:{\"a\":\"{\",\"seq\":6}"},
    };
    swamp__event_log *log = swamp__event_log_new(LARGE, 100);
    swamp__log_cursor cursor = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_uint_eq(append(log, cases[i][0]), i + 1);
        ck_assert_str_eq(next_text(log, &cursor), cases[i][1]);
        ck_assert_str_eq(next_text(log, &cursor), "none");
    }
    swamp__event_log_free(log);
}
END_TEST

START_TEST(an_empty_log_has_nothing)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 100);
    swamp__log_cursor cursor = {0};
    ck_assert_uint_eq(swamp__event_log_first(log), 1);
    ck_assert_uint_eq(swamp__event_log_head(log), 0);
    ck_assert_uint_eq(swamp__event_log_bytes(log), 0);
    ck_assert_uint_eq(swamp__event_log_evict(log, SIZE_MAX), 0);
    ck_assert_str_eq(next_text(log, &cursor), "none");
    swamp__event_log_free(log);
}
END_TEST

START_TEST(the_count_limit_holds_exactly)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 3);
    swamp__log_cursor cursor = {0};
    for (int i = 0; i < 3; i++)
        append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_first(log), 1);
    append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_first(log), 2);
    ck_assert_str_eq(next_text(log, &cursor), "g:1-1");
    ck_assert_str_eq(next_text(log, &cursor), "e:{\"seq\":2}");
    swamp__event_log_free(log);
}
END_TEST

START_TEST(the_byte_limit_holds_exactly)
{
    const size_t one = strlen("{\"seq\":1}");
    swamp__event_log *log = swamp__event_log_new(3 * one, 100);
    for (int i = 0; i < 3; i++)
        append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_first(log), 1);
    ck_assert_uint_eq(swamp__event_log_bytes(log), 3 * one);
    append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_first(log), 2);
    ck_assert_uint_eq(swamp__event_log_bytes(log), 3 * one);
    swamp__event_log_free(log);

    log = swamp__event_log_new(3 * one - 1, 100); /* one byte too few for three */
    for (int i = 0; i < 2; i++)
        append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_first(log), 1);
    append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_first(log), 2);
    ck_assert_uint_eq(swamp__event_log_bytes(log), 2 * one);
    swamp__event_log_free(log);
}
END_TEST

START_TEST(the_newest_event_is_kept_though_larger_than_the_limit)
{
    swamp__event_log *log = swamp__event_log_new(20, 100);
    swamp__log_cursor cursor = {0};
    append(log, "{}");
    append(log, "{\"long\":\"0123456789012345678901234567890\"}");
    ck_assert_str_eq(next_text(log, &cursor), "g:1-1");
    ck_assert_str_eq(next_text(log, &cursor), "e:{\"long\":\"0123456789012345678901234567890\",\"seq\":2}");
    swamp__event_log_free(log);
}
END_TEST

START_TEST(eviction_in_mid_stream_is_one_exact_gap)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 10);
    swamp__log_cursor cursor = {0};
    for (int i = 0; i < 10; i++)
        append(log, "{}");
    for (int i = 0; i < 4; i++)
        next_text(log, &cursor);
    for (int i = 0; i < 10; i++)
        append(log, "{}");
    ck_assert_str_eq(next_text(log, &cursor), "g:5-10");
    ck_assert_str_eq(next_text(log, &cursor), "e:{\"seq\":11}");
    ck_assert_str_eq(next_text(log, &cursor), "e:{\"seq\":12}");
    swamp__event_log_free(log);
}
END_TEST

START_TEST(evicting_everything_leaves_a_gap_to_the_head)
{
    const size_t one = strlen("{\"seq\":1}");
    swamp__event_log *log = swamp__event_log_new(LARGE, 10);
    swamp__log_cursor cursor = {0};
    for (int i = 0; i < 5; i++)
        append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_evict(log, 1), one); /* whole events */
    ck_assert_uint_eq(swamp__event_log_evict(log, SIZE_MAX), 4 * one);
    ck_assert_uint_eq(swamp__event_log_first(log), 6);
    ck_assert_uint_eq(swamp__event_log_bytes(log), 0);
    ck_assert_str_eq(next_text(log, &cursor), "g:1-5");
    ck_assert_str_eq(next_text(log, &cursor), "none");
    append(log, "{}");
    ck_assert_str_eq(next_text(log, &cursor), "e:{\"seq\":6}");
    swamp__event_log_free(log);
}
END_TEST

/* An event of exactly `len` finished bytes. */
static void
append_sized(swamp__event_log *log, size_t len)
{
    char tail[32];
    size_t tail_len = (size_t)snprintf(tail, sizeof(tail), ",\"seq\":%llu}",
                                       (unsigned long long)swamp__event_log_head(log) + 1);
    size_t json_len = len - tail_len + 1;
    char *json = malloc(json_len);
    uint64_t seq;
    memset(json, 'x', json_len);
    memcpy(json, "{\"a\":\"", 6);
    memcpy(json + json_len - 2, "\"}", 2);
    ck_assert_int_eq(swamp__event_log_append(log, json, json_len, &seq), SWAMP_OK);
    free(json);
}

START_TEST(events_around_the_size_of_a_chunk)
{
    static const size_t sizes[] = {100,       4000,      CHUNK - 9, CHUNK - 8, CHUNK - 7, CHUNK,
                                   CHUNK + 1, 256 << 10, 30,        2 * CHUNK, 31,        32};
    const size_t count = sizeof(sizes) / sizeof(sizes[0]);
    swamp__event_log *log = swamp__event_log_new(LARGE, 100);
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        append_sized(log, sizes[i]);
        sum += sizes[i];
    }
    ck_assert_uint_eq(swamp__event_log_bytes(log), sum);

    swamp__log_cursor cursor = {0};
    const char *event;
    size_t len;
    uint64_t from, to;
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(read_log(log, &cursor, &event, &len, &from, &to), SWAMP__LOG_EVENT);
        ck_assert_uint_eq(len, sizes[i]);
        ck_assert_int_eq(event[0], '{');
        ck_assert_int_eq(event[len - 1], '}');
    }
    ck_assert_int_eq(read_log(log, &cursor, &event, &len, &from, &to), SWAMP__LOG_NONE);
    swamp__event_log_free(log);
}
END_TEST

static uint64_t
seq_of(const char *event, size_t len)
{
    char text[300];
    snprintf(text, sizeof(text), "%.*s", (int)len, event);
    return strtoull(strrchr(text, ':') + 1, NULL, 10);
}

/* One walk from `next` with the hints that come with it; each event must be the right one. Returns how many. */
static size_t
walk(swamp__event_log *log, uint64_t next)
{
    swamp__log_cursor cursor = {.next_seq = next};
    const char *event;
    size_t len, count = 0;
    uint64_t from, to;
    while (read_log(log, &cursor, &event, &len, &from, &to) == SWAMP__LOG_EVENT) {
        if (seq_of(event, len) !=
            next + count) /* no assertion an event: check reports each one over a pipe */
            ck_abort_msg("%llu instead of %llu", (unsigned long long)seq_of(event, len),
                         (unsigned long long)(next + count));
        count++;
    }
    return count;
}

START_TEST(a_hundred_thousand_events_from_any_place)
{
    enum { COUNT = 100000 };
    swamp__event_log *log = swamp__event_log_new(LARGE, COUNT);
    char json[100];
    unsigned long before = swamp__alloc_count();
    for (unsigned i = 1; i <= COUNT; i++) {
        snprintf(json, sizeof(json), "{\"kind\":\"method_output\",\"line\":\"%u\"}", i);
        if (append(log, json) != i)
            ck_abort_msg("event %u got another number", i);
    }
    /* No allocation for an event: chunks and their table only. */
    ck_assert_uint_lt(swamp__alloc_count() - before, 2 * (swamp__event_log_bytes(log) + COUNT * 8) / CHUNK);
    ck_assert_uint_eq(walk(log, 1), COUNT);
    for (uint64_t next = 2; next <= COUNT; next += 7919)
        ck_assert_uint_eq(walk(log, next), COUNT - next + 1);
    append(log, "{}");
    ck_assert_uint_eq(swamp__event_log_first(log), 2);
    swamp__event_log_free(log);
}
END_TEST

/* A cursor that stays put while the chunks behind it go, and one with any hint at all, still read the right event. */
START_TEST(hints_after_eviction)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 5000);
    char json[100];
    swamp__log_cursor cursor = {0};
    const char *event;
    size_t len;
    uint64_t from, to, seen = 0;
    for (unsigned i = 1; i <= 60000; i++) {
        snprintf(json, sizeof(json), "{\"a\":\"%0*u\"}", (int)(i % 60) + 1, i);
        append(log, json);
        if (i % 3 == 0)
            continue; /* slower than the events: now and then it is overtaken */
        if (i % 997 == 0) {
            cursor.chunk = i % 31;
            cursor.offset = i % 4096;
        }
        switch (read_log(log, &cursor, &event, &len, &from, &to)) {
        case SWAMP__LOG_EVENT:
            if (seq_of(event, len) != ++seen)
                ck_abort_msg("the cursor lost its place at %llu", (unsigned long long)seen);
            break;
        case SWAMP__LOG_GAP:
            ck_assert_uint_eq(from, seen + 1);
            ck_assert_uint_eq(to, swamp__event_log_first(log) - 1);
            seen = to;
            break;
        default:
            ck_abort_msg("events were appended, and none came");
        }
    }
    ck_assert_uint_gt(seen, 50000);
    swamp__event_log_free(log);
}
END_TEST

/* As a viewer does that copies without the lock, while the host goes on. */
START_TEST(what_is_pinned_stays_while_all_is_evicted)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 10);
    char json[100];
    swamp__log_cursor cursor = {.next_seq = 3};
    swamp__log_span span = {0};
    const char *event;
    size_t len;
    uint64_t from, to;
    for (unsigned i = 1; i <= 5; i++) {
        snprintf(json, sizeof(json), "{\"a\":%u}", i);
        append(log, json);
    }
    ck_assert_int_eq(swamp__event_log_pin(log, &cursor, &span, &from, &to), SWAMP__LOG_EVENT);
    for (unsigned i = 6; i <= 20000; i++) /* many chunks full: the pinned one is long out of the log */
        append(log, "{\"a\":\"0123456789\"}");
    for (uint64_t seq = 3; seq <= 5; seq++) {
        ck_assert_int_eq(swamp__log_span_peek(&span, &event, &len), 1);
        ck_assert_uint_eq(seq_of(event, len), seq);
        swamp__log_span_take(&span, &cursor);
    }
    ck_assert_int_eq(swamp__log_span_peek(&span, &event, &len), 0); /* what came later is the next span's */
    swamp__free(swamp__event_log_unpin(log, &span));
    ck_assert_ptr_null(swamp__event_log_unpin(log, &span));
    ck_assert_str_eq(next_text(log, &cursor), "g:6-19990");
    swamp__event_log_free(log);
}
END_TEST

/* The caller frees, since it holds the lock: for a chunk of this size that is a call of the system. */
START_TEST(what_was_evicted_while_pinned_is_freed_by_who_unpins_last)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 1);
    swamp__log_cursor cursors[2] = {{0}, {0}};
    swamp__log_span spans[2] = {{0}, {0}};
    const char *event;
    uint64_t from, to;
    size_t len;
    append_sized(log, 200000);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(swamp__event_log_pin(log, &cursors[i], &spans[i], &from, &to), SWAMP__LOG_EVENT);
    append_sized(log, 200000);
    ck_assert_ptr_null(swamp__event_log_unpin(log, &spans[0]));
    ck_assert_int_eq(swamp__log_span_peek(&spans[1], &event, &len), 1);
    void *evicted = swamp__event_log_unpin(log, &spans[1]);
    ck_assert_ptr_nonnull(evicted);
    ck_assert_int_eq(event[len - 1], '}'); /* still there */
    swamp__free(evicted);
    swamp__event_log_free(log);
}
END_TEST

START_TEST(a_full_log_takes_no_memory_for_an_event)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 1000);
    for (unsigned i = 0; i < 5000; i++)
        append(log, "{\"kind\":\"method_output\",\"line\":\"0123456789012345678901234567890123456789\"}");
    unsigned long before = swamp__alloc_count();
    for (unsigned i = 0; i < 100000; i++)
        append(log, "{\"kind\":\"method_output\",\"line\":\"0123456789012345678901234567890123456789\"}");
    ck_assert_uint_eq(swamp__alloc_count(), before);
    swamp__event_log_free(log);
}
END_TEST

START_TEST(out_of_memory_changes_nothing)
{
    swamp__event_log *log = swamp__event_log_new(LARGE, 100);
    uint64_t seq = 77;
    append(log, "{}");
    char *large = malloc(CHUNK);
    memset(large, 'x', CHUNK);
    memcpy(large, "{\"a\":\"", 6);
    memcpy(large + CHUNK - 2, "\"}", 2);
    swamp__alloc_fail_at(1, 1);
    ck_assert_int_eq(swamp__event_log_append(log, large, CHUNK, &seq), SWAMP_E_NOMEM);
    swamp__alloc_fail_at(0, 0);
    ck_assert_uint_eq(seq, 77);
    ck_assert_uint_eq(swamp__event_log_head(log), 1);
    ck_assert_int_eq(swamp__event_log_append(log, large, CHUNK, &seq), SWAMP_OK);
    ck_assert_uint_eq(seq, 2);
    free(large);
    swamp__event_log_free(log);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("event_log");
    TCase *tcase = tcase_create("event_log");
    tcase_set_timeout(tcase, 50);
    tcase_add_test(tcase, seq_is_the_last_member);
    tcase_add_test(tcase, an_empty_log_has_nothing);
    tcase_add_test(tcase, the_count_limit_holds_exactly);
    tcase_add_test(tcase, the_byte_limit_holds_exactly);
    tcase_add_test(tcase, the_newest_event_is_kept_though_larger_than_the_limit);
    tcase_add_test(tcase, eviction_in_mid_stream_is_one_exact_gap);
    tcase_add_test(tcase, evicting_everything_leaves_a_gap_to_the_head);
    tcase_add_test(tcase, events_around_the_size_of_a_chunk);
    tcase_add_test(tcase, a_hundred_thousand_events_from_any_place);
    tcase_add_test(tcase, hints_after_eviction);
    tcase_add_test(tcase, what_is_pinned_stays_while_all_is_evicted);
    tcase_add_test(tcase, what_was_evicted_while_pinned_is_freed_by_who_unpins_last);
    tcase_add_test(tcase, a_full_log_takes_no_memory_for_an_event);
    tcase_add_test(tcase, out_of_memory_changes_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
