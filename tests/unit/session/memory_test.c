/* Memory that runs out at any point: the session ends with one ERROR that says so, and nothing leaks. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/session/session.h"
#include "../../../libswamp/util/alloc.h"
#include "../../support/fake_world.h"
#include "tap.h"

typedef struct scene {
    swamp__session *session;
    int linked, lasts, last_error, dials, no_memory;
    char id[32];
} scene;

static int
io_dial(void *self, const char *url)
{
    scene *s = self;
    (void)url;
    s->dials++;
    s->linked = !s->no_memory;
    return s->no_memory ? SWAMP_E_NOMEM : SWAMP_OK;
}

static void
io_send(void *self, const char *text, size_t len)
{
    scene *s = self;
    const char *id = strstr(text, "\"id\":\"");
    (void)len;
    ck_assert_ptr_nonnull(id);
    ck_assert_int_eq(sscanf(id, "\"id\":\"%31[^\"]", s->id), 1);
}

static void
io_ping(void *self)
{
    (void)self;
}

static void
io_hang_up(void *self)
{
    ((scene *)self)->linked = 0;
}

static void
io_pause(void *self, int paused)
{
    (void)self;
    (void)paused;
}

static void
io_deliver(void *self, swamp_event *event)
{
    scene *s = self;
    if (swamp_event_type(event) >= SWAMP_EVENT_DONE) {
        s->lasts++;
        s->last_error = swamp_event_error(event);
    }
    swamp_event_free(event);
}

static void
hear(scene *s, const char *format)
{
    char text[400];
    if (swamp__session_ended(s->session))
        return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, s->id);
#pragma GCC diagnostic pop
    swamp__session_message(s->session, text, strlen(text));
}

/* A life with most kinds of frames and events in it. */
static void
live(scene *s, fake_world *world)
{
    swamp__session_begin(s->session);
    swamp__session_connected(s->session);
    hear(s, "{\"type\":\"run.accepted\",\"id\":\"%s\",\"run\":{\"runId\":\"R\"}}");
    hear(s, "{\"type\":\"event\",\"id\":\"%s\",\"event\":{\"kind\":\"started\",\"seq\":1}}");
    swamp__session_cancel(s->session, "why");
    if (s->linked) {
        s->linked = 0;
        swamp__session_link_lost(s->session, SWAMP__LINK_LOST, 0, "reset");
    }
    fake_world_advance(world, 2000);
    swamp__session_connected(s->session);
    snprintf(s->id, sizeof s->id, "s3"); /* the attach, not the cancel after it */
    hear(s, "{\"type\":\"run.elsewhere\",\"id\":\"%s\",\"payload\":{\"runId\":\"R\",\"instanceId\":\"I\","
            "\"address\":\"ws://y\"}}");
    fake_world_advance(world, 2000);
    swamp__session_connected(s->session);
    snprintf(s->id, sizeof s->id, "s5");
    hear(s, "{\"type\":\"run.attached\",\"id\":\"%s\",\"payload\":{\"runId\":\"R\",\"epoch\":\"E\","
            "\"headSeq\":2}}");
    hear(s, "{\"type\":\"run.gap\",\"id\":\"%s\",\"gap\":{\"runId\":\"R\",\"fromSeq\":2,\"toSeq\":3}}");
    hear(s, "{\"type\":\"event\",\"id\":\"%s\",\"event\":{\"kind\":\"completed\",\"run\":{\"id\":\"R\","
            "\"status\":\"succeeded\"},\"seq\":4}}");
    hear(s, "{\"type\":\"done\",\"id\":\"%s\"}");
}

static const swamp__session_options options = {.url = "ws://x",
                                               .start_type = "workflow.run",
                                               .start_payload = "{}",
                                               .max_dials = 5,
                                               .retry_min_ms = 1000,
                                               .retry_first_ms = 2000,
                                               .retry_max_ms = 15000,
                                               .settle_ms = 10000,
                                               .max_elsewhere = 10,
                                               .elsewhere_give_up_ms = 90000,
                                               .elsewhere_min_ms = 1000,
                                               .elsewhere_max_ms = 2000,
                                               .dial_address_after = 1,
                                               .give_up_ms = 300000,
                                               .connect_timeout_ms = 10000,
                                               .idle_timeout_ms = 30000,
                                               .answer_timeout_ms = 120000,
                                               .request_timeout_ms = 30000};

START_TEST(memory_that_runs_out_ends_the_session_with_an_error)
{
    int whole = 0, failed = 0;
    for (unsigned long n = 1; !whole; n++) {
        scene s = {0};
        fake_world *world = fake_world_new(1);
        fake_node *node = fake_node_new(world);
        swamp__session_io io = {io_dial, io_send, io_ping, io_hang_up, io_pause, io_deliver, &s};
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 0);
        int status = swamp__session_new(&s.session, &options, &node->world, &io);
        if (status == SWAMP_OK) {
            live(&s, world);
            ck_assert(swamp__session_ended(s.session));
            ck_assert_int_eq(s.lasts, 1);
            ck_assert(!s.linked);
            ck_assert(s.last_error == SWAMP_OK || s.last_error == SWAMP_E_NOMEM);
            failed += s.last_error != SWAMP_OK;
        } else {
            ck_assert_int_eq(status, SWAMP_E_NOMEM);
            ck_assert_ptr_null(s.session);
        }
        whole = swamp__alloc_count() - before < n; /* nothing failed any more */
        swamp__alloc_fail_at(0, 0);
        swamp__session_free(s.session);
        fake_world_free(world);
    }
    ck_assert_int_gt(failed, 20);
}
END_TEST

START_TEST(a_dial_that_cannot_begin_is_a_lost_link)
{
    scene s = {.no_memory = 1};
    fake_world *world = fake_world_new(1);
    fake_node *node = fake_node_new(world);
    swamp__session_io io = {io_dial, io_send, io_ping, io_hang_up, io_pause, io_deliver, &s};
    ck_assert_int_eq(swamp__session_new(&s.session, &options, &node->world, &io), SWAMP_OK);
    swamp__session_begin(s.session);
    ck_assert_int_eq(s.dials, 1);
    s.no_memory = 0;
    fake_world_advance(world, options.retry_first_ms); /* and not the time that a dial may take */
    ck_assert_int_eq(s.dials, 2);
    swamp__session_connected(s.session);
    ck_assert_str_ne(s.id, ""); /* the start was sent */
    swamp__session_free(s.session);
    fake_world_free(world);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("memory");
    tcase_add_test(tcase, memory_that_runs_out_ends_the_session_with_an_error);
    tcase_add_test(tcase, a_dial_that_cannot_begin_is_a_lost_link);
    suite_add_tcase(suite, tcase);
    return tap_main(suite);
}
