/* The folder with workflow files that --workflows names. */
#include <sys/stat.h>
#include "folder.h"
#include "out.h"
#include "outcome.h"

int
folder_check(const char *folder)
{
    struct stat found;
    if (stat(folder, &found) == 0 && S_ISDIR(found.st_mode))
        return 0;
    return out_fail(OUTCOME_USAGE, NULL, "--workflows is \"%s\": allowed is a folder with workflow files",
                    folder);
}
