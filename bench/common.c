/* What the benchmark programs share: options, clocks, a synthetic event, a process's cost. */
#include "common.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void
bench_die(const char *what)
{
    perror(what);
    exit(1);
}

const char *
bench_text(int argc, char **argv, const char *name, const char *missing)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return argv[i + 1];
    return missing;
}

long
bench_number(int argc, char **argv, const char *name, long missing)
{
    const char *text = bench_text(argc, argv, name, NULL);
    char *end;
    if (!text)
        return missing;
    long value = strtol(text, &end, 10);
    if (*end || end == text || value < 0) {
        fprintf(stderr, "--%s is \"%s\": a number, 0 or more\n", name, text);
        exit(2);
    }
    return value;
}

int
bench_flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return 1;
    return 0;
}

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
bench_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t
bench_thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t
bench_process_cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t
bench_other_cpu_ns(pid_t pid)
{
    char path[320];
    uint64_t sum = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        unsigned long long ns;
        snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        if (fscanf(file, "%llu", &ns) == 1)
            sum += ns;
        fclose(file);
    }
    closedir(tasks);
    return sum;
}

size_t
bench_other_rss_bytes(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

void
bench_many_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void
bench_event_make(bench_event *event, size_t size)
{
    static const char head[] =
        "{\"kind\":\"method_output\",\"at\":\"0000000000000000000\",\"jobId\":\"build\","
        "\"stepId\":\"compile\",\"modelName\":\"shell\",\"stream\":\"stdout\",\"line\":\"";
    static const char tail[] = "\"}";
    size_t fixed = sizeof(head) - 1 + sizeof(tail) - 1;
    event->len = size > fixed ? size : fixed;
    event->text = malloc(event->len + 1);
    if (!event->text)
        bench_die("malloc");
    memset(event->text, 'x', event->len);
    memcpy(event->text, head, sizeof(head) - 1);
    memcpy(event->text + event->len - (sizeof(tail) - 1), tail, sizeof(tail));
    event->at = strstr(event->text, "0000000000000000000");
}

void
bench_event_stamp(bench_event *event, uint64_t now_ns)
{
    for (int i = BENCH_AT_DIGITS - 1; i >= 0; i--, now_ns /= 10)
        event->at[i] = (char)('0' + now_ns % 10);
}

size_t
bench_event_number(const bench_event *event, uint64_t seq, char *to)
{
    size_t open = event->len - 1; /* without its closing brace */
    memcpy(to, event->text, open);
    return open + (size_t)snprintf(to + open, BENCH_SEQ_MAX, ",\"seq\":%llu}", (unsigned long long)seq);
}

void
bench_pace(uint64_t start_ns, uint64_t n, long rate)
{
    if (!rate)
        return;
    uint64_t due = start_ns + n * 1000000000u / (uint64_t)rate;
    struct timespec until = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

uint64_t
bench_percentile(uint64_t *list, size_t count, double percent)
{
    if (!count)
        return 0;
    qsort(list, count, sizeof(*list), compare_numbers);
    size_t place = (size_t)((double)count * percent / 100);
    return list[place < count ? place : count - 1];
}
