/* Memory fails at each allocation in turn: no crash, no leak, and every request is answered or its connection
 * closed. */
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/wire/ws.h"
#include "fixture.h"

START_TEST(instance_that_cannot_be_made_leaves_nothing)
{
    fake_node *node = fake_node_new(world);
    fake_asker *questions = fake_asker_new(node, store, 5000), *beats = fake_asker_new(node, store, 5000);
    swamp__instance_events events = {0};
    int rc = SWAMP_E_NOMEM;
    unsigned long n = 0;
    while (rc != SWAMP_OK) {
        swamp__instance *instance = NULL;
        swamp__alloc_fail_at(++n, 0);
        rc = swamp__instance_new(&instance, &server->options, &node->world, &questions->asker, &beats->asker,
                                 &server->desk, &events);
        swamp__alloc_fail_at(0, 0);
        ck_assert(rc == SWAMP_OK || (rc == SWAMP_E_NOMEM && !instance));
        swamp__instance_free(instance);
    }
    ck_assert_uint_gt(n, 5);
}
END_TEST

static const char *const requests[] = {
    "{\"type\":\"workflow.run\",\"id\":\"x\",\"payload\":{\"workflowIdOrName\":\"quick\"}}",
    "{\"type\":\"workflow.run\",\"id\":\"x\",\"payload\":{\"workflowIdOrName\":\"no-such\"}}",
    "{\"type\":\"run.attach\",\"id\":\"x\",\"payload\":{\"runId\":\"run\"}}",
    "{\"type\":\"run.cancel\",\"id\":\"x\",\"payload\":{\"runId\":\"run\"}}",
    "{\"type\":\"workflow.history.get\",\"id\":\"x\",\"payload\":{\"workflowIdOrName\":\"quick\"}}",
    "{\"type\":\"workflow.search\",\"id\":\"x\"}",
    "{\"type\":\"run.history\",\"id\":\"x\"}",
    "{\"type\":\"cluster.instances\",\"id\":\"x\"}",
    "{\"type\":\"server.version\",\"id\":\"x\"}",
    "{\"type\":\"none\",\"id\":\"x\"}",
};

START_TEST(request_is_answered_or_its_connection_closed)
{
    int over = 0;
    for (unsigned long n = 1; !over; n++) {
        fake_peer *client = fake_peer_new(server);
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 0);
        fake_peer_send(client, requests[_i]);
        advance(40);
        over = swamp__alloc_count() - before < n;
        swamp__alloc_fail_at(0, 0);
        advance(40000); /* back-offs, and one answer that is withheld */
        ck_assert_msg(client->closed || client->first, "allocation %lu: no answer to %s", n, requests[_i]);
        fake_peer_free(client);
        for (size_t run = 0; run < server->run_count; run++)
            if (server->runs[run])
                fake_server_finish(server, run, SWAMP_RUN_SUCCEEDED);
        server->run_count = 0;
        advance(1000);
        ck_assert_uint_eq(server->instance->registry->unfinished, 0);
    }
}
END_TEST

/* What came for an attach: each event once and in order, then its end; or the connection was closed. */
static void
check_stream(fake_peer *viewer, unsigned long n)
{
    const char *frame;
    uint64_t seq = 0;
    int ended = 0;
    while (viewer->first && viewer->first->opcode == SWAMP__WS_TEXT) {
        frame = fake_peer_next(viewer);
        ck_assert_msg(!ended, "allocation %lu: after its end came %s", n, frame);
        const char *at = strstr(frame, "\"seq\":");
        if (at)
            ck_assert_msg(strtoull(at + 6, NULL, 10) == ++seq, "allocation %lu: %s is not event %llu", n,
                          frame, (unsigned long long)seq);
        ended = strstr(frame, "\"type\":\"done\"") != NULL || strstr(frame, "\"type\":\"error\"") != NULL;
    }
    ck_assert_msg(ended || viewer->closed, "allocation %lu: the stream has no end", n);
}

START_TEST(an_attach_and_the_end_of_its_run_have_no_hole)
{
    int over = 0;
    for (unsigned long n = 1; !over; n++) {
        fake_peer *starter = fake_peer_new(server), *viewer = fake_peer_new(server);
        swamp_run *run = start_run(starter, "r");
        size_t index = server->run_count - 1;
        fake_server_emit(server, index, 3);
        unsigned long before = swamp__alloc_count();
        swamp__alloc_fail_at(n, 0);
        send_attach(viewer, "v", run->id, 0);
        advance(5);
        (void)swamp__run_emit(run, "{\"kind\":\"late\"}",
                              15); /* without memory the host is told, and no number is lost */
        advance(5);
        fake_server_finish(server, index, SWAMP_RUN_SUCCEEDED);
        advance(40);
        over = swamp__alloc_count() - before < n;
        swamp__alloc_fail_at(0, 0);
        advance(40000);
        check_stream(viewer, n);
        fake_peer_free(viewer);
        fake_peer_free(starter);
        server->run_count = 0;
        advance(1000);
        ck_assert_uint_eq(server->instance->registry->unfinished, 0);
    }
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("oom");
    TCase *tests = add_case(suite, "oom");
    tcase_add_test(tests, instance_that_cannot_be_made_leaves_nothing);
    tcase_add_loop_test(tests, request_is_answered_or_its_connection_closed, 0,
                        sizeof requests / sizeof requests[0]);
    tcase_add_test(tests, an_attach_and_the_end_of_its_run_have_no_hole);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
