/* Requests (PROTOCOL 2): one table says what each type's payload must hold, one walk checks it. */
#include "request.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "fields.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* What a payload member must be, and where it goes. */
enum form {
    FORM_ID,     /* string of 1 to 256 characters */
    FORM_NAME,   /* string, not empty, up to the place's size */
    FORM_STRING, /* string; checked only */
    FORM_QUERY,  /* string; kept as it is written */
    FORM_EPOCH,  /* string; one that cannot be ours is kept as "", which matches nothing either */
    FORM_REASON, /* string; cut */
    FORM_HINT,   /* kept if it is a string that fits, else as good as absent: tracing never fails a run */
    FORM_SEQ,    /* 0 .. 2^53-1 */
    FORM_ROWS,   /* 1 or more; more than the limit is the limit */
    FORM_FLAG,   /* true or false */
    FORM_OBJECT, /* checked only: passed on as bytes */
    FORM_TAGS    /* object of strings; checked only */
};

struct member {
    const char *name;
    enum form form;
    int needed;
    size_t offset, cap;
    const char *refusal;
};

#define PLACE(member) offsetof(swamp__request, member), sizeof(((swamp__request *)0)->member)
#define NOWHERE 0, 0

/* verbose, lastEvaluated, tracestate and the skip... and report... lists are the executor's to judge. */
static const struct member workflow_run[] = {
    {"workflowIdOrName", FORM_NAME, 1, PLACE(name), "payload.workflowIdOrName must be a name or an id"},
    {"inputs", FORM_OBJECT, 0, NOWHERE, "payload.inputs must be an object"},
    {"runtimeTags", FORM_TAGS, 0, NOWHERE, "payload.runtimeTags must be an object of strings"},
    {"traceparent", FORM_HINT, 0, PLACE(traceparent), NULL},
};
static const struct member method_run[] = {
    {"modelIdOrName", FORM_NAME, 1, PLACE(name), "payload.modelIdOrName must be a name or an id"},
    {"methodName", FORM_STRING, 1, NOWHERE, "payload.methodName must be a string"},
    {"inputs", FORM_OBJECT, 0, NOWHERE, "payload.inputs must be an object"},
    {"runtimeTags", FORM_TAGS, 0, NOWHERE, "payload.runtimeTags must be an object of strings"},
    {"traceparent", FORM_HINT, 0, PLACE(traceparent), NULL},
};
static const struct member attach[] = {
    {"runId", FORM_ID, 1, PLACE(run_id), "payload.runId must be a run id"},
    {"afterSeq", FORM_SEQ, 0, PLACE(after_seq),
     "payload.afterSeq must be a whole number, written in digits only"},
    {"epoch", FORM_EPOCH, 0, PLACE(epoch), "payload.epoch must be a string"},
};
static const struct member run_cancel[] = {
    {"runId", FORM_ID, 1, PLACE(run_id), "payload.runId must be a run id"},
    {"reason", FORM_REASON, 0, PLACE(reason), "payload.reason must be a string"},
};
static const struct member history_get[] = {
    {"workflowIdOrName", FORM_NAME, 1, PLACE(name), "payload.workflowIdOrName must be a name or an id"},
};
static const struct member search[] = {
    {"query", FORM_QUERY, 0, PLACE(query), "payload.query must be a string"},
};
static const struct member run_history[] = {
    {"active", FORM_FLAG, 0, PLACE(only_active), "payload.active must be true or false"},
    {"all", FORM_FLAG, 0, PLACE(all), "payload.all must be true or false"},
    {"limit", FORM_ROWS, 0, PLACE(limit), "payload.limit must be a whole number above zero"},
    {"workflow", FORM_NAME, 0, PLACE(workflow), "payload.workflow must be a name"},
};

#define MEMBERS_MAX 5

/* A type without members does not look at its payload at all: old clients may send anything there. */
static const struct request_type {
    const char *text;
    int type;
    const struct member *members;
    size_t count;
} types[] = {
    {"workflow.run", SWAMP__REQ_WORKFLOW_RUN, workflow_run, COUNT(workflow_run)},
    {"model.method.run", SWAMP__REQ_METHOD_RUN, method_run, COUNT(method_run)},
    {"run.attach", SWAMP__REQ_ATTACH, attach, COUNT(attach)},
    {"cancel", SWAMP__REQ_CANCEL, NULL, 0},
    {"run.cancel", SWAMP__REQ_RUN_CANCEL, run_cancel, COUNT(run_cancel)},
    {"workflow.history.get", SWAMP__REQ_HISTORY_GET, history_get, COUNT(history_get)},
    {"workflow.search", SWAMP__REQ_SEARCH, search, COUNT(search)},
    {"run.history", SWAMP__REQ_RUN_HISTORY, run_history, COUNT(run_history)},
    {"cluster.instances", SWAMP__REQ_INSTANCES, NULL, 0},
    {"server.version", SWAMP__REQ_VERSION, NULL, 0},
};

static int
is_object_of_strings(swamp__json value)
{
    swamp__json_iter iter;
    swamp__json key, tag;

    if (value.type != SWAMP__JSON_OBJECT)
        return 0;
    swamp__json_enter(value, &iter);
    while (swamp__json_next_member(&iter, &key, &tag))
        if (tag.type != SWAMP__JSON_STRING)
            return 0;
    return 1;
}

static int
read_rows(swamp__json value, uint32_t *out)
{
    uint64_t rows;
    if (value.type != SWAMP__JSON_NUMBER || swamp__json_u53(value, &rows) != SWAMP_OK || rows == 0)
        return 0;
    *out = rows > SWAMP__HISTORY_LIMIT_MAX ? SWAMP__HISTORY_LIMIT_MAX : (uint32_t)rows;
    return 1;
}

static int
read_flag(swamp__json value, int *out)
{
    *out = value.type == SWAMP__JSON_TRUE;
    return value.type == SWAMP__JSON_TRUE || value.type == SWAMP__JSON_FALSE;
}

/* A string of the right size, copied: 1; else 0. */
static int
read_string(swamp__json value, enum form form, char *place, size_t cap)
{
    if (value.type != SWAMP__JSON_STRING)
        return 0;
    switch (form) {
    case FORM_ID:
        return swamp__json_characters(value) <= SWAMP__ID_MAX &&
               swamp__json_copy(value, place, cap) == SWAMP_OK && place[0];
    case FORM_NAME:
        return swamp__json_copy(value, place, cap) == SWAMP_OK && place[0];
    case FORM_EPOCH:
        /* PROTOCOL 3: any other epoch, also an empty one, is a mismatch and not a bad request. */
        if (swamp__json_copy(value, place, cap) != SWAMP_OK)
            place[0] = 0;
        return 1;
    case FORM_REASON:
        swamp__fields_cut(value, place, cap);
        return 1;
    default:
        return 1;
    }
}

/* 1: the value fits the table and is in its place; 0: refused. */
static int
take_member(const struct member *member, swamp__json value, swamp__request *out)
{
    char *place = (char *)out + member->offset;

    switch (member->form) {
    case FORM_SEQ:
        return value.type == SWAMP__JSON_NUMBER && swamp__json_u53(value, &out->after_seq) == SWAMP_OK;
    case FORM_ROWS:
        return read_rows(value, &out->limit);
    case FORM_FLAG:
        return read_flag(value, (int *)(void *)place);
    case FORM_OBJECT:
        return value.type == SWAMP__JSON_OBJECT;
    case FORM_TAGS:
        return is_object_of_strings(value);
    case FORM_HINT:
        if (swamp__json_copy(value, place, member->cap) != SWAMP_OK)
            place[0] = 0;
        return 1;
    case FORM_QUERY:
        out->query = value;
        return value.type == SWAMP__JSON_STRING;
    case FORM_EPOCH:
        out->has_epoch = 1;
        return read_string(value, member->form, place, member->cap);
    default:
        return read_string(value, member->form, place, member->cap);
    }
}

/* Returns what is wrong, or NULL. One walk, whatever the payload's size. */
static const char *
read_payload(const struct request_type *type, swamp__request *out)
{
    unsigned char seen[MEMBERS_MAX] = {0};
    swamp__json_iter iter;
    swamp__json key, value;

    assert(type->count <= MEMBERS_MAX);
    if (type->count == 0)
        return NULL;
    if (out->payload.type != 0 && out->payload.type != SWAMP__JSON_OBJECT)
        return "payload must be an object";
    if (out->payload.type == SWAMP__JSON_OBJECT) {
        swamp__json_enter(out->payload, &iter);
        while (swamp__json_next_member(&iter, &key, &value)) {
            for (size_t i = 0; i < type->count; i++) {
                if (seen[i] || !swamp__json_equals(key, type->members[i].name))
                    continue;
                seen[i] = 1;
                if (!take_member(&type->members[i], value, out))
                    return type->members[i].refusal;
                break;
            }
        }
    }
    for (size_t i = 0; i < type->count; i++)
        if (type->members[i].needed && !seen[i])
            return type->members[i].refusal;
    return NULL;
}

/* Finds id, type and payload; sets the id to answer under. Returns what is wrong with the id, or NULL. */
static const char *
read_envelope(swamp__json message, swamp__request *out, swamp__json *type)
{
    swamp__json_iter iter;
    swamp__json key, value;

    swamp__json_enter(message, &iter);
    while (swamp__json_next_member(&iter, &key, &value)) {
        if (swamp__json_equals(key, "type"))
            *type = value;
        else if (swamp__json_equals(key, "id"))
            out->id_json = value;
        else if (swamp__json_equals(key, "payload"))
            out->payload = value;
    }
    if (out->id_json.type != SWAMP__JSON_STRING) {
        out->id_json.type = 0;
        return "id must be a string";
    }
    /* Also an id against the rules is answered under itself; one that cannot be held here only as it is written. */
    if (swamp__json_copy(out->id_json, out->id, sizeof(out->id)) != SWAMP_OK) {
        strcpy(out->id, "unknown");
        return "id is too long, or holds what an id may not hold";
    }
    if (!out->id[0])
        return "id must not be empty";
    if (swamp__json_characters(out->id_json) > SWAMP__ID_MAX)
        return "id is too long";
    return NULL;
}

static const struct request_type *
find_type(swamp__json text)
{
    if (text.type != SWAMP__JSON_STRING)
        return NULL;
    for (size_t i = 0; i < COUNT(types); i++)
        if (swamp__json_equals(text, types[i].text))
            return &types[i];
    return NULL;
}

static int
refuse(const char *why, const char **message)
{
    *message = why;
    return SWAMP_E_INVALID;
}

int
swamp__request_read(const char *text, size_t len, swamp__request *out, const char **message)
{
    swamp__json root = {0}, type_text = {0};

    memset(out, 0, sizeof(*out));
    strcpy(out->id, "unknown");
    out->limit = SWAMP__HISTORY_LIMIT;

    int rc = swamp__json_check(text, len, SWAMP__JSON_STRICT, &root);
    if (rc == SWAMP_E_NOMEM)
        return rc;
    if (rc != SWAMP_OK && rc != SWAMP_E_RULES)
        return refuse("the message is not JSON", message);
    /* Two readers must never see two messages in one text: which of two ids is meant nobody can say. */
    if (root.type == 0)
        return refuse("the message has a key twice", message);
    if (root.type != SWAMP__JSON_OBJECT)
        return refuse("the message must be a JSON object", message);

    const char *wrong = read_envelope(root, out, &type_text);
    if (wrong)
        return refuse(wrong, message);
    if (rc == SWAMP_E_RULES)
        return refuse("the message is nested too deeply, has a key twice, or holds a character or number "
                      "that is not allowed",
                      message);

    const struct request_type *type = find_type(type_text);
    if (!type)
        return refuse(type_text.type == SWAMP__JSON_STRING ? "this type of request is not known"
                                                           : "type must be a string",
                      message);
    out->type = type->type;
    out->type_text = type->text;
    wrong = read_payload(type, out);
    return wrong ? refuse(wrong, message) : SWAMP_OK;
}

void
swamp__request_put_refusal(swamp__buf *out, const swamp__request *request, const char *message)
{
    swamp__buf_text(out, "{\"type\":\"error\",\"id\":");
    if (request->id_json.type == SWAMP__JSON_STRING)
        swamp__buf_append(out, request->id_json.at, request->id_json.len);
    else
        swamp__json_put_string(out, "unknown");
    swamp__buf_text(out, ",\"error\":{\"code\":\"invalid_request\",\"message\":");
    swamp__json_put_string(out, message);
    swamp__buf_text(out, "}}");
}

static void
open_message(swamp__buf *out, const char *type, const char *id)
{
    swamp__buf_text(out, "{");
    swamp__json_put_member(out, "type", type);
    swamp__json_put_member(out, "id", id);
}

void
swamp__request_put(swamp__buf *out, const char *type, const char *id, const char *payload, size_t payload_len)
{
    open_message(out, type, id);
    if (payload)
        swamp__json_put_member_raw(out, "payload", payload, payload_len);
    swamp__buf_text(out, "}");
}

void
swamp__request_put_attach(swamp__buf *out, const char *id, const char *run_id, const char *epoch,
                          uint64_t after_seq)
{
    open_message(out, "run.attach", id);
    swamp__buf_text(out, ",\"payload\":{");
    swamp__json_put_member(out, "runId", run_id);
    swamp__json_put_member_i64(out, "afterSeq", (int64_t)after_seq);
    /* Empty means not known here; sent, it would be an epoch that never matches. */
    if (epoch && epoch[0])
        swamp__json_put_member(out, "epoch", epoch);
    swamp__buf_text(out, "}}");
}

void
swamp__request_put_run_cancel(swamp__buf *out, const char *id, const char *run_id, const char *reason)
{
    open_message(out, "run.cancel", id);
    swamp__buf_text(out, ",\"payload\":{");
    swamp__json_put_member(out, "runId", run_id);
    if (reason && reason[0])
        swamp__json_put_member(out, "reason", reason);
    swamp__buf_text(out, "}}");
}

void
swamp__request_put_history_get(swamp__buf *out, const char *id, const char *run_id)
{
    open_message(out, "workflow.history.get", id);
    swamp__buf_text(out, ",\"payload\":{");
    swamp__json_put_member(out, "workflowIdOrName", run_id);
    swamp__buf_text(out, "}}");
}
