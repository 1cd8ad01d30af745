/* `swamp doctor`: the store's file, its folder, its file system, and what the library says of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "doctor.h"
#include "doctor_report.h"
#include "json.h"
#include "store.h"

#define WAL_BYTES_MAX (64 * 1024 * 1024) /* a WAL that is checkpointed stays far below */
#define FREE_BYTES_MIN (256 * 1024 * 1024)

static void
look_at_place(const json *facts)
{
    const char *problem = json_get_string(facts, "problem"), *system = json_get_string(facts, "fileSystem");
    int64_t free_bytes = json_get_integer(facts, "freeBytes", INT64_MAX);

    if (problem)
        doctor_say(1, "store: %s", problem);
    if (system)
        doctor_say(0, "file system: %s, %lld MiB free", system, (long long)(free_bytes >> 20));
    if (free_bytes < FREE_BYTES_MIN)
        doctor_say(1, "file system: only %lld MiB are free; make room, or runs will not be recorded",
                   (long long)(free_bytes >> 20));
}

/* Of a store of our own only: whoever mistyped a path must not be told to change that file. */
static void
look_at_modes(const json *facts)
{
    const char *mode = json_get_string(facts, "mode"), *folder_mode = json_get_string(facts, "folderMode");
    const char *file = json_get_string(facts, "file");
    long bits = folder_mode ? strtol(folder_mode, NULL, 8) : 0;

    if (mode && strcmp(mode + strlen(mode) - 2, "00") != 0)
        doctor_say(1, "the store's file has mode %s, so others can read it; chmod 600 %s", mode, file);
    if ((bits & S_IWOTH) && !(bits & S_ISVTX))
        doctor_say(1,
                   "the folder of %s has mode %s, so others can put another file in the store's place; "
                   "chmod o-w that folder",
                   file, folder_mode);
    else if (bits & (S_IRWXG | S_IRWXO))
        doctor_say(0, "the store's folder has mode %s", folder_mode);
}

/* What the file is, as SQLite's header and ours say. */
static void
look_at_kind(const char *kind, const json *facts)
{
    int64_t bytes = json_get_integer(facts, "databaseBytes", 0);
    const char *left_behind = json_get_string(facts, "leftBehind");

    if (left_behind)
        doctor_say(1,
                   "the store's file %s is not there, but %s is: it was moved away or removed; put it back, "
                   "with its -wal when that was moved, too, and instances that run go on with it; to begin "
                   "anew stop all instances and remove %s",
                   json_get_string(facts, "file"), left_behind, left_behind);
    else if (strcmp(kind, "other") == 0)
        doctor_say(1, "the store's file is no SQLite database; give another path with --store");
    else if (strcmp(kind, "sqlite") == 0)
        doctor_say(1, "the store's file is another program's database; give another path with --store");
    else if (strcmp(kind, "unreadable") == 0)
        doctor_say(1, "the store's file cannot be read; run as the user that owns it");
    else
        doctor_say(0, "the store's file: %s, %lld KiB", kind, (long long)(bytes >> 10));
}

/* The words of FACTS of SQLite's fault: whoever writes past our lock can hit it. */
static void
look_at_sqlite(const json *facts)
{
    const json *fault = json_get(facts, "walResetFault");
    const char *version = json_get_string(facts, "sqliteVersion");
    int64_t wal_bytes = json_get_integer(facts, "walBytes", 0),
            holder = json_get_integer(facts, "lockHolderPid", 0);

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
            "runs; find it with \"fuser %s-wal\"",
            (long long)(wal_bytes >> 20), json_get_string(facts, "file"));
    else
        doctor_say(0, "WAL: %lld KiB", (long long)(wal_bytes >> 10));
    if (holder > 0)
        doctor_say(0,
                   "process %lld holds the store's lock at this moment; when it is the same one each time, "
                   "it is stuck",
                   (long long)holder);
}

/* NULL: none can be had. */
static json *
read_facts(const char *path)
{
    char *words = NULL;
    json *facts = NULL;
    if (swamp_store_sqlite_facts(&words, path) == SWAMP_OK)
        facts = json_read(words, strlen(words), NULL, NULL);
    swamp_free(words);
    return facts;
}

int64_t
doctor_lock_holder(const char *url)
{
    const char *path = store_path(url);
    json *facts = path ? read_facts(path) : NULL;
    int64_t holder = json_get_integer(facts, "lockHolderPid", 0);
    json_free(facts);
    return holder;
}

int
doctor_look_at_file(const char *url)
{
    const char *path = store_path(url);
    json *facts;

    if (!path)
        return 0;
    facts = read_facts(path);
    if (!facts) {
        doctor_say(1, "store: nothing can be said of %s", path);
        return 0;
    }
    doctor_say(0, "store: %s", url);
    look_at_place(facts);
    const char *kind = json_get_string(facts, "kind");
    int ours = kind && strcmp(kind, "swamp") == 0;
    int usable = ours && !json_get(facts, "problem");
    if (kind)
        look_at_kind(kind, facts);
    if (ours) {
        look_at_modes(facts);
        look_at_sqlite(facts);
    }
    json_free(facts);
    return usable;
}
