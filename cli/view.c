/* A run's events as a person sees them: a live view of jobs and steps on a terminal, plain lines elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"
#include "out.h"
#include "show.h"
#include "term.h"
#include "view.h"

#define WAITING 0
#define RUNNING 1
#define SUCCEEDED 2
#define FAILED 3
#define SKIPPED 4

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

static const struct {
    const char *word, *colour;
} states[] = {
    [WAITING] = {"waiting", DIM}, [RUNNING] = {"running", YELLOW}, [SUCCEEDED] = {"succeeded", GREEN},
    [FAILED] = {"failed", RED},   [SKIPPED] = {"skipped", DIM},
};

/* A job, or a step of one. */
struct node {
    char *name;
    int state;
    int64_t began_ms, ended_ms; /* 0: not yet */
    struct node *steps;         /* of a job, in the order in which they started */
    size_t count;
    int64_t declared; /* how many steps the job has */
};

struct view {
    int live, painted; /* lines of the block that are on the terminal */
    int64_t began_ms, now_ms, painted_ms;
    struct node *jobs;
    size_t count;
    char *under; /* "job/step" of the last output line */
};

/* ---- the model ---- */

static struct node *
find_node(struct node **list, size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*list)[i].name, name) == 0)
            return &(*list)[i];
    *list = memory_grow(*list, *count + 1, sizeof(struct node));
    struct node *fresh = &(*list)[(*count)++];
    *fresh = (struct node){.name = memory_copy(name)};
    return fresh;
}

static void
set_state(struct node *node, int state, int64_t now_ms)
{
    node->state = state;
    if (state == RUNNING && node->began_ms == 0)
        node->began_ms = now_ms;
    if (state > RUNNING)
        node->ended_ms = now_ms;
}

static void
declare_jobs(struct view *view, const json *event)
{
    const json *jobs = json_get(event, "jobs");
    for (const json *job = jobs ? jobs->first : NULL; job; job = job->next) {
        const char *name = json_get_string(job, "id");
        if (name)
            json_integer(json_get(job, "stepCount"), &find_node(&view->jobs, &view->count, name)->declared);
    }
}

static int
state_named(const char *word)
{
    for (size_t i = 0; word && i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(states[i].word, word) == 0)
            return (int)i;
    return FAILED;
}

/* Which kinds change a state, and to what; -1: the event's status says it. */
static const struct {
    const char *kind;
    int of_step, state;
} changes[] = {
    {"job_started", 0, RUNNING},  {"job_completed", 0, -1},         {"job_skipped", 0, SKIPPED},
    {"step_started", 1, RUNNING}, {"step_completed", 1, SUCCEEDED}, {"step_failed", 1, FAILED},
    {"step_skipped", 1, SKIPPED},
};

/* The job or step that the event is about, with its new state; NULL: it changes none. */
static struct node *
change_model(struct view *view, const json *event, const char *kind)
{
    const char *job_name = json_get_string(event, "jobId"), *step_name = json_get_string(event, "stepId");
    if (strcmp(kind, "started") == 0)
        declare_jobs(view, event);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (strcmp(changes[i].kind, kind) != 0 || !job_name || (changes[i].of_step && !step_name))
            continue;
        struct node *found = find_node(&view->jobs, &view->count, job_name);
        if (changes[i].of_step)
            found = find_node(&found->steps, &found->count, step_name);
        int state = changes[i].state >= 0 ? changes[i].state : state_named(json_get_string(event, "status"));
        set_state(found, state, view->now_ms);
        return found;
    }
    return NULL;
}

/* ---- the block ---- */

static void
add_coloured(text *out, const char *colour, const char *words)
{
    if (out_has_colours())
        text_addf(out, "%s%s%s", colour, words, PLAIN);
    else
        text_add(out, words);
}

static void
add_node_elapsed(text *out, const struct view *view, const struct node *node)
{
    if (node->began_ms)
        show_add_elapsed(out, (node->ended_ms ? node->ended_ms : view->now_ms) - node->began_ms);
}

static void
add_name(text *out, const char *name)
{
    text words = {0};
    show_add_words(&words, name);
    add_coloured(out, BOLD, words.bytes ? words.bytes : "");
    text_free(&words);
}

static void
add_job_line(text *out, const struct view *view, const struct node *job)
{
    size_t over = 0;
    for (size_t i = 0; i < job->count; i++)
        over += job->steps[i].state > RUNNING;
    text_add(out, "  ");
    add_coloured(out, states[job->state].colour, states[job->state].word);
    text_addf(out, "%*s", (int)(10 - strlen(states[job->state].word)), "");
    show_add_words(out, job->name);
    text_addf(out, "  %zu/%lld  ", over, (long long)job->declared);
    add_node_elapsed(out, view, job);
    for (size_t i = 0; i < job->count; i++) {
        if (job->steps[i].state != RUNNING)
            continue;
        text_add(out, "  ");
        add_name(out, job->steps[i].name);
        text_add(out, " ");
        add_node_elapsed(out, view, &job->steps[i]);
    }
}

/* At most `rows` jobs, those that run first. */
static int
add_jobs(text *out, const struct view *view, int rows)
{
    static const int order[] = {RUNNING, FAILED, WAITING, SUCCEEDED, SKIPPED};
    int lines = 0;
    for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
        for (size_t i = 0; i < view->count; i++) {
            if (view->jobs[i].state != order[k])
                continue;
            if (lines >= rows)
                return lines;
            add_job_line(out, view, &view->jobs[i]);
            text_add(out, "\n");
            lines++;
        }
    }
    return lines;
}

static void
add_sum_line(text *out, const struct view *view)
{
    size_t counts[5] = {0};
    const char *mark = "";
    for (size_t i = 0; i < view->count; i++)
        counts[view->jobs[i].state]++;
    text_addf(out, "%zu job%s: ", view->count, TEXT_PLURAL(view->count));
    for (size_t i = 0; i < 5; i++) {
        if (counts[i] == 0)
            continue;
        text_addf(out, "%s%zu %s", mark, counts[i], states[i].word);
        mark = ", ";
    }
    text_add(out, "  ");
    show_add_elapsed(out, view->now_ms - view->began_ms);
    text_add(out, "\n");
}

static void
erase_block(void *user)
{
    struct view *view = user;
    if (view->painted > 0)
        printf("\033[%dA\r\033[J", view->painted);
    view->painted = 0;
}

/* Without wrapping, so that a long line, or one with wide characters, is cut and not two lines high. */
static void
paint_block(void *user)
{
    struct view *view = user;
    text block = {0};
    int columns, rows;

    if (view->count == 0)
        return;
    term_size(stdout, &columns, &rows);
    text_add(&block, "\033[?7l");
    view->painted = 1 + add_jobs(&block, view, rows > 8 ? rows / 2 : 3);
    add_sum_line(&block, view);
    text_add(&block, "\033[?7h");
    fwrite(block.bytes, 1, block.len, stdout);
    view->painted_ms = view->now_ms;
    text_free(&block);
}

/* ---- the lines above it ---- */

/* Output lines stand under a heading with their step, which comes again when another step spoke in between. */
static void
write_output(struct view *view, const json *event)
{
    text heading = {0}, line = {0};
    show_add_words(&heading, json_get_string(event, "jobId"));
    text_add(&heading, "/");
    show_add_words(&heading, json_get_string(event, "stepId"));
    if (!view->under || strcmp(view->under, heading.bytes) != 0) {
        add_coloured(&line, BOLD, heading.bytes);
        out_bytes(line.bytes, line.len);
        text_clear(&line);
        free(view->under);
        view->under = memory_copy(heading.bytes);
    }
    text_add(&line, "  | ");
    show_add_words(&line, json_get_string(event, "line"));
    out_bytes(line.bytes, line.len);
    text_free(&heading);
    text_free(&line);
}

static void
write_change(struct view *view, const json *event, const struct node *changed)
{
    text words = {0}, line = {0};
    show_add_event(&words, event);
    if (words.len > 0) {
        if (changed)
            add_coloured(&line, states[changed->state].colour, words.bytes);
        else
            text_add(&line, words.bytes);
        if (changed && changed->state > RUNNING && changed->began_ms) {
            text_add(&line, "  ");
            add_node_elapsed(&line, view, changed);
        }
        out_bytes(line.bytes, line.len);
    }
    text_free(&words);
    text_free(&line);
}

void
view_event(struct view *view, const json *event, int64_t now_ms)
{
    const char *kind = json_get_string(event, "kind");
    text line = {0};

    view->now_ms = now_ms;
    if (!kind || out_is_quiet())
        return;
    if (!view->live) {
        show_add_event(&line, event);
        if (line.len > 0)
            out_bytes(line.bytes, line.len);
        text_free(&line);
        return;
    }
    out_begin();
    const struct node *changed = change_model(view, event, kind);
    if (strcmp(kind, "method_output") == 0)
        write_output(view, event);
    else if (!changed || changed->state > RUNNING) /* what runs stands in the block */
        write_change(view, event, changed);
    out_end();
}

void
view_tick(struct view *view, int64_t now_ms)
{
    if (!view->live || now_ms - view->painted_ms < VIEW_TICK_MS)
        return;
    out_begin();
    view->now_ms = now_ms;
    out_end();
}

int
view_is_live(const struct view *view)
{
    return view->live;
}

struct view *
view_new(int64_t now_ms)
{
    struct view *made = memory_new(1, sizeof(*made));
    made->live = out_is_live();
    made->began_ms = made->now_ms = now_ms;
    if (made->live)
        out_set_block(&(out_block){erase_block, paint_block, made});
    return made;
}

void
view_free(struct view *view)
{
    if (!view)
        return;
    if (view->live)
        out_set_block(NULL);
    for (size_t i = 0; i < view->count; i++) {
        for (size_t k = 0; k < view->jobs[i].count; k++)
            free(view->jobs[i].steps[k].name);
        free(view->jobs[i].steps);
        free(view->jobs[i].name);
    }
    free(view->jobs);
    free(view->under);
    free(view);
}
