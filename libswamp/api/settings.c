/* The server's options after reading: defaults filled in, held against their limits, texts copied. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <swamp/status.h>
#include <swamp/version.h>
#include "settings.h"
#include "../util/alloc.h"
#include "../util/options.h"
#include "../util/url.h"
#include "../wire/limits.h"

#define UNBOUNDED 0xffffffffu

/* Every number with its default and the range that is allowed; SWAMP_OFF passes where `can_be_off`. */
typedef struct number_option {
    const char *name;
    size_t offset;
    uint32_t otherwise, min, max;
    int can_be_off;
} number_option;

#define NUMBER(member, otherwise, min, max, can_be_off)                                                      \
    {                                                                                                        \
#member, offsetof(swamp_server_options, member), otherwise, min, max, can_be_off                     \
    }

static const number_option numbers[] = {
    NUMBER(log_level, SWAMP_LOG_INFO, SWAMP_LOG_ERROR, SWAMP_LOG_DEBUG, 0),
    NUMBER(port, 0, 0, 65535, 0),
    NUMBER(loop, SWAMP_LOOP_AUTO, SWAMP_LOOP_AUTO, SWAMP_LOOP_LIBEV, 0),
    NUMBER(executor_threads, 4, 1, 256, 0),
    NUMBER(heartbeat_interval_ms, 10000, 50, 3600000, 0),
    NUMBER(stale_ttl_ms, 30000, 100, 86400000, 0),
    NUMBER(reconciliation_interval_ms, 30000, 50, 86400000, 0),
    NUMBER(drain_grace_ms, 5000, 1, 3600000, 1),
    NUMBER(linger_ms, 300000, 1, 86400000, 1),
    NUMBER(idle_timeout_ms, 30000, 100, 86400000, 1),
    NUMBER(stall_timeout_ms, 60000, 100, 86400000, 1),
    NUMBER(history_retention_s, 2592000, 1, UNBOUNDED, 1),
    NUMBER(max_run_duration_s, SWAMP_OFF, 1, UNBOUNDED, 1),
    NUMBER(max_runs, SWAMP__RUNS_MAX, 1, 1000000, 0),
    NUMBER(max_runs_per_principal, SWAMP_OFF, 1, 1000000, 1),
    NUMBER(max_connections, SWAMP__CONNECTIONS_MAX, 1, 1000000, 0),
    NUMBER(max_requests_per_connection, SWAMP__REQUESTS_MAX, 1, 100000, 0),
    NUMBER(run_log_events, SWAMP__RUN_LOG_EVENTS, 1, 100000000, 0),
    NUMBER(store_timeout_ms, 5000, 10, 600000, 0),
};

static int
read_numbers(swamp_server_options *options, char *why, size_t cap)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const number_option *rule = &numbers[i];
        uint32_t *value = (uint32_t *)(void *)((char *)options + rule->offset);
        *value = swamp__options_or(*value, rule->otherwise);
        if (*value == SWAMP_OFF && rule->can_be_off)
            continue;
        if (*value < rule->min || *value > rule->max) {
            snprintf(why, cap, "%s is %u, allowed are %u to %u", rule->name, *value, rule->min, rule->max);
            return SWAMP_E_INVALID;
        }
    }
    /* PROTOCOL 5: else one late beat would be a death */
    if ((uint64_t)options->stale_ttl_ms < 2 * (uint64_t)options->heartbeat_interval_ms) {
        snprintf(why, cap, "stale_ttl_ms is %u, it must be at least twice heartbeat_interval_ms (%u)",
                 options->stale_ttl_ms, options->heartbeat_interval_ms);
        return SWAMP_E_INVALID;
    }
    if (options->run_log_bytes == 0)
        options->run_log_bytes = SWAMP__RUN_LOG_BYTES;
    if (options->all_logs_bytes == 0)
        options->all_logs_bytes = SWAMP__ALL_LOGS_BYTES;
    if (options->run_log_bytes < SWAMP__EVENT_MAX) {
        snprintf(why, cap, "run_log_bytes is %llu, it must hold one event (%u)",
                 (unsigned long long)options->run_log_bytes, SWAMP__EVENT_MAX);
        return SWAMP_E_INVALID;
    }
    return SWAMP_OK;
}

static int
check_executor(const swamp_executor *executor, char *why, size_t cap)
{
    swamp_executor known;
    if (!executor)
        return SWAMP_OK;
    if (swamp__options_read(&known, sizeof(known), executor) != SWAMP_OK) {
        snprintf(why, cap,
                 "executor.size is %zu, it must be sizeof(swamp_executor), and members that this "
                 "version does not know must be zero",
                 executor->size);
        return SWAMP_E_INVALID;
    }
    if (!known.work) {
        snprintf(why, cap, "executor.work is NULL, it must be a function: it does the host's work");
        return SWAMP_E_INVALID;
    }
    return SWAMP_OK;
}

static int
check_texts(const swamp_server_options *options, char *why, size_t cap)
{
    const uint32_t known = SWAMP_SERVER_LOCAL | SWAMP_SERVER_INSECURE | SWAMP_SERVER_OBSERVER;
    const char *host = options->host;
    swamp__url url;

    if (options->flags & ~known) {
        snprintf(why, cap, "flags has a bit that this version does not know: 0x%x", options->flags & ~known);
        return SWAMP_E_INVALID;
    }
    if ((options->flags & SWAMP_SERVER_OBSERVER) &&
        (!(options->flags & SWAMP_SERVER_LOCAL) || !options->store)) {
        snprintf(why, cap, "SWAMP_SERVER_OBSERVER needs SWAMP_SERVER_LOCAL and a store");
        return SWAMP_E_INVALID;
    }
    if (!(options->flags & (SWAMP_SERVER_LOCAL | SWAMP_SERVER_INSECURE)) &&
        !swamp__url_host_is_loopback(host)) {
        snprintf(why, cap,
                 "host is %.100s, which others can reach: allow it with the flag SWAMP_SERVER_INSECURE, or "
                 "use 127.0.0.1",
                 host);
        return SWAMP_E_INVALID;
    }
    if (!options->cert_file != !options->key_file) {
        snprintf(why, cap, "cert_file and key_file go together: %s is missing",
                 options->cert_file ? "key_file" : "cert_file");
        return SWAMP_E_INVALID;
    }
    if (options->advertise_url && swamp__url_parse(options->advertise_url, &url) != SWAMP_OK) {
        snprintf(why, cap, "advertise_url is %.200s, it must be a ws, wss, http or https URL",
                 options->advertise_url);
        return SWAMP_E_INVALID;
    }
    return check_executor(options->executor, why, cap);
}

static const size_t texts[] = {
    offsetof(swamp_server_options, host),
    offsetof(swamp_server_options, advertise_url),
    offsetof(swamp_server_options, git_sha),
    offsetof(swamp_server_options, version_text),
    offsetof(swamp_server_options, cert_file),
    offsetof(swamp_server_options, key_file),
    offsetof(swamp_server_options, allowed_origins),
};

static char **
text_at(swamp_server_options *options, size_t offset)
{
    return (char **)(void *)((char *)options + offset);
}

static int
copy_texts(swamp_server_options *options)
{
    int rc = SWAMP_OK;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char **text = text_at(options, texts[i]);
        const char *given = *text;
        *text =
            swamp__strdup(given); /* goes on after a failure, so that no borrowed text is left to be freed */
        if (given && !*text)
            rc = SWAMP_E_NOMEM;
    }
    return rc;
}

int
swamp__settings_read(swamp__settings *out, const swamp_server_options *options, char *why, size_t cap)
{
    swamp_server_options *given = &out->given;
    int rc = swamp__options_read(given, sizeof(*given), options);
    if (rc != SWAMP_OK) {
        snprintf(why, cap, "the options have a size or a member that this version does not know");
        return rc;
    }
    if (!given->host)
        given->host = "127.0.0.1";
    if (!given->version_text)
        given->version_text = SWAMP_VERSION;
    if (!given->git_sha)
        given->git_sha = "unknown";
    rc = read_numbers(given, why, cap);
    if (rc == SWAMP_OK)
        rc = check_texts(given, why, cap);
    if (rc != SWAMP_OK)
        return rc;
    if (gethostname(out->hostname, sizeof(out->hostname)) != 0)
        strcpy(out->hostname, "unknown");
    out->hostname[sizeof(out->hostname) - 1] = '\0';
    rc = copy_texts(given);
    if (rc != SWAMP_OK) {
        snprintf(why, cap, "out of memory");
        swamp__settings_free(out);
    }
    return rc;
}

void
swamp__settings_free(swamp__settings *settings)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        swamp__free(*text_at(&settings->given, texts[i]));
        *text_at(&settings->given, texts[i]) = NULL;
    }
}

/* Milliseconds, 0 for off. */
static int64_t
duration_or_off(uint32_t value, int64_t unit_ms)
{
    return value == SWAMP_OFF ? 0 : value * unit_ms;
}

/* For what ends a connection when it is over, where 0 would mean at once: off is a hundred years. */
static int64_t
timeout_or_never(uint32_t value)
{
    return value == SWAMP_OFF ? INT64_C(100) * 365 * 24 * 3600 * 1000 : value;
}

void
swamp__settings_for_instance(const swamp__settings *settings, const char *instance_id, const char *address,
                             swamp__instance_options *out)
{
    const swamp_server_options *given = &settings->given;
    *out = (swamp__instance_options){
        .hostname = settings->hostname,
        .address = address,
        .version = given->version_text,
        .git_sha = given->git_sha,
        .pid = getpid(),
        .local = (given->flags & SWAMP_SERVER_LOCAL) != 0,
        .observer = (given->flags & SWAMP_SERVER_OBSERVER) != 0,
        .heartbeat_interval_ms = given->heartbeat_interval_ms,
        .stale_ttl_ms = given->stale_ttl_ms,
        .reconciliation_interval_ms = given->reconciliation_interval_ms,
        .drain_grace_ms = duration_or_off(given->drain_grace_ms, 1),
        .linger_ms = duration_or_off(given->linger_ms, 1),
        .idle_timeout_ms = timeout_or_never(given->idle_timeout_ms),
        .stall_timeout_ms = timeout_or_never(given->stall_timeout_ms),
        .retention_ms = duration_or_off(given->history_retention_s, 1000),
        .max_run_duration_ms = duration_or_off(given->max_run_duration_s, 1000),
        .max_runs = given->max_runs,
        .max_runs_per_principal =
            given->max_runs_per_principal == SWAMP_OFF ? 0 : given->max_runs_per_principal,
        .max_connections = given->max_connections,
        .max_requests = given->max_requests_per_connection,
        .run_log_bytes = given->run_log_bytes,
        .run_log_events = given->run_log_events,
        .all_logs_bytes = given->all_logs_bytes,
    };
    snprintf(out->instance_id, sizeof(out->instance_id), "%s", instance_id);
}
