/* Names, modes and file systems of a SQLite store's files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <swamp/status.h>
#include "sqlite_path.h"

/*
 * Numbers of statfs(2), those that people run stores on and those that must be refused: WAL keeps its index
 * in shared memory, which these cannot share (NFS, CIFS, FUSE, 9p, ...: corruption, not an error). virtiofs
 * shows FUSE's number.
 */
static const struct {
    uint64_t magic;
    const char *name;
    int usable;
} file_systems[] = {
    {0xef53, "ext4", 1},       {0x58465342, "xfs", 1},       {0x9123683e, "btrfs", 1},
    {0x01021994, "tmpfs", 1},  {0x794c7630, "overlayfs", 1}, {0x2fc12fc1, "zfs", 1},
    {0xf2f52010, "f2fs", 1},   {0xca451a4e, "bcachefs", 1},  {0x858458f6, "ramfs", 1},
    {0x3153464a, "jfs", 1},    {0x52654973, "reiserfs", 1},  {0xf15f, "ecryptfs", 1},
    {0x6969, "nfs", 0},        {0xff534d42, "cifs", 0},      {0xfe534d42, "smb2", 0},
    {0x517b, "smb", 0},        {0x65735546, "fuse", 0},      {0x01021997, "9p", 0},
    {0x5346414f, "afs", 0},    {0x6b414653, "kafs", 0},      {0x73757245, "coda", 0},
    {0x00c36400, "ceph", 0},   {0x0bd00bd0, "lustre", 0},    {0x47504653, "gpfs", 0},
    {0x01161970, "gfs2", 0},   {0x7461636f, "ocfs2", 0},     {0x564c, "ncp", 0},
    {0x786f4256, "vboxsf", 0}, {0xbacbacbc, "vmhgfs", 0},    {0x20030528, "orangefs", 0},
    {0x19830326, "beegfs", 0}, {0xaad7aaea, "panfs", 0},
};

const char *
swamp__sqlite_file_system(uint64_t magic, int *usable)
{
    for (size_t i = 0; i < sizeof file_systems / sizeof file_systems[0]; i++) {
        if (file_systems[i].magic == magic) {
            *usable = file_systems[i].usable;
            return file_systems[i].name;
        }
    }
    *usable = 1; /* a local file system that is not in the table must not be locked out */
    return "unknown";
}

int
swamp__sqlite_path_explain(const char *file, int error, char *why, size_t cap)
{
    const char *advice;

    switch (error) {
    case EACCES:
    case EPERM:
        advice = "run as the user that owns it, or give another path";
        break;
    case EROFS:
        advice = "its file system is mounted read-only; give a path that can be written";
        break;
    case ENOSPC:
    case EDQUOT:
        advice = "free space on its file system";
        break;
    case EMFILE:
    case ENFILE:
        advice = "raise the limit of open files (ulimit -n)";
        break;
    case ELOOP:
        advice = "it is a symbolic link that leads nowhere good; give the file's own path";
        break;
    default:
        advice = "give another path";
        break;
    }
    snprintf(why, cap, "cannot open or write %s: %s; %s", file, strerror(error), advice);
    return SWAMP_E_IO;
}

/* Splits path into its folder ("." where there is none) and the name in it. */
static int
split_path(const char *path, char folder[SWAMP__SQLITE_PATH_MAX + 1], const char **name, char *why,
           size_t cap)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;

    if (strlen(path) > SWAMP__SQLITE_PATH_MAX) {
        snprintf(why, cap, "the store's path is longer than %d bytes; give a shorter one",
                 SWAMP__SQLITE_PATH_MAX);
        return SWAMP_E_INVALID;
    }
    *name = slash ? slash + 1 : path;
    if (**name == '\0' || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) {
        snprintf(why, cap,
                 "the store's path \"%s\" names no file; give a path such as .swamp/control-plane.db", path);
        return SWAMP_E_INVALID;
    }
    if (!slash)
        strcpy(folder, ".");
    else
        snprintf(folder, SWAMP__SQLITE_PATH_MAX + 1, "%.*s", len ? (int)len : 1, path);
    return SWAMP_OK;
}

/* The name without links, into SWAMP__SQLITE_PATH_MAX + 1 bytes. SWAMP_OK; SWAMP_E_IO with errno. */
static int
resolve_path(const char *path, char *out)
{
    char resolved[PATH_MAX];

    if (!realpath(path, resolved))
        return SWAMP_E_IO;
    if (strlen(resolved) > SWAMP__SQLITE_PATH_MAX) {
        errno = ENAMETOOLONG;
        return SWAMP_E_IO;
    }
    strcpy(out, resolved);
    return SWAMP_OK;
}

static int
find_folder(swamp__sqlite_path *out, const char *folder, int make, char *why, size_t cap)
{
    struct stat found;

    if (make && mkdir(folder, 0700) < 0 && errno != EEXIST) {
        int error = errno;
        if (error == ENOENT) {
            snprintf(why, cap,
                     "folder of the store %s cannot be made: its parent is missing; create it first", folder);
            return SWAMP_E_IO;
        }
        if (stat(folder, &found) < 0) /* EROFS and EACCES are also said of a folder that is there */
            return swamp__sqlite_path_explain(folder, error, why, cap);
    }
    if (resolve_path(folder, out->folder) < 0) {
        snprintf(why, cap, "folder of the store %s: %s; create it, or give another path", folder,
                 strerror(errno));
        return SWAMP_E_IO;
    }
    if (stat(out->folder, &found) < 0 || !S_ISDIR(found.st_mode)) {
        snprintf(why, cap, "%s is not a folder; give another path for the store", out->folder);
        return SWAMP_E_IO;
    }
    return SWAMP_OK;
}

/* Is it a plain file with one name? Sets out->exists. */
static int
look_at_file(swamp__sqlite_path *out, char *why, size_t cap)
{
    struct stat found;

    out->exists = stat(out->file, &found) == 0;
    if (!out->exists)
        return errno == ENOENT ? SWAMP_OK : swamp__sqlite_path_explain(out->file, errno, why, cap);
    if (S_ISDIR(found.st_mode)) {
        snprintf(why, cap, "%s is a folder; give the path of a file, such as %s/control-plane.db", out->file,
                 out->file);
        return SWAMP_E_IO;
    }
    if (!S_ISREG(found.st_mode)) {
        snprintf(why, cap, "%s is not a plain file; give another path for the store", out->file);
        return SWAMP_E_IO;
    }
    if (found.st_nlink > 1) { /* each name would get a WAL and a lock of its own */
        snprintf(
            why, cap,
            "%s has more than one name (hard links), which would corrupt it; copy it to a file of its own",
            out->file);
        return SWAMP_E_UNSUPPORTED;
    }
    return SWAMP_OK;
}

static int
check_file_system(const char *folder, char *why, size_t cap)
{
    struct statfs about;
    const char *name;
    int usable;

    if (statfs(folder, &about) < 0)
        return swamp__sqlite_path_explain(folder, errno, why, cap);
    name = swamp__sqlite_file_system((uint64_t)(unsigned long)about.f_type & 0xffffffff, &usable);
    if (usable)
        return SWAMP_OK;
    snprintf(why, cap,
             "%s lies on %s, where a shared SQLite file gets corrupted; put it on a local disk, or for "
             "several machines use a store made for them (docs/STORE.md)",
             folder, name);
    return SWAMP_E_UNSUPPORTED;
}

int
swamp__sqlite_path_find(swamp__sqlite_path *out, const char *path, int make, char *why, size_t cap)
{
    char folder[SWAMP__SQLITE_PATH_MAX + 1];
    const char *name;
    struct stat link;
    int rc;

    rc = split_path(path, folder, &name, why, cap);
    if (rc == SWAMP_OK)
        rc = find_folder(out, folder, make, why, cap);
    if (rc < 0)
        return rc;
    /* "/" + name, or the folder's name + "/" + name */
    if (snprintf(out->file, sizeof out->file, "%s/%s", out->folder[1] ? out->folder : "", name) >=
        (int)sizeof out->file) {
        snprintf(why, cap, "the store's path is longer than %d bytes; give a shorter one",
                 SWAMP__SQLITE_PATH_MAX);
        return SWAMP_E_INVALID;
    }
    if (lstat(out->file, &link) == 0 && S_ISLNK(link.st_mode)) {
        if (resolve_path(out->file, out->file) < 0)
            return swamp__sqlite_path_explain(out->file, errno, why, cap);
        snprintf(out->folder, sizeof out->folder, "%.*s", (int)(strrchr(out->file, '/') - out->file),
                 out->file);
    }
    snprintf(out->lock, sizeof out->lock, "%s.lock", out->file);
    rc = look_at_file(out, why, cap);
    return rc < 0 ? rc : check_file_system(out->folder[0] ? out->folder : "/", why, cap);
}

int
swamp__sqlite_path_make(swamp__sqlite_path *path, char *why, size_t cap)
{
    struct stat found;
    int fd;

    if (stat(path->file, &found) == 0) {
        path->exists = 1;
        /* SQLite takes a file of one byte for an empty one (its ticket 3260), and would write over it */
        if (found.st_size == 1) {
            snprintf(why, cap, "%s is not a SQLite database; give another path", path->file);
            return SWAMP_E_CORRUPT;
        }
        if (faccessat(AT_FDCWD, path->file, R_OK | W_OK, AT_EACCESS) < 0)
            return swamp__sqlite_path_explain(path->file, errno, why, cap);
        return SWAMP_OK;
    }
    fd = open(path->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return swamp__sqlite_path_explain(path->file, errno, why, cap);
    close(fd);
    path->exists = 1;
    return SWAMP_OK;
}
