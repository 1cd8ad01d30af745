/* `swamp workflow run`: on a server, or in this process as an instance without a port. */
#include <string.h>
#include "cmd.h"
#include "folder.h"
#include "follow.h"
#include "inputs.h"
#include "out.h"
#include "outcome.h"
#include "signals.h"
#include "target.h"
#include "workflow/host.h"

const struct flag cmd_workflow_run_flags[] = {
    {.name = "input",
     .type = FLAG_LIST,
     .value = "K=V",
     .help = "a text, or with K:json=V a JSON value; may be repeated"},
    {.name = "input-file",
     .type = FLAG_TEXT,
     .value = "F",
     .help = "inputs as a YAML or JSON object; -: stdin"},
    {.name = "stdin", .type = FLAG_SWITCH, .help = "inputs as a YAML or JSON object on stdin"},
    WORKFLOWS_FLAG,
    {.name = NULL},
};

static int
fail_session(int rc, const char *what)
{
    return out_fail(outcome_of_error("", rc, 0), NULL, "%s: %s; give fewer or smaller inputs", what,
                    swamp_status_text(rc));
}

static int
run_on_server(struct target *target, const char *payload, const char *what)
{
    swamp_session *session;
    int rc = swamp_session_start(&session, target->client, "workflow.run", payload, NULL);
    if (rc != SWAMP_OK)
        return fail_session(rc, what);
    int code = follow_session(session, &(follow_options){.what = what, .again = target->again});
    swamp_session_free(session);
    return code;
}

/* *host is the server's. Warnings about files that nobody asked for are for -v. */
static int
make_instance(swamp_server **out, swamp_store *store, const char *folder, workflow_host **host)
{
    swamp_server_options options = {.size = sizeof(options)};
    char why[512] = "", *words = NULL;

    options.store = store;
    options.flags = SWAMP_SERVER_LOCAL;
    options.drain_grace_ms = SWAMP_OFF; /* nobody else starts anything here */
    options.linger_ms = SWAMP_OFF;
    options.executor = workflow_host_executor();
    options.log = out_log;
    options.log_level = out_is_verbose() ? SWAMP_LOG_DEBUG : SWAMP_LOG_ERROR;
    options.executor_user = *host = workflow_host_new(folder, out_is_verbose() ? out_log : NULL, NULL);
    int rc = swamp_server_new(out, &options, &words);
    if (rc == SWAMP_OK && (rc = swamp_server_start(*out)) != SWAMP_OK)
        swamp_server_error(*out, why, sizeof(why));
    if (rc == SWAMP_OK)
        return 0;
    int code = out_fail(outcome_of_error("", rc, 0), NULL, "no instance could be made in this process: %s",
                        words    ? words
                        : why[0] ? why
                                 : swamp_status_text(rc));
    swamp_free(words);
    return code;
}

static int
run_here(const struct args *args, const struct target *target, const char *payload, const char *what)
{
    swamp_store *store = NULL;
    swamp_server *server = NULL;
    swamp_session *session = NULL;
    workflow_host *host;
    int code = store_open(&store, target->store_url, out_log, SWAMP_LOG_ERROR);

    if (code != 0)
        return code;
    code = make_instance(&server, store, args_text(args, "workflows"), &host);
    if (code == 0) {
        int rc = swamp_session_local(&session, server, "workflow.run", payload, NULL);
        code = rc == SWAMP_OK
                   ? follow_session(session,
                                    &(follow_options){.what = what, .again = target->again, .is_local = 1})
                   : fail_session(rc, what);
        if (code == OUTCOME_CTRL_C) /* CLI.md: twice leaves at once; the end of the run is still recorded */
            workflow_host_hurry(host);
    }
    swamp_session_free(session);
    signals_release(); /* the record is written as fast as the store takes it; a third Ctrl-C does not wait for that */
    swamp_server_free(server);
    swamp_store_free(store);
    return code;
}

int
cmd_workflow_run(const struct args *args)
{
    const char *name = args_operand(args, 0);
    text payload = {0}, what = {0}, why = {0};
    struct target target = {0};

    signals_watch();
    text_addf(&what, "workflow %s", name);
    text_add(&payload, "{\"workflowIdOrName\":");
    text_add_json(&payload, name);
    text_add(&payload, ",\"inputs\":");
    int code = inputs_gather(args, &payload, &why);
    text_add(&payload, "}");
    if (code != 0)
        out_fail(code, NULL, "%s", why.bytes);
    else
        code = target_open_client(&target, args);
    if (code == 0 && !target.client)
        code = folder_check(args_text(args, "workflows"));
    if (code == 0)
        code = target.client ? run_on_server(&target, payload.bytes, what.bytes)
                             : run_here(args, &target, payload.bytes, what.bytes);
    target_close(&target);
    text_free(&payload);
    text_free(&what);
    text_free(&why);
    return code;
}
