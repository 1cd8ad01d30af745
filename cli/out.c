/* Everything that the program writes: lines on stdout, status lines and the last word on stderr. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <swamp/swamp.h>
#include "out.h"
#include "term.h"

/* The two streams are the process's, and so is this. */
static struct {
    const char *command;
    int json, quiet, verbose, colours, live, broken;
    out_block block;
    int depth; /* of out_begin() */
} state = {.command = ""};

/* The library's log lines come on threads of its own. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void
out_setup(const char *command, int json, int quiet, int verbose, int no_color)
{
    state.command = command;
    state.json = json;
    state.quiet = quiet;
    state.verbose = verbose;
    state.colours = !json && term_has_colours(stdout, no_color);
    state.live = !json && !quiet && term_is_live(stdout) && term_is_live(stderr);
}

int
out_is_json(void)
{
    return state.json;
}

int
out_is_quiet(void)
{
    return state.quiet;
}

int
out_is_verbose(void)
{
    return state.verbose;
}

int
out_has_colours(void)
{
    return state.colours;
}

int
out_is_live(void)
{
    return state.live;
}

int
out_is_broken(void)
{
    return state.broken;
}

void
out_begin(void)
{
    pthread_mutex_lock(&lock);
    if (state.depth++ == 0 && state.block.erase)
        state.block.erase(state.block.user);
}

void
out_end(void)
{
    if (state.depth == 1) {
        if (state.block.paint)
            state.block.paint(state.block.user);
        if (fflush(stdout) != 0)
            state.broken = 1;
    }
    state.depth--;
    pthread_mutex_unlock(&lock);
}

void
out_set_block(const out_block *block)
{
    out_begin();
    state.block = block ? *block : (out_block){0};
    out_end();
}

void
out_bytes(const char *bytes, size_t len)
{
    out_begin();
    if (fwrite(bytes, 1, len, stdout) != len || putchar('\n') == EOF)
        state.broken = 1;
    out_end();
}

void
out_line(const char *format, ...)
{
    text line = {0};
    va_list args;
    va_start(args, format);
    text_addv(&line, format, args);
    va_end(args);
    out_bytes(line.bytes ? line.bytes : "", line.len);
    text_free(&line);
}

void
out_json(const char *json, size_t len)
{
    text line = {0};
    term_add_json(&line, json, len, !term_is_live(stdout));
    out_bytes(line.bytes ? line.bytes : "", line.len);
    text_free(&line);
}

static void
write_error_line(const char *line)
{
    out_begin();
    fprintf(stderr, "%s\n", line);
    out_end();
}

void
out_status(const char *format, ...)
{
    text words = {0}, line = {0};
    va_list args;
    if (state.quiet)
        return;
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    term_add_words(&line, words.bytes ? words.bytes : "", words.len);
    write_error_line(line.bytes ? line.bytes : "");
    text_free(&words);
    text_free(&line);
}

void
out_status_json(const char *json)
{
    write_error_line(json);
}

int
out_fail(int code, const char *run_id, const char *format, ...)
{
    text words = {0}, line = {0};
    va_list args;
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    if (state.json) {
        text_addf(&line, "{\"swamp\":\"error\",\"exit\":%d", code);
        if (run_id && run_id[0]) {
            text_add(&line, ",\"runId\":");
            text_add_json(&line, run_id);
        }
        text_add(&line, ",\"message\":");
        text_add_json(&line, words.bytes ? words.bytes : "");
        text_add(&line, "}");
    } else {
        text_addf(&line, "swamp%s%s: ", state.command[0] ? " " : "", state.command);
        term_add_words(&line, words.bytes ? words.bytes : "", words.len);
    }
    write_error_line(line.bytes);
    text_free(&words);
    text_free(&line);
    return code;
}

void
out_log(int level, const char *words, void *user)
{
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    text line = {0};
    (void)user;
    if (level < SWAMP_LOG_ERROR || level > SWAMP_LOG_DEBUG)
        level = SWAMP_LOG_DEBUG;
    text_addf(&line, "swamp: %s: ", names[level]);
    term_add_words(&line, words, strlen(words));
    write_error_line(line.bytes);
    text_free(&line);
}
