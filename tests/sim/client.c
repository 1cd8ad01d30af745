/* A client: a real session, an application that checks every event at once, and its process, which may be
 * started again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "client.h"

#define RETRY_MIN_MS 1000
#define MAX_DIALS 5
/* Who asks for a final status dials on until the time for it is over (docs/DIFFERENCES.md), never twice a second. */
#define DEAF_DIALS_INTERRUPTED_MAX 65

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

static int
io_dial(void *self, const char *url)
{
    sim_client *client = self;
    int64_t now_ms = client->of->world->now_ms;
    if (client->link)
        sim_fail(client->of, "bounded: %s: a dial beside a link", client->name);
    if (client->dialled_ms && now_ms - client->dialled_ms < RETRY_MIN_MS)
        sim_fail(client->of, "bounded: %s: two dials within %lld ms", client->name,
                 (long long)(now_ms - client->dialled_ms));
    client->dialled_ms = now_ms;
    if (++client->deaf_dials > (client->interrupted ? DEAF_DIALS_INTERRUPTED_MAX : MAX_DIALS))
        sim_fail(client->of, "bounded: %s: %u dials in a row, and nobody ever answered one", client->name,
                 client->deaf_dials);
    client->link = sim_link_dial(
        client, url, sim_dice(client->of, SIM_DICE_LINK, (uint64_t)client->number << 16 | client->dials++));
    return SWAMP_OK;
}

static void
io_send(void *self, const char *text, size_t len)
{
    sim_client *client = self;
    if (!client->link) {
        sim_fail(client->of, "sim: %s: sent without a link", client->name);
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

int
sim_client_stop_reading(sim_client *client, int64_t ms)
{
    cluster *sim = client->of;
    if (client->ended || client->restarting || swamp__timer_is_set(&client->room_timer))
        return 0;
    sim_note(sim, "%s: does not read for %lld ms", client->name, (long long)ms);
    swamp__timer_set(&sim->outside->timers, &client->room_timer, sim->world->now_ms + ms);
    swamp__session_room(client->session, 0);
    return 1;
}

static void
read_slowly(sim_client *client)
{
    if (client->unread && sim_draw(&client->dice, 0, 99) < 10)
        (void)sim_client_stop_reading(client, sim_draw(&client->dice, 10, 20000));
}

static void
io_deliver(void *self, swamp_event *event)
{
    sim_client *client = self;
    int type = swamp_event_type(event);
    note_event(client, event);
    client->of->told[type]++;
    if (client->ended)
        sim_fail(client->of, "terminal: %s: an event after the last one", client->name);
    if (swamp_event_run_id(event)[0] && !client->run_id[0])
        snprintf(client->run_id, sizeof client->run_id, "%s", swamp_event_run_id(event));
    if (strcmp(swamp_event_run_id(event), client->run_id) != 0)
        sim_fail(client->of, "resumable: %s: the run id changed", client->name);
    if (event->epoch)
        snprintf(client->epoch, sizeof client->epoch, "%s", event->epoch);
    client->interrupted |= type == SWAMP_EVENT_INTERRUPTED;
    sim_client_check_told(client, event);
    if (!client->open_end && event->cursor_seq != client->seen)
        sim_fail(client->of, "resumable: %s: cursor %llu after %llu", client->name,
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
                                      .max_dials = MAX_DIALS,
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
    client->deaf_dials = 0;
    client->interrupted = 0;
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
new_client(cluster *sim, int number)
{
    sim_client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    client->of = sim;
    client->number = number;
    client->dice = sim_dice(sim, SIM_DICE_CLIENT, (uint64_t)number);
    client->unread = sim_draw(&client->dice, 0, 99) < 30;
    snprintf(client->name, sizeof client->name, "C%d", number);
    if (swamp__timer_init(&sim->outside->timers, &client->room_timer, read_again) != SWAMP_OK ||
        swamp__timer_init(&sim->outside->timers, &client->restart_timer, begin_again) != SWAMP_OK)
        abort();
    sim->clients[sim->client_count++] = client;
    return client;
}

void
sim_client_start(cluster *sim, int number)
{
    sim_client *client = new_client(sim, number);
    open_session(client, 1);
}

void
sim_client_attach(cluster *sim, int number, const char *run_id)
{
    sim_client *client = new_client(sim, number);
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
    if (how == SWAMP__LINK_TRY_LATER) /* that is a word, too */
        client->deaf_dials = 0;
    sim_note(client->of, "%s: link lost: %s", client->name, why);
    swamp__session_link_lost(client->session, how, retry_after_ms, why);
}

void
sim_client_heard(sim_client *client, const char *text, size_t len)
{
    client->deaf_dials = 0;
    swamp__session_message(client->session, text, len);
}

void
sim_client_alive(sim_client *client)
{
    swamp__session_alive(client->session);
}

int
sim_client_cancel(sim_client *client)
{
    if (client->ended || client->restarting)
        return 0;
    sim_note(client->of, "%s: cancels", client->name);
    swamp__session_cancel(client->session, "enough");
    return 1;
}

int
sim_client_restart(sim_client *client)
{
    cluster *sim = client->of;
    if (client->ended || client->restarting || !client->run_id[0])
        return 0;
    sim_note(sim, "%s: its process ends", client->name);
    client->restarting = 1;
    swamp__timer_unset(&sim->outside->timers, &client->room_timer);
    swamp__session_free(client->session);
    client->session = NULL;
    swamp__timer_set(&sim->outside->timers, &client->restart_timer,
                     sim->world->now_ms + sim_draw(&client->dice, 10, 20000));
    return 1;
}

void
sim_client_free(sim_client *client)
{
    swamp__session_free(client->session);
    swamp__timer_destroy(&client->of->outside->timers, &client->room_timer);
    swamp__timer_destroy(&client->of->outside->timers, &client->restart_timer);
    free(client);
}
