/* The control-plane store that --store names. */
#include <string.h>
#include "json.h"
#include "out.h"
#include "outcome.h"
#include "store.h"

const char *
store_path(const char *url)
{
    return strncmp(url, "sqlite:", 7) == 0 ? url + 7 : NULL;
}

int
store_check(const char *url)
{
    const char *path = store_path(url);
    if (path && path[0] != '\0')
        return 0;
    if (strcmp(url, "memory:") == 0)
        return 0;
    if (strncmp(url, "postgres:", 9) == 0 || strncmp(url, "postgresql:", 11) == 0)
        return out_fail(
            OUTCOME_USAGE, NULL,
            "--store is \"%s\": this version has no PostgreSQL store yet; allowed is sqlite:PATH or memory:",
            url);
    return out_fail(OUTCOME_USAGE, NULL, "--store is \"%s\": allowed is sqlite:PATH or memory:", url);
}

int
store_open(swamp_store **out, const char *url, swamp_log_fn log, uint32_t log_level)
{
    swamp_sqlite_options options = {.size = sizeof(options), .log = log, .log_level = log_level};
    const char *path = store_path(url);
    char *why = NULL;
    int code = store_check(url);

    if (code != 0)
        return code;
    int rc = path ? swamp_store_sqlite_open(out, path, &options, &why) : swamp_store_memory_open(out);
    if (rc == SWAMP_OK)
        return 0;
    /* a file that somebody else holds locked is refused for now; all else needs another path or other rights */
    code = rc == SWAMP_E_TIMEOUT ? OUTCOME_REFUSED : rc == SWAMP_E_NOMEM ? OUTCOME_FAILED : OUTCOME_USAGE;
    out_fail(code, NULL, "--store is \"%s\": %s", url, why ? why : swamp_status_text(rc));
    swamp_free(why);
    return code;
}

int
store_is_absent(const char *url)
{
    const char *path = store_path(url);
    char *words = NULL;
    json *facts;

    if (!path || swamp_store_sqlite_facts(&words, path) != SWAMP_OK)
        return 0;
    facts = json_read(words, strlen(words), NULL, NULL);
    swamp_free(words);
    const char *kind = json_get_string(facts, "kind");
    /* no folder: then no kind either, and opening would make both */
    int absent = kind ? strcmp(kind, "absent") == 0 : !json_get_string(facts, "file");
    int moved = absent && json_get_string(facts, "leftBehind");
    json_free(facts);
    return moved ? STORE_MOVED_AWAY : absent ? STORE_NEVER_MADE : 0;
}
