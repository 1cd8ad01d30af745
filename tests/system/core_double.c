/* A double of the server core: see core_double.h. */
#include "core_double.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <swamp/status.h>
#include "../../libswamp/util/alloc.h"
#include "../../libswamp/util/buf.h"
#include "../../libswamp/wire/limits.h"
#include "../../libswamp/wire/ws.h"

#define PATIENCE_S 20
#define LATE_MS 50

struct swamp__conn {
    swamp__link link;
    swamp__instance *core;
    const swamp__transport *transport;
    void *peer;
    swamp__buf out;
    size_t flood_left, flood_next, flood_size;
    char *flood;
};

typedef struct late_answer {
    swamp__timer timer;
    swamp__http_request request;
    swamp__instance *core;
} late_answer;

void
core_init(swamp__instance *core, swamp__loop *loop)
{
    memset(core, 0, sizeof(*core));
    pthread_mutex_init(&core->lock, NULL);
    pthread_cond_init(&core->changed, NULL);
    core->loop = loop;
    swamp__list_init(&core->conns);
}

void
core_destroy(swamp__instance *core)
{
    ck_assert_uint_eq(core->opened, core->freed);
    pthread_mutex_destroy(&core->lock);
    pthread_cond_destroy(&core->changed);
}

static void
bump(swamp__instance *core, size_t *counter)
{
    pthread_mutex_lock(&core->lock);
    (*counter)++;
    pthread_cond_broadcast(&core->changed);
    pthread_mutex_unlock(&core->lock);
}

void
core_await(swamp__instance *core, const size_t *counter, size_t value)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&core->lock);
    while (*counter < value && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&core->changed, &core->lock, &until);
    ck_assert_uint_ge(*counter, value);
    pthread_mutex_unlock(&core->lock);
}

size_t
core_get(swamp__instance *core, const size_t *counter)
{
    size_t value;

    pthread_mutex_lock(&core->lock);
    value = *counter;
    pthread_mutex_unlock(&core->lock);
    return value;
}

void
core_resume(swamp__instance *core)
{
    for (swamp__link *link = swamp__list_first(&core->conns); link;
         link = swamp__list_next(&core->conns, link)) {
        swamp__conn *conn = SWAMP__OF(link, swamp__conn, link);

        conn->transport->pause(conn->peer, 0);
    }
}

void
core_say(swamp__instance *core, const char *text)
{
    for (swamp__link *link = swamp__list_first(&core->conns); link;
         link = swamp__list_next(&core->conns, link)) {
        swamp__conn *conn = SWAMP__OF(link, swamp__conn, link);

        swamp__ws_put_text(&conn->out, text, strlen(text));
        conn->transport->want_write(conn->peer);
    }
}

char
core_flood_byte(size_t frame, size_t at)
{
    return (char)('a' + (frame * 7 + at * 31 + at / 251) % 26);
}

int
swamp__conn_new(swamp__conn **out, swamp__instance *core, const swamp__transport *transport, void *peer,
                const char *principal)
{
    swamp__conn *conn;

    if (core->refuse < 0)
        return core->refuse;
    conn = swamp__calloc(1, sizeof(*conn));
    ck_assert_ptr_nonnull(conn);
    conn->core = core;
    conn->transport = transport;
    conn->peer = peer;
    swamp__buf_init(&conn->out);
    swamp__list_push(&core->conns, &conn->link);
    *out = conn;
    bump(core, &core->opened);
    return SWAMP_OK;
}

static void
obey(swamp__conn *conn, const char *text)
{
    int code = 0;
    char reason[128] = "";

    if (strncmp(text, "echo ", 5) == 0)
        swamp__ws_put_text(&conn->out, text + 5, strlen(text + 5));
    else if (strcmp(text, "ping") == 0)
        swamp__ws_put_ping(&conn->out);
    else if (strcmp(text, "pause") == 0)
        conn->transport->pause(conn->peer, 1);
    else if (sscanf(text, "close %d %127[^\n]", &code, reason) >= 1)
        conn->transport->close(conn->peer, code, reason);
    else if (sscanf(text, "flood %zu %zu", &conn->flood_left, &conn->flood_size) == 2)
        conn->flood = swamp__realloc(conn->flood, conn->flood_size);
    conn->transport->want_write(conn->peer);
}

void
swamp__conn_message(swamp__conn *conn, const char *text, size_t len, int binary)
{
    swamp__instance *core = conn->core;
    size_t kept = len < sizeof(core->last) - 1 ? len : sizeof(core->last) - 1;

    pthread_mutex_lock(&core->lock);
    memcpy(core->last, text, kept);
    core->last[kept] = '\0';
    core->last_len = len;
    core->messages++;
    core->binaries += binary != 0;
    pthread_cond_broadcast(&core->changed);
    pthread_mutex_unlock(&core->lock);
    if (!binary && len < sizeof(core->last))
        obey(conn, core->last);
}

void
swamp__conn_alive(swamp__conn *conn)
{
    bump(conn->core, &conn->core->alive);
}

/* Frames of a flood differ in size, so that they end anywhere in a batch. */
static void
fill_flood(swamp__conn *conn, swamp__buf *out)
{
    do {
        size_t len = conn->flood_size - conn->flood_next % 5 * (conn->flood_size / 7);

        for (size_t i = 0; i < len; i++)
            conn->flood[i] = core_flood_byte(conn->flood_next, i);
        swamp__ws_put_text(out, conn->flood, len);
        conn->flood_next++;
        conn->flood_left--;
    } while (conn->flood_left > 0 && out->len + conn->flood_size < SWAMP__BATCH_BYTES);
}

static void
note_fill(swamp__instance *core, size_t bytes)
{
    pthread_mutex_lock(&core->lock);
    core->fills++;
    core->filled += bytes;
    pthread_cond_broadcast(&core->changed);
    pthread_mutex_unlock(&core->lock);
}

int
swamp__conn_fill(swamp__conn *conn, swamp__buf *out)
{
    size_t before = out->len;

    swamp__buf_append(out, conn->out.data, conn->out.len);
    swamp__buf_clear(&conn->out);
    if (conn->flood_left > 0)
        fill_flood(conn, out);
    if (conn->core->insists && out->len > before)
        conn->transport->want_write(conn->peer);
    note_fill(conn->core, out->len - before);
    return conn->flood_left > 0;
}

void
swamp__conn_free(swamp__conn *conn)
{
    swamp__instance *core = conn->core;

    swamp__link_remove(&conn->link);
    swamp__buf_free(&conn->out);
    swamp__free(conn->flood);
    swamp__free(conn);
    bump(core, &core->freed);
}

static void
answer(const swamp__http_request *request, int status, const char *body)
{
    swamp__http_answer out = {.status = status, .content_type = "application/json"};

    swamp__buf_init(&out.body);
    swamp__buf_text(&out.body, body);
    request->done(request->user, &out);
    swamp__buf_free(&out.body);
}

static void
answer_late(swamp__timer *timer)
{
    late_answer *late = SWAMP__OF(timer, late_answer, timer);
    swamp__http_request request = late->request;

    swamp__timer_destroy(swamp__loop_world(late->core->loop)->timers, &late->timer);
    swamp__free(late);
    answer(&request, 200, "late");
}

/* "/late" is answered after a while, "/never" not at all, all else at once. */
void *
swamp__http_ask(swamp__instance *core, const swamp__http_request *request)
{
    const swamp__world *world = swamp__loop_world(core->loop);
    late_answer *late;
    char body[256];

    if (strcmp(request->path, "/late") != 0 && strcmp(request->path, "/never") != 0) {
        snprintf(body, sizeof(body), "%s %s", request->method, request->path);
        answer(request, strcmp(request->path, "/nowhere") == 0 ? 404 : 200, body);
        return NULL;
    }
    late = swamp__calloc(1, sizeof(*late));
    ck_assert_ptr_nonnull(late);
    late->request = *request;
    late->core = core;
    ck_assert_int_eq(swamp__timer_init(world->timers, &late->timer, answer_late), SWAMP_OK);
    if (strcmp(request->path, "/late") == 0)
        swamp__timer_set(world->timers, &late->timer, swamp__now_ms(world) + LATE_MS);
    bump(core, &core->messages);
    return late;
}

void
swamp__http_abandon(void *token)
{
    late_answer *late = token;
    swamp__instance *core = late->core;

    swamp__timer_destroy(swamp__loop_world(core->loop)->timers, &late->timer);
    swamp__free(late);
    bump(core, &core->abandoned);
}
