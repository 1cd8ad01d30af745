/*
 * What run.attach costs an instance that does not own the run, with few and with many active runs in SQLite.
 *
 * Usage: lookups --path FILE [--runs N] [--attaches N]
 * Fills the file, unless it is, with runs of another instance, then asks a server for them, 160 a second, one at a
 * time over one connection; a store in between counts what the server reads. Prints one JSON object.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "host.h"
#include "wire.h"

#define OWNER "0193a000-0000-4000-8000-00000000aaaa"
#define TIMEOUT_MS 60000
#define ATTACHES_A_SECOND                                                                                    \
    160 /* of ten runs each is asked for every 62 ms: within 50 it would share a look-up */
#define KEYS_A_RUN 5
#define RUNS_A_COMMIT (SWAMP_STORE_OPS_MAX / KEYS_A_RUN)
#define RUN_ID_MAX 64

/* The store in between. */

typedef struct counter {
    swamp_store *inner;
    atomic_ulong gets, lists;
} counter;

static int
count_get(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    counter *c = self;
    atomic_fetch_add(&c->gets, 1);
    return swamp_store_get(c->inner, key, timeout_ms, sink, user);
}

static int
count_list(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
           swamp_store_sink sink, void *user)
{
    counter *c = self;
    atomic_fetch_add(&c->lists, 1);
    return swamp_store_list(c->inner, prefix, after, limit, flags, timeout_ms, sink, user);
}

static int
pass_commit(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
            size_t *failed)
{
    return swamp_store_commit(((counter *)self)->inner, ops, count, timeout_ms, revision, failed);
}

static void
let_go(void *self)
{
    swamp_store_free(((counter *)self)->inner);
}

/* The runs of another instance. */

static void
name_run(char *to, long number)
{
    snprintf(to, RUN_ID_MAX, "0193a000-0000-7000-8000-%012ld", number);
}

static void
commit(swamp_store *store, const swamp_store_op *ops, size_t count)
{
    uint64_t revision;
    size_t failed;
    bench_check(swamp_store_commit(store, ops, count, TIMEOUT_MS, &revision, &failed), NULL, "commit");
}

/* A beat. Its interval is an hour, so that the next is not missed. */
static void
beat_owner(swamp_store *store)
{
    static const char beat[] =
        "{\"instanceId\":\"" OWNER "\",\"hostname\":\"bench\",\"pid\":1,"
        "\"startedAt\":\"2026-01-01T00:00:00.000Z\",\"heartbeatAt\":\"2026-01-01T00:00:00.000Z\","
        "\"address\":\"ws://127.0.0.1:1\",\"beat\":1,\"intervalMs\":3600000,"
        "\"staleTtlMs\":86400000}";
    swamp_store_op op = {.key = "heartbeats/" OWNER,
                         .value = beat,
                         .value_len = sizeof(beat) - 1,
                         .action = SWAMP_STORE_PUT,
                         .condition = SWAMP_STORE_ANY};
    commit(store, &op, 1);
}

static void
put_run(swamp_store_op *ops, char (*keys)[160], char *record, size_t record_max, long number)
{
    static const char active[] =
        "{\"instanceId\":\"" OWNER "\",\"resourceName\":\"bench\",\"runKind\":\"workflow-run\","
        "\"startedAt\":\"2026-01-01T00:00:00.000Z\",\"principal\":\"anonymous\"}";
    char id[RUN_ID_MAX];
    name_run(id, number);
    snprintf(record, record_max,
             "{\"id\":\"%s\",\"workflowId\":\"bench\",\"workflowName\":\"bench\",\"status\":\"running\","
             "\"jobs\":[],"
             "\"startedAt\":\"2026-01-01T00:00:00.000Z\",\"instanceId\":\"" OWNER "\"}",
             id);
    const char *values[KEYS_A_RUN] = {active, record, "{}", "{}", "{}"};
    static const char *const places[KEYS_A_RUN] = {"active-runs", "runs", ("instance-runs/" OWNER),
                                                   "workflow-runs/bench", "workflow-names/bench"};
    for (int i = 0; i < KEYS_A_RUN; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%s/%s", places[i], id);
        ops[i] = (swamp_store_op){.key = keys[i],
                                  .value = values[i],
                                  .value_len = strlen(values[i]),
                                  .action = SWAMP_STORE_PUT,
                                  .condition = SWAMP_STORE_ANY};
    }
}

static int
ignore_record(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    (void)user, (void)key, (void)value, (void)len, (void)revision;
    return 0;
}

/* The last run is there: an earlier call has filled the file. */
static int
is_filled(swamp_store *store, long runs)
{
    char id[RUN_ID_MAX], key[160];
    name_run(id, runs - 1);
    snprintf(key, sizeof(key), "active-runs/%s", id);
    return swamp_store_get(store, key, TIMEOUT_MS, ignore_record, NULL) == SWAMP_OK;
}

static void
fill(swamp_store *store, long runs)
{
    beat_owner(store);
    for (long done = is_filled(store, runs) ? runs : 0; done < runs;) {
        swamp_store_op ops[SWAMP_STORE_OPS_MAX];
        char keys[SWAMP_STORE_OPS_MAX][160], records[RUNS_A_COMMIT][512];
        size_t count = 0;
        for (int i = 0; i < RUNS_A_COMMIT && done < runs; i++, done++, count += KEYS_A_RUN)
            put_run(ops + count, keys + count, records[i], sizeof(records[i]), done);
        commit(store, ops, count);
    }
}

/* The one who asks. */

static int
connect_to(swamp_server *server)
{
    char url[128], text[BENCH_CLIENT_MAX];
    bench_check(swamp_server_url(server, url, sizeof(url)), server, "url");
    int port = atoi(strrchr(url, ':') + 1), fd = bench_connect(port, 0, 0);
    size_t len = fd < 0 ? 0 : bench_put_upgrade(text, port, "/");
    if (fd < 0 || send(fd, text, len, 0) != (ssize_t)len || recv(fd, text, sizeof(text), 0) <= 0)
        bench_die("connect");
    return fd;
}

static void
ask(int fd, long number)
{
    unsigned char bytes[4096];
    char text[BENCH_CLIENT_MAX], run_id[RUN_ID_MAX];
    size_t header, got = 0;
    uint64_t payload;
    name_run(run_id, number);
    size_t len = bench_put_attach(text, "request", run_id, 0);
    if (send(fd, text, len, 0) != (ssize_t)len)
        bench_die("send");
    while ((header = ws_header_read(bytes, got, &payload)) == 0 || got - header < payload) {
        ssize_t more = recv(fd, bytes + got, sizeof(bytes) - got, 0);
        if (more <= 0)
            bench_die("recv");
        got += (size_t)more;
    }
    if (!memmem(bytes, got, "\"run.elsewhere\"", 15)) {
        fprintf(stderr, "not run.elsewhere: %.*s\n", (int)(got - header), (char *)bytes + header);
        exit(1);
    }
}

/* Beforehand the owner's record changes under the server's eyes: else it does not count as beating. */
static void
ask_all(int fd, counter *counts, long runs, long attaches)
{
    uint64_t *took_ns = calloc((size_t)attaches + 1, sizeof(*took_ns));
    if (!took_ns)
        bench_die("calloc");
    beat_owner(counts->inner);
    unsigned long gets = atomic_load(&counts->gets), lists = atomic_load(&counts->lists);
    uint64_t began_ns = bench_now_ns();
    for (long i = 0; i < attaches; i++) {
        bench_pace(began_ns, (uint64_t)i, ATTACHES_A_SECOND);
        uint64_t start_ns = bench_now_ns();
        ask(fd, i * 7919 % runs); /* a prime: all over the file */
        took_ns[i] = bench_now_ns() - start_ns;
    }
    gets = atomic_load(&counts->gets) - gets;
    lists = atomic_load(&counts->lists) - lists;
    printf("{\"runs\":%ld,\"attach_p50_us\":%.1f,\"attach_p99_us\":%.1f,\"gets_an_attach\":%.3f,"
           "\"lists\":%lu}\n",
           runs, (double)bench_percentile(took_ns, (size_t)attaches, 50) / 1e3,
           (double)bench_percentile(took_ns, (size_t)attaches, 99) / 1e3, (double)gets / (double)attaches,
           lists);
    free(took_ns);
}

int
main(int argc, char **argv)
{
    static counter counts;
    const swamp_store_vtable vtable = {.size = sizeof(vtable),
                                       .destroy = let_go,
                                       .get = count_get,
                                       .list = count_list,
                                       .commit = pass_commit};
    long runs = bench_number(argc, argv, "runs", 10), attaches = bench_number(argc, argv, "attaches", 2000);
    swamp_store *store;

    if (runs < 1 || attaches < 1) {
        fprintf(stderr, "--runs, --attaches: 1 or more\n");
        return 2;
    }
    counts.inner = bench_open_store(bench_text(argc, argv, "path", NULL));
    fill(counts.inner, runs);
    bench_check(swamp_store_custom(&store, &vtable, &counts), NULL, "store");
    swamp_server *server = bench_start_server(argc, argv, store);
    swamp_store_free(store);
    int fd = connect_to(server);
    ask_all(fd, &counts, runs, attaches);
    close(fd);
    (void)swamp_server_stop(server, 0);
    swamp_server_free(server);
    return 0;
}
