/* The public client handle: one network thread that carries any number of sessions. */
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "client.h"
#include "../util/alloc.h"
#include "../util/options.h"
#include "../util/url.h"
#include "../wire/limits.h"

void
swamp_client_options_init(swamp_client_options *options, size_t size)
{
    if (!options)
        return;
    memset(options, 0, size);
    options->size = size;
}

/* It becomes part of a header: a line end in it would begin another one. The words never show it. */
static int
check_token(const char *token, char *why, size_t cap)
{
    if (!token)
        return SWAMP_OK;
    if (strlen(token) > SWAMP__TOKEN_MAX) {
        snprintf(why, cap, "the token has %zu characters, allowed are %d; was another file read?",
                 strlen(token), SWAMP__TOKEN_MAX);
        return SWAMP_E_INVALID;
    }
    for (const char *c = token; *c; c++)
        if (*c < '!' || *c > '~') {
            snprintf(
                why, cap,
                "the token has a character that no token has: allowed are the visible ASCII ones, without "
                "spaces and line ends; was it read from a file?");
            return SWAMP_E_INVALID;
        }
    return SWAMP_OK;
}

static int
read_options(swamp_client *client, const swamp_client_options *options, char *why, size_t cap)
{
    swamp_client_options *given = &client->given;
    swamp__url url;
    int rc = swamp__options_read(given, sizeof(*given), options);
    if (rc != SWAMP_OK) {
        snprintf(why, cap, "the options have a size or a member that this version does not know");
        return rc;
    }
    const char *texts[] = {given->url, given->token, given->ca_cert_file};
    given->url = given->token = given->ca_cert_file = NULL; /* borrowed until copied */
    if (!texts[0] || swamp__url_parse(texts[0], &url) != SWAMP_OK) {
        snprintf(why, cap, "the server's URL is %.200s, it must be a ws, wss, http or https URL",
                 texts[0] ? texts[0] : "missing");
        return SWAMP_E_INVALID;
    }
    if (texts[1] && !url.tls && !url.loopback) {
        snprintf(why, cap, "a token is sent only over TLS or to loopback: use wss:// or https:// for %.200s",
                 texts[0]);
        return SWAMP_E_INVALID;
    }
    if (check_token(texts[1], why, cap) != SWAMP_OK)
        return SWAMP_E_INVALID;
    given->log_level = swamp__options_or(given->log_level, SWAMP_LOG_INFO);
    if (given->log_level > SWAMP_LOG_DEBUG) {
        snprintf(why, cap, "log_level is %u, allowed are %d to %d", given->log_level, SWAMP_LOG_ERROR,
                 SWAMP_LOG_DEBUG);
        return SWAMP_E_INVALID;
    }
    given->connect_timeout_ms = swamp__options_or(given->connect_timeout_ms, 10000);
    given->idle_timeout_ms = swamp__options_or(given->idle_timeout_ms, 30000);
    given->request_timeout_ms = swamp__options_or(given->request_timeout_ms, 30000);
    given->url = swamp__strdup(texts[0]);
    given->token = swamp__strdup(texts[1]);
    given->ca_cert_file = swamp__strdup(texts[2]);
    if (!given->url || (texts[1] && !given->token) || (texts[2] && !given->ca_cert_file)) {
        snprintf(why, cap, "out of memory");
        return SWAMP_E_NOMEM;
    }
    return SWAMP_OK;
}

static int
make_parts(swamp_client *client, char *why, size_t cap)
{
    const char *text = NULL;
    swamp__loop_options options = {
        .role = SWAMP__LOOP_CLIENT,
        .kind = SWAMP_LOOP_POLL,
        .max_connections = SWAMP__CONNECTIONS_MAX, /* one a session; the process's limit comes first */
        .ca_cert_file = client->given.ca_cert_file,
        .log = &client->log,
    };
    int rc = swamp__loop_new(&client->loop, &options, &text);
    if (rc == SWAMP_OK)
        rc = swamp__dialer_new(&client->dialer, client->loop);
    if (rc == SWAMP_OK)
        rc = swamp__loop_start(client->loop);
    if (rc == SWAMP_OK && !(client->home = swamp__home_new(client->loop)))
        rc = SWAMP_E_NOMEM;
    if (rc != SWAMP_OK)
        snprintf(why, cap, "the client's network loop could not be made: %s",
                 text ? text : swamp_status_text(rc));
    return rc;
}

int
swamp_client_new(swamp_client **out, const swamp_client_options *options, char **error)
{
    char why[SWAMP__ERROR_SIZE] = "out and options must be given";
    swamp_client *client = out && options ? swamp__calloc(1, sizeof(*client)) : NULL;
    int rc = out && options ? SWAMP_E_NOMEM : SWAMP_E_INVALID;

    if (out && options)
        snprintf(why, sizeof(why), "out of memory");
    if (client) {
        swamp__error_init(&client->error);
        pthread_mutex_init(&client->lock, NULL);
        pthread_cond_init(&client->left, NULL);
        rc = read_options(client, options, why, sizeof(why));
        client->log = (swamp__log){client->given.log, client->given.log_user, (int)client->given.log_level};
        if (rc == SWAMP_OK)
            rc = make_parts(client, why, sizeof(why));
    }
    if (rc != SWAMP_OK) {
        swamp_client_free(client);
        if (error)
            *error = swamp__strdup(why);
        return rc;
    }
    *out = client;
    return SWAMP_OK;
}

void
swamp_client_free(swamp_client *client)
{
    if (!client)
        return;
    if (client->home)
        swamp__home_close(client->home);
    pthread_mutex_lock(&client->lock);
    while (client->callers > 0) /* evicted: they return SWAMP_E_CLOSED */
        pthread_cond_wait(&client->left, &client->lock);
    pthread_mutex_unlock(&client->lock);
    if (client->loop)
        swamp__loop_stop(client->loop);
    swamp__dialer_free(client->dialer);
    swamp__loop_free(client->loop);
    swamp__home_unref(client->home);
    swamp__free((char *)client->given.url);
    swamp__free((char *)client->given.token);
    swamp__free((char *)client->given.ca_cert_file);
    swamp__error_destroy(&client->error);
    pthread_cond_destroy(&client->left);
    pthread_mutex_destroy(&client->lock);
    swamp__free(client);
}

void
swamp__client_enter(swamp_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->callers++;
    pthread_mutex_unlock(&client->lock);
}

void
swamp__client_leave(swamp_client *client)
{
    pthread_mutex_lock(&client->lock);
    if (--client->callers == 0)
        pthread_cond_broadcast(&client->left);
    pthread_mutex_unlock(&client->lock);
}

int
swamp_client_error(swamp_client *client, char *buf, size_t cap)
{
    if (!client || !buf || cap == 0)
        return SWAMP_E_INVALID;
    swamp__error_get(&client->error, buf, cap);
    return SWAMP_OK;
}

swamp__channel_target
swamp__client_target(const swamp_client *client)
{
    return (swamp__channel_target){
        .dialer = client->dialer,
        .token = client->given.token,
        .connect_timeout_ms = client->given.connect_timeout_ms,
        .max_message = SWAMP__CLIENT_MESSAGE_MAX,
        .world = swamp__loop_world(client->loop),
    };
}
