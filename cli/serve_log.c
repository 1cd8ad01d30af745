/* The log of `swamp serve` on stderr: text or JSON, one line an entry, with the time. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "out.h"
#include "serve.h"
#include "term.h"

static const char *const levels[] = {"?", "error", "warn", "info", "debug"};
static const char as_json[] = "json";

void *
serve_log_user(const struct args *args)
{
    return strcmp(args_text(args, "log-format"), "json") == 0 ? (void *)(size_t)as_json : NULL;
}

uint32_t
serve_log_level(const struct args *args)
{
    uint32_t level = SWAMP_LOG_DEBUG;
    while (level > SWAMP_LOG_ERROR && strcmp(levels[level], args_text(args, "log-level")) != 0)
        level--;
    return args_number(args, "verbose") ? SWAMP_LOG_DEBUG : level;
}

static void
add_time(text *out)
{
    struct timespec now;
    struct tm parts;
    char words[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(words, sizeof(words), "%Y-%m-%dT%H:%M:%S", &parts);
    text_addf(out, "%s.%03ldZ", words, now.tv_nsec / 1000000);
}

void
serve_log(int level, const char *line, void *user)
{
    text entry = {0};
    const char *name = level >= SWAMP_LOG_ERROR && level <= SWAMP_LOG_DEBUG ? levels[level] : levels[0];
    if (user) {
        text_add(&entry, "{\"time\":\"");
        add_time(&entry);
        text_addf(&entry, "\",\"level\":\"%s\",\"message\":", name);
        text_add_json(&entry, line);
        text_add(&entry, "}\n");
    } else {
        add_time(&entry);
        text_addf(&entry, " %-5s ", name);
        term_add_words(&entry, line, strlen(line));
        text_add(&entry, "\n");
    }
    fwrite(entry.bytes, 1, entry.len, stderr); /* one call: lines of several threads do not mix */
    text_free(&entry);
}
