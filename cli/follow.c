/* Follows one run to its end: events to stdout, news to stderr, Ctrl-C, and the exit code. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "follow.h"
#include "json.h"
#include "news.h"
#include "out.h"
#include "outcome.h"
#include "signals.h"
#include "view.h"

#define RUN_ID_SIZE 1100 /* as the protocol allows it */
#define CURSOR_SIZE 2048
#define BATCH 256 /* events between two looks at signals */

#define GOING (-1)

typedef struct follower {
    swamp_session *session;
    struct view *view;
    ending end;
    char run_id[RUN_ID_SIZE], cursor[CURSOR_SIZE];
    int64_t leave_at_ms; /* 0: nobody pressed Ctrl-C */
    int code;            /* GOING: not at the end yet */
} follower;

static int64_t
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* An `error` event says why nothing ran, or why the run failed. */
static void
note_error(follower *f, const json *event)
{
    const json *error = json_get(event, "error");
    const char *code = json_get_string(error, "code"), *message = json_get_string(error, "message");
    text_clear(&f->end.error_code);
    text_clear(&f->end.error_message);
    text_add(&f->end.error_code, code ? code : "internal_error");
    text_add(&f->end.error_message, message ? message : "");
}

static void
take_run_event(follower *f, const swamp_event *event)
{
    size_t len;
    const char *words = swamp_event_json(event, &len), *kind = swamp_event_kind(event);
    int is_error = kind && strcmp(kind, "error") == 0;
    json *tree = NULL;

    if (out_is_json())
        out_json(words, len);
    if (!out_is_json() || is_error)
        tree = json_read(words, len, NULL, NULL);
    if (tree && is_error)
        note_error(f, tree);
    if (tree && !out_is_json())
        view_event(f->view, tree, now_ms());
    json_free(tree);
}

static void
take_event(follower *f, const swamp_event *event)
{
    const char *run_id = swamp_event_run_id(event);
    if (run_id[0] && !f->run_id[0])
        snprintf(f->run_id, sizeof(f->run_id), "%s", run_id);
    switch (swamp_event_type(event)) {
    case SWAMP_EVENT_RUN:
        take_run_event(f, event);
        break;
    case SWAMP_EVENT_DONE:
        view_free(f->view);
        f->view = NULL;
        if (out_is_json())
            news_tell(event);
        f->code = ending_done(&f->end, event);
        break;
    case SWAMP_EVENT_ERROR:
        view_free(f->view);
        f->view = NULL;
        if (swamp_session_cursor(f->session, f->cursor, sizeof(f->cursor)) != SWAMP_OK)
            f->cursor[0] = '\0';
        f->code = ending_error(&f->end, event);
        break;
    default:
        news_tell(event);
    }
}

static void
leave(follower *f, int (*last_words)(const ending *end))
{
    view_free(f->view);
    f->view = NULL;
    if (swamp_session_cursor(f->session, f->cursor, sizeof(f->cursor)) != SWAMP_OK)
        f->cursor[0] = '\0';
    f->code = last_words(&f->end);
}

/* What is there, up to a batch, drawn and flushed once. */
static void
take_events(follower *f)
{
    swamp_event *event;
    int count = 0, rc = SWAMP_OK;

    while (count < BATCH && f->code == GOING) {
        rc = swamp_session_next(f->session, 0, &event);
        if (rc != SWAMP_EVENT)
            break;
        if (count++ == 0)
            out_begin();
        take_event(f, event);
        swamp_event_free(event);
    }
    if (count > 0)
        out_end();
    if (f->code == GOING && (rc == SWAMP_E_CLOSED || rc == SWAMP_END))
        leave(f, ending_closed);
}

static void
take_signals(follower *f)
{
    int number, count = signals_take(&number);
    if (count == 0 || f->code != GOING)
        return;
    if (f->end.options->only_leaves || f->end.cancelled_here || count > 1) {
        leave(f, ending_left);
        return;
    }
    f->end.cancelled_here = 1;
    f->leave_at_ms = now_ms() + FOLLOW_CANCEL_MS;
    if (swamp_session_cancel(f->session, "Ctrl-C") != SWAMP_OK)
        leave(f, ending_left);
    else if (out_is_json())
        out_status_json("{\"swamp\":\"cancelling\"}");
    else
        out_status("[cancelling, Ctrl-C again leaves at once...]");
}

static int
wait_time(const follower *f)
{
    int64_t wait_ms = view_is_live(f->view) ? VIEW_TICK_MS : 3600000;
    int64_t left_ms = f->leave_at_ms - now_ms();
    if (f->leave_at_ms && left_ms < wait_ms)
        wait_ms = left_ms > 0 ? left_ms : 0;
    return (int)wait_ms;
}

int
follow_session(swamp_session *session, const follow_options *options)
{
    follower f = {.session = session, .code = GOING, .end = {.options = options}};
    struct pollfd fds[2] = {{.fd = swamp_session_fd(session), .events = POLLIN},
                            {.fd = signals_watch(), .events = POLLIN}};

    f.end.run_id = f.run_id;
    f.end.cursor = f.cursor;
    f.view = view_new(now_ms());
    while (f.code == GOING) {
        poll(fds, 2, wait_time(&f));
        if (fds[1].revents)
            take_signals(&f);
        if (f.code == GOING)
            take_events(&f);
        if (f.code == GOING && f.leave_at_ms && now_ms() >= f.leave_at_ms)
            leave(&f, ending_left);
        if (f.code == GOING && out_is_broken())
            leave(&f, ending_broken);
        if (f.code == GOING)
            view_tick(f.view, now_ms());
    }
    view_free(f.view);
    text_free(&f.end.error_code);
    text_free(&f.end.error_message);
    return f.code;
}
