/* `swamp doctor`: looks at the store's file, the instances and the runs, and names what somebody should do. */
#include "cmd.h"
#include "doctor.h"
#include "doctor_report.h"
#include "out.h"
#include "outcome.h"
#include "store.h"

const struct flag cmd_doctor_flags[] = {
    STORE_FLAG,
    {.name = NULL},
};

int
cmd_doctor(const struct args *args)
{
    const char *url = args_text(args, "store");
    swamp_store *store = NULL;
    int code = store_check(url);

    if (code != 0)
        return code;
    if (!args_given(args, "store") && store_is_absent(url) == STORE_NEVER_MADE) {
        doctor_say(0, "there is no store %s yet: nothing was run here", url);
        return 0;
    }
    if (!store_path(url))
        doctor_say(0, "the store %s is gone with its process: there is nothing to look at", url);
    else if (doctor_look_at_file(url)) {
        code = store_open(&store, url, out_log, SWAMP_LOG_ERROR);
        if (code == 0)
            code = doctor_look_at_cluster(store, url);
        if (code == 0)
            doctor_look_at_history(store);
        swamp_store_free(store);
    }
    if (code == 0 && doctor_findings() > 0)
        code = out_fail(OUTCOME_FAILED, NULL,
                        "%d finding%s; each line above that begins with !! says what to do",
                        doctor_findings(), TEXT_PLURAL(doctor_findings()));
    return code;
}
