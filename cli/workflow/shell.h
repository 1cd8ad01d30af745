/* Follows the quotes of a POSIX shell through a script, byte by byte; expands nothing. */
#ifndef SWAMP_CLI_WORKFLOW_SHELL_H
#define SWAMP_CLI_WORKFLOW_SHELL_H

#include <stddef.h>
#include "../text.h"

#define SHELL_PLAIN 0
#define SHELL_DOUBLE 1  /* "..." */
#define SHELL_SINGLE 2  /* '...' */
#define SHELL_COMMAND 3 /* $(...) */
#define SHELL_PARENS 4  /* (...) inside of one */
#define SHELL_BRACES 5  /* ${...} */
#define SHELL_BACKTICKS 6
#define SHELL_COMMENT 7
#define SHELL_DOLLAR_SINGLE 8 /* $'...': quotes in some shells, not in others */
#define SHELL_SUMS 9          /* $((...)) */
#define SHELL_HERE_WORD 10    /* the word after << */
#define SHELL_HERE_BODY 11

#define SHELL_DEPTH_MAX 32
#define SHELL_HERE_MAX 8

typedef struct shell_place {
    unsigned char kinds[SHELL_DEPTH_MAX]; /* what is open, outermost first; kinds[0] is SHELL_PLAIN */
    size_t depth;                         /* index of the innermost */
    text ends[SHELL_HERE_MAX];            /* of the here-documents whose bodies come at the next line */
    unsigned char strip_tabs[SHELL_HERE_MAX];
    size_t here_count;
    size_t here_at; /* the one that is being read */
    text line;      /* of a here-document's body, so far */
    text word;      /* the plain word so far, to see `case` */
    char before;    /* the byte before, 0 where a backslash took its meaning */
    char before_that;
    char here_quote;  /* of the word after << */
    int escaped;      /* the next byte is behind a backslash */
    const char *lost; /* from here on the place cannot be told: why */
} shell_place;

void shell_begin(shell_place *place);
void shell_step(shell_place *place, char byte);
void shell_word(shell_place *place); /* something stands here that is neither a quote nor a space */
void shell_end(shell_place *place);

int shell_kind(const shell_place *place);            /* SHELL_PLAIN, ... */
const char *shell_refuses(const shell_place *place); /* NULL: a reference can stand here; else "inside ..." */

#endif
