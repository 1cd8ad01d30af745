/* A link between a session and a connection: two pipes that keep the order, delay, vanish or break. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/ws.h"
#include "sim.h"

#define MSG_OPEN 1
#define MSG_OPENED 2
#define MSG_REFUSED 3 /* code: SWAMP__LINK_... */
#define MSG_TEXT 4
#define MSG_PING 5
#define MSG_PONG 6
#define MSG_CLOSE 7 /* code: of the close frame; 0: a reset */

#define PIPE_BYTES 65536 /* what the kernels hold for a client that does not read */

typedef struct message {
    swamp__link link;
    int kind, code;
    int64_t due_ms;
    size_t len;
    char text[];
} message;

typedef struct pipe_end {
    swamp__list messages;
    swamp__timer timer; /* of the receiver's node: a receiver that is paused receives nothing */
    fake_node *node;    /* the receiver's: by its clock the timer goes */
    size_t bytes;
    int paused, vanishing;
    int64_t last_due_ms;
} pipe_end;

struct sim_link {
    sim_link *next;
    cluster *of;
    char name[40];
    sim_client *client; /* NULL: its side is gone */
    sim_instance *server;
    swamp__conn *conn; /* NULL: its side is gone, or not there yet */
    pipe_end up, down;
    swamp__timer fill_timer; /* of the server's node: the connection can be written, or freed */
    int wants, closing, torn;
    int64_t delay_ms;
    uint64_t dice;
    sim_wire wire;
};

static void
arm(pipe_end *pipe)
{
    swamp__link *first = swamp__list_first(&pipe->messages);
    if (first && !pipe->paused)
        swamp__timer_set(&pipe->node->timers, &pipe->timer,
                         fake_node_at(pipe->node, SWAMP__OF(first, message, link)->due_ms));
    else
        swamp__timer_unset(&pipe->node->timers, &pipe->timer);
}

static void
push(sim_link *link, pipe_end *pipe, int kind, int code, const char *text, size_t len)
{
    if (pipe->vanishing)
        return;
    message *m = calloc(1, sizeof *m + len);
    if (!m)
        abort();
    m->kind = kind;
    m->code = code;
    m->len = len;
    if (len)
        memcpy(m->text, text, len);
    m->due_ms =
        link->of->world->now_ms + link->delay_ms +
        (sim_draw(&link->dice, 0, 99) < 5 ? sim_draw(&link->dice, 100, 3000) : sim_draw(&link->dice, 1, 50));
    if (m->due_ms < pipe->last_due_ms)
        m->due_ms = pipe->last_due_ms;
    pipe->last_due_ms = m->due_ms;
    pipe->bytes += len;
    swamp__list_push(&pipe->messages, &m->link);
    arm(pipe);
}

static message *
pop(pipe_end *pipe)
{
    swamp__link *first = swamp__list_pop(&pipe->messages);
    if (!first)
        return NULL;
    message *m = SWAMP__OF(first, message, link);
    pipe->bytes -= m->len;
    return m;
}

static void
empty(pipe_end *pipe)
{
    for (message *m; (m = pop(pipe));)
        free(m);
    arm(pipe);
}

static void
reset(sim_link *link)
{
    empty(&link->up);
    empty(&link->down);
    push(link, &link->up, MSG_CLOSE, 0, NULL, 0);
    push(link, &link->down, MSG_CLOSE, 0, NULL, 0);
}

/* Of this message only a part arrived when the connection broke: for both machines it never was. */
static int
tear(sim_link *link, const message *m)
{
    if (!link->torn || m->kind == MSG_CLOSE)
        return 0;
    link->torn = 0;
    link->of->happened[SIM_KIND_TEAR]++;
    sim_note(link->of, "%s: breaks in the midst of a message", link->name);
    reset(link);
    return 1;
}

/* The server's side. */

static void
fill_soon(sim_link *link)
{
    fake_node *node = link->server->node;
    swamp__timer_set(&node->timers, &link->fill_timer, fake_node_now(node));
}

static void
want_write(void *peer)
{
    sim_link *link = peer;
    link->wants = 1;
    if (link->down.bytes < PIPE_BYTES)
        fill_soon(link);
}

static void
close_conn(void *peer, int code, const char *reason)
{
    sim_link *link = peer;
    sim_note(link->of, "%s: server closes with %d: %s", link->name, code, reason);
    link->closing = 1;
    push(link, &link->down, MSG_CLOSE, code, NULL, 0);
    fill_soon(link);
}

static void
pause_conn(void *peer, int paused)
{
    sim_link *link = peer;
    link->up.paused = paused;
    arm(&link->up);
}

static const swamp__transport transport = {want_write, close_conn, pause_conn, NULL};

static void
free_conn(sim_link *link)
{
    if (!link->conn)
        return;
    swamp__timer_unset(&link->server->node->timers, &link->fill_timer);
    swamp__conn_free(link->conn);
    link->conn = NULL;
    empty(&link->up);
}

/* Takes the batch apart as a client's WebSocket layer does. */
static void
send_frames(sim_link *link, const swamp__buf *batch)
{
    const unsigned char *at = (const unsigned char *)batch->data;
    const unsigned char *end = at + batch->len;
    while (at < end) {
        int opcode = at[0] & 0x0f;
        size_t len = at[1] & 0x7f;
        size_t digits = len == 126 ? 2 : len == 127 ? 8 : 0;
        if (digits)
            len = 0;
        for (size_t i = 0; i < digits; i++)
            len = len << 8 | at[2 + i];
        at += 2 + digits;
        if (opcode == SWAMP__WS_PING)
            push(link, &link->down, MSG_PING, 0, NULL, 0);
        else {
            sim_wire_said(&link->wire, link->server, link->name, (const char *)at, len);
            push(link, &link->down, MSG_TEXT, 0, (const char *)at, len);
        }
        at += len;
    }
}

static void
fire_fill(swamp__timer *timer)
{
    sim_link *link = SWAMP__OF(timer, sim_link, fill_timer);
    swamp__buf batch;
    if (link->closing) {
        free_conn(link);
        return;
    }
    if (!link->conn || !link->wants)
        return;
    link->wants = 0;
    swamp__buf_init(&batch);
    if (swamp__conn_fill(link->conn, &batch))
        want_write(link);
    send_frames(link, &batch);
    swamp__buf_free(&batch);
}

static void
open_conn(sim_link *link)
{
    int rc = link->server->alive
                 ? swamp__conn_new(&link->conn, link->server->core, &transport, link, "anonymous")
                 : SWAMP_E_CLOSED;
    if (rc == SWAMP_OK)
        push(link, &link->down, MSG_OPENED, 0, NULL, 0);
    else
        push(link, &link->down, MSG_REFUSED, rc == SWAMP_E_BUSY ? SWAMP__LINK_TRY_LATER : SWAMP__LINK_LOST,
             NULL, 0);
}

static void
fire_up(swamp__timer *timer)
{
    sim_link *link = SWAMP__OF(timer, sim_link, up.timer);
    message *m = pop(&link->up);
    if (tear(link, m)) {
        free(m);
        arm(&link->up);
        return;
    }
    if (m->kind == MSG_OPEN) {
        open_conn(link);
    } else if (link->conn && !link->closing) {
        swamp__conn_alive(link->conn);
        if (m->kind == MSG_TEXT)
            swamp__conn_message(link->conn, m->text, m->len, 0);
        else if (m->kind == MSG_PING)
            push(link, &link->down, MSG_PONG, 0, NULL, 0);
        else if (m->kind == MSG_CLOSE)
            free_conn(link);
    }
    free(m);
    arm(&link->up);
}

/* The client's side. */

static void
lose_client(sim_link *link, int how, const char *why)
{
    sim_client *client = link->client;
    link->client = NULL;
    empty(&link->down);
    sim_client_lost(client, how, 0, why);
}

static void
hear(sim_link *link, const message *m)
{
    sim_client *client = link->client;
    sim_client_alive(client);
    switch (m->kind) {
    case MSG_OPENED:
        sim_client_connected(client);
        break;
    case MSG_TEXT:
        sim_client_heard(client, m->text, m->len);
        break;
    case MSG_PING:
        push(link, &link->up, MSG_PONG, 0, NULL, 0);
        break;
    case MSG_REFUSED:
        lose_client(link, m->code, "refused");
        break;
    case MSG_CLOSE:
        lose_client(link, m->code == 1008 || m->code == 4003 ? SWAMP__LINK_UNAUTHORIZED : SWAMP__LINK_LOST,
                    m->code ? "closed" : "reset");
        break;
    default:
        break;
    }
}

static void
fire_down(swamp__timer *timer)
{
    sim_link *link = SWAMP__OF(timer, sim_link, down.timer);
    message *m = pop(&link->down);
    if (!tear(link, m) && link->client)
        hear(link, m);
    free(m);
    if (link->wants && link->conn && link->down.bytes < PIPE_BYTES)
        fill_soon(link);
    arm(&link->down);
}

static void
init_pipe(pipe_end *pipe, fake_node *node, void (*fire)(swamp__timer *))
{
    swamp__list_init(&pipe->messages);
    pipe->node = node;
    if (swamp__timer_init(&node->timers, &pipe->timer, fire) != SWAMP_OK)
        abort();
}

sim_link *
sim_link_dial(sim_client *client, const char *url, uint64_t dice)
{
    cluster *sim = sim_client_sim(client);
    sim_link *link = calloc(1, sizeof *link);
    if (!link)
        abort();
    link->of = sim;
    link->client = client;
    link->dice = dice;
    link->server = sim_balancer_choose(sim, url, sim_client_name(client), &link->dice);
    fake_node *node = link->server ? link->server->node : sim->outside;
    init_pipe(&link->up, node, fire_up);
    init_pipe(&link->down, sim->outside, fire_down);
    if (swamp__timer_init(&node->timers, &link->fill_timer, fire_fill) != SWAMP_OK)
        abort();
    snprintf(link->name, sizeof link->name, "%s-%s", sim_client_name(client),
             link->server ? link->server->name : "nobody");
    link->next = sim->links;
    sim->links = link;
    sim_note(sim, "%s: dial %s", link->name, url);
    if (sim->refusal && sim->dials_struck++ == 0)
        sim->happened[SIM_KIND_REFUSAL]++;
    if (sim->refusal == 2) /* on its way to nowhere: the client's own time-out ends it */
        link->up.vanishing = link->down.vanishing = 1;
    else if (!sim->refusal && link->server && (link->server->alive || link->server->node->paused))
        push(link, &link->up, MSG_OPEN, 0, NULL, 0);
    else
        push(link, &link->down, MSG_REFUSED, SWAMP__LINK_LOST, NULL, 0);
    return link;
}

void
sim_link_send(sim_link *link, const char *text, size_t len)
{
    static const char start[] = "{\"type\":\"workflow.run\"";
    sim_wire_asked(&link->wire, text, len);
    link->of->starts_sent += len > sizeof start && memcmp(text, start, sizeof start - 1) == 0;
    push(link, &link->up, MSG_TEXT, 0, text, len);
}

void
sim_link_ping(sim_link *link)
{
    push(link, &link->up, MSG_PING, 0, NULL, 0);
}

void
sim_link_hang_up(sim_link *link)
{
    link->client = NULL;
    empty(&link->down);
    push(link, &link->up, MSG_CLOSE, 1000, NULL, 0);
}

void
sim_link_pause(sim_link *link, int paused)
{
    link->down.paused = paused;
    arm(&link->down);
}

/* 0: nothing went there any more, or not yet: of what will tear. */
int
sim_link_cut(sim_link *link, int how)
{
    static const char *names[] = {"reset", "vanishes both ways", "vanishes upwards", "vanishes downwards",
                                  "will break in its next message"};
    int up = !link->up.vanishing, down = !link->down.vanishing;
    sim_note(link->of, "%s: %s", link->name, names[how]);
    if (how == SIM_CUT_RESET)
        reset(link);
    if (how == SIM_CUT_TORN)
        link->torn = 1;
    if (how == SIM_CUT_BOTH || how == SIM_CUT_UP) {
        empty(&link->up);
        link->up.vanishing = 1;
    }
    if (how == SIM_CUT_BOTH || how == SIM_CUT_DOWN) {
        empty(&link->down);
        link->down.vanishing = 1;
    }
    return how == SIM_CUT_TORN ? 0 : how == SIM_CUT_UP ? up : how == SIM_CUT_DOWN ? down : up || down;
}

int
sim_link_delay(sim_link *link, int64_t ms)
{
    sim_note(link->of, "%s: everything takes %lld ms longer", link->name, (long long)ms);
    link->delay_ms = ms;
    return !link->up.vanishing || !link->down.vanishing;
}

void
sim_links_of_dead(sim_instance *instance)
{
    for (sim_link *link = instance->of->links; link; link = link->next) {
        if (link->server != instance || !link->client)
            continue;
        if (sim_draw(&link->dice, 0, 99) < 70)
            push(link, &link->down, MSG_CLOSE, 0, NULL, 0);
        else
            link->down.vanishing = 1; /* the machine is gone, too: nobody sends a reset */
    }
}

static int
is_open(const sim_link *link)
{
    return link->client && link->conn;
}

unsigned
sim_links_to(const sim_instance *instance)
{
    unsigned count = 0;
    for (const sim_link *link = instance->of->links; link; link = link->next)
        count += link->server == instance && is_open(link);
    return count;
}

sim_link *
sim_link_random(cluster *sim)
{
    int64_t count = 0;
    for (sim_link *link = sim->links; link; link = link->next)
        count += is_open(link);
    if (!count)
        return NULL;
    int64_t n = sim_pick(sim, 0, count - 1);
    for (sim_link *link = sim->links; link; link = link->next)
        if (is_open(link) && n-- == 0)
            return link;
    return NULL;
}

void
sim_links_close(cluster *sim)
{
    for (sim_link *link = sim->links; link; link = link->next) {
        link->client = NULL;
        free_conn(link);
        empty(&link->up);
        empty(&link->down);
    }
}

void
sim_links_free(cluster *sim)
{
    while (sim->links) {
        sim_link *link = sim->links;
        sim->links = link->next;
        swamp__timer_destroy(&link->up.node->timers, &link->up.timer);
        swamp__timer_destroy(&link->up.node->timers, &link->fill_timer);
        swamp__timer_destroy(&link->down.node->timers, &link->down.timer);
        free(link);
    }
}
