/* The files of a SQLite store: names without links, modes, and whether their file system can carry them. */
#ifndef SWAMP_STORE_SQLITE_PATH_H
#define SWAMP_STORE_SQLITE_PATH_H

#include <stddef.h>
#include <stdint.h>

#define SWAMP__SQLITE_PATH_MAX 480 /* SQLite's own bound is 512, "-journal" and ".lock" included */

typedef struct swamp__sqlite_path {
    char folder[SWAMP__SQLITE_PATH_MAX + 1]; /* absolute, without symbolic links, */
    char file[SWAMP__SQLITE_PATH_MAX + 1];   /* so that all processes mean the same lock file */
    char lock[SWAMP__SQLITE_PATH_MAX + 16];
    int exists;
} swamp__sqlite_path;

/*
 * Finds the names; makes the folder (0700) if `make` and only it is missing; refuses what is no plain file
 * and what lies on a network file system. SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_IO, SWAMP_E_UNSUPPORTED: why[]
 * has the line.
 */
int swamp__sqlite_path_find(swamp__sqlite_path *out, const char *path, int make, char *why, size_t cap);

/*
 * Makes the file (0600) if it is missing, else checks that it can be read and written. Under the lock, and
 * never opens a file that exists: closing it would drop the locks that SQLite holds on it in this process.
 */
int swamp__sqlite_path_make(swamp__sqlite_path *path, char *why, size_t cap);

/* Why a file of the store cannot be made or opened: one line for errno. Returns SWAMP_E_IO. */
int swamp__sqlite_path_explain(const char *file, int error, char *why, size_t cap);

/* The name of a file system by its magic number (statfs); "unknown"; *usable: it has the locks and shared
 * memory of WAL. */
const char *swamp__sqlite_file_system(uint64_t magic, int *usable);

#endif
