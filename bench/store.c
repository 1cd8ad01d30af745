/*
 * What the SQLite store costs: commits and reads of several processes on one file.
 *
 * Usage: store --path FILE [--processes 1..8] [--rate commits a second of each, 0: flat out] [--seconds N]
 * A commit is that of a run's admission: four records and the check of a heartbeat; at a rate it counts from when it
 * was due, so that one which waits for another is not forgotten. A read is a get of one of them. Prints one JSON object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host.h"

#define PROCESSES_MAX 8
#define TIMEOUT_MS 5000
#define SAMPLES_MAX 200000

typedef struct samples {
    uint64_t commit[SAMPLES_MAX], get[SAMPLES_MAX];
    size_t count;
} samples;

static int
ignore_record(void *user, const char *key, const void *value, size_t len, uint64_t revision)
{
    (void)user, (void)key, (void)value, (void)len, (void)revision;
    return 0;
}

static swamp_store_op
put(const char *key, const char *value, int condition)
{
    return (swamp_store_op){.key = key,
                            .value = value,
                            .value_len = strlen(value),
                            .action = SWAMP_STORE_PUT,
                            .condition = condition};
}

static void
admit(swamp_store *store, const char *instance, uint64_t due_ns, char *key, size_t size, samples *to)
{
    size_t n = to->count;
    static const char run[] =
        "{\"instanceId\":\"bench\",\"resourceName\":\"bench\",\"runKind\":\"workflow-run\","
        "\"startedAt\":\"2026-01-01T00:00:00.000Z\",\"principal\":\"anonymous\"}";
    char keys[4][128];
    uint64_t revision;
    size_t failed;

    snprintf(keys[0], sizeof(keys[0]), "active-runs/%s-%08zu", instance, n);
    snprintf(keys[1], sizeof(keys[1]), "instance-runs/%s/%08zu", instance, n);
    snprintf(keys[2], sizeof(keys[2]), "workflow-runs/bench/%s-%08zu", instance, n);
    snprintf(keys[3], sizeof(keys[3]), "runs/%s-%08zu", instance, n);
    swamp_store_op ops[5] = {
        put(keys[0], run, SWAMP_STORE_ABSENT),
        put(keys[1], "{}", SWAMP_STORE_ANY),
        put(keys[2], "{}", SWAMP_STORE_ANY),
        put(keys[3], run, SWAMP_STORE_ABSENT),
        {.key = instance, .action = SWAMP_STORE_CHECK, .condition = SWAMP_STORE_PRESENT}};
    int rc = swamp_store_commit(store, ops, 5, TIMEOUT_MS, &revision, &failed);
    if (rc != SWAMP_OK) {
        fprintf(stderr, "commit: %s\n", swamp_status_name(rc));
        exit(1);
    }
    to->commit[n] = bench_now_ns() - due_ns;
    snprintf(key, size, "%s", keys[0]);
}

static void
work(const char *path, int number, long rate, long seconds, int fd)
{
    static samples mine;
    swamp_store *store = bench_open_store(path);
    char instance[64], key[128];
    uint64_t revision;
    size_t failed;

    snprintf(instance, sizeof(instance), "heartbeats-%d", number);
    swamp_store_op beat = put(instance, "{}", SWAMP_STORE_ANY);
    bench_check(swamp_store_commit(store, &beat, 1, TIMEOUT_MS, &revision, &failed), NULL, "beat");
    uint64_t start_ns = bench_now_ns(), end_ns = start_ns + (uint64_t)seconds * 1000000000u;
    while (bench_now_ns() < end_ns && mine.count < SAMPLES_MAX) {
        bench_pace(start_ns, mine.count, rate);
        uint64_t due_ns = rate ? start_ns + mine.count * 1000000000u / (uint64_t)rate : bench_now_ns();
        admit(store, instance, due_ns, key, sizeof(key), &mine);
        uint64_t get_ns = bench_now_ns();
        bench_check(swamp_store_get(store, key, TIMEOUT_MS, ignore_record, NULL), NULL, "get");
        mine.get[mine.count++] = bench_now_ns() - get_ns;
    }
    swamp_store_free(store);
    FILE *out = fdopen(fd, "w");
    if (!out || fwrite(&mine.count, sizeof(mine.count), 1, out) != 1 ||
        fwrite(mine.commit, sizeof(*mine.commit), mine.count, out) != mine.count ||
        fwrite(mine.get, sizeof(*mine.get), mine.count, out) != mine.count || fclose(out) != 0)
        bench_die("pipe");
    exit(0);
}

static void
collect(FILE *in, samples *all)
{
    size_t count;
    if (fread(&count, sizeof(count), 1, in) != 1 || count > SAMPLES_MAX - all->count ||
        fread(all->commit + all->count, sizeof(*all->commit), count, in) != count ||
        fread(all->get + all->count, sizeof(*all->get), count, in) != count) {
        fprintf(stderr, "a process failed, or there were too many commits\n");
        exit(1);
    }
    all->count += count;
    fclose(in);
}

int
main(int argc, char **argv)
{
    static samples all;
    const char *path = bench_text(argc, argv, "path", NULL);
    int processes = (int)bench_number(argc, argv, "processes", 1);
    long rate = bench_number(argc, argv, "rate", 0), seconds = bench_number(argc, argv, "seconds", 2);
    int pipes[PROCESSES_MAX][2];

    if (!path || processes < 1 || processes > PROCESSES_MAX) {
        fprintf(stderr, "--path FILE, --processes 1 to %d\n", PROCESSES_MAX);
        return 2;
    }
    swamp_store_free(bench_open_store(path)); /* made once; no handle lives across the forks */
    for (int i = 0; i < processes; i++) {
        if (pipe(pipes[i]) < 0)
            bench_die("pipe");
        pid_t child = fork();
        if (child < 0)
            bench_die("fork");
        if (child == 0)
            work(path, i, rate, seconds, pipes[i][1]);
        close(pipes[i][1]);
    }
    for (int i = 0; i < processes; i++)
        collect(fdopen(pipes[i][0], "r"), &all);
    while (wait(NULL) > 0)
        ;
    printf("{\"processes\":%d,\"commits_per_second\":%.0f,\"commit_p50_us\":%.1f,\"commit_p99_us\":%.1f,"
           "\"get_p50_us\":%.1f,\"get_p99_us\":%.1f}\n",
           processes, (double)all.count / (double)seconds,
           (double)bench_percentile(all.commit, all.count, 50) / 1e3,
           (double)bench_percentile(all.commit, all.count, 99) / 1e3,
           (double)bench_percentile(all.get, all.count, 50) / 1e3,
           (double)bench_percentile(all.get, all.count, 99) / 1e3);
    return 0;
}
