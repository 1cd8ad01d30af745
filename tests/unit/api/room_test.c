/* A session's queue between two threads, held still at the moment that matters: room, told too late. */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <swamp/swamp.h>
#include "../../../libswamp/api/server.h"
#include "../../../libswamp/api/session.h"
#include "../../../libswamp/session/machine.h"
#include "tap.h"

typedef struct stage {
    swamp_session *session;
    sem_t filled, emptied; /* the loop's thread says, the application's thread does */
    uint64_t seq;
    int no_room;
} stage;

static void
bring_events(stage *s, int count)
{
    char frame[256];
    for (int i = 0; i < count; i++) {
        int len = snprintf(frame, sizeof(frame),
                           "{\"type\":\"event\",\"id\":\"%s\",\"event\":{\"kind\":\"x\",\"seq\":%llu}}",
                           s->session->machine->request_id, (unsigned long long)++s->seq);
        swamp__session_message(s->session->machine, frame, (size_t)len);
    }
}

/* One turn of the loop, as when a batch of frames is handed over while the application takes events. */
static void
fill_empty_fill(void *arg)
{
    stage *s = arg;
    bring_events(s, 20);
    sem_post(&s->filled);
    sem_wait(&s->emptied); /* its note of room waits behind this turn */
    bring_events(s, 20);
}

static void
look(void *arg)
{
    stage *s = arg;
    s->no_room = s->session->machine->no_room;
}

static void *
take_events(void *arg)
{
    stage *s = arg;
    swamp_event *event;
    sem_wait(&s->filled);
    while (swamp_session_next(s->session, 0, &event) == SWAMP_EVENT)
        swamp_event_free(event);
    sem_post(&s->emptied);
    return NULL;
}

static swamp_server *
start_server(void)
{
    swamp_server_options options = {.size = sizeof(options), .flags = SWAMP_SERVER_LOCAL};
    swamp_server *server = NULL;
    ck_assert_int_eq(swamp_server_new(&server, &options, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
    return server;
}

START_TEST(a_queue_that_filled_up_again_before_the_loop_heard_of_room_is_not_read_into)
{
    swamp_session_options options = {.size = sizeof(options), .queue_bytes = 2048};
    const char *known = "{\"resourceName\":\"w\",\"workflowId\":\"w\"}";
    swamp_server *server = start_server();
    stage s = {0};
    swamp_work *work;
    swamp_run *run = NULL;
    swamp_event *event;
    pthread_t taker;

    sem_init(&s.filled, 0, 0);
    sem_init(&s.emptied, 0, 0);
    ck_assert_int_eq(
        swamp_session_local(&s.session, server, "workflow.run", "{\"workflowIdOrName\":\"w\"}", &options),
        SWAMP_OK);
    ck_assert_int_eq(swamp_server_next(server, -1, &work), SWAMP_WORK);
    swamp_work_answer(work, SWAMP_OK, known, strlen(known));
    ck_assert_int_eq(swamp_server_next(server, -1, &work), SWAMP_WORK);
    ck_assert_int_eq(swamp_work_run(work, &run), SWAMP_OK);
    swamp_work_answer(work, SWAMP_OK, NULL, 0);
    ck_assert_int_eq(swamp_session_next(s.session, -1, &event),
                     SWAMP_EVENT); /* ACCEPTED: the stream is open */
    swamp_event_free(event);

    pthread_create(&taker, NULL, take_events, &s);
    swamp__home_call(s.session->home, fill_empty_fill, &s);
    pthread_join(taker, NULL);
    swamp__home_call(s.session->home, look, &s); /* behind the late note of room */
    ck_assert_msg(s.no_room, "the machine reads on into a full queue");

    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(swamp_session_next(s.session, 0, &event), SWAMP_EVENT);
        swamp_event_free(event);
    }
    swamp__home_call(s.session->home, look, &s);
    ck_assert_msg(!s.no_room, "an empty queue is not read into");
    swamp_run_finish(run, SWAMP_RUN_SUCCEEDED, NULL, 0, NULL, 0);
    swamp_session_free(s.session);
    swamp_server_free(server);
    sem_destroy(&s.filled);
    sem_destroy(&s.emptied);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("room");
    TCase *t = tcase_create("room");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, a_queue_that_filled_up_again_before_the_loop_heard_of_room_is_not_read_into);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
