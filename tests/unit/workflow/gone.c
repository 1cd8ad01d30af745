/* Looks into /proc. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "gone.h"

int
process_is_gone(int pid)
{
    char path[64], line[256] = "";
    if (pid <= 0)
        return 0; /* the test did not learn the number */
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return 1;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    char *taken = fgets(line, sizeof(line), file);
    fclose(file);
    char *state = taken ? strrchr(line, ')') : NULL;
    return state && (state[2] == 'Z' || state[2] == 'X');
}
