/* What may go to a terminal: colours only where they are wanted, received text with its control characters
 * escaped. */
#ifndef SWAMP_CLI_TERM_H
#define SWAMP_CLI_TERM_H

#include <stdio.h>
#include "text.h"

/* 1: colours are wanted there: a terminal that can, no NO_COLOR, no --no-color. */
int term_has_colours(FILE *stream, int no_color);
/* 1: a terminal on which lines can be overwritten. */
int term_is_live(FILE *stream);
/* Columns and rows; 80 x 24 where the terminal does not say. */
void term_size(FILE *stream, int *columns, int *rows);

/*
 * Appends received text for a person's eyes: control characters (C0 but tab, DEL, C1), what changes the
 * direction of writing, and bytes that are not UTF-8 are shown as \n, \x1b or \u202e.
 */
void term_add_words(text *out, const char *bytes, size_t len);
/* Appends a received JSON text as one line. strict: keeps it exactly; else C1, DEL and direction marks become
 * \uXXXX. */
void term_add_json(text *out, const char *bytes, size_t len, int strict);

#endif
