/* From a message's bytes to the input that rules.c knows: decoded, matched to its question, refined by the place. */
#include <string.h>
#include <swamp/status.h>
#include "../wire/document.h"
#include "machine.h"

static const struct {
    const char *code;
    int input;
} error_codes[] = {
    {"interrupted", SWAMP__IN_INTERRUPTED},       {"not_found", SWAMP__IN_NOT_FOUND},
    {"unavailable", SWAMP__IN_UNAVAILABLE},       {"draining", SWAMP__IN_UNAVAILABLE},
    {"epoch_mismatch", SWAMP__IN_EPOCH_MISMATCH},
};

static const struct {
    int type, input;
} plain_frames[] = {
    {SWAMP__ANS_ACCEPTED, SWAMP__IN_ACCEPTED},
    {SWAMP__ANS_ATTACHED, SWAMP__IN_ATTACHED},
    {SWAMP__ANS_GAP, SWAMP__IN_GAP},
    {SWAMP__ANS_ELSEWHERE, SWAMP__IN_ELSEWHERE},
    {SWAMP__ANS_INTERRUPTED, SWAMP__IN_INTERRUPTED},
};

static int
judge_error(const swamp__session *session, const swamp__answer *answer)
{
    int asked_history = session->state == SWAMP__AT_ASKING || session->state == SWAMP__AT_CHECKING;
    /* workflow_history_get_failed is what servers of the existing tool say of a run that they do not know. */
    if (asked_history &&
        (strcmp(answer->code, "not_found") == 0 || strcmp(answer->code, "workflow_history_get_failed") == 0))
        return SWAMP__IN_NOT_FINAL;
    for (size_t i = 0; i < sizeof error_codes / sizeof error_codes[0]; i++) {
        if (strcmp(answer->code, error_codes[i].code) != 0)
            continue;
        if (error_codes[i].input == SWAMP__IN_EPOCH_MISMATCH &&
            (session->place.epoch_tried || !session->place.epoch[0]))
            return SWAMP__IN_EPOCH_AGAIN;
        return error_codes[i].input;
    }
    return SWAMP__IN_REFUSED;
}

/* The id is compared: a server that also finds runs by name may have found another one. */
static int
judge_history(const swamp__session *session, const swamp__answer *answer)
{
    char id[SWAMP__ID_MAX * 4 + 1];
    if (swamp__json_member_text(answer->data, "id", id, sizeof id) != SWAMP_OK ||
        strcmp(id, session->place.run_id) != 0)
        return SWAMP__IN_NOT_FINAL;
    return swamp__run_status_is_final(answer->run_status) ? SWAMP__IN_FINAL : SWAMP__IN_NOT_FINAL;
}

static int
judge_event(swamp__session *session, const swamp__answer *answer)
{
    static const int inputs[] = {[SWAMP__PLACE_NEXT] = SWAMP__IN_EVENT,
                                 [SWAMP__PLACE_SEEN] = SWAMP__IN_EVENT_SEEN,
                                 [SWAMP__PLACE_HOLE] = SWAMP__IN_EVENT_HOLE,
                                 [SWAMP__PLACE_HOLE_AGAIN] = SWAMP__IN_EVENT_HOLE_AGAIN};
    /* PROTOCOL 4: the first runId is the session's; a nested workflow's never replaces it (no rule beyond
     * STARTING). */
    if (answer->run_id[0] && session->state == SWAMP__AT_STARTING)
        swamp__session_feed(session, SWAMP__IN_ACCEPTED, &(swamp__news){.answer = answer, .why = ""});
    return inputs[swamp__place_judge(&session->place, answer->seq)];
}

static int
judge_done(const swamp__session *session)
{
    if (!swamp__place_short(&session->place))
        return SWAMP__IN_DONE;
    return swamp__place_hole_tried(&session->place) ? SWAMP__IN_DONE_SHORT_AGAIN : SWAMP__IN_DONE_SHORT;
}

static int
judge_frame(swamp__session *session, const swamp__answer *answer)
{
    switch (answer->type) {
    case SWAMP__ANS_EVENT:
        return judge_event(session, answer);
    case SWAMP__ANS_DONE:
        return judge_done(session);
    case SWAMP__ANS_ERROR:
        return judge_error(session, answer);
    case SWAMP__ANS_HISTORY:
        return judge_history(session, answer);
    default:
        for (size_t i = 0; i < sizeof plain_frames / sizeof plain_frames[0]; i++)
            if (plain_frames[i].type == answer->type)
                return plain_frames[i].input;
        return 0;
    }
}

/* An error without a usable id can only be about what was asked last: nothing else was sent. */
static int
is_ours(const swamp__session *session, const swamp__answer *answer)
{
    if (!session->request_id[0])
        return 0;
    if (strcmp(answer->id, session->request_id) == 0)
        return 1;
    return answer->type == SWAMP__ANS_ERROR && strcmp(answer->id, "unknown") == 0 &&
           session->answer_timeout_ms > 0;
}

void
swamp__session_read(swamp__session *session, const char *text, size_t len)
{
    swamp__answer *answer = &session->answer;
    swamp__news news = {.answer = answer, .why = ""};
    int status = swamp__answer_read(text, len, answer);
    if (status == SWAMP_E_NOMEM) {
        swamp__session_no_memory(session);
    } else if (status < 0) {
        int again = session->place.garbled_tried == session->place.last + 1;
        swamp__session_feed(session, again ? SWAMP__IN_GARBLED_AGAIN : SWAMP__IN_GARBLED,
                            &(swamp__news){.why = "a frame that cannot be decoded"});
    } else if (answer->type == SWAMP__ANS_DRAIN) {
        news.retry_after_ms = answer->retry_after_ms;
        swamp__session_feed(session, SWAMP__IN_DRAIN, &news);
    } else if (!swamp__session_cancel_answer(session, answer) && is_ours(session, answer)) {
        news.retry_after_ms = answer->retry_after_ms > 0 ? answer->retry_after_ms : 0;
        swamp__session_feed(session, judge_frame(session, answer), &news);
    }
}
