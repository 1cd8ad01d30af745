/* A client: a real session, an application that checks every event at once, and its process, which may be
 * started again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/json.h"
#include "../../libswamp/wire/document.h"
#include "sim.h"

#define RETRY_MIN_MS 1000

struct sim_client {
    cluster *of;
    char name[16];
    swamp__session *session;
    sim_link *link;
    swamp__timer room_timer, restart_timer; /* reads again; the new process begins */
    char run_id[64], epoch[300];
    uint64_t seen; /* all up to here was seen or reported as a gap */
    int open_end;  /* a gap up to the end was told */
    int ended, restarting;
    int unread;         /* the application reads slowly */
    int64_t dialled_ms; /* by this process; 0: not yet */
    char status[16], code[32];
    int success, error;
};

cluster *
sim_client_sim(const sim_client *client)
{
    return client->of;
}

const char *
sim_client_name(const sim_client *client)
{
    return client->name;
}

int
sim_client_has_ended(const sim_client *client)
{
    return client->ended;
}

/* What the session asks for. */

static void
io_dial(void *self, const char *url)
{
    sim_client *client = self;
    int64_t now_ms = client->of->world->now_ms;
    if (client->link)
        sim_fail(client->of, "%s: a dial beside a link", client->name);
    if (client->dialled_ms && now_ms - client->dialled_ms < RETRY_MIN_MS)
        sim_fail(client->of, "%s: two dials within %lld ms", client->name,
                 (long long)(now_ms - client->dialled_ms));
    client->dialled_ms = now_ms;
    client->link = sim_link_dial(client, url);
}

static void
io_send(void *self, const char *text, size_t len)
{
    sim_client *client = self;
    if (!client->link) {
        sim_fail(client->of, "%s: sent without a link", client->name);
        return;
    }
    sim_note(client->of, "%s: > %.*s", client->name, (int)(len < 150 ? len : 150), text);
    sim_link_send(client->link, text, len);
}

static void
io_ping(void *self)
{
    sim_client *client = self;
    if (client->link)
        sim_link_ping(client->link);
}

static void
io_hang_up(void *self)
{
    sim_client *client = self;
    if (client->link)
        sim_link_hang_up(client->link);
    client->link = NULL;
}

static void
io_pause(void *self, int paused)
{
    sim_client *client = self;
    if (client->link)
        sim_link_pause(client->link, paused);
}

/* The checks: every event at the moment at which the application gets it. */

/* The last event of a run whose instance stopped before its host had ended it (PROTOCOL 4) is the library's own. */
static int
is_of_the_library(const sim_client *client, swamp__json json)
{
    const sim_run *run = sim_run_find(client->of, client->run_id);
    swamp__json recorded, of;
    char kind[16], reason[32];
    return run && run->owner->disturbed && !swamp__json_find(json, "of", &of) &&
           swamp__json_find(json, "run", &recorded) &&
           swamp__json_member_text(json, "kind", kind, sizeof kind) == SWAMP_OK &&
           strcmp(kind, "cancelled") == 0 &&
           swamp__json_member_text(recorded, "interruptReason", reason, sizeof reason) == SWAMP_OK;
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
    if (seq != client->seen + 1)
        sim_fail(sim, "%s: event %llu after %llu", client->name, (unsigned long long)seq,
                 (unsigned long long)client->seen);
    client->seen = seq;
    if (swamp__json_check(text, len, SWAMP__JSON_STRICT, &json) == SWAMP_OK &&
        is_of_the_library(client, json))
        return;
    if (swamp__json_check(text, len, SWAMP__JSON_STRICT, &json) != SWAMP_OK ||
        swamp__json_member_i64(json, "n", &number) != SWAMP_OK ||
        swamp__json_member_text(json, "of", of, sizeof of) != SWAMP_OK)
        sim_fail(sim, "%s: an event that no host sent: %s", client->name, text);
    else if ((uint64_t)number != seq || strcmp(of, client->run_id) != 0)
        sim_fail(sim, "%s: event %llu of %s came as %llu of %s", client->name, (unsigned long long)number, of,
                 (unsigned long long)seq, client->run_id);
}

/* What the run's living instance still has is never reported as missing. */
static void
check_reason_of_gap(sim_client *client, const swamp_event *event)
{
    cluster *sim = client->of;
    const sim_run *run = sim_run_find(sim, client->run_id);
    int kept_all = sim->log_events > 1000;
    if (strcmp(swamp_event_reason(event), "evicted") == 0 && kept_all)
        sim_fail(sim, "%s: told that events were evicted, which never happened", client->name);
    if (strcmp(swamp_event_reason(event), "lost") == 0 && swamp_event_to_seq(event) && run &&
        !run->owner->disturbed)
        sim_fail(sim, "%s: told that events %llu..%llu are lost, though their instance lives", client->name,
                 (unsigned long long)swamp_event_from_seq(event),
                 (unsigned long long)swamp_event_to_seq(event));
}

static void
check_gap(sim_client *client, const swamp_event *event)
{
    uint64_t from = swamp_event_from_seq(event), to = swamp_event_to_seq(event);
    if (strcmp(swamp_event_reason(event), "epoch") == 0) {
        sim_fail(client->of, "%s: another epoch, though no run ever moves", client->name);
        return;
    }
    if (from != client->seen + 1 || (to && to < from))
        sim_fail(client->of, "%s: gap %llu..%llu after %llu", client->name, (unsigned long long)from,
                 (unsigned long long)to, (unsigned long long)client->seen);
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
        sim_fail(sim, "%s: told the end of %.13s, which the store does not know", client->name,
                 client->run_id);
    else if (strcmp(status, client->status) != 0)
        sim_fail(sim, "%s: told '%s', recorded '%s'", client->name, client->status, status);
    else if (strcmp(reason, swamp_event_reason(event)) != 0)
        sim_fail(sim, "%s: told reason '%s', recorded '%s'", client->name, swamp_event_reason(event), reason);
    if (client->success != (strcmp(client->status, "succeeded") == 0))
        sim_fail(sim, "%s: success %d for '%s'", client->name, client->success, client->status);
    if (truth && client->success && !client->open_end && client->seen != truth->emitted + 1)
        sim_fail(sim, "%s: success after %llu of %llu events", client->name, (unsigned long long)client->seen,
                 (unsigned long long)truth->emitted + 1);
}

static void
check_error(sim_client *client, const swamp_event *event)
{
    char status[16], reason[32];
    snprintf(client->code, sizeof client->code, "%s", swamp_event_code(event));
    if (strcmp(client->code, "not_found") == 0 && sim_recorded(client->of, client->run_id, status, reason))
        sim_fail(client->of, "%s: told that %.13s is not there, recorded as '%s'", client->name,
                 client->run_id, status);
}

static const char *
type_name(int type)
{
    switch (type) {
    case SWAMP_EVENT_ACCEPTED:
        return "ACCEPTED";
    case SWAMP_EVENT_GAP:
        return "GAP";
    case SWAMP_EVENT_ATTACHED:
        return "ATTACHED";
    case SWAMP_EVENT_RECONNECTING:
        return "RECONNECTING";
    case SWAMP_EVENT_ELSEWHERE:
        return "ELSEWHERE";
    case SWAMP_EVENT_DRAINING:
        return "DRAINING";
    case SWAMP_EVENT_INTERRUPTED:
        return "INTERRUPTED";
    case SWAMP_EVENT_DONE:
        return "DONE";
    case SWAMP_EVENT_ERROR:
        return "ERROR";
    default:
        return "RUN";
    }
}

static void
note_event(sim_client *client, const swamp_event *event)
{
    sim_note(client->of, "%s: %s seq %llu gap %llu..%llu %s %s %s %s", client->name,
             type_name(swamp_event_type(event)), (unsigned long long)swamp_event_seq(event),
             (unsigned long long)swamp_event_from_seq(event), (unsigned long long)swamp_event_to_seq(event),
             swamp_event_status(event), swamp_event_reason(event), swamp_event_code(event),
             swamp_event_message(event));
}

static void
read_slowly(sim_client *client)
{
    cluster *sim = client->of;
    if (!client->unread || !sim_odds(sim, 10) || swamp__timer_is_set(&client->room_timer))
        return;
    swamp__timer_set(&sim->outside->timers, &client->room_timer,
                     sim->world->now_ms + sim_pick(sim, 10, 20000));
    swamp__session_room(client->session, 0);
}

static void
io_deliver(void *self, swamp_event *event)
{
    sim_client *client = self;
    int type = swamp_event_type(event);
    note_event(client, event);
    client->of->told[type]++;
    if (client->ended)
        sim_fail(client->of, "%s: an event after the last one", client->name);
    if (swamp_event_run_id(event)[0] && !client->run_id[0])
        snprintf(client->run_id, sizeof client->run_id, "%s", swamp_event_run_id(event));
    if (strcmp(swamp_event_run_id(event), client->run_id) != 0)
        sim_fail(client->of, "%s: the run id changed", client->name);
    if (event->epoch)
        snprintf(client->epoch, sizeof client->epoch, "%s", event->epoch);
    if (type == SWAMP_EVENT_RUN)
        check_event(client, event);
    else if (type == SWAMP_EVENT_GAP)
        check_gap(client, event);
    else if (type == SWAMP_EVENT_DONE)
        check_done(client, event);
    else if (type == SWAMP_EVENT_ERROR)
        check_error(client, event);
    else if (type == SWAMP_EVENT_INTERRUPTED && strcmp(swamp_event_reason(event), "instance_dead") == 0)
        sim_check_death(client->of, client->name, swamp_event_instance_id(event));
    if (!client->open_end && event->cursor_seq != client->seen)
        sim_fail(client->of, "%s: cursor %llu after %llu", client->name,
                 (unsigned long long)event->cursor_seq, (unsigned long long)client->seen);
    client->error = swamp_event_error(event);
    client->ended = type >= SWAMP_EVENT_DONE;
    swamp_event_free(event);
    if (!client->ended)
        read_slowly(client);
}

/* Its life. */

static void
open_session(sim_client *client, int start)
{
    swamp__session_io io = {io_dial, io_send, io_ping, io_hang_up, io_pause, io_deliver, client};
    swamp__session_options options = {.url = "ws://balancer",
                                      .max_dials = 5,
                                      .retry_min_ms = RETRY_MIN_MS,
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
    char payload[80];
    if (start) {
        options.start_type = "workflow.run";
        snprintf(payload, sizeof payload, "{\"workflowIdOrName\":\"deploy\",\"client\":%s}",
                 client->name + 1);
        options.start_payload = payload;
    } else {
        options.run_id = client->run_id;
        options.epoch = client->epoch;
        options.after_seq = client->seen;
    }
    client->dialled_ms = 0;
    if (swamp__session_new(&client->session, &options, &client->of->outside->world, &io) != SWAMP_OK)
        abort();
    swamp__session_begin(client->session);
}

static void
read_again(swamp__timer *timer)
{
    sim_client *client = SWAMP__OF(timer, sim_client, room_timer);
    swamp__session_room(client->session, 1);
}

static void
begin_again(swamp__timer *timer)
{
    sim_client *client = SWAMP__OF(timer, sim_client, restart_timer);
    client->restarting = 0;
    sim_note(client->of, "%s: a new process goes on after %llu", client->name,
             (unsigned long long)client->seen);
    open_session(client, 0);
}

static sim_client *
new_client(cluster *sim)
{
    sim_client *client = calloc(1, sizeof *client);
    client->of = sim;
    client->unread = sim_odds(sim, 30);
    snprintf(client->name, sizeof client->name, "C%zu", sim->client_count);
    if (swamp__timer_init(&sim->outside->timers, &client->room_timer, read_again) != SWAMP_OK ||
        swamp__timer_init(&sim->outside->timers, &client->restart_timer, begin_again) != SWAMP_OK)
        abort();
    sim->clients[sim->client_count++] = client;
    return client;
}

void
sim_client_start(cluster *sim)
{
    sim_client *client = new_client(sim);
    open_session(client, 1);
}

void
sim_client_attach(cluster *sim, const char *run_id)
{
    sim_client *client = new_client(sim);
    snprintf(client->run_id, sizeof client->run_id, "%s", run_id);
    sim_note(sim, "%s: wants %s", client->name, run_id);
    open_session(client, 0);
}

void
sim_client_connected(sim_client *client)
{
    swamp__session_connected(client->session);
}

void
sim_client_lost(sim_client *client, int how, int64_t retry_after_ms, const char *why)
{
    client->link = NULL;
    sim_note(client->of, "%s: link lost: %s", client->name, why);
    swamp__session_link_lost(client->session, how, retry_after_ms, why);
}

void
sim_client_heard(sim_client *client, const char *text, size_t len)
{
    swamp__session_message(client->session, text, len);
}

void
sim_client_alive(sim_client *client)
{
    swamp__session_alive(client->session);
}

void
sim_client_cancel(sim_client *client)
{
    if (client->ended || client->restarting)
        return;
    sim_note(client->of, "%s: cancels", client->name);
    swamp__session_cancel(client->session, "enough");
}

void
sim_client_restart(sim_client *client)
{
    cluster *sim = client->of;
    if (client->ended || client->restarting || !client->run_id[0])
        return;
    sim_note(sim, "%s: its process ends", client->name);
    client->restarting = 1;
    swamp__timer_unset(&sim->outside->timers, &client->room_timer);
    swamp__session_free(client->session);
    client->session = NULL;
    swamp__timer_set(&sim->outside->timers, &client->restart_timer,
                     sim->world->now_ms + sim_pick(sim, 10, 20000));
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
        sim_fail(sim, "%s: has not ended", client->name);
        return;
    }
    if (!client->error)
        return;
    size_t i = 0;
    while (i < sizeof named / sizeof named[0] && strcmp(named[i], client->code) != 0)
        i++;
    if (i == sizeof named / sizeof named[0])
        sim_fail(sim, "%s: ended with '%s'", client->name, client->code);
    if (sim->calm && client->run_id[0])
        sim_fail(sim, "%s: ended with '%s' though only links were cut", client->name, client->code);
}

void
sim_client_free(sim_client *client)
{
    swamp__session_free(client->session);
    swamp__timer_destroy(&client->of->outside->timers, &client->room_timer);
    swamp__timer_destroy(&client->of->outside->timers, &client->restart_timer);
    free(client);
}
