/* The run lives on another instance: try until the balancer hits it, then by its address (PROTOCOL 7,
 * run.elsewhere). */
#include <stdio.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../util/url.h"
#include "machine.h"

/* An address comes from a peer: never a weaker scheme than the user's own URL, and a token only where nobody
 * listens. */
int
swamp__session_may_dial(const swamp__session *session, const char *address)
{
    swamp__url own, other;
    if (swamp__url_parse(session->options.url, &own) < 0 || swamp__url_parse(address, &other) < 0)
        return 0;
    if (own.tls && !other.tls)
        return 0;
    return !session->options.has_token || other.tls || other.loopback;
}

/* Both must be over: the number, for a server that answers at once; the time, in which a dead owner is found out. */
static int
is_given_up(const swamp__session *session, int64_t stale_ttl_ms, int64_t now_ms)
{
    int64_t limit_ms = stale_ttl_ms >= 0 ? 2 * stale_ttl_ms + 10000 : session->options.elsewhere_give_up_ms;
    return session->elsewheres >= session->options.max_elsewhere &&
           now_ms - session->elsewhere_since_ms >= limit_ms;
}

void
swamp__act_follow_elsewhere(swamp__session *session, const swamp__news *news)
{
    const swamp__answer *answer = news->answer;
    const swamp__session_options *options = &session->options;
    int64_t now_ms = swamp__now_ms(session->world);
    swamp__session_answered(session);
    if (session->elsewheres++ == 0)
        session->elsewhere_since_ms = now_ms;
    if (is_given_up(session, answer->stale_ttl_ms, now_ms)) {
        char line[256];
        snprintf(line, sizeof line, "the run is still on another instance (%s) after %u tries",
                 answer->instance_id, (unsigned)session->elsewheres);
        swamp__session_fail(session, SWAMP_E_GAVE_UP, "gave_up", line);
        return;
    }

    int64_t delay_ms = news->retry_after_ms;
    if (delay_ms > (int64_t)options->elsewhere_give_up_ms)
        delay_ms = options->elsewhere_give_up_ms; /* a wild number of a peer */
    if (delay_ms <= 0)
        delay_ms = swamp__world_uniform(session->world, options->elsewhere_min_ms, options->elsewhere_max_ms);
    if (options->dial_address_after > 0 && session->elsewheres >= options->dial_address_after &&
        answer->address[0] && swamp__session_may_dial(session, answer->address)) {
        swamp__free(session->dial_url);
        session->dial_url = swamp__strdup(answer->address); /* no memory: the URL will do */
    }
    swamp__session_wait(session, delay_ms);
    swamp__session_tell(session, &(swamp__told){.type = SWAMP_EVENT_ELSEWHERE,
                                                .instance_id = answer->instance_id,
                                                .address = answer->address,
                                                .retry_after_ms = delay_ms,
                                                .attempt = session->elsewheres});
}
