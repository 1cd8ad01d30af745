/* Workers: other processes on the same store. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sqlite3.h>
#include "processes.h"

#define TIMEOUT_MS 20000

struct worker
worker_start(const char *role, const char *path, const char *argument)
{
    struct worker worker = {-1, -1};
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    worker.pid = fork();
    if (worker.pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "worker", role, path, argument, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    worker.out = ends[0];
    return worker;
}

void
worker_read_line(struct worker *worker, char *line, size_t cap)
{
    size_t len = 0;

    while (len + 1 < cap) {
        ssize_t got = read(worker->out, line + len, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || line[len] == '\n')
            break;
        len++;
    }
    line[len] = '\0';
}

int
worker_join(struct worker *worker)
{
    int status = 0;

    waitpid(worker->pid, &status, 0);
    close(worker->out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void
worker_kill(struct worker *worker)
{
    kill(worker->pid, SIGKILL);
    worker_join(worker);
}

static swamp_store *
open_or_exit(const char *path)
{
    swamp_store *store;
    char *error = NULL;

    if (swamp_store_sqlite_open(&store, path, NULL, &error) < 0) {
        fprintf(stderr, "worker: %s\n", error);
        exit(10);
    }
    return store;
}

struct number {
    int value;
    uint64_t revision;
};

static int
take_number(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct number *number = user;
    char text[16] = "";

    (void)key;
    memcpy(text, value, value_len < 15 ? value_len : 15);
    number->value = atoi(text);
    number->revision = revision;
    return 0;
}

/* Raises "counter" by one; conflicts with other processes are tried again. */
static int
increment(swamp_store *store)
{
    struct number number = {0, 0};
    char text[16];
    int rc;

    do {
        swamp_store_op op = {
            .key = "counter", .value = text, .action = SWAMP_STORE_PUT, .condition = SWAMP_STORE_REVISION};
        rc = swamp_store_get(store, "counter", TIMEOUT_MS, take_number, &number);
        if (rc != SWAMP_OK)
            return rc;
        op.value_len = (size_t)snprintf(text, sizeof text, "%d", number.value + 1);
        op.revision = number.revision;
        rc = swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL);
    } while (rc == SWAMP_CONFLICT);
    return rc;
}

/* N increments over one open store. */
static int
work_count(const char *path, const char *argument)
{
    swamp_store *store = open_or_exit(path);

    for (int i = atoi(argument); i > 0; i--) {
        if (increment(store) != SWAMP_OK)
            return 1;
    }
    swamp_store_free(store);
    return 0;
}

/* N increments, the store opened and closed around each: closing copies the WAL back beside the others' writes. */
static int
work_reopen(const char *path, const char *argument)
{
    for (int i = atoi(argument); i > 0; i--) {
        swamp_store *store = open_or_exit(path);
        if (increment(store) != SWAMP_OK)
            return 1;
        swamp_store_free(store);
    }
    return 0;
}

/* Rows without end, each told on stdout once its commit is done. Ends by SIGKILL. */
static int
work_append(const char *path, const char *argument)
{
    static char value[6000];
    swamp_store *store = open_or_exit(path);
    char key[64], line[80];

    memset(value, 'v', sizeof value);
    for (int i = 0;; i++) {
        swamp_store_op op = {.key = key,
                             .value = value,
                             .value_len = sizeof value,
                             .action = SWAMP_STORE_PUT,
                             .condition = SWAMP_STORE_ABSENT};
        int len;
        snprintf(key, sizeof key, "rows/%s/%06d", argument, i);
        if (swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL) != SWAMP_OK)
            return 1;
        len = snprintf(line, sizeof line, "%s\n", key);
        if (write(STDOUT_FILENO, line, (size_t)len) != len)
            return 2;
    }
}

/* Takes the sidecar lock, and a write transaction if `argument` says so; tells it, and holds them until it is
 * killed. */
static int
work_hold(const char *path, const char *argument)
{
    char lock[512];
    sqlite3 *db;
    int fd;

    snprintf(lock, sizeof lock, "%s.lock", path);
    fd = open(lock, O_RDWR | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return 1;
    if (strcmp(argument, "transaction") == 0 &&
        (sqlite3_open(path, &db) != SQLITE_OK ||
         sqlite3_exec(db, "BEGIN IMMEDIATE; UPDATE counter SET revision = revision + 1", NULL, NULL, NULL) !=
             SQLITE_OK))
        return 1;
    if (write(STDOUT_FILENO, "held\n", 5) != 5)
        return 2;
    for (;;)
        pause();
}

/* Writes until it has become the checkpointer for sure (more WAL than one round), says so, and writes no more. */
static int
work_elect(const char *path, const char *argument)
{
    static char value[200000];
    swamp_store *store = open_or_exit(path);
    swamp_store_op op = {.key = "elect",
                         .value = value,
                         .value_len = sizeof value,
                         .action = SWAMP_STORE_PUT,
                         .condition = SWAMP_STORE_ANY};

    (void)argument;
    for (int i = 0; i < 60; i++) {
        memset(value, 'a' + i % 26, sizeof value); /* SQLite does not write again what did not change */
        if (swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL) != SWAMP_OK)
            return 1;
    }
    if (write(STDOUT_FILENO, "elected\n", 8) != 8)
        return 2;
    for (;;)
        pause();
}

int
worker_main(int argc, char **argv)
{
    static const struct {
        const char *role;
        int (*work)(const char *path, const char *argument);
    } roles[] = {{"count", work_count},
                 {"reopen", work_reopen},
                 {"append", work_append},
                 {"hold", work_hold},
                 {"elect", work_elect}};

    for (size_t i = 0; argc == 4 && i < sizeof roles / sizeof roles[0]; i++) {
        if (strcmp(argv[1], roles[i].role) == 0)
            return roles[i].work(argv[2], argv[3]);
    }
    return -1;
}
