/* The last words about a followed run: its result, how to look at it again, and the exit code. */
#include <string.h>
#include "ending.h"
#include "json.h"
#include "out.h"
#include "outcome.h"
#include "show.h"

#define LOOK "swamp workflow history get"

/* The line on stdout; on a terminal and elsewhere, not with --json. */
static void
write_result(const ending *end, const swamp_event *event, const json *run)
{
    text line = {0};
    int64_t duration_ms;
    const char *status = swamp_event_status(event);

    if (out_is_json() || !end->run_id[0])
        return;
    text_addf(&line, "run %s %s", end->run_id, status[0] ? status : "ended, its status was not recorded");
    if (status[0] && json_integer(json_get(run, "duration"), &duration_ms)) {
        text_add(&line, " in ");
        show_add_elapsed(&line, duration_ms);
    }
    text_addf(&line, "; see it again: %s %s%s", LOOK, end->run_id, end->options->again);
    out_bytes(line.bytes, line.len);
    text_free(&line);
}

/* An `error` event and nothing else: nothing ran, there is no record (PROTOCOL 4). */
static int
fail_before_start(const ending *end, int code)
{
    const char *message = end->error_message.len ? end->error_message.bytes : "no reason was given";
    const char *advice = code == OUTCOME_NOT_FOUND ? "\"swamp workflow list\" shows what there is"
                         : code == OUTCOME_USAGE   ? "correct the inputs or the file, and run it again"
                                                   : "see the server's log";
    return out_fail(code, end->run_id, "%s: %s; %s", end->options->what, message, advice);
}

static int
fail_done(const ending *end, const swamp_event *event, const json *run, int code)
{
    const char *status = swamp_event_status(event), *again = end->options->again;
    text cause = {0};

    if (code == OUTCOME_INTERRUPTED)
        return out_fail(code, end->run_id,
                        "run %s was interrupted (%s), final status: %s; look at what was done with \"" LOOK
                        " %s%s\", then start it again",
                        end->run_id, show_interruption(swamp_event_reason(event)),
                        status[0] ? status : "not recorded", end->run_id, again);
    if (code == OUTCOME_CTRL_C)
        return out_fail(code, end->run_id, "run %s was cancelled; look at it with \"" LOOK " %s%s\"",
                        end->run_id, end->run_id, again);
    show_add_cause(&cause, run);
    if (cause.len == 0 && end->error_message.len)
        text_add(&cause, end->error_message.bytes);
    out_fail(code, end->run_id, "run %s %s%s%s; look at it with \"" LOOK " %s%s\"", end->run_id,
             strcmp(status, "cancelled") == 0 ? "was cancelled by somebody else" : status,
             cause.len ? ": " : "", cause.len ? cause.bytes : "", end->run_id, again);
    text_free(&cause);
    return code;
}

int
ending_done(const ending *end, const swamp_event *event)
{
    const char *error_code = end->error_code.len ? end->error_code.bytes : "";
    const char *status = swamp_event_status(event);
    size_t len;
    const char *words = swamp_event_json(event, &len);
    json *run = words ? json_read(words, len, NULL, NULL) : NULL;
    int code = outcome_of_end(status, swamp_event_reason(event), error_code, end->cancelled_here);

    if (!status[0] && error_code[0]) {
        code = fail_before_start(end, code);
    } else {
        write_result(end, event, run);
        if (code != OUTCOME_DONE)
            fail_done(end, event, run, code);
    }
    json_free(run);
    return code;
}

/* What to do next about a session that was given up, by its exit code. */
static const char *
advice(int code, int has_run)
{
    switch (code) {
    case OUTCOME_USAGE:
        return "correct it and try again";
    case OUTCOME_CONNECTION:
        return has_run ? "the run may go on" : "check that the server runs there and can be reached";
    case OUTCOME_NOT_FOUND:
        return "\"swamp run history --all\" lists the runs";
    case OUTCOME_UNAUTHORIZED:
        return "give a token that may do this with --token or SWAMP_SERVER_TOKEN";
    case OUTCOME_REFUSED:
        return "nothing was started, try again in a moment";
    case OUTCOME_INTERRUPTED:
        return "the run may have ended";
    default:
        return "see the server's log";
    }
}

int
ending_error(const ending *end, const swamp_event *event)
{
    int has_run = end->run_id[0] != '\0';
    const char *code_text = swamp_event_code(event), *message = swamp_event_message(event);
    int code = outcome_of_error(code_text, swamp_event_error(event), has_run && !end->options->only_leaves);

    if (end->cancelled_here && strcmp(code_text, "cancelled") == 0)
        return out_fail(OUTCOME_CTRL_C, end->run_id, "%s was cancelled before it was started",
                        end->options->what);
    if (strcmp(code_text, "connection_lost") == 0)
        return out_fail(code, end->run_id,
                        "%s: %s: it may or may not have been started; \"swamp run history --active%s\" tells",
                        end->options->what, message, end->options->again);
    if (has_run && (code == OUTCOME_CONNECTION || code == OUTCOME_INTERRUPTED || code == OUTCOME_REFUSED))
        return out_fail(code, end->run_id,
                        "run %s: %s; %s: follow it with \"swamp run attach %s%s\" or look at it with \"" LOOK
                        " %s%s\"",
                        end->run_id, message, advice(code, 1), end->cursor[0] ? end->cursor : end->run_id,
                        end->options->again, end->run_id, end->options->again);
    if (has_run)
        return out_fail(code, end->run_id, "run %s: %s; %s", end->run_id, message, advice(code, 1));
    return out_fail(code, NULL, "%s: %s; %s", end->options->what, message, advice(code, 0));
}

int
ending_left(const ending *end)
{
    const char *again = end->options->again;
    if (!end->run_id[0])
        return out_fail(
            OUTCOME_CTRL_C, NULL,
            "left before %s was accepted: it may or may not go on; \"swamp run history --active%s\" tells",
            end->options->what, again);
    if (end->options->only_leaves)
        return out_fail(OUTCOME_CTRL_C, end->run_id,
                        "left run %s, which goes on; follow it with \"swamp run attach %s%s\"", end->run_id,
                        end->cursor[0] ? end->cursor : end->run_id, again);
    if (end->options->is_local)
        return out_fail(
            OUTCOME_CTRL_C, end->run_id,
            "left run %s, whose commands are being stopped, in 5 s at most; look at it with \"" LOOK
            " %s%s\"",
            end->run_id, end->run_id, again);
    /* whether a server has taken the cancel is not told: it may be the very one that does not answer */
    return out_fail(OUTCOME_CTRL_C, end->run_id,
                    "left run %s before it had ended: if no server has taken the cancel, it goes on; look at "
                    "it with \"" LOOK " %s%s\", or ask again with \"swamp run cancel %s%s\"",
                    end->run_id, end->run_id, again, end->run_id, again);
}

int
ending_broken(const ending *end)
{
    return out_fail(OUTCOME_INTERRUPTED, end->run_id,
                    "output can no longer be written, so run %s was left; look at it with \"" LOOK " %s%s\"",
                    end->run_id, end->run_id, end->options->again);
}

int
ending_closed(const ending *end)
{
    return out_fail(OUTCOME_INTERRUPTED, end->run_id,
                    "%s: the instance in this process was closed; \"swamp run history%s\" tells how it ended",
                    end->options->what, end->options->again);
}
