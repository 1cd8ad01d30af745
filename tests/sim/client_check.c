/* What a client is told, held against the truth at the moment at which its application gets it. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/document.h"
#include "../../libswamp/wire/json.h"
#include "client.h"

/*
 * The last event of a run whose instance stopped before its host had ended it (PROTOCOL 4), or had it at all, is
 * the library's own.
 */
static int
is_of_the_library(const sim_client *client, swamp__json json)
{
    swamp__json recorded, of;
    char kind[16], reason[32], instance_id[64];
    if (swamp__json_find(json, "of", &of) || !swamp__json_find(json, "run", &recorded) ||
        swamp__json_member_text(json, "kind", kind, sizeof kind) != SWAMP_OK ||
        swamp__json_member_text(recorded, "interruptReason", reason, sizeof reason) != SWAMP_OK ||
        swamp__json_member_text(recorded, "instanceId", instance_id, sizeof instance_id) != SWAMP_OK)
        return 0;
    const sim_instance *owner = sim_instance_find(client->of, instance_id);
    return owner && owner->disturbed && strcmp(kind, "cancelled") == 0 &&
           strcmp(reason, "instance_shutdown") == 0;
}

/* The bytes that the host gave, numbered: which is what nearly every event is. */
static int
is_as_emitted(const sim_client *client, uint64_t seq, const char *text, size_t len)
{
    char expected[300];
    int wrote = snprintf(expected, sizeof expected,
                         "{\"kind\":\"method_output\",\"n\":%llu,\"of\":\"%s\",\"seq\":%llu}",
                         (unsigned long long)seq, client->run_id, (unsigned long long)seq);
    return (size_t)wrote == len && memcmp(expected, text, len) == 0;
}

static void
check_event(sim_client *client, const swamp_event *event)
{
    cluster *sim = client->of;
    uint64_t seq = swamp_event_seq(event);
    size_t len;
    const char *text = swamp_event_json(event, &len);
    swamp__json json;
    int64_t number = 0;
    char of[64] = "";
    if (seq <= client->seen)
        sim_fail(sim, "unique: %s: event %llu again, after %llu", client->name, (unsigned long long)seq,
                 (unsigned long long)client->seen);
    else if (seq != client->seen + 1)
        sim_fail(sim, "reliable: %s: event %llu after %llu, and no gap was told", client->name,
                 (unsigned long long)seq, (unsigned long long)client->seen);
    client->seen = seq;
    if (is_as_emitted(client, seq, text, len))
        return;
    if (swamp__json_check(text, len, SWAMP__JSON_STRICT, &json) != SWAMP_OK) {
        sim_fail(sim, "sim: %s: an event that cannot be read: %s", client->name, text);
        return;
    }
    if (is_of_the_library(client, json))
        return;
    if (swamp__json_member_i64(json, "n", &number) != SWAMP_OK ||
        swamp__json_member_text(json, "of", of, sizeof of) != SWAMP_OK)
        sim_fail(sim, "reliable: %s: an event that no host sent: %s", client->name, text);
    else if ((uint64_t)number != seq || strcmp(of, client->run_id) != 0)
        sim_fail(sim, "reliable: %s: event %llu of %s came as %llu of %s", client->name,
                 (unsigned long long)number, of, (unsigned long long)seq, client->run_id);
}

/* What the run's living instance still has is never reported as missing. */
static void
check_reason_of_gap(sim_client *client, const swamp_event *event)
{
    cluster *sim = client->of;
    const sim_run *run = sim_run_find(sim, client->run_id);
    int kept_all = sim->log_events > 1000 && sim->all_logs_bytes > 1000000;
    if (strcmp(swamp_event_reason(event), "evicted") == 0 && kept_all)
        sim_fail(sim, "reliable: %s: told that events were evicted, which never happened", client->name);
    if (strcmp(swamp_event_reason(event), "lost") == 0 && swamp_event_to_seq(event) && run &&
        !run->owner->disturbed)
        sim_fail(sim, "reliable: %s: told that events %llu..%llu are lost, though their instance lives",
                 client->name, (unsigned long long)swamp_event_from_seq(event),
                 (unsigned long long)swamp_event_to_seq(event));
}

static void
check_gap(sim_client *client, const swamp_event *event)
{
    uint64_t from = swamp_event_from_seq(event), to = swamp_event_to_seq(event);
    if (strcmp(swamp_event_reason(event), "epoch") == 0) {
        sim_fail(client->of, "resumable: %s: another epoch, though no run ever moves", client->name);
        return;
    }
    if (from != client->seen + 1 || (to && to < from))
        sim_fail(client->of, "reliable: %s: gap %llu..%llu after %llu", client->name,
                 (unsigned long long)from, (unsigned long long)to, (unsigned long long)client->seen);
    check_reason_of_gap(client, event);
    if (to)
        client->seen = to;
    else
        client->open_end = 1;
}

/* Truth is written before it is told: a client's DONE is in the store already. */
static void
check_done(sim_client *client, const swamp_event *event)
{
    cluster *sim = client->of;
    char status[16], reason[32];
    const sim_run *truth = sim_run_find(sim, client->run_id);
    snprintf(client->status, sizeof client->status, "%s", swamp_event_status(event));
    client->success = swamp_event_success(event);
    if (!sim_recorded(sim, client->run_id, status, reason) || !swamp__run_status_is_final(status))
        sim_fail(sim, "terminal: %s: told the end of %.13s, which the store does not know", client->name,
                 client->run_id);
    else if (strcmp(status, client->status) != 0)
        sim_fail(sim, "terminal: %s: told '%s', recorded '%s'", client->name, client->status, status);
    else if (strcmp(reason, swamp_event_reason(event)) != 0)
        sim_fail(sim, "terminal: %s: told reason '%s', recorded '%s'", client->name,
                 swamp_event_reason(event), reason);
    if (client->success != (strcmp(client->status, "succeeded") == 0))
        sim_fail(sim, "terminal: %s: success %d for '%s'", client->name, client->success, client->status);
    if (truth && client->success && !client->open_end && client->seen != truth->emitted + 1)
        sim_fail(sim, "reliable: %s: success after %llu of %llu events", client->name,
                 (unsigned long long)client->seen, (unsigned long long)truth->emitted + 1);
}

static void
check_error(sim_client *client, const swamp_event *event)
{
    char status[16], reason[32];
    snprintf(client->code, sizeof client->code, "%s", swamp_event_code(event));
    if (strcmp(client->code, "not_found") == 0 && sim_recorded(client->of, client->run_id, status, reason))
        sim_fail(client->of, "terminal: %s: told that %.13s is not there, recorded as '%s'", client->name,
                 client->run_id, status);
}

void
sim_client_check_told(sim_client *client, const swamp_event *event)
{
    switch (swamp_event_type(event)) {
    case SWAMP_EVENT_RUN:
        check_event(client, event);
        break;
    case SWAMP_EVENT_GAP:
        check_gap(client, event);
        break;
    case SWAMP_EVENT_DONE:
        check_done(client, event);
        break;
    case SWAMP_EVENT_ERROR:
        check_error(client, event);
        break;
    case SWAMP_EVENT_INTERRUPTED:
        if (strcmp(swamp_event_reason(event), "instance_dead") == 0)
            sim_check_death(client->of, client->name, swamp_event_instance_id(event));
        break;
    default:
        break;
    }
}

/*
 * Ends that are named errors, and when they are right. Where nothing but links went wrong, a client whose run
 * was accepted sees its end; one that was cut off before knows that it does not know.
 */
void
sim_client_check_end(sim_client *client)
{
    static const char *named[] = {"connection_lost", "gave_up",   "connect_failed", "unavailable", "draining",
                                  "not_recorded",    "not_found", "interrupted",    "cancelled"};
    cluster *sim = client->of;
    if (!client->ended) {
        sim_fail(sim, "live: %s: has not ended", client->name);
        return;
    }
    if (!client->error)
        return;
    size_t i = 0;
    while (i < sizeof named / sizeof named[0] && strcmp(named[i], client->code) != 0)
        i++;
    if (i == sizeof named / sizeof named[0])
        sim_fail(sim, "terminal: %s: ended with '%s'", client->name, client->code);
    if (sim->calm && sim_run_find(sim, client->run_id))
        sim_fail(sim, "terminal: %s: ended with '%s' though only links were cut", client->name, client->code);
}
