/* The public event: an owned, immutable record; getters turn what is absent into "" or 0. */
#include "event.h"

#include <swamp/status.h>
#include "../util/alloc.h"

static const char *
text_or_empty(const char *text)
{
    return text ? text : "";
}

swamp_event *
swamp__event_new(int type)
{
    swamp_event *event = swamp__calloc(1, sizeof *event);
    if (event)
        event->type = type;
    return event;
}

int
swamp__event_set(char **member, const char *text)
{
    char *copy = NULL;
    if (text && text[0]) {
        copy = swamp__strdup(text);
        if (!copy)
            return SWAMP_E_NOMEM;
    }
    swamp__free(*member);
    *member = copy;
    return SWAMP_OK;
}

void
swamp_event_free(swamp_event *event)
{
    if (!event)
        return;
    char *owned[] = {event->json,   event->kind,   event->run_id, event->instance_id, event->address,
                     event->reason, event->status, event->code,   event->message,     event->epoch};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        swamp__free(owned[i]);
    swamp__free(event);
}

int
swamp_event_type(const swamp_event *event)
{
    return event ? event->type : 0;
}

const char *
swamp_event_json(const swamp_event *event, size_t *len)
{
    if (len)
        *len = event ? event->json_len : 0;
    return event ? event->json : NULL;
}

const char *
swamp_event_kind(const swamp_event *event)
{
    if (!event || event->type != SWAMP_EVENT_RUN)
        return NULL;
    return text_or_empty(event->kind);
}

const char *
swamp_event_run_id(const swamp_event *event)
{
    return event ? text_or_empty(event->run_id) : "";
}

const char *
swamp_event_instance_id(const swamp_event *event)
{
    return event ? text_or_empty(event->instance_id) : "";
}

const char *
swamp_event_address(const swamp_event *event)
{
    return event ? text_or_empty(event->address) : "";
}

const char *
swamp_event_reason(const swamp_event *event)
{
    return event ? text_or_empty(event->reason) : "";
}

const char *
swamp_event_status(const swamp_event *event)
{
    return event ? text_or_empty(event->status) : "";
}

const char *
swamp_event_code(const swamp_event *event)
{
    return event ? text_or_empty(event->code) : "";
}

const char *
swamp_event_message(const swamp_event *event)
{
    return event ? text_or_empty(event->message) : "";
}

int
swamp_event_error(const swamp_event *event)
{
    return event ? event->error : SWAMP_OK;
}

uint64_t
swamp_event_seq(const swamp_event *event)
{
    return event ? event->seq : 0;
}

uint64_t
swamp_event_from_seq(const swamp_event *event)
{
    return event ? event->from_seq : 0;
}

uint64_t
swamp_event_to_seq(const swamp_event *event)
{
    return event ? event->to_seq : 0;
}

uint32_t
swamp_event_retry_after_ms(const swamp_event *event)
{
    return event ? event->retry_after_ms : 0;
}

uint32_t
swamp_event_attempt(const swamp_event *event)
{
    return event ? event->attempt : 0;
}

int
swamp_event_success(const swamp_event *event)
{
    return event ? event->success : 0;
}
