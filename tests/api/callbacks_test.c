/* Callbacks of swamp_session_dispatch(): which one for which event, and what they may call. */
#include <stdio.h>
#include "fixture.h"

/* Which callbacks were called, by the name of the event's type. */
typedef struct seen {
    int event, attached, elsewhere, interrupted, reconnecting, gap, draining, done, error;
    swamp_session *session;
    int free_in, again;
} seen;

#define COUNTER(name)                                                                                        \
    static void on_##name(const swamp_event *event, void *user)                                              \
    {                                                                                                        \
        ((seen *)user)->name += swamp_event_type(event) > 0;                                                 \
    }
COUNTER(attached)
COUNTER(elsewhere)
COUNTER(interrupted)
COUNTER(reconnecting)
COUNTER(gap)
COUNTER(draining)
COUNTER(done)
COUNTER(error)

static void
on_event(const swamp_event *event, void *user)
{
    seen *s = user;
    s->event++;
    if (s->session && s->again == 0) {
        swamp_session_callbacks none = {.size = sizeof(none)};
        s->again = swamp_session_dispatch(s->session, 0, &none);
    }
    if (s->free_in)
        swamp_session_free(s->session);
}

static swamp_session_callbacks
callbacks_of(seen *s)
{
    return (swamp_session_callbacks){sizeof(swamp_session_callbacks),
                                     on_event,
                                     on_attached,
                                     on_elsewhere,
                                     on_interrupted,
                                     on_reconnecting,
                                     on_gap,
                                     on_draining,
                                     on_done,
                                     on_error,
                                     s};
}

START_TEST(callbacks_are_called_for_events_done_and_draining)
{
    host h = {.obey = 1};
    host_begin(&h, 0, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "hold");
    seen s = {.session = session};
    swamp_session_callbacks callbacks = callbacks_of(&s);
    while (s.event == 0)
        ck_assert_int_eq(swamp_session_dispatch(session, 100, &callbacks), SWAMP_OK);
    ck_assert_int_eq(s.again, SWAMP_E_REENTRANT);
    ck_assert_int_eq(swamp_server_stop(h.server, 0), SWAMP_OK);
    ck_assert_int_eq(swamp_session_dispatch(session, -1, &callbacks), SWAMP_END);
    ck_assert_int_eq(s.draining, 1);
    ck_assert_int_eq(s.done, 1);
    ck_assert_int_eq(s.error, 0);
    ck_assert_int_ge(s.event, 2);
    callbacks.size = 3;
    ck_assert_int_eq(swamp_session_dispatch(session, -1, &callbacks), SWAMP_E_INVALID);
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(callbacks_are_called_for_attached_gap_reconnecting_and_error)
{
    host h = {.many = 50};
    swamp_server_options o;
    host_options(&o);
    o.run_log_events = 5;
    host_start(&h, &o, 0);
    swamp_client *client = client_of(h.url);
    swamp_session *session = start_remote(client, "many");
    swamp_event *done = next_of(session, SWAMP_EVENT_DONE);
    char id[64];
    snprintf(id, sizeof(id), "%s", swamp_event_run_id(done));
    swamp_event_free(done);
    swamp_session_free(session);

    session = attach_to(client, id);
    seen s = {0};
    swamp_session_callbacks callbacks = callbacks_of(&s);
    ck_assert_int_eq(swamp_session_dispatch(session, -1, &callbacks), SWAMP_END);
    ck_assert_int_eq(s.attached, 1);
    ck_assert_int_eq(s.gap, 1);
    ck_assert_int_eq(s.event, 5);
    ck_assert_int_eq(s.done, 1);
    swamp_session_free(session);
    swamp_client_free(client);

    seen t = {0};
    client = client_of("http://127.0.0.1:1"); /* nobody listens there */
    swamp_session_options so;
    session_options(&so);
    so.max_dials = 2;
    ck_assert_int_eq(swamp_session_attach(&session, client, id, &so), SWAMP_OK);
    callbacks = callbacks_of(&t);
    ck_assert_int_eq(swamp_session_dispatch(session, -1, &callbacks), SWAMP_END);
    ck_assert_int_eq(t.reconnecting, 1);
    ck_assert_int_eq(t.error, 1);
    swamp_session_free(session);
    swamp_client_free(client);
    host_stop(&h);
}
END_TEST

START_TEST(callbacks_are_called_for_elsewhere_and_interrupted)
{
    host a = {0}, b = {0};
    char id[64];
    host_begin(&a, 0, 0);
    b.store = a.store;
    host_begin(&b, 0, 0);
    swamp_client *client = client_of(b.url);
    swamp_session *starter = start_local(a.server, "hold");
    swamp_run *run = host_take(&a);
    swamp_session_options so;
    session_options(&so);
    so.dial_address_after = SWAMP_OFF;
    so.max_elsewhere = 1000000;
    swamp_session *session;
    ck_assert_int_eq(swamp_session_attach(&session, client, swamp_run_id(run), &so), SWAMP_OK);
    seen s = {0};
    swamp_session_callbacks callbacks = callbacks_of(&s);
    while (s.elsewhere == 0)
        ck_assert_int_eq(swamp_session_dispatch(session, 20, &callbacks), SWAMP_OK);
    declare_dead(a.server, a.store, id, sizeof(id));
    ck_assert_int_eq(swamp_session_dispatch(session, -1, &callbacks), SWAMP_END);
    ck_assert_int_eq(s.interrupted, 1);
    ck_assert_int_eq(s.done, 1);
    finish_now(run, SWAMP_RUN_FAILED);
    swamp_session_free(session);
    swamp_session_free(starter);
    swamp_client_free(client);
    a.store = NULL;
    host_stop(&a);
    host_stop(&b);
}
END_TEST

START_TEST(a_session_freed_in_a_callback_goes_when_dispatch_returns)
{
    host h = {0};
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *session = start_local(h.server, "count");
    seen s = {.session = session, .free_in = 1};
    swamp_session_callbacks callbacks = callbacks_of(&s);
    ck_assert_int_eq(swamp_session_dispatch(session, -1, &callbacks), SWAMP_E_CLOSED);
    ck_assert_int_eq(s.event, 1);
    host_stop(&h);
}
END_TEST

START_TEST(callbacks_that_are_null_are_skipped)
{
    host h = {0};
    host_begin(&h, SWAMP_SERVER_LOCAL, 0);
    swamp_session *session = start_local(h.server, "count");
    swamp_session_callbacks none = {.size = sizeof(none.size)}; /* an older caller's: nothing but a size */
    ck_assert_int_eq(swamp_session_dispatch(session, -1, &none), SWAMP_END);
    swamp_session_free(session);
    host_stop(&h);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("api callbacks");
    TCase *t = tcase_create("callbacks");
    tcase_set_timeout(t, 90);
    tcase_add_test(t, callbacks_are_called_for_events_done_and_draining);
    tcase_add_test(t, callbacks_are_called_for_attached_gap_reconnecting_and_error);
    tcase_add_test(t, callbacks_are_called_for_elsewhere_and_interrupted);
    tcase_add_test(t, a_session_freed_in_a_callback_goes_when_dispatch_returns);
    tcase_add_test(t, callbacks_that_are_null_are_skipped);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
