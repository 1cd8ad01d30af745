/* A run's events as a person sees them: a live view of jobs and steps on a terminal, plain lines elsewhere. */
#ifndef SWAMP_CLI_VIEW_H
#define SWAMP_CLI_VIEW_H

#include <stdint.h>
#include "json.h"

#define VIEW_TICK_MS 200 /* how often elapsed times are drawn again */

struct view;
struct view *view_new(int64_t now_ms);
/* Takes the block off the terminal; what was written above it stays. */
void view_free(struct view *view);
/* One event; monotonic time, for what has elapsed. */
void view_event(struct view *view, const json *event, int64_t now_ms);
/* Draws again. */
void view_tick(struct view *view, int64_t now_ms);
int view_is_live(const struct view *view);

#endif
