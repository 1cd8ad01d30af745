/* What a server says (PROTOCOL 3), written: old clients rely on the order of the members. */
#include "answer.h"

#include <string.h>
#include "fields.h"

static void
open_answer(swamp__buf *out, const char *type, const char *id)
{
    swamp__buf_text(out, "{");
    swamp__json_put_member(out, "type", type);
    swamp__json_put_member(out, "id", id);
}

static void
open_payload(swamp__buf *out, const char *type, const char *id, const char *run_id)
{
    open_answer(out, type, id);
    swamp__buf_text(out, ",\"payload\":{");
    swamp__json_put_member(out, "runId", run_id);
}

static void
put_known(swamp__buf *out, const char *name, int64_t number)
{
    if (number >= 0)
        swamp__json_put_member_i64(out, name, number);
}

static void
put_nonempty(swamp__buf *out, const char *name, const char *text)
{
    if (text && text[0])
        swamp__json_put_member(out, name, text);
}

void
swamp__answer_accepted(swamp__buf *out, const char *id, const char *run_id)
{
    open_answer(out, "run.accepted", id);
    swamp__buf_text(out, ",\"run\":{");
    swamp__json_put_member(out, "runId", run_id);
    swamp__buf_text(out, "}}");
}

void
swamp__answer_event_open(swamp__buf *out, const char *id)
{
    open_answer(out, "event", id);
    swamp__buf_text(out, ",\"event\":");
}

void
swamp__answer_done(swamp__buf *out, const char *id)
{
    open_answer(out, "done", id);
    swamp__buf_text(out, "}");
}

/* PROTOCOL 3: a message is one line of at most 200 characters, wherever it came from. */
static void
put_message(swamp__buf *out, const char *message)
{
    char line[SWAMP__ERROR_MESSAGE_MAX * 4 + 1];
    size_t len = 0, characters = 0;

    for (const char *at = message; *at && len < sizeof(line) - 1; at++) {
        unsigned char c = (unsigned char)*at;
        if ((c & 0xC0) != 0x80 && ++characters > SWAMP__ERROR_MESSAGE_MAX)
            break;
        line[len++] = c < ' ' || c == 0x7F ? ' ' : *at;
    }
    swamp__buf_text(out, ",\"message\":");
    swamp__json_put_string_n(out, line, len);
}

void
swamp__answer_error(swamp__buf *out, const char *id, const char *code, const char *message,
                    const swamp__answer_error_extra *extra)
{
    open_answer(out, "error", id);
    swamp__buf_text(out, ",\"error\":{");
    swamp__json_put_member(out, "code", code);
    put_message(out, message);
    if (extra) {
        swamp__json_put_member(out, "reason", extra->reason);
        swamp__json_put_member(out, "instanceId", extra->instance_id);
        if (extra->retry_after_ms > 0)
            swamp__json_put_member_i64(out, "retryAfterMs", extra->retry_after_ms);
    }
    swamp__buf_text(out, "}}");
}

void
swamp__answer_attached(swamp__buf *out, const char *id, const swamp__answer_attached_info *info)
{
    open_payload(out, "run.attached", id, info->run_id);
    swamp__json_put_member(out, "kind", info->kind);
    swamp__json_put_member(out, "startedAt", info->started_at);
    swamp__json_put_member(out, "epoch", info->epoch);
    swamp__json_put_member_i64(out, "firstSeq", (int64_t)info->first_seq);
    swamp__json_put_member_i64(out, "headSeq", (int64_t)info->head_seq);
    swamp__json_put_member(out, "state", info->state);
    swamp__json_put_member(out, "interruptReason", info->interrupt_reason);
    swamp__buf_text(out, "}}");
}

void
swamp__answer_gap(swamp__buf *out, const char *id, const char *run_id, uint64_t from_seq, uint64_t to_seq)
{
    /* New frames with an id never have a member "payload": one of the old clients would take it for success. */
    open_answer(out, "run.gap", id);
    swamp__buf_text(out, ",\"gap\":{");
    swamp__json_put_member(out, "runId", run_id);
    swamp__json_put_member_i64(out, "fromSeq", (int64_t)from_seq);
    swamp__json_put_member_i64(out, "toSeq", (int64_t)to_seq);
    swamp__json_put_member(out, "reason", "evicted");
    swamp__buf_text(out, "}}");
}

void
swamp__answer_elsewhere(swamp__buf *out, const char *id, const swamp__answer_elsewhere_info *info)
{
    open_payload(out, "run.elsewhere", id, info->run_id);
    swamp__json_put_member(out, "instanceId", info->instance_id);
    put_nonempty(out, "address", info->address);
    put_known(out, "retryAfterMs", info->retry_after_ms);
    put_known(out, "ownerSeenMsAgo", info->owner_seen_ms_ago);
    put_known(out, "staleTtlMs", info->stale_ttl_ms);
    swamp__buf_text(out, "}}");
}

void
swamp__answer_interrupted(swamp__buf *out, const char *id, const char *run_id, const char *instance_id,
                          const char *reason, int64_t stale_ttl_ms)
{
    open_payload(out, "run.interrupted", id, run_id);
    swamp__json_put_member(out, "instanceId", instance_id);
    swamp__json_put_member(out, "reason", reason);
    put_known(out, "staleTtlMs", stale_ttl_ms);
    swamp__buf_text(out, "}}");
}

void
swamp__answer_drain(swamp__buf *out, int64_t retry_after_ms, int64_t deadline_ms)
{
    swamp__buf_text(out, "{\"type\":\"server.drain\"");
    put_known(out, "retryAfterMs", retry_after_ms);
    put_known(out, "deadlineMs", deadline_ms);
    swamp__buf_text(out, "}");
}

void
swamp__answer_plain(swamp__buf *out, const char *type, const char *id, const char *members, size_t len)
{
    open_answer(out, type, id);
    if (len > 0) {
        swamp__buf_text(out, ",");
        swamp__buf_append(out, members, len);
    }
    swamp__buf_text(out, "}");
}
