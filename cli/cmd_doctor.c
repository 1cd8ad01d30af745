/* `swamp doctor`: looks at the store's file, the instances and the runs, and names what somebody should do.
 */
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include "cmd.h"
#include "out.h"
#include "outcome.h"
#include "show.h"
#include "target.h"

const struct flag cmd_doctor_flags[] = {
    STORE_FLAG,
    {.name = NULL},
};

#define WAL_BYTES_MAX (64 * 1024 * 1024) /* a WAL that is checkpointed stays far below */
#define FREE_BYTES_MIN (256 * 1024 * 1024)
#define CLOCK_MS_MAX 60000 /* far more than an interval: then a clock is wrong */

static int findings;

static void __attribute__((format(printf, 2, 3))) say(int is_finding, const char *format, ...)
{
    text words = {0}, line = {0};
    va_list args;
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    findings += is_finding;
    if (out_is_json()) {
        text_addf(&line, "{\"finding\":%s,\"message\":", is_finding ? "true" : "false");
        text_add_json(&line, words.bytes);
        text_add(&line, "}");
    } else {
        text_add(&line, is_finding ? "!! " : "ok ");
        show_add_words(&line, words.bytes);
    }
    if (is_finding || !out_is_quiet())
        out_bytes(line.bytes, line.len);
    text_free(&words);
    text_free(&line);
}

/* ---- the file ---- */

static int64_t
number_of(const json *object, const char *member, int64_t otherwise)
{
    int64_t number;
    return json_integer(json_get(object, member), &number) ? number : otherwise;
}

static void
look_at_place(const json *facts)
{
    const char *problem = json_get_string(facts, "problem"), *system = json_get_string(facts, "fileSystem");
    const char *mode = json_get_string(facts, "mode"), *folder_mode = json_get_string(facts, "folderMode");
    int64_t free_bytes = number_of(facts, "freeBytes", INT64_MAX);

    if (problem)
        say(1, "store: %s", problem);
    if (system)
        say(0, "file system: %s, %lld MiB free", system, (long long)(free_bytes >> 20));
    if (free_bytes < FREE_BYTES_MIN)
        say(1, "file system: only %lld MiB are free; make room, or runs will not be recorded",
            (long long)(free_bytes >> 20));
    if (mode && strcmp(mode + strlen(mode) - 2, "00") != 0)
        say(1, "the store's file has mode %s, so others can read it; chmod 600 %s", mode,
            json_get_string(facts, "file"));
    if (folder_mode && strcmp(folder_mode + strlen(folder_mode) - 2, "00") != 0 && mode)
        say(0, "the store's folder has mode %s", folder_mode);
}

/* The words of FACTS of SQLite's fault: whoever writes past our lock can hit it. */
static void
look_at_sqlite(const json *facts)
{
    const json *fault = json_get(facts, "walResetFault");
    const char *version = json_get_string(facts, "sqliteVersion"), *kind = json_get_string(facts, "kind");
    int64_t wal_bytes = number_of(facts, "walBytes", 0), holder = number_of(facts, "lockHolderPid", 0);

    if (kind)
        say(strcmp(kind, "other") == 0 || strcmp(kind, "sqlite") == 0 || strcmp(kind, "unreadable") == 0,
            "the store's file: %s, %lld KiB",
            strcmp(kind, "sqlite") == 0 ? "another program's database" : kind,
            (long long)(number_of(facts, "databaseBytes", 0) >> 10));
    if (fault && json_get_true(facts, "walResetFault"))
        say(0,
            "SQLite %s has the WAL-reset fault: swamp's own lock keeps clear of it; never open the file with "
            "another program except \"sqlite3 -readonly\"",
            version);
    else
        say(0, "SQLite %s", version ? version : "?");
    if (wal_bytes > WAL_BYTES_MAX)
        say(1,
            "the store's WAL is %lld MiB long: some program holds a read transaction open, or no instance "
            "runs; "
            "find it with \"fuser %s-wal\"",
            (long long)(wal_bytes >> 20), json_get_string(facts, "file"));
    else if (kind)
        say(0, "WAL: %lld KiB", (long long)(wal_bytes >> 10));
    if (holder > 0)
        say(0,
            "process %lld holds the store's lock at this moment; when it is the same one each time, it is "
            "stuck",
            (long long)holder);
}

/* 1: the store can be asked. */
static int
look_at_file(const char *url)
{
    const char *path = store_path(url);
    char *words = NULL;
    json *facts;

    if (!path)
        return 0;
    if (swamp_store_sqlite_facts(&words, path) != SWAMP_OK ||
        !(facts = json_read(words, strlen(words), NULL, NULL))) {
        say(1, "store: nothing can be said of %s", path);
        swamp_free(words);
        return 0;
    }
    swamp_free(words);
    say(0, "store: %s", url);
    look_at_place(facts);
    look_at_sqlite(facts);
    const char *kind = json_get_string(facts, "kind");
    int usable = !json_get(facts, "problem") && kind && strcmp(kind, "swamp") == 0;
    json_free(facts);
    return usable;
}

/* ---- the cluster ---- */

/* "2026-01-02T03:04:05.678Z" to milliseconds; 0: it is something else. */
static int64_t
read_time(const char *words)
{
    struct tm parts = {0};
    const char *rest = words ? strptime(words, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (!rest)
        return 0;
    return (int64_t)timegm(&parts) * 1000 + (rest[0] == '.' ? (rest[1] - '0') * 100 : 0);
}

static void
look_at_instance(const json *row, int64_t now_ms)
{
    const char *id = json_get_string(row, "instanceId"), *status = json_get_string(row, "status");
    const char *host = json_get_string(row, "hostname");
    int64_t ahead_ms = read_time(json_get_string(row, "lastHeartbeatAt")) - now_ms;

    if (!id || !status)
        return;
    if (strcmp(status, "stale") == 0)
        say(1,
            "instance %s on %s has shown no sign of life since %s; another instance declares it dead within "
            "its "
            "TTL, so when this stays, no instance runs: start one",
            id, host ? host : "?", json_get_string(row, "lastHeartbeatAt"));
    else
        say(0, "instance %s on %s is %s", id, host ? host : "?", status);
    if (ahead_ms > CLOCK_MS_MAX)
        say(1,
            "the clock of %s is %lld s ahead of this machine's; nothing depends on it, but times in the "
            "history "
            "are wrong: check NTP",
            host ? host : "?", (long long)(ahead_ms / 1000));
}

static void
look_at_run(const json *row)
{
    const char *id = json_get_string(row, "id"), *workflow = json_get_string(row, "workflowName");
    if (id && json_get_true(row, "stale"))
        say(1,
            "run %s (%s) has no living owner and is still recorded as running; the next instance that runs "
            "ends "
            "it as interrupted: start one",
            id, workflow ? workflow : "?");
}

static int
look_at_cluster(const struct args *args)
{
    struct timespec now;
    struct target target;
    json *instances = NULL, *runs = NULL;
    int code = target_open_store(&target, args);

    clock_gettime(CLOCK_REALTIME, &now);
    if (code == 0)
        code = target_ask(&target, "cluster.instances", NULL, "the list of instances", &instances);
    if (code == 0)
        code =
            target_ask(&target, "run.history", "{\"active\":true,\"limit\":1000}", "the list of runs", &runs);
    const json *list = json_get(json_get(instances, "payload"), "instances");
    for (const json *row = list ? list->first : NULL; row; row = row->next)
        look_at_instance(row, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    list = json_get(json_get(runs, "payload"), "runs");
    if (code == 0)
        say(0, "%zu instances, %zu runs that have not ended",
            json_get(json_get(instances, "payload"), "instances")->count, list ? list->count : 0);
    for (const json *row = list ? list->first : NULL; row; row = row->next)
        look_at_run(row);
    json_free(instances);
    json_free(runs);
    target_close(&target);
    return code;
}

int
cmd_doctor(const struct args *args)
{
    const char *url = args_text(args, "store");
    int code = store_check(url);

    findings = 0;
    if (code == 0 && look_at_file(url))
        code = look_at_cluster(args);
    if (code != 0)
        return code;
    if (findings > 0)
        return out_fail(OUTCOME_FAILED, NULL,
                        "%d findings; each line above that begins with !! says what to do", findings);
    return 0;
}
