/* Fuzzes the resume machine: a script of frames, timers, lost links and a slow application, and the rules of its
 * outputs. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../wire/session_script.h"
#include "fuzz.h"

/* a: attach; m TEXT: a message, $ is the id of the last request; w MS; c: the dial succeeds; l, u, t MS: the link
 * is lost, refused, busy; b: bytes came; x: cancel; r0, r1: no room, room. */

/* What holds whatever a server says. */
typedef struct told {
    uint64_t seq; /* the place of the last event */
    int ended;
} told;

static void
check_told(told *so_far, const swamp_event *event)
{
    int type = swamp_event_type(event);
    MUST(!so_far->ended);
    MUST(type > 0 && type <= SWAMP_EVENT_ERROR);
    if (type == SWAMP_EVENT_RUN && swamp_event_seq(event) > 0) {
        MUST(swamp_event_seq(event) ==
             so_far->seq + 1); /* in order, none twice, none missing without a gap */
        so_far->seq = swamp_event_seq(event);
    }
    if (type == SWAMP_EVENT_GAP && strcmp(swamp_event_reason(event), "epoch") == 0)
        so_far->seq = 0; /* all numbers begin again */
    else if (type == SWAMP_EVENT_GAP) {
        MUST(swamp_event_from_seq(event) == so_far->seq + 1);
        so_far->seq = swamp_event_to_seq(event) ? swamp_event_to_seq(event) : event->cursor_seq;
    }
    MUST(event->cursor_seq == so_far->seq);
    so_far->ended = type == SWAMP_EVENT_DONE || type == SWAMP_EVENT_ERROR;
}

static void
take_outputs(scripted *script, told *so_far)
{
    MUST(script->dials_while_linked == 0);
    for (script_out *out; (out = script_take(script, 0)); script_out_free(out))
        if (out->what == OUT_TOLD)
            check_told(so_far, out->event);
}

static void
lose(scripted *script, int how, int64_t retry_after_ms)
{
    if (!script->link)
        return;
    script->link = 0;
    script->paused = 0;
    swamp__session_link_lost(script->session, how, retry_after_ms, "reset");
}

static void
step(scripted *script, int what, const swamp__buf *argument)
{
    switch (what) {
    case 'm':
        if (script->link == 2 && !script->paused)
            swamp__session_message(script->session, argument->data, argument->len);
        break;
    case 'w':
        fake_world_advance(script->world, fuzz_number(argument, 400000));
        break;
    case 'c':
        if (script->link == 1) {
            script->link = 2;
            swamp__session_connected(script->session);
        }
        break;
    case 'l':
        lose(script, SWAMP__LINK_LOST, 0);
        break;
    case 'u':
        lose(script, SWAMP__LINK_UNAUTHORIZED, 0);
        break;
    case 't':
        lose(script, SWAMP__LINK_TRY_LATER, fuzz_number(argument, 100000));
        break;
    case 'b':
        if (script->link == 2)
            swamp__session_alive(script->session);
        break;
    case 'x':
        swamp__session_cancel(script->session, argument->data);
        break;
    case 'r':
        swamp__session_room(script->session, fuzz_number(argument, 1) != 0);
        break;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_script lines = {(const char *)data, (const char *)data + size};
    swamp__session_options options;
    scripted script;
    told so_far = {0};
    swamp__buf argument;
    unsigned steps = 0;
    swamp__buf_init(&argument);
    script_default_options(&options);
    if (size > 0 && data[0] == 'a') {
        options.run_id = "R1";
        options.epoch = "E1";
        so_far.seq = options.after_seq = 2;
    } else {
        options.start_type = "workflow.run";
        options.start_payload = "{\"workflowIdOrName\":\"deploy\"}";
    }
    script_open(&script, &options);
    swamp__session_begin(script.session);
    for (int what; steps < 200 && (what = fuzz_script_next(&lines, script.id, &argument)); steps++) {
        step(&script, what, &argument);
        take_outputs(&script, &so_far);
    }
    script_close(&script);
    swamp__buf_free(&argument);
    return 0;
}
