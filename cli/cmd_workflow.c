/* `swamp workflow list`, `workflow validate`, `workflow history get`. */
#include <string.h>
#include <sys/stat.h>
#include "cmd.h"
#include "folder.h"
#include "out.h"
#include "outcome.h"
#include "show.h"
#include "target.h"
#include "term.h"
#include "workflow/catalog.h"
#include "workflow/load.h"

const struct flag cmd_workflow_list_flags[] = {
    WORKFLOWS_FLAG,
    {.name = NULL},
};

static void
show_workflow(const json *row)
{
    text line = {0};
    const json *jobs = json_get(row, "jobCount");
    const char *description = json_get_string(row, "description");

    show_add_words(&line, json_get_string(row, "name"));
    text_addf(&line, "  (%s job%s%s)", jobs && jobs->words ? jobs->words : "?",
              jobs && jobs->words && strcmp(jobs->words, "1") == 0 ? "" : "s",
              json_get_true(row, "hasInputs") ? ", takes inputs" : "");
    if (description) {
        text_add(&line, "  ");
        show_add_words(&line, description);
    }
    out_bytes(line.bytes, line.len);
    text_free(&line);
}

static int
list_folder(const char *folder)
{
    text rows = {0};
    int code = folder_check(folder);

    if (code != 0)
        return code;
    workflow_catalog *catalog = workflow_catalog_new(folder, out_log, NULL);
    workflow_catalog_search(catalog, NULL, &rows);
    json *tree = json_read(rows.bytes, rows.len, NULL, NULL);
    show_rows(tree, "WORKFLOW", show_workflow);
    json_free(tree);
    text_free(&rows);
    workflow_catalog_free(catalog);
    return 0;
}

int
cmd_workflow_list(const struct args *args)
{
    json *answer = NULL;
    struct target target;
    int code = target_open_client(&target, args);

    if (code == 0 && !target.client) {
        code = list_folder(args_text(args, "workflows"));
    } else if (code == 0) {
        code = target_ask(&target, "workflow.search", "{}", "the list of workflows", &answer);
        if (code == 0)
            show_rows(json_get(json_get(json_get(answer, "payload"), "data"), "results"), "WORKFLOW",
                      show_workflow);
    }
    json_free(answer);
    target_close(&target);
    return code;
}

static size_t
check_path(const char *path, workflow_faults *faults)
{
    struct stat found;
    size_t count = 1;

    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        workflow_catalog *catalog = workflow_catalog_new(path, NULL, NULL);
        count = workflow_catalog_check(catalog, faults);
        workflow_catalog_free(catalog);
    } else {
        workflow_unref(workflow_load(path, faults));
    }
    return count;
}

int
cmd_workflow_validate(const struct args *args)
{
    const char *path = args_operand(args, 0) ? args_operand(args, 0) : args_text(args, "workflows");
    workflow_faults faults = {0};
    size_t count = check_path(path, &faults), mistakes = faults.count;

    for (size_t i = 0; i < faults.count; i++) {
        text line = {0};
        if (out_is_json()) {
            text_add(&line, "{\"fault\":");
            text_add_json(&line, faults.lines[i]);
            text_add(&line, "}");
        } else {
            term_add_words(&line, faults.lines[i], strlen(faults.lines[i]));
        }
        out_bytes(line.bytes, line.len);
        text_free(&line);
    }
    workflow_faults_free(&faults);
    if (mistakes > 0)
        return out_fail(OUTCOME_USAGE, NULL,
                        "%s: %zu mistake%s in %zu file%s; correct what is wrong and validate again", path,
                        mistakes, TEXT_PLURAL(mistakes), count, TEXT_PLURAL(count));
    if (out_is_json())
        out_line("{\"files\":%zu,\"faults\":0}", count);
    else
        out_line("%s: %zu file%s, no mistakes", path, count, TEXT_PLURAL(count));
    return 0;
}

/* ---- history get ---- */

static void
show_steps(const json *job)
{
    const json *steps = json_get(job, "steps");
    for (const json *step = steps ? steps->first : NULL; step; step = step->next) {
        const char *error = json_get_string(step, "error");
        text line = {0};
        int64_t ms;
        text_add(&line, "  ");
        show_add_words(&line, json_get_string(job, "name"));
        text_add(&line, "/");
        show_add_words(&line, json_get_string(step, "name"));
        text_add(&line, ": ");
        show_add_words(&line, json_get_string(step, "status"));
        if (json_integer(json_get(step, "duration"), &ms)) {
            text_add(&line, " in ");
            show_add_elapsed(&line, ms);
        }
        if (error) {
            text_add(&line, ": ");
            show_add_words(&line, error);
        }
        out_bytes(line.bytes, line.len);
        text_free(&line);
    }
}

static void
show_record(const json *run)
{
    static const char *const members[] = {"id",         "workflowName", "status",      "startedAt",
                                          "finishedAt", "instanceId",   "initiatedBy", "interruptReason"};
    const json *jobs = json_get(run, "jobs");

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *words = json_get_string(run, members[i]);
        text line = {0};
        if (!words)
            continue;
        text_addf(&line, "%-16s ", members[i]);
        show_add_words(&line, words);
        out_bytes(line.bytes, line.len);
        text_free(&line);
    }
    for (const json *job = jobs ? jobs->first : NULL; job; job = job->next) {
        text line = {0};
        show_add_words(&line, json_get_string(job, "name"));
        text_add(&line, ": ");
        show_add_words(&line, json_get_string(job, "status"));
        out_bytes(line.bytes, line.len);
        text_free(&line);
        show_steps(job);
    }
}

int
cmd_workflow_history_get(const struct args *args)
{
    text payload = {0}, what = {0}, line = {0};
    json *answer = NULL;
    struct target target;
    int code = target_open(&target, args);

    text_add(&payload, "{\"workflowIdOrName\":");
    text_add_json(&payload, args_operand(args, 0));
    text_add(&payload, "}");
    text_addf(&what, "run or workflow %s", args_operand(args, 0));
    if (code == 0)
        code = target_ask(&target, "workflow.history.get", payload.bytes, what.bytes, &answer);
    if (code == 0) {
        const json *run = json_get(json_get(answer, "payload"), "data");
        if (out_is_json()) {
            json_write(run, &line);
            out_json(line.bytes ? line.bytes : "null", line.bytes ? line.len : 4);
        } else {
            show_record(run);
        }
    }
    json_free(answer);
    text_free(&line);
    text_free(&what);
    text_free(&payload);
    target_close(&target);
    return code;
}
