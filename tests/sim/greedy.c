/* A peer without a session, that asks for the history again and again and for a while reads nothing of it. */
#include <stdlib.h>
#include <swamp/status.h>
#include "../../libswamp/server/inner.h"
#include "sim.h"

#define ASKS_MAX 400
#define ASK_EVERY_MS 25

struct sim_greedy {
    sim_greedy *next;
    sim_instance *at;
    swamp__conn *conn;   /* NULL: it was let go, or has left */
    swamp__timer timer;  /* of the instance's node: who stands still takes no request */
    int64_t reads_at_ms; /* by the clock of that node */
    unsigned asks;
    int paused, closing;
};

static void
look_again(sim_greedy *peer, int64_t ms)
{
    swamp__timer_set(&peer->at->node->timers, &peer->timer, fake_node_now(peer->at->node) + ms);
}

static void
want_write(void *self)
{
    (void)self; /* until it reads, nothing can be written */
}

static void
close_conn(void *self, int code, const char *reason)
{
    sim_greedy *peer = self;
    sim_note(peer->at->of, "%s: closes the connection of who does not read with %d: %s", peer->at->name, code,
             reason);
    peer->closing = 1;
    look_again(peer, 0);
}

static void
pause_conn(void *self, int paused)
{
    sim_greedy *peer = self;
    sim_note(peer->at->of, "%s: after %u answers, who does not read %s", peer->at->name, peer->asks,
             paused ? "is no longer read" : "is read again");
    peer->paused = paused;
}

static const swamp__transport transport = {want_write, close_conn, pause_conn, NULL};

static void
leave(sim_greedy *peer)
{
    swamp__timer_unset(&peer->at->node->timers, &peer->timer);
    swamp__conn_free(peer->conn);
    peer->conn = NULL;
}

/* Each answer before the next question: what was asked at once may all be answered (100 requests, PROTOCOL 2). */
static void
ask(sim_greedy *peer)
{
    static const char request[] =
        "{\"type\":\"run.history\",\"id\":\"all\",\"payload\":{\"all\":true,\"limit\":1000}}";
    if (!peer->paused && !peer->conn->ticket_count && peer->asks < ASKS_MAX) {
        peer->asks++;
        swamp__conn_message(peer->conn, request, sizeof request - 1, 0);
    }
    look_again(peer, ASK_EVERY_MS);
}

static void
read_all(sim_greedy *peer)
{
    swamp__buf batch;
    swamp__buf_init(&batch);
    while (swamp__conn_fill(peer->conn, &batch))
        swamp__buf_clear(&batch);
    swamp__buf_free(&batch);
    if (peer->paused)
        sim_fail(peer->at->of, "live: %s does not read who has taken everything", peer->at->name);
}

static void
go_on(swamp__timer *timer)
{
    sim_greedy *peer = SWAMP__OF(timer, sim_greedy, timer);
    if (peer->closing) {
        leave(peer);
    } else if (fake_node_now(peer->at->node) < peer->reads_at_ms) {
        ask(peer);
    } else {
        read_all(peer);
        leave(peer);
    }
}

int
sim_greedy_come(sim_instance *instance, int64_t ms)
{
    sim_greedy *peer = calloc(1, sizeof *peer);
    if (!peer || swamp__timer_init(&instance->node->timers, &peer->timer, go_on) != SWAMP_OK)
        abort();
    peer->at = instance;
    peer->reads_at_ms = fake_node_now(instance->node) + ms;
    peer->next = instance->of->greedy;
    instance->of->greedy = peer;
    if (swamp__conn_new(&peer->conn, instance->core, &transport, peer, "anonymous") != SWAMP_OK)
        return 0;
    ask(peer);
    return 1;
}

void
sim_greedy_leave(cluster *sim)
{
    for (sim_greedy *peer = sim->greedy; peer; peer = peer->next)
        leave(peer);
}

void
sim_greedy_free(cluster *sim)
{
    while (sim->greedy) {
        sim_greedy *peer = sim->greedy;
        sim->greedy = peer->next;
        swamp__timer_destroy(&peer->at->node->timers, &peer->timer);
        free(peer);
    }
}
