/* A SQLite VFS before the real one: see faulty_disk.h. */
#include <assert.h>
#include <string.h>
#include <sqlite3.h>
#include "faulty_disk.h"

/* Ours, then the real file behind it, in the memory that SQLite gives for both. */
typedef struct faulty_file {
    sqlite3_file base;
    sqlite3_int64 real[]; /* SQLite's memory is aligned to 8 */
} faulty_file;

static sqlite3_vfs *real_vfs, faulty_vfs;

static struct {
    enum faulty_call call;
    int code, all;
    unsigned long at, seen, failed;
} fault;

static sqlite3_file *
real_of(sqlite3_file *file)
{
    return (sqlite3_file *)((faulty_file *)file)->real;
}

/* 0: go on; else what the call gives. */
static int
meets(enum faulty_call call)
{
    if (fault.at == 0 || fault.call != call)
        return 0;
    fault.seen++;
    if (fault.seen != fault.at && !(fault.all && fault.seen > fault.at))
        return 0;
    fault.failed++;
    return fault.code;
}

static int
close_file(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int
read_file(sqlite3_file *file, void *bytes, int count, sqlite3_int64 at)
{
    int code = meets(FAULTY_READ);
    return code ? code : real_of(file)->pMethods->xRead(real_of(file), bytes, count, at);
}

static int
write_file(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
    int code = meets(FAULTY_WRITE);
    if (code)
        return code;
    code = meets(FAULTY_WRITE_TORN);
    if (code) {
        real_of(file)->pMethods->xWrite(real_of(file), bytes, count / 2, at);
        return code;
    }
    return real_of(file)->pMethods->xWrite(real_of(file), bytes, count, at);
}

static int
truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
    int code = meets(FAULTY_TRUNCATE);
    return code ? code : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int
sync_file(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return meets(FAULTY_SYNC); /* no power is cut here: the real one would only take its time */
}

static int
size_file(sqlite3_file *file, sqlite3_int64 *size)
{
    int code = meets(FAULTY_SIZE);
    return code ? code : real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int
lock_file(sqlite3_file *file, int level)
{
    int code = meets(FAULTY_LOCK);
    return code ? code : real_of(file)->pMethods->xLock(real_of(file), level);
}

static int
unlock_file(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int
check_reserved(sqlite3_file *file, int *held)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), held);
}

static int
control_file(sqlite3_file *file, int operation, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int
sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int
characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int
shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    int code = meets(FAULTY_SHM_MAP);
    return code ? code : real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int
shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    int code = flags & SQLITE_SHM_LOCK ? meets(FAULTY_SHM_LOCK) : 0; /* to let go never fails */
    return code ? code : real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void
shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int
shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static const sqlite3_io_methods methods = {.iVersion = 2, /* without the calls for memory maps */
                                           .xClose = close_file,
                                           .xRead = read_file,
                                           .xWrite = write_file,
                                           .xTruncate = truncate_file,
                                           .xSync = sync_file,
                                           .xFileSize = size_file,
                                           .xLock = lock_file,
                                           .xUnlock = unlock_file,
                                           .xCheckReservedLock = check_reserved,
                                           .xFileControl = control_file,
                                           .xSectorSize = sector_size,
                                           .xDeviceCharacteristics = characteristics,
                                           .xShmMap = shm_map,
                                           .xShmLock = shm_lock,
                                           .xShmBarrier = shm_barrier,
                                           .xShmUnmap = shm_unmap};

static int
open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    int code = meets(FAULTY_OPEN);
    (void)vfs;
    file->pMethods = NULL; /* until it is open, SQLite does not close it */
    if (code == 0)
        code = real_vfs->xOpen(real_vfs, name, real_of(file), flags, out_flags);
    if (code == SQLITE_OK)
        file->pMethods = &methods;
    return code;
}

/* SQLite waits up to 10 s by itself for a place to read at (docs/STORE.md): here it asks as often, at once. */
static int
sleep_not(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

void
faulty_disk_install(void)
{
    if (sqlite3_vfs_find(NULL) == &faulty_vfs)
        return; /* for an earlier test case of this process */
    real_vfs = sqlite3_vfs_find(NULL);
    assert(real_vfs);
    faulty_vfs = *real_vfs; /* the rest is the real one's */
    faulty_vfs.pNext = NULL;
    faulty_vfs.zName = "faulty";
    faulty_vfs.szOsFile = (int)sizeof(faulty_file) + real_vfs->szOsFile;
    faulty_vfs.xOpen = open_file;
    faulty_vfs.xSleep = sleep_not;
    int code = sqlite3_vfs_register(&faulty_vfs, 1);
    assert(code == SQLITE_OK);
    (void)code;
}

void
faulty_disk_fail(enum faulty_call call, int code, unsigned long n, int all)
{
    memset(&fault, 0, sizeof fault);
    fault.call = call;
    fault.code = code;
    fault.at = n;
    fault.all = all;
}

unsigned long
faulty_disk_failed(void)
{
    return fault.failed;
}
