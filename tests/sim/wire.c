/* What an instance says on one connection, held against PROTOCOL 3: a session hides what it can put right itself. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/answer.h"
#include "../../libswamp/wire/document.h"
#include "../../libswamp/wire/request.h"
#include "sim.h"

/* The stream of a request id; one that is not known begins at 0, as a start's does. */
static sim_stream *
find_stream(sim_wire *wire, const char *id)
{
    for (size_t i = 0; i < SIM_STREAMS_MAX; i++)
        if (strcmp(wire->streams[i].id, id) == 0)
            return &wire->streams[i];
    sim_stream *stream = &wire->streams[wire->next++ % SIM_STREAMS_MAX];
    *stream = (sim_stream){0};
    snprintf(stream->id, sizeof stream->id, "%.63s", id);
    return stream;
}

void
sim_wire_asked(sim_wire *wire, const char *text, size_t len)
{
    static swamp__request request; /* large */
    const char *message;
    if (swamp__request_read(text, len, &request, &message) != SWAMP_OK || request.type != SWAMP__REQ_ATTACH)
        return;
    sim_stream *stream = find_stream(wire, request.id);
    stream->last = request.after_seq;
    snprintf(stream->run_id, sizeof stream->run_id, "%.63s", request.run_id);
}

/* A run that goes on is nowhere said not to be there, whatever the store does at that moment. */
static void
check_not_found(cluster *sim, const char *name, const sim_stream *stream)
{
    char status[16], reason[32];
    if (sim_run_find(sim, stream->run_id) && sim_recorded(sim, stream->run_id, status, reason) &&
        !swamp__run_status_is_final(status))
        sim_fail(sim, "terminal: %s: said that %.13s is not there, recorded as '%s'", name, stream->run_id,
                 status);
}

/* Only the last event of a run carries the RUN. */
static int
is_last_event(const char *text, size_t len)
{
    return memmem(text, len, "\"run\":{", 7) != NULL;
}

void
sim_wire_said(sim_wire *wire, sim_instance *instance, const char *name, const char *text, size_t len)
{
    static swamp__answer answer; /* large */
    cluster *sim = instance->of;
    if (swamp__answer_read(text, len, &answer) != SWAMP_OK) {
        sim_fail(sim, "sim: %s: sent what no client can read: %.*s", name, (int)(len < 200 ? len : 200),
                 text);
        return;
    }
    sim_stream *stream = find_stream(wire, answer.id);
    if (answer.type == SWAMP__ANS_EVENT && answer.seq != stream->last + 1)
        sim_fail(sim, "ordered: %s: event %llu was sent after %llu", name, (unsigned long long)answer.seq,
                 (unsigned long long)stream->last);
    else if (answer.type == SWAMP__ANS_GAP && (uint64_t)answer.from_seq != stream->last + 1)
        sim_fail(sim, "reliable: %s: a gap from %lld was sent after %llu", name, (long long)answer.from_seq,
                 (unsigned long long)stream->last);
    if (stream->ended && (answer.type == SWAMP__ANS_EVENT || answer.type == SWAMP__ANS_DONE))
        sim_fail(sim, "terminal: %s: the stream goes on after its end", name);
    if (answer.type == SWAMP__ANS_ERROR && strcmp(answer.code, "not_found") == 0)
        check_not_found(sim, name, stream);
    if (answer.type == SWAMP__ANS_EVENT)
        stream->last = answer.seq;
    else if (answer.type == SWAMP__ANS_GAP)
        stream->last = (uint64_t)answer.to_seq;
    stream->ended |= answer.type == SWAMP__ANS_DONE || answer.type == SWAMP__ANS_INTERRUPTED;
    if (answer.type == SWAMP__ANS_ACCEPTED)
        sim_step(instance, SIM_STEP_ACCEPTED);
    else if (answer.type == SWAMP__ANS_EVENT && is_last_event(text, len))
        sim_step(instance, SIM_STEP_LAST_EVENT);
    else if (answer.type == SWAMP__ANS_DONE)
        sim_step(instance, SIM_STEP_DONE);
}
