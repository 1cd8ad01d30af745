/* What a session tells beside the run's events, as lines on stderr: words for people, or JSON. */
#ifndef SWAMP_CLI_NEWS_H
#define SWAMP_CLI_NEWS_H

#include <swamp/swamp.h>

/* Every type but SWAMP_EVENT_RUN and SWAMP_EVENT_ERROR; types of a later library are skipped. */
void news_tell(const swamp_event *event);

#endif
