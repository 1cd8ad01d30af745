/*
 * A dial: resolve the name, then try its addresses one after the other, each for a few seconds, all within
 * the caller's time. `localhost` may give ::1 first with nothing listening, and a black hole must not eat the
 * whole time.
 *
 *   resolving -> trying address 1 -> 2 -> ... -> open -> lost
 *        `------------ `------------------------------- lost
 */
#include "dial.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../session/session.h"
#include "../util/alloc.h"
#include "../util/url.h"
#include "context.h"
#include "line.h"
#include "resolve.h"

#define ADDRESS_MS 3000
#define WHY_SIZE 400
#define AUTHORITY_SIZE 300

struct swamp__dialer {
    swamp__loop *loop;
    swamp__resolver *resolver;
    swamp__list links;
};

struct swamp__link_out {
    swamp__dialer *dialer;
    swamp__link link; /* of the dialer's */
    swamp__dial_events events;
    swamp__url url;
    char *token;
    size_t max_message;
    int64_t timeout_ms;
    char authority[AUTHORITY_SIZE];
    swamp__lookup *lookup; /* NULL: not resolving */
    swamp__addresses addresses;
    size_t next;       /* the address to try next */
    swamp__line *line; /* NULL: not trying */
    int open, paused;
    swamp__timer overall; /* the whole dial */
    swamp__timer address_timer;
    char why[WHY_SIZE]; /* of the last address that failed */
};

static swamp__timers *
timers_of(swamp__dialer *dialer)
{
    return swamp__loop_world(dialer->loop)->timers;
}

static int64_t
now_ms(const swamp__link_out *link)
{
    return swamp__now_ms(swamp__loop_world(link->dialer->loop));
}

static void
free_link(swamp__link_out *link)
{
    swamp__timers *timers = timers_of(link->dialer);

    if (link->lookup)
        swamp__lookup_abandon(link->lookup);
    swamp__timer_destroy(timers, &link->overall);
    swamp__timer_destroy(timers, &link->address_timer);
    swamp__link_remove(&link->link);
    swamp__free(link->token);
    swamp__free(link);
}

static void
lose(swamp__link_out *link, int how, int64_t retry_after_ms, const char *why)
{
    swamp__dial_events events = link->events;
    char text[WHY_SIZE];

    snprintf(text, sizeof(text), "%s", why);
    if (link->line)
        swamp__line_drop(link->line, 0);
    free_link(link);
    events.lost(events.user, how, retry_after_ms, text);
}

static void
on_opened(void *user)
{
    swamp__link_out *link = user;

    swamp__timer_unset(timers_of(link->dialer), &link->overall);
    swamp__timer_unset(timers_of(link->dialer), &link->address_timer);
    link->open = 1;
    link->events.connected(link->events.user);
}

static void
on_alive(void *user)
{
    swamp__link_out *link = user;

    link->events.alive(link->events.user);
}

static void
on_message(void *user, const char *text, size_t len)
{
    swamp__link_out *link = user;

    link->events.message(link->events.user, text, len);
}

/* PROTOCOL 1: what stops a client, what makes it wait; all else is a lost link. */
static int
meaning_of(const swamp__line_end *end)
{
    if (end->http_status == 401 || end->http_status == 403 || end->close_code == 4003 ||
        end->close_code == 1008)
        return SWAMP__LINK_UNAUTHORIZED;
    if (end->http_status == 429)
        return SWAMP__LINK_TRY_LATER;
    return SWAMP__LINK_LOST;
}

static void
note_failure(swamp__link_out *link, const char *why)
{
    const char *address = link->next > 0 ? link->addresses.text[link->next - 1] : "";

    snprintf(link->why, sizeof(link->why), "%s port %d: %s", address, link->url.port, why);
}

static void
on_ended(void *user, const swamp__line_end *end)
{
    swamp__link_out *link = user;
    int how = meaning_of(end);

    link->line = NULL;
    if (link->open || how != SWAMP__LINK_LOST) {
        lose(link, how, end->retry_after_ms, end->why);
        return;
    }
    note_failure(link, end->why);
    /* Not from within libwebsockets' closing of the other one. */
    swamp__timer_set(timers_of(link->dialer), &link->address_timer, now_ms(link));
}

static int
try_address(swamp__link_out *link, const char *address)
{
    swamp__line_target target = {.address = address,
                                 .port = link->url.port,
                                 .tls = link->url.tls,
                                 .authority = link->authority,
                                 .literal = strchr(link->url.host, ':') ? link->url.host : NULL,
                                 .path = link->url.path,
                                 .token = link->token,
                                 .max_message = link->max_message};
    swamp__line_events events = {
        .opened = on_opened, .ended = on_ended, .alive = on_alive, .message = on_message, .user = link};
    char why[WHY_SIZE / 2];

    link->line = swamp__line_open(link->dialer->loop, &target, &events, why, sizeof(why));
    if (!link->line) {
        note_failure(link, why);
        return 0;
    }
    if (link->paused)
        swamp__line_pause(link->line, 1);
    swamp__timer_set(timers_of(link->dialer), &link->address_timer, now_ms(link) + ADDRESS_MS);
    return 1;
}

/* May end the link. */
static void
try_next(swamp__link_out *link)
{
    while (link->next < link->addresses.count)
        if (try_address(link, link->addresses.text[link->next++]))
            return;
    lose(link, SWAMP__LINK_LOST, 0, link->why);
}

/* The address that is being tried has had its time, or has failed; or it is the turn of the first, that of a
 * literal. */
static void
on_address_timer(swamp__timer *timer)
{
    swamp__link_out *link = SWAMP__OF(timer, swamp__link_out, address_timer);

    if (link->line) {
        swamp__line_drop(link->line, 0);
        link->line = NULL;
        note_failure(link, "no answer in time");
    }
    try_next(link);
}

static void
on_overall_timer(swamp__timer *timer)
{
    swamp__link_out *link = SWAMP__OF(timer, swamp__link_out, overall);
    char why[WHY_SIZE];

    snprintf(why, sizeof(why), "%s: no connection within %lld ms",
             link->lookup ? link->url.host : link->authority, (long long)link->timeout_ms);
    lose(link, SWAMP__LINK_LOST, 0, why);
}

static void
on_resolved(void *user, const swamp__addresses *addresses, const char *why)
{
    swamp__link_out *link = user;

    link->lookup = NULL; /* it frees itself */
    if (addresses->count == 0) {
        char text[WHY_SIZE];

        snprintf(text, sizeof(text), "cannot resolve %s: %s", link->url.host, why);
        lose(link, SWAMP__LINK_LOST, 0, text);
        return;
    }
    link->addresses = *addresses;
    try_next(link);
}

/* The Host header wants the port unless it is the scheme's own, and brackets around an IPv6 address. */
static void
write_authority(swamp__link_out *link)
{
    const swamp__url *url = &link->url;
    int colons = strchr(url->host, ':') != NULL;
    int len = snprintf(link->authority, sizeof(link->authority), colons ? "[%s]" : "%s", url->host);

    if (url->port != (url->tls ? 443 : 80))
        snprintf(link->authority + len, sizeof(link->authority) - (size_t)len, ":%d", url->port);
}

static int
start_dial(swamp__link_out *link)
{
    swamp__timers *timers = timers_of(link->dialer);

    swamp__timer_set(timers, &link->overall, now_ms(link) + link->timeout_ms);
    if (!swamp__addresses_literal(&link->addresses, link->url.host))
        return swamp__resolver_ask(&link->lookup, link->dialer->resolver, link->url.host, on_resolved, link);
    swamp__timer_set(timers, &link->address_timer, now_ms(link)); /* never from within swamp__dial() */
    return SWAMP_OK;
}

int
swamp__dial(swamp__link_out **out, swamp__dialer *dialer, const swamp__dial_options *options,
            const swamp__dial_events *events)
{
    swamp__link_out *link = swamp__calloc(1, sizeof(*link));
    int rc;

    if (!link)
        return SWAMP_E_NOMEM;
    link->dialer = dialer;
    link->events = *events;
    link->max_message = options->max_message;
    link->timeout_ms = options->timeout_ms;
    link->token = swamp__strdup(options->token);
    rc = options->token && !link->token ? SWAMP_E_NOMEM : swamp__url_parse(options->url, &link->url);
    if (rc == SWAMP_OK)
        rc = swamp__timer_init(timers_of(dialer), &link->overall, on_overall_timer);
    if (rc == SWAMP_OK)
        rc = swamp__timer_init(timers_of(dialer), &link->address_timer, on_address_timer);
    if (rc == SWAMP_OK) {
        write_authority(link);
        rc = start_dial(link);
    }
    if (rc < 0) {
        free_link(link);
        return rc;
    }
    swamp__list_push(&dialer->links, &link->link);
    *out = link;
    return SWAMP_OK;
}

void
swamp__link_send(swamp__link_out *link, const char *text, size_t len)
{
    if (link->line)
        swamp__line_send(link->line, text, len);
}

void
swamp__link_ping(swamp__link_out *link)
{
    if (link->line)
        swamp__line_ping(link->line);
}

void
swamp__link_pause(swamp__link_out *link, int paused)
{
    link->paused = paused;
    if (link->line)
        swamp__line_pause(link->line, paused);
}

void
swamp__link_hang_up(swamp__link_out *link)
{
    if (link->line)
        swamp__line_drop(link->line, link->open);
    free_link(link);
}

int
swamp__dialer_new(swamp__dialer **out, swamp__loop *loop)
{
    swamp__dialer *dialer = swamp__calloc(1, sizeof(*dialer));
    int rc;

    if (!dialer)
        return SWAMP_E_NOMEM;
    dialer->loop = loop;
    swamp__list_init(&dialer->links);
    rc = swamp__resolver_new(&dialer->resolver, loop);
    if (rc < 0) {
        swamp__free(dialer);
        return rc;
    }
    *out = dialer;
    return SWAMP_OK;
}

void
swamp__dialer_free(swamp__dialer *dialer)
{
    swamp__link *link;

    if (!dialer)
        return;
    swamp__resolver_free(dialer->resolver);
    /* Their lines have gone with the loop's context, without a word. A lookup that was handed back ran before
     * that. */
    while ((link = swamp__list_first(&dialer->links)))
        free_link(SWAMP__OF(link, swamp__link_out, link));
    swamp__free(dialer);
}
