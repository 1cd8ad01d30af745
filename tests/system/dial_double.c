/* A double of the client's core before an outgoing link of net/. */
#include "dial_double.h"
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "net_fixture.h"

static void
count(dial_double *it, size_t *counter)
{
    pthread_mutex_lock(&it->record.lock);
    (*counter)++;
    pthread_cond_broadcast(&it->record.changed);
    pthread_mutex_unlock(&it->record.lock);
}

static void
on_connected(void *user)
{
    dial_double *it = user;

    if (it->greeting)
        swamp__link_send(it->link, it->greeting, strlen(it->greeting));
    count(it, &it->record.opened);
}

static void
on_lost(void *user, int how, int64_t retry_after_ms, const char *why)
{
    dial_double *it = user;

    it->how = how;
    it->retry_after_ms = retry_after_ms;
    snprintf(it->why, sizeof(it->why), "%s", why);
    it->link = NULL;
    count(it, &it->record.freed);
}

static void
on_alive(void *user)
{
    dial_double *it = user;

    count(it, &it->record.alive);
}

static void
on_message(void *user, const char *text, size_t len)
{
    dial_double *it = user;

    if (it->check)
        it->check(it, text, len);
    snprintf(it->record.last, sizeof(it->record.last), "%.*s", (int)len, text);
    it->record.last_len = len;
    count(it, &it->record.messages);
}

static void
do_dial(void *user)
{
    dial_double *it = user;
    swamp__dial_options options = {
        .url = it->url, .token = it->token, .timeout_ms = it->timeout_ms, .max_message = DIAL_MAX_MESSAGE};
    swamp__dial_events events = {
        .connected = on_connected, .lost = on_lost, .alive = on_alive, .message = on_message, .user = it};

    it->rc = swamp__dial(&it->link, it->dialer, &options, &events);
    ck_assert_uint_eq(it->record.freed, 0); /* never from within the call */
}

void
dial_begin(dial_double *it, swamp__loop *loop, const char *url)
{
    memset(it, 0, sizeof(*it));
    it->loop = loop;
    core_init(&it->record, loop);
    ck_assert_int_eq(swamp__dialer_new(&it->dialer, loop), SWAMP_OK);
    snprintf(it->url, sizeof(it->url), "%s", url);
    it->timeout_ms = 10000;
}

void
dial_now(dial_double *it)
{
    net_on_loop(it->loop, do_dial, it);
}

void
dial_end(dial_double *it)
{
    swamp__loop_stop(it->loop);
    swamp__dialer_free(it->dialer);
    swamp__loop_free(it->loop);
    pthread_mutex_destroy(&it->record.lock);
    pthread_cond_destroy(&it->record.changed);
}
