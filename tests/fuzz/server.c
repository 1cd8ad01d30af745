/* Fuzzes an instance: clients' messages, a host's events, an unreliable store, time and stops, in a script. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/json.h"
#include "../support/fake_server.h"
#include "fuzz.h"

/* m TEXT, n TEXT: a message of the first or second client, $ is the id of the last run; B TEXT: a binary one;
 * h, H: the first client goes, comes; k, K: takes no bytes, takes them again; e N: the host emits N events; E JSON:
 * this one; U JSON: an update; f N: it finishes; q N: its work waits; d N: the store has fault N; w MS; s MS: stop. */

typedef struct scene {
    fake_world *world;
    swamp_store *store;
    fake_server *server;
    fake_peer *peers[2];
    char run_id[SWAMP__ID_SIZE];
} scene;

/* Whatever is asked, each frame is one checked object with a type. */
static void
take_frames(fake_peer *peer)
{
    swamp__json frame;
    char type[64];
    while (peer->first && peer->first->opcode == SWAMP__WS_TEXT) {
        const char *text = fake_peer_next(peer);
        MUST(swamp__json_check(text, strlen(text), 0, &frame) == SWAMP_OK &&
             frame.type == SWAMP__JSON_OBJECT);
        MUST(swamp__json_member_text(frame, "type", type, sizeof type) == SWAMP_OK);
    }
}

static void
say(fake_peer *peer, const swamp__buf *text, int binary)
{
    if (peer && peer->conn && !peer->closed && !peer->paused)
        swamp__conn_message(peer->conn, text->data, text->len, binary);
}

static swamp_run *
first_run(scene *at, size_t *index)
{
    for (*index = 0; *index < at->server->run_count; (*index)++)
        if (at->server->runs[*index])
            return at->server->runs[*index];
    return NULL;
}

static void
host_step(scene *at, int what, const swamp__buf *argument)
{
    static const char event[] = "{\"kind\":\"tick\"}";
    size_t index;
    swamp_run *run = first_run(at, &index);
    if (!run)
        return;
    if (what == 'e')
        for (int64_t n = fuzz_number(argument, 200); n > 0; n--)
            (void)swamp__run_emit(run, event, sizeof event - 1);
    else if (what == 'E')
        (void)swamp__run_emit(run, argument->data, argument->len);
    else if (what == 'U')
        (void)swamp__run_update(run, argument->data, argument->len);
    else
        fake_server_finish(at->server, index, 1 + (int)fuzz_number(argument, 2));
}

/* An instance that is closing, or was declared dead, refuses connections. */
static int
takes_peers(const fake_server *server)
{
    return !server->ended && server->ready && !server->instance->fenced &&
           server->instance->phase < SWAMP__PHASE_CLOSING;
}

static void
peer_step(scene *at, int what, const swamp__buf *argument)
{
    fake_peer **peer = &at->peers[0];
    if (what == 'm' || what == 'B')
        say(*peer, argument, what == 'B');
    else if (what == 'n')
        say(at->peers[1], argument, 0);
    else if (what == 'h' && *peer) {
        fake_peer_free(*peer);
        *peer = NULL;
    } else if (what == 'H' && !*peer && takes_peers(at->server))
        *peer = fake_peer_new(at->server);
    else if (what == 'k' && *peer)
        (*peer)->blocked = 1;
    else if (what == 'K' && *peer)
        fake_peer_unblock(*peer);
}

static void
step(scene *at, int what, const swamp__buf *argument)
{
    if (strchr("eEUf", what))
        host_step(at, what, argument);
    else if (strchr("mnBhHkK", what))
        peer_step(at, what, argument);
    else if (what == 'q' && fuzz_number(argument, 9) == 0)
        fake_server_let_go(at->server);
    else if (what == 'q')
        at->server->hold_kind = (int)fuzz_number(argument, 9);
    else if (what == 'd')
        at->server->questions->down = at->server->beats->down = (int)fuzz_number(argument, FAKE_WRITE_LOST);
    else if (what == 'w')
        fake_world_advance(at->world, fuzz_number(argument, 70000));
    else if (what == 's')
        swamp__instance_stop(at->server->instance, fuzz_number(argument, 30000));
    fake_world_advance(at->world, 0);
    size_t index;
    const swamp_run *run = first_run(at, &index);
    if (run)
        memcpy(at->run_id, run->id, sizeof at->run_id);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_script lines = {(const char *)data, (const char *)data + size};
    scene at = {.world = fake_world_new(1), .run_id = "none"};
    swamp__buf argument;
    unsigned steps = 0;
    swamp__buf_init(&argument);
    MUST(swamp_store_memory_open(&at.store) == SWAMP_OK);
    at.server = fake_server_new(at.world, size % 5 ? at.store : NULL, NULL);
    fake_world_advance(at.world, 100);
    MUST(at.server->ready);
    at.peers[0] = fake_peer_new(at.server);
    at.peers[1] = fake_peer_new(at.server);
    for (int what; steps < 100 && (what = fuzz_script_next(&lines, at.run_id, &argument)); steps++) {
        step(&at, what, &argument);
        for (size_t i = 0; i < 2; i++)
            if (at.peers[i])
                take_frames(at.peers[i]);
    }
    for (size_t i = 0; i < 2; i++)
        if (at.peers[i])
            fake_peer_free(at.peers[i]);
    fake_server_let_go(at.server); /* a host answers all its work */
    fake_world_advance(at.world, 0);
    fake_server_free(at.server);
    fake_world_free(at.world);
    swamp_store_free(at.store);
    swamp__buf_free(&argument);
    return 0;
}
