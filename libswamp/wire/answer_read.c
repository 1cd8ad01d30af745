/* What a server says (PROTOCOL 3), read by the client: leniently, since the server may be older or newer than
 * we are. */
#include "answer.h"

#include <string.h>
#include <swamp/status.h>
#include "fields.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The frame's own members, in any order. */
struct envelope {
    char type[64];
    swamp__json id, event, run, error, payload, gap, data;
};

static const swamp__field envelope_fields[] = {
    SWAMP__FIELD("type", SWAMP__FIELD_TEXT, struct envelope, type),
    SWAMP__FIELD("id", SWAMP__FIELD_JSON, struct envelope, id),
    SWAMP__FIELD("event", SWAMP__FIELD_JSON, struct envelope, event),
    SWAMP__FIELD("run", SWAMP__FIELD_JSON, struct envelope, run),
    SWAMP__FIELD("error", SWAMP__FIELD_JSON, struct envelope, error),
    SWAMP__FIELD("payload", SWAMP__FIELD_JSON, struct envelope, payload),
    SWAMP__FIELD("gap", SWAMP__FIELD_JSON, struct envelope, gap),
    SWAMP__FIELD("data", SWAMP__FIELD_JSON, struct envelope, data),
};

/* The members that any frame but an event may carry; no name has two meanings within one frame. */
static const swamp__field body_fields[] = {
    SWAMP__FIELD("runId", SWAMP__FIELD_ID, swamp__answer, run_id),
    SWAMP__FIELD("instanceId", SWAMP__FIELD_ID, swamp__answer, instance_id),
    SWAMP__FIELD("address", SWAMP__FIELD_ID, swamp__answer, address),
    SWAMP__FIELD("epoch", SWAMP__FIELD_ID, swamp__answer, epoch),
    SWAMP__FIELD("state", SWAMP__FIELD_ID, swamp__answer, run_status),
    SWAMP__FIELD("status", SWAMP__FIELD_ID, swamp__answer, run_status),
    SWAMP__FIELD("code", SWAMP__FIELD_TEXT, swamp__answer, code),
    SWAMP__FIELD("message", SWAMP__FIELD_TEXT, swamp__answer, message),
    SWAMP__FIELD("reason", SWAMP__FIELD_TEXT, swamp__answer, reason),
    SWAMP__FIELD("interruptReason", SWAMP__FIELD_TEXT, swamp__answer, interrupt_reason),
    SWAMP__FIELD("firstSeq", SWAMP__FIELD_NUMBER, swamp__answer, first_seq),
    SWAMP__FIELD("headSeq", SWAMP__FIELD_NUMBER, swamp__answer, head_seq),
    SWAMP__FIELD("fromSeq", SWAMP__FIELD_NUMBER, swamp__answer, from_seq),
    SWAMP__FIELD("toSeq", SWAMP__FIELD_NUMBER, swamp__answer, to_seq),
    SWAMP__FIELD("retryAfterMs", SWAMP__FIELD_NUMBER, swamp__answer, retry_after_ms),
    SWAMP__FIELD("staleTtlMs", SWAMP__FIELD_NUMBER, swamp__answer, stale_ttl_ms),
    SWAMP__FIELD("accepted", SWAMP__FIELD_FLAG, swamp__answer, accepted),
};

static const swamp__field history_fields[] = {
    SWAMP__FIELD("id", SWAMP__FIELD_ID, swamp__answer, run_id),
    SWAMP__FIELD("status", SWAMP__FIELD_ID, swamp__answer, run_status),
    SWAMP__FIELD("instanceId", SWAMP__FIELD_ID, swamp__answer, instance_id),
    SWAMP__FIELD("interruptReason", SWAMP__FIELD_TEXT, swamp__answer, interrupt_reason),
};

static const struct {
    const char *text;
    int type;
} types[] = {
    {"event", SWAMP__ANS_EVENT},
    {"done", SWAMP__ANS_DONE},
    {"error", SWAMP__ANS_ERROR},
    {"run.accepted", SWAMP__ANS_ACCEPTED},
    {"run.attached", SWAMP__ANS_ATTACHED},
    {"run.gap", SWAMP__ANS_GAP},
    {"run.elsewhere", SWAMP__ANS_ELSEWHERE},
    {"run.interrupted", SWAMP__ANS_INTERRUPTED},
    {"server.drain", SWAMP__ANS_DRAIN},
    {"workflow.history.get", SWAMP__ANS_HISTORY},
    {"run.cancel", SWAMP__ANS_RUN_CANCEL},
};

/* Cheaper than clearing the 5 KB of texts for each event. */
static void
reset(swamp__answer *out)
{
    out->type = SWAMP__ANS_OTHER;
    out->id[0] = out->kind[0] = out->run_id[0] = out->run_status[0] = out->interrupt_reason[0] = 0;
    out->instance_id[0] = out->address[0] = out->epoch[0] = 0;
    out->code[0] = out->message[0] = out->reason[0] = 0;
    out->event = out->data = (swamp__json){0};
    out->seq = 0;
    out->first_seq = out->head_seq = out->from_seq = out->to_seq = -1;
    out->retry_after_ms = out->stale_ttl_ms = -1;
    out->accepted = 0;
}

static int
type_of(const char *text)
{
    for (size_t i = 0; i < COUNT(types); i++)
        if (strcmp(types[i].text, text) == 0)
            return types[i].type;
    return SWAMP__ANS_OTHER;
}

/* The one walk over an event. Its other members are the application's. */
static int
read_event(swamp__json event, swamp__answer *out)
{
    swamp__json_iter iter;
    swamp__json key, value, run = {0};

    if (event.type != SWAMP__JSON_OBJECT)
        return SWAMP_E_PROTOCOL;
    out->event = event;
    swamp__json_enter(event, &iter);
    while (swamp__json_next_member(&iter, &key, &value)) {
        if (swamp__json_equals(key, "kind")) {
            swamp__fields_cut(value, out->kind, sizeof(out->kind));
        } else if (swamp__json_equals(key, "seq")) {
            int64_t seq;
            if (value.type != SWAMP__JSON_NUMBER || swamp__json_i64(value, &seq) != SWAMP_OK || seq < 0)
                return SWAMP_E_PROTOCOL;
            out->seq = (uint64_t)seq;
        } else if (swamp__json_equals(key, "runId")) {
            if (swamp__json_copy(value, out->run_id, sizeof(out->run_id)) != SWAMP_OK)
                out->run_id[0] = 0;
        } else if (swamp__json_equals(key, "run")) {
            run = value;
        }
    }
    if (strcmp(out->kind, "completed") == 0 || strcmp(out->kind, "cancelled") == 0)
        swamp__json_member_text(run, "status", out->run_status, sizeof(out->run_status));
    return SWAMP_OK;
}

/* Numbers of a peer are used in sums: what is out of reach counts as absent. */
static void
drop_wild_numbers(swamp__answer *out)
{
    int64_t *numbers[] = {&out->first_seq, &out->head_seq,       &out->from_seq,
                          &out->to_seq,    &out->retry_after_ms, &out->stale_ttl_ms};
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (*numbers[i] < 0 || *numbers[i] > (int64_t)SWAMP__SEQ_MAX)
            *numbers[i] = -1;
}

static int
read_body(swamp__json frame, const struct envelope *envelope, swamp__answer *out)
{
    swamp__json body = envelope->payload;

    switch (out->type) {
    case SWAMP__ANS_ACCEPTED:
        body = envelope->run;
        break;
    case SWAMP__ANS_ERROR:
        body = envelope->error;
        break;
    case SWAMP__ANS_GAP:
        body = envelope->gap;
        break;
    case SWAMP__ANS_DRAIN:
    case SWAMP__ANS_RUN_CANCEL:
        /* These carry their members at the top; one that has a payload after all is read there. */
        if (body.type != SWAMP__JSON_OBJECT)
            body = frame;
        break;
    case SWAMP__ANS_HISTORY:
        out->data = envelope->data;
        if (out->data.type == 0)
            (void)swamp__json_find(envelope->payload, "data", &out->data);
        if (out->data.type != SWAMP__JSON_OBJECT)
            out->data = (swamp__json){0};
        swamp__fields_read(out->data, history_fields, COUNT(history_fields), out);
        return SWAMP_OK;
    default:
        break;
    }
    swamp__fields_read(body, body_fields, COUNT(body_fields), out);
    drop_wild_numbers(out);
    /* A gap without its range could not be reported exactly, which is all that it is for. */
    if (out->type == SWAMP__ANS_GAP && (out->from_seq < 1 || out->to_seq < out->from_seq))
        return SWAMP_E_PROTOCOL;
    return SWAMP_OK;
}

int
swamp__answer_read(const char *text, size_t len, swamp__answer *out)
{
    swamp__json frame;
    struct envelope envelope = {0};

    reset(out);
    int rc = swamp__json_check(text, len, 0, &frame);
    if (rc == SWAMP_E_NOMEM)
        return rc;
    if (rc != SWAMP_OK || frame.type != SWAMP__JSON_OBJECT)
        return SWAMP_E_PROTOCOL;
    swamp__fields_read(frame, envelope_fields, COUNT(envelope_fields), &envelope);
    if (!envelope.type[0])
        return SWAMP_E_PROTOCOL;
    out->type = type_of(envelope.type);
    if (envelope.id.type == SWAMP__JSON_STRING &&
        swamp__json_copy(envelope.id, out->id, sizeof(out->id)) != SWAMP_OK)
        out->id[0] = 0;
    if (out->type == SWAMP__ANS_EVENT)
        return read_event(envelope.event, out);
    return read_body(frame, &envelope, out);
}
