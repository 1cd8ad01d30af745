/* What the benchmark programs share: options, clocks, a synthetic event, a process's cost. */
#ifndef SWAMP_BENCH_COMMON_H
#define SWAMP_BENCH_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Says what failed, with errno's text, and ends the program. */
_Noreturn void bench_die(const char *what);

/* The value behind --name; `missing` where it is not given. A flag without a value is a bench_flag(). */
const char *bench_text(int argc, char **argv, const char *name, const char *missing);
long bench_number(int argc, char **argv, const char *name, long missing);
int bench_flag(int argc, char **argv, const char *name);

uint64_t bench_now_ns(void);        /* CLOCK_MONOTONIC: the same in all processes of the machine */
uint64_t bench_thread_cpu_ns(void); /* CPU time of the calling thread */
uint64_t bench_process_cpu_ns(void);

/* All threads of another process, and its resident memory. */
uint64_t bench_other_cpu_ns(pid_t pid);
size_t bench_other_rss_bytes(pid_t pid);

/* Lets the process have as many descriptors as it may. */
void bench_many_descriptors(void);

/* An event as a workflow sends it, padded to `size` bytes; its "at" is a text of fixed width, so that it can
 * be stamped anew with the time of each emit. */
typedef struct bench_event {
    char *text;
    size_t len;
    char *at;
} bench_event;

#define BENCH_AT_DIGITS 19

void bench_event_make(bench_event *event, size_t size);
void bench_event_stamp(bench_event *event, uint64_t now_ns);

/* As it reaches a viewer: writes the text with its "seq":N to `to`, which has room for BENCH_SEQ_MAX bytes
 * more than the event, and returns its bytes. */
#define BENCH_SEQ_MAX 32
size_t bench_event_number(const bench_event *event, uint64_t seq, char *to);

/* Waits until it is the turn of event number `n` (from 0) at `rate` a second since `start_ns`; 0: never
 * waits. */
void bench_pace(uint64_t start_ns, uint64_t n, long rate);

/* Order statistics of latencies; sorts them. */
uint64_t bench_percentile(uint64_t *list, size_t count, double percent);

#endif
