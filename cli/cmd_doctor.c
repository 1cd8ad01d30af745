/* `swamp doctor`: looks at the store's file, the instances and the runs, and names what somebody should do. */
#include <stdarg.h>
#include "cmd.h"
#include "doctor.h"
#include "out.h"
#include "outcome.h"
#include "show.h"
#include "store.h"

const struct flag cmd_doctor_flags[] = {
    STORE_FLAG,
    {.name = NULL},
};

static int findings;

void
doctor_say(int is_finding, const char *format, ...)
{
    text words = {0}, line = {0};
    va_list args;
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    findings += is_finding;
    if (out_is_json()) {
        text_addf(&line, "{\"finding\":%s,\"message\":", is_finding ? "true" : "false");
        text_add_json(&line, words.bytes);
        text_add(&line, "}");
    } else {
        text_add(&line, is_finding ? "!! " : "ok ");
        show_add_words(&line, words.bytes);
    }
    if (is_finding || !out_is_quiet())
        out_bytes(line.bytes, line.len);
    text_free(&words);
    text_free(&line);
}

int
cmd_doctor(const struct args *args)
{
    const char *url = args_text(args, "store");
    swamp_store *store = NULL;
    int code = store_check(url);

    findings = 0;
    if (code != 0)
        return code;
    if (!args_given(args, "store") && store_is_absent(url)) {
        doctor_say(0, "there is no store %s yet: nothing was run here", url);
        return 0;
    }
    if (!store_path(url))
        doctor_say(0, "the store %s is gone with its process: there is nothing to look at", url);
    else if (doctor_look_at_file(url)) {
        code = store_open(&store, url, out_log, SWAMP_LOG_ERROR);
        if (code == 0)
            code = doctor_look_at_cluster(store);
        swamp_store_free(store);
    }
    if (code == 0 && findings > 0)
        code = out_fail(OUTCOME_FAILED, NULL,
                        "%d finding%s; each line above that begins with !! says what to do", findings,
                        TEXT_PLURAL(findings));
    return code;
}
