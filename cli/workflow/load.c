/* Bytes of a file, then tree, then model, then checks. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "load.h"
#include "read.h"
#include "validate.h"
#include "yaml_tree.h"
#include "../memory.h"

static int
ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), end = strlen(ending);
    return len > end && strcmp(name + len - end, ending) == 0;
}

int
workflow_is_file_name(const char *name)
{
    return ends_with(name, ".yaml") || ends_with(name, ".yml") || ends_with(name, ".json");
}

static workflow *
load_text(const char *file, const char *bytes, size_t len, workflow_faults *faults, char **name)
{
    char *error = NULL;
    int line = 0;
    workflow_faults own = {0};
    if (len > WORKFLOW_FILE_MAX) {
        workflow_faults_add(faults, file, 0, "the file has more than %d bytes", WORKFLOW_FILE_MAX);
        return NULL;
    }
    json *tree = ends_with(file, ".json") ? json_read(bytes, len, &error, &line)
                                          : yaml_read(bytes, len, &error, &line);
    if (!tree) {
        workflow_faults_add(faults, file, line, "%s", error);
        free(error);
        return NULL;
    }
    workflow *flow = workflow_read(file, tree, &own);
    workflow_validate(flow, &own);
    if (own.count == 0)
        return flow;
    workflow_faults_move(&own, faults);
    if (name && flow->name)
        *name = memory_copy(flow->name);
    workflow_unref(flow);
    return NULL;
}

workflow *
workflow_load_text(const char *file, const char *bytes, size_t len, workflow_faults *faults)
{
    return load_text(file, bytes, len, faults, NULL);
}

/* Up to one byte more than a workflow may have, so that a longer file is known as such. 0: errno says why. */
static int
read_file(const char *path, text *out)
{
    char part[16384];
    struct stat info;
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold an instance up */
    if (fd < 0)
        return 0;
    if (fstat(fd, &info) == 0 && !S_ISREG(info.st_mode))
        errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    else
        while (out->len <= WORKFLOW_FILE_MAX && (got = read(fd, part, sizeof(part))) > 0)
            text_add_bytes(out, part, (size_t)got);
    int reason = errno;
    close(fd);
    errno = reason;
    return got >= 0;
}

workflow *
workflow_load_named(const char *path, workflow_faults *faults, char **name)
{
    text bytes = {0};
    workflow *flow = NULL;
    if (name)
        *name = NULL;
    if (!workflow_is_file_name(path) && access(path, F_OK) == 0)
        workflow_faults_add(faults, path, 0, "a workflow file's name ends in .yaml, .yml or .json");
    else if (!read_file(path, &bytes))
        workflow_faults_add(faults, path, 0, "cannot be read: %s", strerror(errno));
    else
        flow = load_text(path, bytes.bytes ? bytes.bytes : "", bytes.len, faults, name);
    text_free(&bytes);
    return flow;
}

workflow *
workflow_load(const char *path, workflow_faults *faults)
{
    return workflow_load_named(path, faults, NULL);
}
