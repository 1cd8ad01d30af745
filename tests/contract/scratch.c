/* Scratch folders for tests. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "scratch.h"

char *
scratch_make(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = malloc(SCRATCH_PATH_MAX);

    if (!folder ||
        snprintf(folder, SCRATCH_PATH_MAX, "%s/swamp-test-XXXXXX", parent ? parent : "/tmp") >= 400 ||
        !mkdtemp(folder)) {
        perror("scratch folder");
        abort();
    }
    return folder;
}

static int
remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void
scratch_remove(void *folder)
{
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

const char *
scratch_path(char path[SCRATCH_PATH_MAX], const char *folder, const char *name)
{
    snprintf(path, SCRATCH_PATH_MAX, "%s/%s", folder, name);
    return path;
}
