/* What a session tells beside the run's events, as lines on stderr: words for people, or JSON. */
#include <string.h>
#include "news.h"
#include "out.h"
#include "show.h"

static const struct {
    int type;
    const char *name; /* with --json: {"swamp":NAME,...} */
} names[] = {
    {SWAMP_EVENT_ACCEPTED, "accepted"},       {SWAMP_EVENT_GAP, "gap"},
    {SWAMP_EVENT_ATTACHED, "attached"},       {SWAMP_EVENT_RECONNECTING, "reconnecting"},
    {SWAMP_EVENT_ELSEWHERE, "elsewhere"},     {SWAMP_EVENT_DRAINING, "draining"},
    {SWAMP_EVENT_INTERRUPTED, "interrupted"}, {SWAMP_EVENT_DONE, "done"},
};

static void
add_member(text *out, const char *name, const char *words)
{
    if (!words || !words[0])
        return;
    text_addf(out, ",\"%s\":", name);
    text_add_json(out, words);
}

static void
add_number(text *out, const char *name, uint64_t number)
{
    if (number > 0)
        text_addf(out, ",\"%s\":%llu", name, (unsigned long long)number);
}

static void
tell_json(const swamp_event *event, const char *name)
{
    text line = {0};
    text_add(&line, "{\"swamp\":");
    text_add_json(&line, name);
    add_member(&line, "runId", swamp_event_run_id(event));
    add_member(&line, "status", swamp_event_status(event));
    add_member(&line, "reason", swamp_event_reason(event));
    add_member(&line, "instanceId", swamp_event_instance_id(event));
    add_member(&line, "address", swamp_event_address(event));
    add_member(&line, "message", swamp_event_message(event));
    add_number(&line, "attempt", swamp_event_attempt(event));
    add_number(&line, "retryAfterMs", swamp_event_retry_after_ms(event));
    add_number(&line, "fromSeq", swamp_event_from_seq(event));
    add_number(&line, "toSeq", swamp_event_to_seq(event));
    if (swamp_event_type(event) == SWAMP_EVENT_DONE)
        text_add(&line, swamp_event_success(event) ? ",\"success\":true" : ",\"success\":false");
    text_add(&line, "}");
    out_status_json(line.bytes);
    text_free(&line);
}

static void
tell_gap(const swamp_event *event)
{
    unsigned long long from = swamp_event_from_seq(event), to = swamp_event_to_seq(event);
    if (to == 0)
        out_status("events from %llu on are no longer available", from);
    else if (from == to)
        out_status("event %llu is no longer available", from);
    else
        out_status("events %llu to %llu are no longer available", from, to);
}

/* A server that answered has said why not now; of a lost connection there is only an error's text. */
static void
tell_reconnecting(const swamp_event *event)
{
    const char *message = swamp_event_message(event);
    if (strcmp(swamp_event_reason(event), "connection_lost") != 0 && message[0])
        out_status("[reconnecting...] the server says: %s", message);
    else
        out_status("[reconnecting...]");
    if (out_is_verbose())
        out_log(SWAMP_LOG_INFO, message, NULL);
}

/* PROTOCOL 7, what a person sees on a terminal: the words of the existing tool. */
static void
tell_words(const swamp_event *event)
{
    switch (swamp_event_type(event)) {
    case SWAMP_EVENT_ACCEPTED:
        out_status("[run %s]", swamp_event_run_id(event));
        break;
    case SWAMP_EVENT_GAP:
        tell_gap(event);
        break;
    case SWAMP_EVENT_RECONNECTING:
        tell_reconnecting(event);
        break;
    case SWAMP_EVENT_ELSEWHERE:
        out_status("[run is on another instance, retrying...]");
        break;
    case SWAMP_EVENT_DRAINING:
        out_status(swamp_event_run_id(event)[0] ? "[the run's instance is about to stop, following on...]"
                                                : "[the server is about to stop...]");
        break;
    case SWAMP_EVENT_INTERRUPTED:
        out_status("Run was interrupted (%s). Checking final status...",
                   show_interruption(swamp_event_reason(event)));
        break;
    default: /* ATTACHED shows in the events that follow, DONE in the last line */
        break;
    }
}

void
news_tell(const swamp_event *event)
{
    if (!out_is_json()) {
        tell_words(event);
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].type == swamp_event_type(event))
            tell_json(event, names[i].name);
}
