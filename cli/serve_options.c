/* `swamp serve`: its flags, and the server options that come of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "cmd.h"
#include "folder.h"
#include "out.h"
#include "outcome.h"
#include "serve.h"
#include "store.h"
#include "value.h"

#define HOUR 3600000u
#define DAY 86400000u

/* clang-format off */
const struct flag cmd_serve_flags[] = {
    {.name = "host", .type = FLAG_TEXT, .value = "ADDRESS", .fallback = "127.0.0.1", .help = "the address to listen on"},
    {.name = "port", .type = FLAG_COUNT, .value = "N", .fallback = "9090", .max = 65535, .help = "the port; 0: any free one, which is printed"},
    STORE_FLAG,
    {.name = "workflows", .type = FLAG_TEXT, .value = "DIR", .fallback = "./workflows", .help = "the folder with the workflow files"},
    {.name = "advertise", .type = FLAG_TEXT, .value = "URL", .help = "how clients of other instances reach this one"},
    {.name = "instance-id-file", .type = FLAG_TEXT, .value = "PATH", .help = "write the instance's id there"},
    {.name = "config", .type = FLAG_TEXT, .value = "FILE", .help = "YAML or JSON with the same names as these flags"},
    {.name = "heartbeat-interval", .type = FLAG_DURATION, .value = "D", .fallback = "10s", .min = 50, .max = HOUR, .help = "how often the instance shows that it lives"},
    {.name = "stale-ttl", .type = FLAG_DURATION, .value = "D", .fallback = "30s", .min = 100, .max = DAY, .help = "without a sign of life for so long it is dead; at least twice the interval"},
    {.name = "reconciliation-interval", .type = FLAG_DURATION, .value = "D", .fallback = "30s", .min = 50, .max = DAY, .help = "how often runs of dead instances are looked for"},
    {.name = "drain-timeout", .type = FLAG_DURATION, .value = "D", .fallback = "30s", .max = DAY, .help = "at a stop: how long runs may go on"},
    {.name = "drain-grace", .type = FLAG_DURATION, .value = "D", .fallback = "5s", .max = HOUR, .help = "at a stop: how long new runs are still taken"},
    {.name = "linger", .type = FLAG_DURATION, .value = "D", .fallback = "5m", .max = DAY, .help = "how long an ended run's events are kept"},
    {.name = "max-concurrent-runs", .type = FLAG_COUNT, .value = "N", .fallback = "100", .min = 1, .max = 1000000, .help = "runs at one time"},
    {.name = "max-runs-per-principal", .type = FLAG_COUNT, .value = "N", .min = 1, .max = 1000000, .help = "runs at one time of one user (off)"},
    {.name = "max-run-duration", .type = FLAG_DURATION, .value = "D", .min = 1000, .max = 365ull * DAY, .help = "longer runs are cancelled (off)"},
    {.name = "ws-idle-timeout", .type = FLAG_DURATION, .value = "D", .fallback = "30s", .min = 100, .max = DAY, .help = "a silent connection is given up"},
    {.name = "history-retention", .type = FLAG_DURATION, .value = "D", .fallback = "30d", .min = 1000, .max = 36500ull * DAY, .help = "how long ended runs stay in the history"},
    {.name = "auth-mode", .type = FLAG_CHOICE, .value = "none|token", .fallback = "none", .allowed = "none|token", .refused = "token", .help = "who may connect"},
    {.name = "cert-file", .type = FLAG_TEXT, .value = "F", .help = "TLS: the certificate chain (PEM)"},
    {.name = "key-file", .type = FLAG_TEXT, .value = "F", .help = "TLS: its key (PEM)"},
    {.name = "allowed-origins", .type = FLAG_TEXT, .value = "LIST", .help = "web origins that may connect, by commas"},
    {.name = "trust-proxy", .type = FLAG_SWITCH, .refused = "true", .help = "X-Forwarded-For names the client in the log"},
    {.name = "insecure", .type = FLAG_SWITCH, .help = "listen where others can reach it, without authentication"},
    {.name = "log-format", .type = FLAG_CHOICE, .value = "text|json", .fallback = "text", .allowed = "text|json", .help = "the log on stderr"},
    {.name = "log-level", .type = FLAG_CHOICE, .value = "L", .fallback = "info", .allowed = "error|warn|info|debug", .help = "error, warn, info or debug"},
    {.name = NULL},
};

/* Which flag sets which number. */
#define NUMBER(member, name, unit, zero) {name, offsetof(swamp_server_options, member), unit, zero}

static const struct {
    const char *flag;
    size_t offset;
    uint32_t unit; /* of the member, in the flag's: 1000 for seconds */
    int zero_is_off;
} numbers[] = {
    NUMBER(port, "port", 1, 0),
    NUMBER(heartbeat_interval_ms, "heartbeat-interval", 1, 0),
    NUMBER(stale_ttl_ms, "stale-ttl", 1, 0),
    NUMBER(reconciliation_interval_ms, "reconciliation-interval", 1, 0),
    NUMBER(drain_grace_ms, "drain-grace", 1, 1),
    NUMBER(linger_ms, "linger", 1, 1),
    NUMBER(idle_timeout_ms, "ws-idle-timeout", 1, 0),
    NUMBER(history_retention_s, "history-retention", 1000, 0),
    NUMBER(max_run_duration_s, "max-run-duration", 1000, 0),
    NUMBER(max_runs, "max-concurrent-runs", 1, 0),
    NUMBER(max_runs_per_principal, "max-runs-per-principal", 1, 0),
};
/* clang-format on */

static int
check_together(const struct args *args)
{
    uint64_t interval_ms = args_number(args, "heartbeat-interval"), ttl_ms = args_number(args, "stale-ttl");
    const char *cert = args_text(args, "cert-file"), *key = args_text(args, "key-file");

    if (ttl_ms < 2 * interval_ms) { /* PROTOCOL 5: else one late beat would be a death */
        text least = {0};
        value_add_duration(&least, 2 * interval_ms);
        out_fail(OUTCOME_USAGE, NULL,
                 "--stale-ttl is \"%s\": it must be at least twice --heartbeat-interval (\"%s\"), so allowed "
                 "is %s or more",
                 args_text(args, "stale-ttl"), args_text(args, "heartbeat-interval"), least.bytes);
        text_free(&least);
        return OUTCOME_USAGE;
    }
    if (!cert != !key)
        return out_fail(OUTCOME_USAGE, NULL, "--%s is \"%s\": it goes together with --%s, which is missing",
                        cert ? "cert-file" : "key-file", cert ? cert : key, cert ? "key-file" : "cert-file");
    return store_check(args_text(args, "store"));
}

/* The default folder may come later; one that was named wrong is found out now. */
static int
check_folder(const struct args *args)
{
    return args_given(args, "workflows") ? folder_check(args_text(args, "workflows")) : 0;
}

int
serve_read_options(const struct args *args, swamp_server_options *out)
{
    int code = check_together(args);
    if (code == 0)
        code = check_folder(args);
    if (code != 0)
        return code;
    swamp_server_options_init(out, sizeof(*out));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uint64_t number = (args_number(args, numbers[i].flag) + numbers[i].unit - 1) / numbers[i].unit;
        uint32_t value = number == 0 && numbers[i].zero_is_off ? SWAMP_OFF : (uint32_t)number;
        memcpy((char *)out + numbers[i].offset, &value, sizeof(value));
    }
    out->host = args_text(args, "host");
    out->advertise_url = args_text(args, "advertise");
    out->cert_file = args_text(args, "cert-file");
    out->key_file = args_text(args, "key-file");
    out->allowed_origins = args_text(args, "allowed-origins");
    out->flags = args_number(args, "insecure") ? SWAMP_SERVER_INSECURE : 0;
    out->log = serve_log;
    out->log_user = serve_log_user(args);
    out->log_level = serve_log_level(args);
    serve_raise_limits(out);
    return 0;
}

#define CONNECTIONS 10000
#define OWN_FILES 64        /* the store, the log, the loops */
#define FILES_PER_COMMAND 4 /* two pipes, both ends for a moment */

void
serve_raise_limits(swamp_server_options *options)
{
    struct rlimit limit;
    rlim_t others = OWN_FILES + (rlim_t)FILES_PER_COMMAND * options->max_runs, wanted = CONNECTIONS + others;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted ? wanted : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted)
        return;
    /* at least a tenth for connections, even where commands could take all */
    rlim_t room =
        limit.rlim_cur > others + limit.rlim_cur / 10 ? limit.rlim_cur - others : limit.rlim_cur / 10;
    options->max_connections = room > 0 ? (uint32_t)room : 1;
}
