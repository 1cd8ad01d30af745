/* The executor under a real server without a port: refusals, runs, search, cancel, stop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <swamp/swamp.h>
#include "../../../cli/json.h"
#include "../../../cli/workflow/host.h"
#include "gone.h"
#include "tap.h"

static char dir[] = "/tmp/flows-XXXXXX";
static swamp_server *server;

#define TASK(command)                                                                                        \
    "task: {type: model_method, modelType: command/shell, modelName: m, methodName: execute, inputs: "       \
    "{run: '" command "'}}\n"

static void
write_file(const char *name, const char *words)
{
    text path = {0};
    text_addf(&path, "%s/%s", dir, name);
    FILE *file = fopen(path.bytes, "w");
    ck_assert_ptr_nonnull(file);
    fputs(words, file);
    fclose(file);
    text_free(&path);
}

static void
set_up(void)
{
    swamp_server_options options = {.size = sizeof(options), .flags = SWAMP_SERVER_LOCAL};
    char *error = NULL;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    write_file("greet.yaml",
               "id: greet-id\nname: greet\ndescription: Say it\ninputs: {who: {type: string, required: "
               "true}}\njobs:\n- name: j\n  steps:\n  - name: s\n    " TASK("echo hello ${{ inputs.who }}"));
    write_file("slow.yml", "id: slow-id\nname: slow\njobs:\n- name: j\n  steps:\n  - name: s\n    " TASK(
                               "sleep 300 & echo pid $!; wait"));
    write_file("broken.yaml", "id: broken-id\nname: broken\n");
    ck_assert_int_eq(swamp_store_memory_open(&options.store), SWAMP_OK);
    options.executor = workflow_host_executor();
    options.executor_user = workflow_host_new(dir, NULL, NULL);
    ck_assert_msg(swamp_server_new(&server, &options, &error) == SWAMP_OK, "%s", error ? error : "?");
    swamp_store_free(options.store);
    ck_assert_int_eq(swamp_server_start(server), SWAMP_OK);
}

static void
tear_down(void)
{
    text command = {0};
    swamp_server_free(server);
    text_addf(&command, "rm -r %s", dir);
    ck_assert_int_eq(system(command.bytes), 0);
    text_free(&command);
}

static swamp_session *
begin(const char *type, const char *payload)
{
    swamp_session *session;
    ck_assert_int_eq(swamp_session_local(&session, server, type, payload, NULL), SWAMP_OK);
    return session;
}

/* Adds the events' JSON, one a line, until one holds words (NULL: to the end); the end's status is the last line. */
static void
follow(swamp_session *session, const char *words, text *out)
{
    swamp_event *event;
    int found = 0;
    while (!found && swamp_session_next(session, -1, &event) == SWAMP_EVENT) {
        const char *json_text = swamp_event_json(event, NULL);
        if (swamp_event_type(event) == SWAMP_EVENT_RUN)
            text_addf(out, "%s\n", json_text);
        else if (swamp_event_type(event) == SWAMP_EVENT_DONE)
            text_addf(out, "done %s\n", json_text ? json_text : "");
        else if (swamp_event_type(event) == SWAMP_EVENT_ERROR)
            text_add(out, "error\n");
        found = words && out->bytes && strstr(out->bytes, words);
        swamp_event_free(event);
    }
}

static char *
run_to_end(const char *type, const char *payload)
{
    text out = {0};
    swamp_session *session = begin(type, payload);
    follow(session, NULL, &out);
    swamp_session_free(session);
    return text_take(&out);
}

START_TEST(a_run_succeeds_and_is_recorded)
{
    char *told =
        run_to_end("workflow.run", "{\"workflowIdOrName\":\"greet\",\"inputs\":{\"who\":\"wor$ld\"}}");
    ck_assert_ptr_nonnull(strstr(told, "\"line\":\"hello wor$ld\""));
    ck_assert_ptr_nonnull(strstr(told, "\"kind\":\"completed\",\"run\":{\"id\":"));
    ck_assert_ptr_nonnull(strstr(told, "\"status\":\"succeeded\""));
    ck_assert_ptr_nonnull(strstr(told, "\"workflowId\":\"greet-id\""));
    free(told);
}
END_TEST

static const struct {
    const char *type, *payload, *wanted;
} refusals[] = {
    {"workflow.run", "{\"workflowIdOrName\":\"nobody\"}",
     "\"code\":\"workflow_not_found\",\"message\":\"there is no workflow 'nobody'; 1 workflow file has "
     "mistakes"},
    {"workflow.run", "{\"workflowIdOrName\":\"broken\"}",
     "\"code\":\"validation_failed\",\"message\":\"broken.yaml:"},
    {"workflow.run", "{\"workflowIdOrName\":\"greet\"}",
     "\"code\":\"validation_failed\",\"message\":\"the input 'who' is required\""},
    {"workflow.run", "{\"workflowIdOrName\":\"greet-id\",\"inputs\":{\"who\":1}}",
     "\"message\":\"the input 'who' must be of type string, but is integer\""},
    {"model.method.run", "{\"modelIdOrName\":\"m\",\"methodName\":\"x\"}", "\"code\":\"model_not_found\""},
};

START_TEST(refusals_start_nothing)
{
    char *told = run_to_end(refusals[_i].type, refusals[_i].payload);
    ck_assert_msg(strstr(told, refusals[_i].wanted) != NULL, "%s", told);
    ck_assert_ptr_null(strstr(told, "started"));
    free(told);
}
END_TEST

START_TEST(a_cancel_leaves_no_process)
{
    text out = {0};
    swamp_session *session = begin("workflow.run", "{\"workflowIdOrName\":\"slow\"}");
    follow(session, "pid ", &out);
    int pid = atoi(strstr(out.bytes, "\"line\":\"pid ") + 12);
    ck_assert(!process_is_gone(pid));
    ck_assert_int_eq(swamp_session_cancel(session, "enough"), SWAMP_OK);
    follow(session, NULL, &out);
    ck_assert_ptr_nonnull(strstr(out.bytes, "\"kind\":\"cancelled\",\"run\":{"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "\"reason\":\"enough\""));
    ck_assert(process_is_gone(pid));
    swamp_session_free(session);
    text_free(&out);
}
END_TEST

START_TEST(a_cancel_at_any_moment_ends_the_run)
{
    /* right behind the start it may overtake it: they come on two threads */
    for (int i = 0; i < 20; i++) {
        text out = {0};
        swamp_session *session = begin("workflow.run", "{\"workflowIdOrName\":\"slow\"}");
        swamp_event *event;
        ck_assert_int_eq(swamp_session_next(session, 10000, &event), SWAMP_EVENT);
        ck_assert_int_eq(swamp_event_type(event), SWAMP_EVENT_ACCEPTED);
        swamp_event_free(event);
        ck_assert_int_eq(swamp_session_cancel(session, ""), SWAMP_OK);
        follow(session, NULL, &out);
        ck_assert_ptr_nonnull(strstr(out.bytes, "\"kind\":\"cancelled\""));
        swamp_session_free(session);
        text_free(&out);
    }
}
END_TEST

START_TEST(freeing_the_server_leaves_no_process)
{
    text out = {0};
    swamp_session *session = begin("workflow.run", "{\"workflowIdOrName\":\"slow\"}");
    follow(session, "pid ", &out);
    int pid = atoi(strstr(out.bytes, "\"line\":\"pid ") + 12);
    swamp_server_free(server);
    server = NULL;
    ck_assert(process_is_gone(pid));
    swamp_session_free(session);
    text_free(&out);
}
END_TEST

static char *
search(const char *payload)
{
    swamp_event *answer;
    ck_assert_int_eq(swamp_server_request(server, "workflow.search", payload, 5000, &answer), SWAMP_EVENT);
    text out = {0};
    text_add(&out, swamp_event_json(answer, NULL));
    swamp_event_free(answer);
    return text_take(&out);
}

START_TEST(search_lists_what_can_be_run_and_sees_changes)
{
    char *all = search("{}");
    ck_assert_ptr_nonnull(
        strstr(all, "[{\"id\":\"greet-id\",\"name\":\"greet\",\"description\":\"Say it\",\"jobCount\":1,"
                    "\"hasInputs\":true},{\"id\":\"slow-id\",\"name\":\"slow\",\"jobCount\":1,"
                    "\"hasInputs\":false}]"));
    free(all);
    write_file("broken.yaml",
               "id: broken-id\nname: mended\njobs:\n- name: j\n  steps:\n  - name: s\n    " TASK("true"));
    write_file("twin.yaml",
               "id: twin-id\nname: slow\njobs:\n- name: j\n  steps:\n  - name: s\n    " TASK("true"));
    char *some = search("{\"query\":\"MEND\"}");
    ck_assert_ptr_nonnull(strstr(some,
                                 "\"results\":[{\"id\":\"broken-id\",\"name\":\"mended\",\"jobCount\":1,"
                                 "\"hasInputs\":false}]"));
    free(some);
    char *twins = search("{\"query\":\"twin\"}");
    ck_assert_ptr_nonnull(strstr(twins, "\"results\":[]"));
    free(twins);
}
END_TEST

static Suite *
suite(void)
{
    Suite *all = suite_create("host");
    TCase *cases = tcase_create("host");
    tcase_set_timeout(cases, 30);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_run_succeeds_and_is_recorded);
    tcase_add_loop_test(cases, refusals_start_nothing, 0, sizeof(refusals) / sizeof(refusals[0]));
    tcase_add_test(cases, a_cancel_leaves_no_process);
    tcase_add_test(cases, a_cancel_at_any_moment_ends_the_run);
    tcase_add_test(cases, freeing_the_server_leaves_no_process);
    tcase_add_test(cases, search_lists_what_can_be_run_and_sees_changes);
    suite_add_tcase(all, cases);
    return all;
}

int
main(void)
{
    return tap_main(suite());
}
