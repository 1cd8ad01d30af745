/* `swamp serve --instance-id-file`: the file with the instance's id, which is one process's as long as it lives. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "out.h"
#include "outcome.h"
#include "serve.h"

#define ID_SIZE 64

static int
fail(const char *path, const char *why, const char *advice)
{
    return out_fail(OUTCOME_USAGE, NULL, "--instance-id-file is \"%s\": %s; %s", path, why, advice);
}

/* Whose file it is: what stands in it, if that looks like an id. */
static int
fail_taken(const char *path, int fd)
{
    char id[ID_SIZE + 1], why[128] = "another instance that is running writes its id there";
    ssize_t len = pread(fd, id, ID_SIZE, 0);
    if (len > 0) {
        id[len] = '\0';
        id[strcspn(id, "\n")] = '\0';
        if (strspn(id, "0123456789abcdef-") == strlen(id) && id[0])
            snprintf(why, sizeof(why), "another instance that is running (%s) writes its id there", id);
    }
    return fail(path, why, "give each instance a file of its own");
}

int
serve_id_open(const struct args *args, int *fd)
{
    const char *path = args_text(args, "instance-id-file");
    *fd = -1;
    if (!path)
        return 0;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
    int code = 0;
    if (*fd < 0)
        return fail(path, strerror(errno), "give a path that can be written");
    /* the kernel lets go of it when the process ends, however it ends */
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        code = errno == EWOULDBLOCK ? fail_taken(path, *fd)
                                    : fail(path, strerror(errno), "give a path on a local file system");
    if (code != 0)
        serve_id_close(fd);
    return code;
}

int
serve_id_write(const struct args *args, int fd, const char *instance_id)
{
    char line[ID_SIZE + 2];
    struct stat file;
    int len = snprintf(line, sizeof(line), "%s\n", instance_id);

    if (fd < 0)
        return 0;
    /* over the old one, then cut: an id is as long as the next, so that no reader meets an empty file */
    int is_plain = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
    ssize_t put = is_plain ? pwrite(fd, line, (size_t)len, 0) : write(fd, line, (size_t)len);
    if (put == len && (!is_plain || ftruncate(fd, len) == 0))
        return 0;
    return fail(args_text(args, "instance-id-file"), strerror(put < 0 ? errno : ENOSPC),
                "give a path that can be written");
}

void
serve_id_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
