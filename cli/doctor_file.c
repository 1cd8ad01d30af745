/* `swamp doctor`: the store's file, its folder, its file system, and what the library says of them. */
#include <string.h>
#include "doctor.h"
#include "json.h"
#include "store.h"

#define WAL_BYTES_MAX (64 * 1024 * 1024) /* a WAL that is checkpointed stays far below */
#define FREE_BYTES_MIN (256 * 1024 * 1024)

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
        doctor_say(1, "store: %s", problem);
    if (system)
        doctor_say(0, "file system: %s, %lld MiB free", system, (long long)(free_bytes >> 20));
    if (free_bytes < FREE_BYTES_MIN)
        doctor_say(1, "file system: only %lld MiB are free; make room, or runs will not be recorded",
                   (long long)(free_bytes >> 20));
    if (mode && strcmp(mode + strlen(mode) - 2, "00") != 0)
        doctor_say(1, "the store's file has mode %s, so others can read it; chmod 600 %s", mode,
                   json_get_string(facts, "file"));
    if (folder_mode && strcmp(folder_mode + strlen(folder_mode) - 2, "00") != 0 && mode)
        doctor_say(0, "the store's folder has mode %s", folder_mode);
}

/* The words of FACTS of SQLite's fault: whoever writes past our lock can hit it. */
static void
look_at_sqlite(const json *facts)
{
    const json *fault = json_get(facts, "walResetFault");
    const char *version = json_get_string(facts, "sqliteVersion"), *kind = json_get_string(facts, "kind");
    int64_t wal_bytes = number_of(facts, "walBytes", 0), holder = number_of(facts, "lockHolderPid", 0);

    if (kind)
        doctor_say(strcmp(kind, "other") == 0 || strcmp(kind, "sqlite") == 0 ||
                       strcmp(kind, "unreadable") == 0,
                   "the store's file: %s, %lld KiB",
                   strcmp(kind, "sqlite") == 0 ? "another program's database" : kind,
                   (long long)(number_of(facts, "databaseBytes", 0) >> 10));
    if (fault && json_get_true(facts, "walResetFault"))
        doctor_say(
            0,
            "SQLite %s has the WAL-reset fault: swamp's own lock keeps clear of it; never open the file with "
            "another program except \"sqlite3 -readonly\"",
            version);
    else
        doctor_say(0, "SQLite %s", version ? version : "?");
    if (wal_bytes > WAL_BYTES_MAX)
        doctor_say(
            1,
            "the store's WAL is %lld MiB long: some program holds a read transaction open, or no instance "
            "runs; "
            "find it with \"fuser %s-wal\"",
            (long long)(wal_bytes >> 20), json_get_string(facts, "file"));
    else if (kind)
        doctor_say(0, "WAL: %lld KiB", (long long)(wal_bytes >> 10));
    if (holder > 0)
        doctor_say(
            0,
            "process %lld holds the store's lock at this moment; when it is the same one each time, it is "
            "stuck",
            (long long)holder);
}

int
doctor_look_at_file(const char *url)
{
    const char *path = store_path(url);
    char *words = NULL;
    json *facts;

    if (!path)
        return 0;
    if (swamp_store_sqlite_facts(&words, path) != SWAMP_OK ||
        !(facts = json_read(words, strlen(words), NULL, NULL))) {
        doctor_say(1, "store: nothing can be said of %s", path);
        swamp_free(words);
        return 0;
    }
    swamp_free(words);
    doctor_say(0, "store: %s", url);
    look_at_place(facts);
    look_at_sqlite(facts);
    const char *kind = json_get_string(facts, "kind");
    int usable = !json_get(facts, "problem") && kind && strcmp(kind, "swamp") == 0;
    json_free(facts);
    return usable;
}
