/* What a command talks to: a server by its URL, or without one the default store, as an observer in this process. */
#include <stdlib.h>
#include <string.h>
#include "memory.h"
#include "out.h"
#include "outcome.h"
#include "target.h"

const struct flag target_flags[] = {
    {.name = "server",
     .type = FLAG_TEXT,
     .value = "URL",
     .variable = "SWAMP_SERVE_URL",
     .help = "the server: ws, wss, http or https"},
    {.name = "token",
     .type = FLAG_TEXT,
     .value = "T",
     .variable = "SWAMP_SERVER_TOKEN",
     .help = "the token to show to the server"},
    {.name = "ca-cert",
     .type = FLAG_TEXT,
     .value = "FILE",
     .variable = "SWAMP_CA_CERT",
     .help = "trust the certificates in this PEM file"},
    {.name = "timeout",
     .type = FLAG_DURATION,
     .value = "D",
     .fallback = "30s",
     .min = 100,
     .max = 3600000,
     .help = "for one connection attempt or one request, never for a run"},
    STORE_FLAG,
    {.name = NULL},
};

static uint32_t
log_level(void)
{
    return out_is_verbose() ? SWAMP_LOG_DEBUG : SWAMP_LOG_ERROR;
}

static void
note_again(struct target *out, const struct args *args)
{
    const char *name = out->url ? "server" : "store";
    text again = {0};
    text_add(&again, "");
    if (args_from(args, name) == ARGS_FROM_FLAG)
        text_addf(&again, " --%s %s", name, args_text(args, name));
    out->again = text_take(&again);
}

/* The library names its options, the person has given flags. A token is never shown. */
static int
fail_client(const struct target *target, const struct args *args, int rc, const char *why)
{
    int code = outcome_of_error("", rc, 0);
    if (rc == SWAMP_E_TLS)
        return out_fail(code, NULL, "--ca-cert is \"%s\": %s", args_text(args, "ca-cert"), why);
    if (strncmp(why, "the token ", 10) == 0)
        return out_fail(code, NULL, "--token or SWAMP_SERVER_TOKEN: %s", why);
    return out_fail(code, NULL, "--server is \"%s\": %s; allowed is a URL such as http://127.0.0.1:9090",
                    target->url, why);
}

int
target_open_client(struct target *out, const struct args *args)
{
    swamp_client_options options = {.size = sizeof(options)};
    char *why = NULL;

    memset(out, 0, sizeof(*out));
    out->url = args_text(args, "server");
    out->store_url = args_text(args, "store");
    out->timeout_ms = (int)args_number(args, "timeout");
    note_again(out, args);
    if (!out->url)
        return 0;
    options.url = out->url;
    options.token = args_text(args, "token");
    options.ca_cert_file = args_text(args, "ca-cert");
    options.log = out_log;
    options.log_level = log_level();
    options.request_timeout_ms = (uint32_t)out->timeout_ms;
    if (args_given(args, "timeout"))
        options.connect_timeout_ms = (uint32_t)out->timeout_ms;
    int rc = swamp_client_new(&out->client, &options, &why);
    if (rc == SWAMP_OK)
        return 0;
    int code = fail_client(out, args, rc, why ? why : swamp_status_text(rc));
    swamp_free(why);
    return code;
}

static int
open_observer(struct target *out)
{
    swamp_server_options options = {.size = sizeof(options)};
    char why[512] = "", *words = NULL;
    int code = store_check(out->store_url);

    if (code == 0 && store_is_absent(out->store_url)) {
        out->empty = 1;
        return 0;
    }
    if (code == 0)
        code = store_open(&out->store, out->store_url, out_log, log_level());
    if (code != 0)
        return code;
    options.store = out->store;
    options.flags = SWAMP_SERVER_LOCAL | SWAMP_SERVER_OBSERVER;
    options.log = out_log;
    options.log_level = log_level();
    int rc = swamp_server_new(&out->observer, &options, &words);
    if (rc == SWAMP_OK && (rc = swamp_server_start(out->observer)) != SWAMP_OK)
        swamp_server_error(out->observer, why, sizeof(why));
    if (rc == SWAMP_OK)
        return 0;
    code = outcome_of_error("", rc, 0);
    out_fail(code, NULL, "the store %s cannot be used: %s; \"swamp doctor\" looks at it", out->store_url,
             words    ? words
             : why[0] ? why
                      : swamp_status_text(rc));
    swamp_free(words);
    return code;
}

int
target_open(struct target *out, const struct args *args)
{
    int code = target_open_client(out, args);
    return code == 0 && !out->url ? open_observer(out) : code;
}

void
target_close(struct target *target)
{
    swamp_server_free(target->observer);
    swamp_store_free(target->store);
    swamp_client_free(target->client);
    free(target->again);
    memset(target, 0, sizeof(*target));
}

/* What to do about a failed question, by its exit code. */
static const char *
advice(int code)
{
    switch (code) {
    case OUTCOME_USAGE:
        return "look at the command's words with -h";
    case OUTCOME_CONNECTION:
        return "check that the server runs there and can be reached, then try again";
    case OUTCOME_UNAUTHORIZED:
        return "give a token that may do this with --token or SWAMP_SERVER_TOKEN";
    case OUTCOME_REFUSED:
        return "try again in a moment";
    case OUTCOME_NOT_FOUND:
        return "\"swamp run history --all\" lists the runs";
    default:
        return "try again, or look at the server's log";
    }
}

static int
fail_ask(const struct target *target, const char *what, const char *code_text, int rc, const char *message)
{
    int code = outcome_of_error(code_text, rc, 0);
    const char *place = target->url ? target->url : target->store_url;
    return out_fail(code, NULL, "%s (%s): %s; %s", what, place, message, advice(code));
}

/* There is no store: the lists are empty, and nothing can be found. */
static int
answer_empty(const struct target *target, const char *type, const char *what, json **answer)
{
    const char *frame = strcmp(type, "run.history") == 0         ? "{\"payload\":{\"runs\":[]}}"
                        : strcmp(type, "cluster.instances") == 0 ? "{\"payload\":{\"instances\":[]}}"
                                                                 : NULL;
    if (!frame)
        return out_fail(
            OUTCOME_NOT_FOUND, NULL,
            "%s is not found: there is no store %s yet; name another with --store, or a server with "
            "--server",
            what, target->store_url);
    out_status("there is no store %s yet: nothing was run here", target->store_url);
    *answer = json_read(frame, strlen(frame), NULL, NULL);
    return 0;
}

int
target_ask(struct target *target, const char *type, const char *payload, const char *what, json **answer)
{
    swamp_event *event = NULL;
    char why[512] = "";
    size_t len;
    int rc, code = 0;

    if (target->empty)
        return answer_empty(target, type, what, answer);
    rc = target->client ? swamp_client_request(target->client, type, payload, target->timeout_ms, &event)
                        : swamp_server_request(target->observer, type, payload, target->timeout_ms, &event);
    if (rc != SWAMP_EVENT) {
        if (target->client)
            swamp_client_error(target->client, why, sizeof(why));
        return fail_ask(target, what, "", rc, why[0] ? why : swamp_status_text(rc));
    }
    if (swamp_event_type(event) == SWAMP_EVENT_ERROR) {
        code = fail_ask(target, what, swamp_event_code(event), swamp_event_error(event),
                        swamp_event_message(event));
    } else {
        const char *frame = swamp_event_json(event, &len);
        *answer = frame ? json_read(frame, len, NULL, NULL) : NULL;
        if (!*answer)
            code = fail_ask(target, what, "", SWAMP_E_PROTOCOL, "the answer cannot be read");
    }
    swamp_event_free(event);
    return code;
}
