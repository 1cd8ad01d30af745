/* An instance with all that stands around it: a world, a store, a host, and clients whose frames can be read. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "fake_server.h"
#include "ws_header.h"

static void
set_soon(fake_server *server, swamp__timer *timer)
{
    swamp__timer_set(&server->node->timers, timer, server->world->now_ms);
}

/* The host */

static void
hand_out(void *self, swamp_work *work)
{
    fake_server *server = self;
    swamp__list_push(&server->work, &work->link);
    set_soon(server, &server->host_timer);
}

static void
give_back(void *self, swamp_work *work)
{
    fake_server *server = self;
    swamp__list_push(&server->returned, &work->link);
    fake_node_wake(server->node);
}

static void
resolve(swamp_work *work)
{
    static const char known[] = "{\"resourceName\":\"quick\",\"workflowId\":\"wf-1\",\"run\":{\"jobs\":[]}}";
    static const char unknown[] = "[{\"kind\":\"validating_inputs\"},{\"kind\":\"error\",\"error\":{\"code\":"
                                  "\"workflow_not_found\",\"message\":\"no such workflow\"}}]";
    if (strstr(work->payload, "no-such"))
        (void)swamp__work_answer(work, SWAMP_E_NOT_FOUND, unknown, strlen(unknown));
    else if (strstr(work->payload, "bad-answer"))
        (void)swamp__work_answer(work, SWAMP_OK, "[", 1);
    else
        (void)swamp__work_answer(work, SWAMP_OK, known, strlen(known));
}

static void
start(fake_server *server, swamp_work *work)
{
    server->starts++;
    if (server->start_status == SWAMP_OK) {
        ck_assert_uint_lt(server->run_count, FAKE_RUNS_MAX);
        server->runs[server->run_count++] = work->run;
    }
    (void)swamp__work_answer(work, server->start_status, NULL, 0);
}

static void
cancel(fake_server *server, swamp_work *work)
{
    server->cancels++;
    snprintf(server->reason, sizeof server->reason, "%s", work->reason ? work->reason : "");
    for (size_t i = 0; server->finish_on_cancel && i < server->run_count; i++)
        if (server->runs[i] == work->run)
            fake_server_finish(server, i, SWAMP_RUN_CANCELLED);
    (void)swamp__work_answer(work, SWAMP_OK, NULL, 0);
}

static void
do_work(swamp__timer *timer)
{
    fake_server *server = SWAMP__OF(timer, fake_server, host_timer);
    for (swamp__link *link = swamp__list_first(&server->work), *next; link; link = next) {
        swamp_work *work = SWAMP__OF(link, swamp_work, link);
        next = swamp__list_next(&server->work, link);
        if (work->kind == server->hold_kind)
            continue;
        swamp__link_remove(link);
        if (work->kind == SWAMP_WORK_RESOLVE) {
            server->resolves++;
            resolve(work);
        } else if (work->kind == SWAMP_WORK_START) {
            start(server, work);
        } else if (work->kind == SWAMP_WORK_CANCEL) {
            cancel(server, work);
        } else {
            (void)swamp__work_answer(work, SWAMP_OK, "[{\"id\":\"wf-1\",\"name\":\"quick\"}]", 30);
        }
    }
}

void
fake_server_let_go(fake_server *server)
{
    server->hold_kind = 0;
    set_soon(server, &server->host_timer);
}

void
fake_server_emit(fake_server *server, size_t run, size_t count)
{
    static unsigned n;
    for (size_t i = 0; i < count; i++) {
        char event[64];
        int len = snprintf(event, sizeof event, "{\"kind\":\"tick\",\"n\":%u}", n++);
        ck_assert_int_eq(swamp__run_emit(server->runs[run], event, (size_t)len), SWAMP_OK);
    }
}

void
fake_server_finish(fake_server *server, size_t run, int status)
{
    const char *last = status == SWAMP_RUN_CANCELLED ? "{\"kind\":\"cancelled\",\"run\":null}"
                                                     : "{\"kind\":\"completed\",\"run\":null}";
    swamp_run *handle = server->runs[run];
    server->runs[run] = NULL;
    (void)swamp__run_finish(handle, status, last, strlen(last), NULL, 0);
}

/* The instance */

static void
is_ready(void *user)
{
    ((fake_server *)user)->ready = 1;
}

static void
has_ended(void *user, int status)
{
    ck_assert_int_eq(((fake_server *)user)->ended, 0);
    ((fake_server *)user)->ended = status;
}

static void
wake(void *user)
{
    fake_node_wake(((fake_server *)user)->node);
}

static void
collect(void *user)
{
    fake_server *server = user;
    if (!server->instance)
        return;
    for (swamp__link *link; (link = swamp__list_pop(&server->returned));)
        swamp__work_finish(SWAMP__OF(link, swamp_work, link));
    swamp__instance_collect(server->instance);
}

void
fake_server_options(swamp__instance_options *options)
{
    *options = (swamp__instance_options){
        .hostname = "host",
        .address = "ws://127.0.0.1:9",
        .version = "1.2.3",
        .git_sha = "abc",
        .pid = 7,
        .heartbeat_interval_ms = 10000,
        .stale_ttl_ms = 30000,
        .reconciliation_interval_ms = 30000,
        .drain_grace_ms = 5000,
        .linger_ms = 300000,
        .idle_timeout_ms = 30000,
        .stall_timeout_ms = 60000,
        .max_runs = 100,
        .max_connections = 10000,
        .max_requests = 100,
        .run_log_bytes = SWAMP__RUN_LOG_BYTES,
        .run_log_events = SWAMP__RUN_LOG_EVENTS,
        .all_logs_bytes = SWAMP__ALL_LOGS_BYTES,
    };
}

fake_server *
fake_server_new(fake_world *world, swamp_store *store, const swamp__instance_options *options)
{
    fake_server *server = calloc(1, sizeof *server);
    server->world = world;
    server->node = fake_node_new(world);
    server->questions = fake_asker_new(server->node, store, store ? 5000 : 0);
    server->beats = fake_asker_new(server->node, store, store ? 5000 : 0);
    server->finish_on_cancel = 1;
    swamp__list_init(&server->work);
    swamp__list_init(&server->returned);
    ck_assert_int_eq(swamp__timer_init(&server->node->timers, &server->host_timer, do_work), SWAMP_OK);
    server->node->collect = collect;
    server->node->collect_user = server;
    if (options)
        server->options = *options;
    else
        fake_server_options(&server->options);
    swamp__id_v4(server->options.instance_id, fake_world_random(world), fake_world_random(world));
    server->desk = (swamp__work_desk){hand_out, give_back, server};
    swamp__instance_events events = {is_ready, has_ended, wake, server};
    ck_assert_int_eq(swamp__instance_new(&server->instance, &server->options, &server->node->world,
                                         &server->questions->asker, &server->beats->asker, &server->desk,
                                         &events),
                     SWAMP_OK);
    swamp__instance_start(server->instance);
    return server;
}

void
fake_server_kill(fake_server *server)
{
    server->node->paused = 1;
}

void
fake_server_free(fake_server *server)
{
    server->node->paused = 0;
    fake_asker_close(server->questions);
    fake_asker_close(server->beats);
    for (int i = 0; i < 4; i++)
        fake_world_advance(server->world, 0);
    while (server->questions->waiting || server->beats->waiting)
        fake_world_advance(server->world, 0);
    swamp__instance_free(server->instance);
    server->instance = NULL;
    for (size_t i = 0; i < server->run_count; i++)
        if (server->runs[i])
            fake_server_finish(server, i, SWAMP_RUN_FAILED);
    for (swamp__link *link; (link = swamp__list_pop(&server->work));)
        swamp__work_free(SWAMP__OF(link, swamp_work, link));
    for (swamp__link *link; (link = swamp__list_pop(&server->returned));)
        swamp__work_free(SWAMP__OF(link, swamp_work, link));
    swamp__timer_destroy(&server->node->timers, &server->host_timer);
    free(server);
}

/* Peers */

static void
keep_frame(fake_peer *peer, int opcode, const char *text, size_t len)
{
    fake_frame *frame = calloc(1, sizeof *frame + len + 1);
    frame->opcode = opcode;
    frame->len = len;
    memcpy(frame->text, text, len);
    if (peer->last)
        peer->last->next = frame;
    else
        peer->first = frame;
    peer->last = frame;
    peer->count++;
}

/* Whole frames only, final and unmasked: everything else is a fault of the server. */
static void
take_frames(fake_peer *peer)
{
    const unsigned char *at = (const unsigned char *)peer->bytes.data, *end = at + peer->bytes.len;
    while (at < end) {
        ck_assert_int_eq(at[0] & 0xf0, 0x80);
        ck_assert_int_eq(at[1] & 0x80, 0);
        int opcode = at[0] & 0x0f;
        uint64_t payload;
        size_t header = ws_header_read(at, (size_t)(end - at), &payload), len = (size_t)payload;
        ck_assert_uint_gt(header, 0);
        at += header;
        ck_assert_uint_le(len, (size_t)(end - at));
        if (opcode == SWAMP__WS_PING && !peer->mute)
            swamp__conn_alive(peer->conn);
        else if (opcode != SWAMP__WS_PING)
            keep_frame(peer, opcode, (const char *)at, len);
        at += len;
    }
    swamp__buf_clear(&peer->bytes);
}

static void
carry(swamp__timer *timer)
{
    fake_peer *peer = SWAMP__OF(timer, fake_peer, timer);
    if (peer->closed) {
        swamp__conn_free(peer->conn);
        peer->conn = NULL;
        return;
    }
    if (!peer->wants || peer->blocked)
        return;
    peer->wants = 0;
    peer->fills++;
    int more = swamp__conn_fill(peer->conn, &peer->bytes);
    if (peer->bytes.len > peer->largest_fill)
        peer->largest_fill = peer->bytes.len;
    take_frames(peer);
    if (more) {
        peer->wants = 1;
        set_soon(peer->server, &peer->timer);
    }
}

static void
peer_want_write(void *self)
{
    fake_peer *peer = self;
    peer->wants = 1;
    if (!peer->blocked)
        set_soon(peer->server, &peer->timer);
}

static void
peer_close(void *self, int code, const char *reason)
{
    fake_peer *peer = self;
    ck_assert_uint_le(strlen(reason), 123);
    ck_assert_int_eq(peer->closed, 0);
    peer->closed = code;
    set_soon(peer->server, &peer->timer);
}

static void
peer_pause(void *self, int paused)
{
    ((fake_peer *)self)->paused = paused;
}

static uint64_t
peer_taken(void *self)
{
    return ((fake_peer *)self)->taken;
}

static const swamp__transport transport = {peer_want_write, peer_close, peer_pause, peer_taken};

fake_peer *
fake_peer_new(fake_server *server)
{
    fake_peer *peer = calloc(1, sizeof *peer);
    peer->server = server;
    swamp__buf_init(&peer->bytes);
    ck_assert_int_eq(swamp__timer_init(&server->node->timers, &peer->timer, carry), SWAMP_OK);
    ck_assert_int_eq(swamp__conn_new(&peer->conn, server->instance, &transport, peer, "anonymous"), SWAMP_OK);
    return peer;
}

static void
drop_first(fake_peer *peer)
{
    fake_frame *frame = peer->first;
    peer->first = frame->next;
    if (!peer->first)
        peer->last = NULL;
    free(frame);
}

void
fake_peer_free(fake_peer *peer)
{
    swamp__conn_free(peer->conn);
    swamp__timer_destroy(&peer->server->node->timers, &peer->timer);
    swamp__buf_free(&peer->bytes);
    while (peer->first)
        drop_first(peer);
    free(peer);
}

void
fake_peer_send(fake_peer *peer, const char *text)
{
    ck_assert_ptr_nonnull(peer->conn);
    swamp__conn_message(peer->conn, text, strlen(text), 0);
}

void
fake_peer_unblock(fake_peer *peer)
{
    peer->blocked = 0;
    if (peer->wants)
        set_soon(peer->server, &peer->timer);
}

const char *
fake_peer_next(fake_peer *peer)
{
    static char *taken;
    free(taken);
    taken = NULL;
    if (!peer->first)
        return NULL;
    ck_assert_int_eq(peer->first->opcode, SWAMP__WS_TEXT);
    taken = calloc(1, peer->first->len + 1);
    memcpy(taken, peer->first->text, peer->first->len);
    drop_first(peer);
    peer->count--;
    return taken;
}

static int
has_frame(void *user)
{
    return ((fake_peer *)user)->first != NULL;
}

const char *
fake_peer_wait(fake_peer *peer, int64_t ms)
{
    fake_world_until(peer->server->world, ms, has_frame, peer);
    return fake_peer_next(peer);
}
