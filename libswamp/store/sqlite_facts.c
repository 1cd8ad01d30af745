/* What can be said of a SQLite store without opening it: for `swamp doctor`, and for bug reports. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <swamp/status.h>
#include <swamp/store.h>
#include "../util/buf.h"
#include "../wire/json.h"
#include "sqlite.h"
#include "sqlite_lock.h"
#include "sqlite_path.h"

/* FACTS of SQLite: the race of a checkpoint with a reset of the WAL; some distributions have the fix in older
 * numbers. */
#define WAL_RESET_FAULT_FIRST 3007000
#define WAL_RESET_FAULT_LAST 3051002

static void
put_true(swamp__buf *out, const char *name, int yes)
{
    swamp__json_put_member_raw(out, name, yes ? "true" : "false", yes ? 4 : 5);
}

static void
put_mode(swamp__buf *out, const char *name, mode_t mode)
{
    char text[16];

    snprintf(text, sizeof text, "%04o", (unsigned)mode & 07777);
    swamp__json_put_member(out, name, text);
}

static uint32_t
read_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

int
swamp__sqlite_is_made(const char *file)
{
    unsigned char header[SWAMP__SQLITE_HEADER_SIZE];

    return swamp__sqlite_read_header(file, header) == SWAMP_OK && header[18] == 2 && header[19] == 2 &&
           read_u32(header + 68) == SWAMP__SQLITE_APPLICATION_ID &&
           read_u32(header + 60) == SWAMP__SQLITE_SCHEMA;
}

/* What the file is, by its first hundred bytes (sqlite.org/fileformat2.html). */
static void
put_kind(swamp__buf *out, const char *file, int64_t size)
{
    unsigned char header[SWAMP__SQLITE_HEADER_SIZE];

    if (size == 0) {
        swamp__json_put_member(out, "kind", "empty");
    } else if (swamp__sqlite_read_header(file, header) < 0) {
        swamp__json_put_member(out, "kind", "unreadable");
    } else if (memcmp(header, "SQLite format 3", 16) != 0) {
        swamp__json_put_member(out, "kind", "other");
    } else if (read_u32(header + 68) != SWAMP__SQLITE_APPLICATION_ID) {
        swamp__json_put_member(out, "kind", "sqlite");
    } else {
        swamp__json_put_member(out, "kind", "swamp");
        swamp__json_put_member_i64(out, "schema", read_u32(header + 60));
    }
}

/* The files beside it never come before it: whoever took the store away left one. */
static void
put_left_behind(swamp__buf *out, const char *file)
{
    static const char *const endings[] = {"-wal", "-shm", ".lock"};
    char path[SWAMP__SQLITE_PATH_MAX + 16];
    struct stat found;

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s%s", file, endings[i]);
        if (stat(path, &found) == 0) {
            swamp__json_put_member(out, "leftBehind", path);
            return;
        }
    }
}

static void
put_file(swamp__buf *out, const swamp__sqlite_path *path)
{
    char wal[SWAMP__SQLITE_PATH_MAX + 16];
    struct stat found;
    int64_t wal_bytes;

    if (stat(path->file, &found) < 0) {
        swamp__json_put_member(out, "kind", "absent");
        put_left_behind(out, path->file);
        return;
    }
    put_kind(out, path->file, (int64_t)found.st_size);
    put_mode(out, "mode", found.st_mode);
    swamp__json_put_member_i64(out, "databaseBytes", (int64_t)found.st_size);
    snprintf(wal, sizeof wal, "%s-wal", path->file);
    wal_bytes = stat(wal, &found) == 0 ? (int64_t)found.st_size : 0;
    swamp__json_put_member_i64(out, "walBytes", wal_bytes);
}

static void
put_folder(swamp__buf *out, const char *folder)
{
    struct stat found;
    struct statfs about;
    int usable;

    swamp__json_put_member(out, "folder", folder);
    if (stat(folder, &found) == 0)
        put_mode(out, "folderMode", found.st_mode);
    if (statfs(folder, &about) < 0)
        return;
    swamp__json_put_member(
        out, "fileSystem",
        swamp__sqlite_file_system((uint64_t)(unsigned long)about.f_type & 0xffffffff, &usable));
    put_true(out, "fileSystemUsable", usable);
    swamp__json_put_member_i64(out, "freeBytes", (int64_t)about.f_bavail * (int64_t)about.f_bsize);
}

static void
put_place(swamp__buf *out, const char *path)
{
    swamp__sqlite_path place = {.folder = ""};
    char why[1024] = "";
    int holder;

    if (swamp__sqlite_path_find(&place, path, 0, why, sizeof why) < 0)
        swamp__json_put_member(out, "problem", why);
    if (place.folder[0])
        put_folder(out, place.folder);
    if (!place.file[0])
        return;
    swamp__json_put_member(out, "file", place.file);
    put_file(out, &place);
    holder = swamp__file_lock_holder(place.lock);
    if (holder)
        swamp__json_put_member_i64(out, "lockHolderPid", holder);
}

int
swamp_store_sqlite_facts(char **out, const char *path)
{
    swamp__buf facts;
    const char *version;
    char *text;
    int number;

    if (!out || !path || !*path)
        return SWAMP_E_INVALID;
    version = swamp__sqlite_version(&number);
    swamp__buf_init(&facts);
    swamp__buf_text(&facts, "{");
    swamp__json_put_member(&facts, "sqliteVersion", version);
    put_true(&facts, "walResetFault", number >= WAL_RESET_FAULT_FIRST && number <= WAL_RESET_FAULT_LAST);
    put_place(&facts, path);
    swamp__buf_text(&facts, "}");
    text = swamp__buf_steal(&facts);
    swamp__buf_free(&facts);
    if (!text)
        return SWAMP_E_NOMEM;
    *out = text;
    return SWAMP_OK;
}
