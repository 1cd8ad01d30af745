/* A SQLite VFS before the real one whose calls fail when a test says so: a disk in trouble, without one. */
#ifndef SWAMP_TESTS_FAULTY_DISK_H
#define SWAMP_TESTS_FAULTY_DISK_H

/* What can fail; each is one call of SQLite to its file system. */
enum faulty_call {
    FAULTY_OPEN,
    FAULTY_READ,
    FAULTY_WRITE,
    FAULTY_WRITE_TORN, /* half of the bytes are written, then it fails */
    FAULTY_SYNC,
    FAULTY_TRUNCATE,
    FAULTY_SIZE,
    FAULTY_LOCK,
    FAULTY_SHM_MAP,
    FAULTY_SHM_LOCK
};

void faulty_disk_install(void); /* as SQLite's default VFS, for the rest of the process */

/* The n-th call of that kind from now on gives `code`, and all after it if `all`; n = 0: none does. */
void faulty_disk_fail(enum faulty_call call, int code, unsigned long n, int all);

/* How many calls have failed since then. */
unsigned long faulty_disk_failed(void);

#endif
