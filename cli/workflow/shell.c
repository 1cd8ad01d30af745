/* The quote states of a POSIX shell (XCU 2.2, 2.3, 2.6, 2.7.4), as a stack of what is open:
 *
 *   in                   opened by            closed by
 *   plain, $(, (         '  "  `  ${  $(  $((  #  <<
 *   "                    `  ${  $(  $((       "
 *   '                                         '
 *   ${                   '  "  `  ${  $(      }      (' only where no " is open around it)
 *   `                                         `      (a backslash takes its meaning away)
 *   #                                         line end, which is then read again
 */
#include <string.h>
#include "shell.h"

void
shell_begin(shell_place *place)
{
    memset(place, 0, sizeof(*place));
    place->before = '\n';
}

void
shell_end(shell_place *place)
{
    for (size_t i = 0; i < SHELL_HERE_MAX; i++)
        text_free(&place->ends[i]);
    text_free(&place->line);
    text_free(&place->word);
}

int
shell_kind(const shell_place *place)
{
    return place->kinds[place->depth];
}

static int
is_open(const shell_place *place, int kind)
{
    for (size_t i = 0; i <= place->depth; i++)
        if (place->kinds[i] == kind)
            return 1;
    return 0;
}

const char *
shell_refuses(const shell_place *place)
{
    static const struct {
        int kind;
        const char *words;
    } refusals[] = {
        {SHELL_HERE_BODY, "inside a here-document"},
        {SHELL_HERE_WORD, "in the word after <<"},
        {SHELL_BACKTICKS, "inside backticks"},
        {SHELL_SUMS, "inside $((...))"},
        {SHELL_COMMAND, "inside $(...)"},
        {SHELL_BRACES, "inside ${...}"},
        {SHELL_DOLLAR_SINGLE, "inside $'...'"},
        {SHELL_COMMENT, "in a comment"},
    };
    if (place->lost)
        return place->lost;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        if (is_open(place, refusals[i].kind))
            return refusals[i].words;
    if (place->escaped)
        return "after a backslash";
    return place->before == '$' ? "after a '$'" : NULL;
}

static void
lose(shell_place *place, const char *why)
{
    if (!place->lost)
        place->lost = why;
}

static void
open_kind(shell_place *place, int kind)
{
    if (place->depth + 1 == SHELL_DEPTH_MAX) {
        lose(place, "after so many nested quotes");
        return;
    }
    place->kinds[++place->depth] = (unsigned char)kind;
}

static void
close_kind(shell_place *place)
{
    if (place->depth > 0)
        place->depth--;
}

static int
starts_word(const shell_place *place)
{
    return place->before && strchr(" \t\n;&|()<>", place->before) != NULL;
}

/* `case` has lone closing parentheses: the end of a $(...) around it cannot be told without a whole parser. */
static void
end_word(shell_place *place)
{
    if (place->word.len == 4 && memcmp(place->word.bytes, "case", 4) == 0 && is_open(place, SHELL_COMMAND))
        lose(place, "after a 'case' inside $(...)");
    text_clear(&place->word);
}

void
shell_word(shell_place *place)
{
    text_clear(&place->word);
    place->before_that = place->before;
    place->before = 'x';
}

/* In plain text, also of a $(...), everything can be opened. 1: the byte was taken. */
static int
step_here_mark(shell_place *place, char byte)
{
    if (byte != '<' || place->before != '<' || place->before_that == '<')
        return 0;
    if (place->here_count == SHELL_HERE_MAX) {
        lose(place, "after so many here-documents");
        return 1;
    }
    text_clear(&place->ends[place->here_count]);
    place->strip_tabs[place->here_count] = 0;
    place->here_quote = 0;
    open_kind(place, SHELL_HERE_WORD);
    return 1;
}

/* 1: the word goes on; 0: it is over, and the byte is plain text again. */
static int
step_here_word(shell_place *place, char byte)
{
    text *end = &place->ends[place->here_count];
    if (place->here_quote) {
        if (byte == place->here_quote)
            place->here_quote = 0;
        else
            text_add_bytes(end, &byte, 1);
        return 1;
    }
    if (byte == '<' && place->before == '<' && end->len == 0) { /* <<<: a word follows, no document */
        close_kind(place);
        return 1;
    }
    if (byte == '-' && place->before == '<') {
        place->strip_tabs[place->here_count] = 1;
        return 1;
    }
    if ((byte == ' ' || byte == '\t') && end->len == 0 && place->before != '"' && place->before != '\'')
        return 1;
    if (byte == '\'' || byte == '"') {
        place->here_quote = byte;
        return 1;
    }
    if (byte == '\\')
        return 1; /* quotes the next byte, which is taken as it is anyway */
    if (!strchr(" \t\n;&|()<>", byte)) {
        text_add_bytes(end, &byte, 1);
        return 1;
    }
    close_kind(place);
    place->here_count++;
    return 0;
}

static void
step_here_body(shell_place *place, char byte)
{
    if (byte != '\n') {
        if (byte != '\t' || place->line.len > 0 || !place->strip_tabs[place->here_at])
            text_add_bytes(&place->line, &byte, 1);
        return;
    }
    const text *end = &place->ends[place->here_at];
    if (place->line.len == end->len &&
        (end->len == 0 || memcmp(place->line.bytes, end->bytes, end->len) == 0))
        place->here_at++;
    else if (place->line.len > 0 && place->line.bytes[place->line.len - 1] == '\\')
        lose(place, "after a here-document's line that ends in a backslash");
    text_clear(&place->line);
    if (place->here_at == place->here_count) {
        place->here_at = place->here_count = 0;
        close_kind(place);
    }
}

/* What may be opened in plain text and inside double quotes. 1: the byte was taken. */
static int
step_expansion(shell_place *place, char byte)
{
    if (byte == '`')
        open_kind(place, SHELL_BACKTICKS);
    else if (byte == '{' && place->before == '$')
        open_kind(place, SHELL_BRACES);
    else if (byte == '(' && place->before == '$')
        open_kind(place, SHELL_COMMAND);
    else
        return 0;
    return 1;
}

static void
step_plain(shell_place *place, char byte)
{
    int kind = shell_kind(place);
    if (strchr(" \t\n;&|()<>\"'`$", byte))
        end_word(place);
    else
        text_add_bytes(&place->word, &byte, 1);
    if (byte == '(' && kind == SHELL_COMMAND && place->before == '(' && place->before_that == '$') {
        place->kinds[place->depth] = SHELL_SUMS;
        open_kind(place, SHELL_PARENS);
    } else if (byte == '\'') {
        open_kind(place, place->before == '$' ? SHELL_DOLLAR_SINGLE : SHELL_SINGLE);
    } else if (byte == '"') {
        open_kind(place, SHELL_DOUBLE);
    } else if (byte == '#' && starts_word(place) && !is_open(place, SHELL_SUMS)) {
        open_kind(place, SHELL_COMMENT);
    } else if (byte == '\n' && place->here_count > 0) {
        open_kind(place, SHELL_HERE_BODY);
    } else if (step_expansion(place, byte) || (!is_open(place, SHELL_SUMS) && step_here_mark(place, byte))) {
        return;
    } else if (byte == '(' && kind != SHELL_PLAIN) {
        open_kind(place, SHELL_PARENS);
    } else if (byte == ')' && kind != SHELL_PLAIN) {
        close_kind(place);
    }
}

static void
step_braces(shell_place *place, char byte)
{
    if (byte == '}')
        close_kind(place);
    else if (byte == '\'' && !is_open(place, SHELL_DOUBLE))
        open_kind(place, SHELL_SINGLE);
    else if (byte == '\'')
        /* "${X#'a'}" quotes, "${X-'a'}" does not: and a brace may stand between */
        lose(place, "after a single quote inside \"${...}\"");
    else if (byte == '"')
        open_kind(place, SHELL_DOUBLE);
    else
        step_expansion(place, byte);
}

/* 1: the byte has no meaning of its own. */
static int
step_backslash(shell_place *place, char byte)
{
    int kind = shell_kind(place);
    if (kind == SHELL_SINGLE || kind == SHELL_COMMENT || kind == SHELL_HERE_BODY || kind == SHELL_HERE_WORD)
        return 0;
    if (place->escaped) {
        place->escaped = 0;
        if (byte == '\n')
            return 1; /* a line goes on: what stood before still does */
        text_clear(&place->word);
        place->before_that = place->before = 0;
        return 1;
    }
    place->escaped = byte == '\\';
    return place->escaped;
}

void
shell_step(shell_place *place, char byte)
{
    if (step_backslash(place, byte))
        return;
    if (shell_kind(place) == SHELL_COMMENT && byte == '\n')
        close_kind(place);
    if (shell_kind(place) == SHELL_HERE_WORD && step_here_word(place, byte)) {
        place->before = byte;
        return;
    }
    switch (shell_kind(place)) {
    case SHELL_SINGLE:
    case SHELL_DOLLAR_SINGLE:
        if (byte == '\'') {
            if (shell_kind(place) == SHELL_DOLLAR_SINGLE)
                lose(place, "after $'...', which not every /bin/sh knows,");
            close_kind(place);
        }
        break;
    case SHELL_DOUBLE:
        if (byte == '"')
            close_kind(place);
        else
            step_expansion(place, byte);
        break;
    case SHELL_BRACES:
        step_braces(place, byte);
        break;
    case SHELL_BACKTICKS:
        if (byte == '`')
            close_kind(place);
        break;
    case SHELL_COMMENT:
        break;
    case SHELL_HERE_BODY:
        step_here_body(place, byte);
        break;
    default:
        step_plain(place, byte);
    }
    place->before_that = place->before;
    place->before = byte;
}
