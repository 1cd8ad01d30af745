/* One request, one answer: bounds of tries and time, refusals, frames that are not for it. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/session/single.h"
#include "../../support/fake_world.h"
#include "tap.h"

typedef struct scene {
    fake_world *world;
    swamp__single *single;
    swamp_event *event;
    int dials, sends, linked, no_memory;
    char sent[300];
} scene;

static int
io_dial(void *self, const char *url)
{
    scene *s = self;
    ck_assert_str_eq(url, "ws://x");
    ck_assert(!s->linked);
    s->dials++;
    s->linked = !s->no_memory;
    return s->no_memory ? SWAMP_E_NOMEM : SWAMP_OK;
}

static void
io_send(void *self, const char *text, size_t len)
{
    scene *s = self;
    s->sends++;
    snprintf(s->sent, sizeof s->sent, "%.*s", (int)len, text);
}

static void
io_hang_up(void *self)
{
    ((scene *)self)->linked = 0;
}

static void
io_deliver(void *self, swamp_event *event)
{
    scene *s = self;
    ck_assert_ptr_null(s->event);
    s->event = event;
}

static scene s;

static void
open_scene(void)
{
    s = (scene){.world = fake_world_new(1)};
    fake_node *node = fake_node_new(s.world);
    swamp__session_io io = {
        .dial = io_dial, .send = io_send, .hang_up = io_hang_up, .deliver = io_deliver, .self = &s};
    swamp__single_options options = {
        .url = "ws://x", .type = "server.version", .timeout_ms = 10000, .max_tries = 3};
    ck_assert_int_eq(swamp__single_new(&s.single, &options, &node->world, &io), SWAMP_OK);
    swamp__single_begin(s.single);
    ck_assert_int_eq(s.dials, 1);
}

static void
close_scene(void)
{
    swamp__single_free(s.single);
    ck_assert(!s.linked);
    swamp_event_free(s.event);
    fake_world_free(s.world);
}

static void
lose(void)
{
    s.linked = 0;
    swamp__single_link_lost(s.single, SWAMP__LINK_LOST, 0, "refused");
}

static void
hear(const char *text)
{
    swamp__single_message(s.single, text, strlen(text));
}

START_TEST(the_answer_is_given_whole)
{
    const char *answer = "{\"type\":\"server.version\",\"id\":\"q1\",\"version\":\"1\"}";
    swamp__single_connected(s.single);
    ck_assert_str_eq(s.sent, "{\"type\":\"server.version\",\"id\":\"q1\"}");
    hear("{\"type\":\"server.drain\",\"retryAfterMs\":1}");
    hear("{\"type\":\"done\",\"id\":\"other\"}");
    ck_assert_ptr_null(s.event);
    hear(answer);
    ck_assert_int_eq(swamp_event_type(s.event), SWAMP_EVENT_ANSWER);
    ck_assert_str_eq(swamp_event_json(s.event, NULL), answer);
    ck_assert(!s.linked);
}
END_TEST

START_TEST(an_error_is_given_with_its_code)
{
    swamp__single_connected(s.single);
    hear("{\"type\":\"error\",\"id\":\"q1\",\"error\":{\"code\":\"not_found\",\"message\":\"no\"}}");
    ck_assert_int_eq(swamp_event_type(s.event), SWAMP_EVENT_ERROR);
    ck_assert_str_eq(swamp_event_code(s.event), "not_found");
    ck_assert_str_eq(swamp_event_message(s.event), "no");
    ck_assert_int_eq(swamp_event_error(s.event), SWAMP_E_NOT_FOUND);
}
END_TEST

START_TEST(a_lost_link_is_tried_again_up_to_the_bound)
{
    lose();
    fake_world_advance(s.world, 500);
    ck_assert_int_eq(s.dials, 2);
    swamp__single_connected(s.single);
    lose();
    fake_world_advance(s.world, 1000);
    ck_assert_int_eq(s.dials, 3);
    ck_assert_ptr_null(s.event);
    lose();
    ck_assert_int_eq(swamp_event_error(s.event), SWAMP_E_CONNECT);
    ck_assert_str_eq(swamp_event_message(s.event), "refused");
    fake_world_advance(s.world, 100000);
    ck_assert_int_eq(s.dials, 3);
}
END_TEST

START_TEST(a_dial_that_cannot_begin_is_a_lost_link)
{
    lose();
    s.no_memory = 1;
    fake_world_advance(s.world, 500);
    ck_assert_int_eq(s.dials, 2);
    ck_assert_ptr_null(s.event);
    s.no_memory = 0;
    fake_world_advance(s.world, 1000);
    ck_assert_int_eq(s.dials, 3);
    ck_assert(s.linked);
    swamp__single_connected(s.single);
    hear("{\"type\":\"server.version\",\"id\":\"q1\",\"version\":\"1\"}");
    ck_assert_int_eq(swamp_event_type(s.event), SWAMP_EVENT_ANSWER);
}
END_TEST

START_TEST(dials_that_can_never_begin_are_an_error)
{
    lose();
    s.no_memory = 1;
    fake_world_advance(s.world, 1500);
    ck_assert_int_eq(s.dials, 3);
    ck_assert_int_eq(swamp_event_error(s.event), SWAMP_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(swamp_event_message(s.event), "memory"));
}
END_TEST

START_TEST(time_is_the_other_bound)
{
    swamp__single_connected(s.single);
    fake_world_advance(s.world, 9999);
    ck_assert_ptr_null(s.event);
    fake_world_advance(s.world, 1);
    ck_assert_int_eq(swamp_event_error(s.event), SWAMP_E_TIMEOUT);
    ck_assert(!s.linked);
}
END_TEST

START_TEST(unauthorized_is_not_tried_again)
{
    s.linked = 0;
    swamp__single_link_lost(s.single, SWAMP__LINK_UNAUTHORIZED, 0, "HTTP 401");
    ck_assert_int_eq(swamp_event_error(s.event), SWAMP_E_UNAUTHORIZED);
}
END_TEST

START_TEST(what_cannot_be_decoded_is_an_error)
{
    swamp__single_connected(s.single);
    hear("{");
    ck_assert_int_eq(swamp_event_error(s.event), SWAMP_E_PROTOCOL);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("single");
    TCase *tcase = tcase_create("single");
    tcase_add_checked_fixture(tcase, open_scene, close_scene);
    tcase_add_test(tcase, the_answer_is_given_whole);
    tcase_add_test(tcase, an_error_is_given_with_its_code);
    tcase_add_test(tcase, a_lost_link_is_tried_again_up_to_the_bound);
    tcase_add_test(tcase, a_dial_that_cannot_begin_is_a_lost_link);
    tcase_add_test(tcase, dials_that_can_never_begin_are_an_error);
    tcase_add_test(tcase, time_is_the_other_bound);
    tcase_add_test(tcase, unauthorized_is_not_tried_again);
    tcase_add_test(tcase, what_cannot_be_decoded_is_an_error);
    suite_add_tcase(suite, tcase);
    return tap_main(suite);
}
