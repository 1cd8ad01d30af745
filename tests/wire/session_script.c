/* The world around one resume machine: every output is kept in order, time passes only when the script says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include <check.h>
#include <swamp/status.h>
#include "session_script.h"

static script_out *
push(scripted *script, int what, const char *text, size_t len)
{
    script_out *out = calloc(1, sizeof *out);
    out->what = what;
    out->text = text ? strndup(text, len) : NULL;
    *script->end = out;
    script->end = &out->next;
    return out;
}

static int
io_dial(void *self, const char *url)
{
    scripted *script = self;
    if (script->link)
        script->dials_while_linked++;
    script->link = 1;
    push(script, OUT_DIAL, url, strlen(url));
    return SWAMP_OK;
}

static void
io_send(void *self, const char *text, size_t len)
{
    scripted *script = self;
    ck_assert_msg(script->link == 2, "sent without a link: %.*s", (int)len, text);
    cJSON *frame = cJSON_ParseWithLength(text, len);
    ck_assert_msg(frame != NULL, "sent what is not JSON: %.*s", (int)len, text);
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, "type"));
    const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, "id"));
    if (strcmp(type, "run.cancel") == 0)
        snprintf(script->cancel_id, sizeof script->cancel_id, "%s", id);
    else if (strcmp(type, "cancel") != 0)
        snprintf(script->id, sizeof script->id, "%s", id);
    cJSON_Delete(frame);
    push(script, OUT_SENT, text, len);
}

static void
io_ping(void *self)
{
    push(self, OUT_PING, NULL, 0);
}

static void
io_hang_up(void *self)
{
    scripted *script = self;
    ck_assert_msg(script->link != 0, "hung up without a link");
    script->link = 0;
    script->paused = 0;
}

static void
io_pause(void *self, int paused)
{
    scripted *script = self;
    ck_assert_int_eq(script->link, 2);
    script->paused = paused;
}

static void
io_deliver(void *self, swamp_event *event)
{
    push(self, OUT_TOLD, NULL, 0)->event = event;
}

void
script_default_options(swamp__session_options *options)
{
    *options = (swamp__session_options){.url = "ws://balancer:9090",
                                        .max_dials = 5,
                                        .retry_min_ms = 1000,
                                        .retry_first_ms = 2000,
                                        .retry_max_ms = 15000,
                                        .settle_ms = 10000,
                                        .max_elsewhere = 10,
                                        .elsewhere_give_up_ms = 90000,
                                        .elsewhere_min_ms = 1000,
                                        .elsewhere_max_ms = 2000,
                                        .dial_address_after = 3,
                                        .history_poll_min_ms = 1000,
                                        .history_poll_max_ms = 2000,
                                        .history_give_up_ms = 60000,
                                        .max_not_found = 5,
                                        .give_up_ms = 300000,
                                        .connect_timeout_ms = 10000,
                                        .idle_timeout_ms = 30000,
                                        .answer_timeout_ms = 120000,
                                        .request_timeout_ms = 30000};
}

void
script_open(scripted *script, const swamp__session_options *options)
{
    swamp__session_io io = {io_dial, io_send, io_ping, io_hang_up, io_pause, io_deliver, script};
    memset(script, 0, sizeof *script);
    script->end = &script->outs;
    script->world = fake_world_new(1);
    script->node = fake_node_new(script->world);
    ck_assert_int_eq(swamp__session_new(&script->session, options, &script->node->world, &io), 0);
}

void
script_out_free(script_out *out)
{
    if (!out)
        return;
    free(out->text);
    swamp_event_free(out->event);
    free(out);
}

void
script_close(scripted *script)
{
    swamp__session_free(script->session);
    ck_assert_msg(script->link == 0, "a freed session left its link open");
    while (script->outs) {
        script_out *out = script->outs;
        script->outs = out->next;
        script_out_free(out);
    }
    fake_world_free(script->world);
}

static int
has_output(void *user)
{
    return ((scripted *)user)->outs != NULL;
}

script_out *
script_take(scripted *script, int64_t max_ms)
{
    fake_world_until(script->world, max_ms, has_output, script);
    script_out *out = script->outs;
    if (!out)
        return NULL;
    script->outs = out->next;
    if (!script->outs)
        script->end = &script->outs;
    return out;
}

const char *
script_out_name(const script_out *out, char *buf, size_t cap)
{
    static const char *names[] = {
        [OUT_DIAL] = "dial", [OUT_SENT] = "sent", [OUT_PING] = "ping", [OUT_TOLD] = "told"};
    if (!out)
        snprintf(buf, cap, "nothing");
    else if (out->what != OUT_TOLD)
        snprintf(buf, cap, "%s %s", names[out->what], out->text ? out->text : "");
    else
        snprintf(
            buf, cap, "told type %d seq %llu gap %llu..%llu reason '%s' code '%s' status '%s' message '%s'",
            swamp_event_type(out->event), (unsigned long long)swamp_event_seq(out->event),
            (unsigned long long)swamp_event_from_seq(out->event),
            (unsigned long long)swamp_event_to_seq(out->event), swamp_event_reason(out->event),
            swamp_event_code(out->event), swamp_event_status(out->event), swamp_event_message(out->event));
    return buf;
}
