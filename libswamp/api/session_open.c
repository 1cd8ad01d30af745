/* Making a session handle: options with their defaults, what to start or where to go on, the first dial. */
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <swamp/status.h>
#include "client.h"
#include "server.h"
#include "session.h"
#include "../util/alloc.h"
#include "../util/options.h"
#include "../wire/json.h"

#define QUEUE_BYTES (8u * 1024u * 1024u)

void
swamp_session_options_init(swamp_session_options *options, size_t size)
{
    if (!options)
        return;
    memset(options, 0, size);
    options->size = size;
}

/* Bounds that cross each other, one of them maybe a default. error NULL: a session without a client has none. */
static int
check_order(const swamp_session *session, swamp__error *error)
{
    const swamp__session_options *options = &session->options;
    const struct {
        const char *low, *high;
        uint32_t low_ms, high_ms;
    } pairs[] = {
        {"retry_min_ms", "retry_first_ms", options->retry_min_ms, options->retry_first_ms},
        {"retry_first_ms", "retry_max_ms", options->retry_first_ms, options->retry_max_ms},
        {"elsewhere_min_ms", "elsewhere_max_ms", options->elsewhere_min_ms, options->elsewhere_max_ms},
        {"history_poll_min_ms", "history_poll_max_ms", options->history_poll_min_ms,
         options->history_poll_max_ms},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].low_ms <= pairs[i].high_ms)
            continue;
        if (error)
            swamp__error_set(error, SWAMP_E_INVALID, "%s is %u, it must not be above %s (%u)", pairs[i].low,
                             pairs[i].low_ms, pairs[i].high, pairs[i].high_ms);
        return SWAMP_E_INVALID;
    }
    if (options->epoch && strlen(options->epoch) >= sizeof(session->place.epoch)) {
        if (error)
            swamp__error_set(error, SWAMP_E_INVALID, "epoch has %zu bytes, allowed are %zu",
                             strlen(options->epoch), sizeof(session->place.epoch) - 1);
        return SWAMP_E_INVALID;
    }
    return SWAMP_OK;
}

/* PROTOCOL 7: every limit with its default. */
static int
read_options(swamp_session *session, const swamp_session_options *options, swamp__error *error)
{
    swamp_session_options given = {.size = sizeof(given)};
    swamp__session_options *out = &session->options;
    if (options && swamp__options_read(&given, sizeof(given), options) != SWAMP_OK)
        return error ? swamp__error_set(error, SWAMP_E_INVALID,
                                        "the options have a size or a member that this version does not know")
                     : SWAMP_E_INVALID;
    out->max_dials = swamp__options_or(given.max_dials, 5);
    out->retry_min_ms = swamp__options_or(given.retry_min_ms, 1000);
    out->retry_first_ms = swamp__options_or(given.retry_first_ms, 2000);
    out->retry_max_ms = swamp__options_or(given.retry_max_ms, 15000);
    out->settle_ms = swamp__options_or(given.settle_ms, 10000);
    out->max_elsewhere = swamp__options_or(given.max_elsewhere, 10);
    out->elsewhere_give_up_ms = swamp__options_or(given.elsewhere_give_up_ms, 90000);
    out->elsewhere_min_ms = swamp__options_or(given.elsewhere_min_ms, 1000);
    out->elsewhere_max_ms = swamp__options_or(given.elsewhere_max_ms, 2000);
    out->dial_address_after =
        given.dial_address_after == SWAMP_OFF ? 0 : swamp__options_or(given.dial_address_after, 3);
    out->history_poll_min_ms = swamp__options_or(given.history_poll_min_ms, 1000);
    out->history_poll_max_ms = swamp__options_or(given.history_poll_max_ms, 2000);
    out->history_give_up_ms = swamp__options_or(given.history_give_up_ms, 60000);
    out->max_not_found = swamp__options_or(given.max_not_found, 5);
    out->give_up_ms = swamp__options_or(given.give_up_ms, 300000);
    out->answer_timeout_ms = swamp__options_or(given.answer_timeout_ms, 120000);
    out->after_seq = given.after_seq;
    session->queue_bytes = given.queue_bytes ? given.queue_bytes : QUEUE_BYTES;
    if (given.epoch && !(out->epoch = swamp__strdup(given.epoch)))
        return SWAMP_E_NOMEM;
    return check_order(session, error);
}

static swamp_session *
session_alloc(swamp__home *home)
{
    swamp_session *session = swamp__calloc(1, sizeof(*session));
    pthread_condattr_t monotonic;
    if (!session)
        return NULL;
    session->home = swamp__home_ref(home);
    session->refs = 1;
    session->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    swamp__list_init(&session->queue);
    pthread_mutex_init(&session->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&session->ready, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return session;
}

static int
take_start(swamp_session *session, const char *type, const char *payload_json)
{
    swamp__json payload;
    size_t len = strlen(payload_json);
    if (strcmp(type, "workflow.run") != 0 && strcmp(type, "model.method.run") != 0)
        return SWAMP_E_INVALID;
    if (len > SWAMP__MESSAGE_MAX)
        return SWAMP_E_TOO_BIG;
    int rc = swamp__json_check(payload_json, len, SWAMP__JSON_STRICT, &payload);
    if (rc != SWAMP_OK)
        return rc;
    if (payload.type != SWAMP__JSON_OBJECT)
        return SWAMP_E_INVALID;
    session->options.start_type = swamp__strdup(type);
    session->options.start_payload = swamp__strndup(payload.at, payload.len);
    return session->options.start_type && session->options.start_payload ? SWAMP_OK : SWAMP_E_NOMEM;
}

static int
take_place(swamp_session *session, const char *run_id_or_cursor)
{
    swamp__session_options *options = &session->options;
    int rc = swamp__cursor_read(run_id_or_cursor, &session->place);
    if (rc != SWAMP_OK)
        return rc;
    if (options->after_seq)
        session->place.seq = options->after_seq;
    if (options->epoch)
        snprintf(session->place.epoch, sizeof(session->place.epoch), "%s", options->epoch);
    else if (session->place.epoch[0] && !(options->epoch = swamp__strdup(session->place.epoch)))
        return SWAMP_E_NOMEM;
    options->after_seq = session->place.seq;
    options->run_id = swamp__strdup(session->place.run_id);
    return options->run_id ? SWAMP_OK : SWAMP_E_NOMEM;
}

/* type NULL: attach to `what`; else start it with the payload `what`. client NULL: a local session. */
static int
open_session(swamp_session **out, swamp__home *home, const swamp__channel_target *target,
             swamp_client *client, const char *type, const char *what, const swamp_session_options *options)
{
    swamp__error *error = client ? &client->error : NULL;
    swamp_session *session = session_alloc(home);
    if (!session)
        return SWAMP_E_NOMEM;
    session->target = *target;
    int rc = read_options(session, options, error);
    if (rc == SWAMP_OK)
        rc = type ? take_start(session, type, what) : take_place(session, what);
    if (rc == SWAMP_OK && !(session->options.url = swamp__strdup(client ? client->given.url : "")))
        rc = SWAMP_E_NOMEM;
    session->options.has_token = target->token != NULL;
    session->options.connect_timeout_ms = client ? client->given.connect_timeout_ms : 10000;
    session->options.idle_timeout_ms = client ? client->given.idle_timeout_ms : 30000;
    session->options.request_timeout_ms = client ? client->given.request_timeout_ms : 30000;
    if (rc == SWAMP_OK)
        rc = swamp__session_handle_begin(session);
    if (rc != SWAMP_OK) {
        swamp__session_handle_unref(session);
        return error ? swamp__error_set(error, rc, "the session was not opened: %s", swamp_status_text(rc))
                     : rc;
    }
    *out = session;
    return SWAMP_OK;
}

int
swamp_session_start(swamp_session **out, swamp_client *client, const char *type, const char *payload_json,
                    const swamp_session_options *options)
{
    if (!out || !client || !type || !payload_json)
        return SWAMP_E_INVALID;
    swamp__channel_target target = swamp__client_target(client);
    swamp__error_clear(&client->error);
    return open_session(out, client->home, &target, client, type, payload_json, options);
}

int
swamp_session_attach(swamp_session **out, swamp_client *client, const char *run_id_or_cursor,
                     const swamp_session_options *options)
{
    if (!out || !client || !run_id_or_cursor)
        return SWAMP_E_INVALID;
    swamp__channel_target target = swamp__client_target(client);
    swamp__error_clear(&client->error);
    return open_session(out, client->home, &target, client, NULL, run_id_or_cursor, options);
}

int
swamp_session_local(swamp_session **out, swamp_server *server, const char *type, const char *payload_json,
                    const swamp_session_options *options)
{
    swamp__server_door door;
    if (!out || !server || !type || !payload_json)
        return SWAMP_E_INVALID;
    if (server->settings.given.flags & SWAMP_SERVER_OBSERVER)
        return SWAMP_E_STATE; /* it takes no runs, however long one waits */
    if (swamp__server_reach(server, &door) != SWAMP_OK)
        return SWAMP_E_STATE;
    swamp__channel_target target = {.instance = door.instance, .world = door.world};
    int rc = open_session(out, door.home, &target, NULL, type, payload_json, options);
    swamp__home_unref(door.home);
    return rc == SWAMP_E_CLOSED ? SWAMP_E_STATE : rc;
}
