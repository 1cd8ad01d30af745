/* Memory fails at each allocation in turn: no crash, no leak, and every request is answered or its connection
 * closed. */
#include "../../../libswamp/util/alloc.h"
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
    for (unsigned long n = 1; n < 60; n++) {
        fake_peer *client = fake_peer_new(server);
        swamp__alloc_fail_at(n, 0);
        fake_peer_send(client, requests[_i]);
        advance(40);
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

static Suite *
suite(void)
{
    Suite *suite = suite_create("oom");
    TCase *tests = add_case(suite, "oom");
    tcase_add_test(tests, instance_that_cannot_be_made_leaves_nothing);
    tcase_add_loop_test(tests, request_is_answered_or_its_connection_closed, 0,
                        sizeof requests / sizeof requests[0]);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
