/* `swamp run attach`, `run cancel`, `run history`. */
#include <string.h>
#include "cmd.h"
#include "follow.h"
#include "out.h"
#include "outcome.h"
#include "show.h"
#include "signals.h"
#include "target.h"

const struct flag cmd_run_attach_flags[] = {
    {.name = "after-seq",
     .type = FLAG_COUNT,
     .value = "N",
     .max = 9007199254740991,
     .help = "the last event already seen (0: from the first)"},
    {.name = NULL},
};

const struct flag cmd_run_cancel_flags[] = {
    {.name = "reason", .type = FLAG_TEXT, .value = "TEXT", .help = "why, for those who follow the run"},
    {.name = NULL},
};

const struct flag cmd_run_history_flags[] = {
    {.name = "active", .type = FLAG_SWITCH, .help = "only runs that have not ended"},
    {.name = "all", .type = FLAG_SWITCH, .help = "also runs that ended long ago"},
    {.name = "limit",
     .type = FLAG_COUNT,
     .value = "N",
     .fallback = "100",
     .min = 1,
     .max = 1000,
     .help = "at most so many"},
    {.name = "workflow", .type = FLAG_TEXT, .value = "NAME", .help = "only runs of this workflow"},
    {.name = NULL},
};

int
cmd_run_attach(const struct args *args)
{
    swamp_session_options options = {.size = sizeof(options)};
    const char *run = args_operand(args, 0);
    swamp_session *session;
    struct target target;
    text what = {0};
    int code = target_open_client(&target, args);

    signals_watch();
    if (code == 0 && !target.url) {
        code = out_fail(OUTCOME_USAGE, NULL,
                        "--server is missing: a run is followed through a server; give its URL with --server "
                        "or SWAMP_SERVE_URL");
    } else if (code == 0) {
        options.after_seq = args_number(args, "after-seq");
        int rc = swamp_session_attach(&session, target.client, run, &options);
        text_addf(&what, "run %s", run);
        if (rc == SWAMP_OK) {
            code = follow_session(
                session, &(follow_options){.what = what.bytes, .again = target.again, .only_leaves = 1});
            swamp_session_free(session);
        } else {
            code = out_fail(
                outcome_of_error("", rc, 0), NULL,
                "RUN|CURSOR is \"%s\": %s; allowed is a run's id or a cursor as \"run attach\" prints it",
                run, swamp_status_text(rc));
        }
    }
    text_free(&what);
    target_close(&target);
    return code;
}

static void
show_cancel(const char *run, const json *answer)
{
    text line = {0};
    const char *status = json_get_string(answer, "status");

    if (json_get_true(answer, "accepted")) {
        text_add(&line, "run ");
        show_add_words(&line, run);
        text_add(&line, " was asked to end");
    } else {
        text_add(&line, "run ");
        show_add_words(&line, run);
        text_add(&line, " has ended already: ");
        show_add_words(&line, status ? status : "its status is not known");
    }
    out_bytes(line.bytes, line.len);
    text_free(&line);
}

int
cmd_run_cancel(const struct args *args)
{
    const char *run = args_operand(args, 0), *reason = args_text(args, "reason");
    text payload = {0}, what = {0}, line = {0};
    json *answer = NULL;
    struct target target;
    int code = target_open(&target, args);

    text_add(&payload, "{\"runId\":");
    text_add_json(&payload, run);
    if (reason) {
        text_add(&payload, ",\"reason\":");
        text_add_json(&payload, reason);
    }
    text_add(&payload, "}");
    text_addf(&what, "run %s", run);
    if (code == 0)
        code = target_ask(&target, "run.cancel", payload.bytes, what.bytes, &answer);
    if (code == 0 && out_is_json()) {
        json_write(answer, &line);
        out_json(line.bytes, line.len);
    } else if (code == 0) {
        show_cancel(run, answer);
    }
    json_free(answer);
    text_free(&line);
    text_free(&what);
    text_free(&payload);
    target_close(&target);
    return code;
}

static void
show_run(const json *row)
{
    static const struct {
        const char *member;
        int width;
    } columns[] = {{"id", 36}, {"status", 10}, {"startedAt", 24}, {"workflowName", 0}};
    text line = {0};

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        text word = {0};
        text_add(&word, "");
        show_add_words(&word, json_get_string(row, columns[i].member));
        text_addf(&line, "%s%-*s", i ? "  " : "", columns[i].width, word.bytes);
        text_free(&word);
    }
    if (json_get_true(row, "stale"))
        text_add(&line, "  (its instance shows no sign of life)");
    out_bytes(line.bytes, line.len);
    text_free(&line);
}

int
cmd_run_history(const struct args *args)
{
    text payload = {0};
    json *answer = NULL;
    struct target target;
    int code = target_open(&target, args);

    text_addf(&payload, "{\"limit\":%s,\"active\":%s,\"all\":%s", args_text(args, "limit"),
              args_number(args, "active") ? "true" : "false", args_number(args, "all") ? "true" : "false");
    if (args_text(args, "workflow")) {
        text_add(&payload, ",\"workflow\":");
        text_add_json(&payload, args_text(args, "workflow"));
    }
    text_add(&payload, "}");
    if (code == 0)
        code = target_ask(&target, "run.history", payload.bytes, "the list of runs", &answer);
    if (code == 0)
        show_rows(json_get(json_get(answer, "payload"), "runs"),
                  "ID                                    STATUS      STARTED                   WORKFLOW",
                  show_run);
    json_free(answer);
    text_free(&payload);
    target_close(&target);
    return code;
}
