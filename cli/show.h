/* A run's events as lines for a person, without state: one event, one line or none. */
#ifndef SWAMP_CLI_SHOW_H
#define SWAMP_CLI_SHOW_H

#include "json.h"

/* Appends the line, without its end; nothing for an event that says nothing to a person. */
void show_add_event(text *out, const json *event);
/* Appends "1.2 s", "3 m 05 s". */
void show_add_elapsed(text *out, int64_t ms);
/* Appends received text, escaped. NULL: nothing. */
void show_add_words(text *out, const char *words);
/* Appends why a run failed: its first failed step and that step's error; nothing when there is none. */
void show_add_cause(text *out, const json *run);
/* An array's values, each by `row` under a heading; with --json each as one line of JSON, without the heading. */
void show_rows(const json *rows, const char *heading, void (*row)(const json *value));
/* What an interruption is called on a terminal: "instance died", "instance stopped", ... */
const char *show_interruption(const char *reason);

#endif
