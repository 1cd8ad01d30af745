/* `swamp cluster instances`. */
#include "cmd.h"
#include "out.h"
#include "show.h"
#include "target.h"

static void
show_instance(const json *row)
{
    text line = {0}, status = {0};
    const json *runs = json_get(row, "activeRuns");
    const char *address = json_get_string(row, "address");

    text_add(&status, "");
    show_add_words(&status, json_get_string(row, "status"));
    if (json_get_true(row, "draining"))
        text_add(&status, ", draining");
    show_add_words(&line, json_get_string(row, "instanceId"));
    text_addf(&line, "  %-8s  %5s  ", status.bytes, runs && runs->words ? runs->words : "-");
    show_add_words(&line, json_get_string(row, "lastHeartbeatAt"));
    text_add(&line, "  ");
    show_add_words(&line, json_get_string(row, "hostname"));
    if (json_get(row, "pid") && json_get(row, "pid")->words)
        text_addf(&line, ":%s", json_get(row, "pid")->words);
    text_add(&line, "  ");
    show_add_words(&line, address ? address : "(no address)");
    out_bytes(line.bytes, line.len);
    text_free(&status);
    text_free(&line);
}

int
cmd_cluster_instances(const struct args *args)
{
    json *answer = NULL;
    struct target target;
    int code = target_open(&target, args);

    if (code == 0)
        code = target_ask(&target, "cluster.instances", NULL, "the list of instances", &answer);
    if (code == 0)
        show_rows(json_get(json_get(answer, "payload"), "instances"),
                  "INSTANCE                              STATUS     RUNS  LAST HEARTBEAT            HOST:PID "
                  " ADDRESS",
                  show_instance);
    json_free(answer);
    target_close(&target);
    return code;
}
