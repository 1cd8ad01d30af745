/* Runs one fuzz target without libFuzzer: every file of its corpus, then inputs made of them by a seeded dice. */
/*
 * fuzz_TARGET FOLDER               each file of the folder, then mutations for SWAMP_FUZZ_MS (1000), from
 *                                  SWAMP_FUZZ_SEED (1)
 * fuzz_TARGET FILE                 one input
 * An input that breaks something is left in ./fuzz-broken-SEED-NUMBER: run that file again, mend the fault, and
 * add the file to the corpus under the fault's name.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "fuzz.h"

#define FILES_MAX 1024
#define INPUT_MAX 16384
#define ROUNDS_MAX 10000000

typedef struct input {
    char name[256];
    size_t size;
    uint8_t *data;
} input;

static input files[FILES_MAX];
static size_t file_count;

/* What is being run, for whoever finds out that it broke. */
static struct {
    const uint8_t *data;
    size_t size;
    char name[300];
} running;

/* The sanitizers' way out of a process, where there are sanitizers. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void
leave_input(void)
{
    if (!running.data)
        return;
    FILE *file =
        strchr(running.name, '/') ? NULL : fopen(running.name, "wb"); /* a corpus file is there already */
    if (file) {
        fwrite(running.data, 1, running.size, file);
        fclose(file);
    }
    fprintf(stderr, "the input that broke it: %s\n", running.name);
    running.data = NULL;
}

static void
die(int number)
{
    leave_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void
run(const char *name, const uint8_t *data, size_t size)
{
    snprintf(running.name, sizeof running.name, "%.*s", (int)sizeof running.name - 1, name);
    running.size = size;
    running.data = data;
    uint8_t *exact = malloc(size ? size : 1); /* one byte past its end is not ours */
    if (!exact)
        abort();
    memcpy(exact, data, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    running.data = NULL;
}

static void
read_input(const char *path)
{
    FILE *file = fopen(path, "rb");
    input *in = &files[file_count];
    if (!file || file_count == FILES_MAX) {
        fprintf(stderr, "%s: %s\n", path, file ? "one file too many" : strerror(errno));
        exit(2);
    }
    in->data = malloc(INPUT_MAX);
    if (!in->data)
        abort();
    in->size = fread(in->data, 1, INPUT_MAX, file);
    snprintf(in->name, sizeof in->name, "%s", path);
    fclose(file);
    file_count++;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const input *)a)->name, ((const input *)b)->name);
}

static void
read_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    char name[4096];
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
            read_input(name);
        }
    if (folder)
        closedir(folder);
    qsort(files, file_count, sizeof files[0], by_name); /* mutations begin from the same files everywhere */
}

/* The dice: each input has a seed of its own, so that its number is all that makes it. */

static uint64_t dice;

static size_t
pick(size_t below)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return below ? (size_t)((dice * 0x2545f4914f6cdd1dULL) >> 20) % below : 0;
}

/* What the readers look for: bytes that random ones would seldom make. */
static const char *const words[] = {
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "null",
    "true",
    "1e999",
    "-0",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "9007199254740992",
    "%00",
    "%2",
    "\xff",
    "\xc0\x80",
    "\xf0\x9f\x98\x80",
    "\n",
    "\n\n",
    "\"id\":",
    "\"seq\":",
    "\"seq\":18446744073709551616",
    "\"type\":",
    "\"run\":",
    "\"runId\":",
    "\"afterSeq\":",
    "[::1]",
    "${{",
    "}}",
    " - ",
    "&a",
    "*a",
    "\nw 60000",
    "\nw 1",
    "$",
};

static size_t
put_in(uint8_t *data, size_t size, size_t at, const void *bytes, size_t count)
{
    if (count > INPUT_MAX - size)
        return size;
    memmove(data + at + count, data + at, size - at);
    memcpy(data + at, bytes, count);
    return size + count;
}

static size_t
mutate_once(uint8_t *data, size_t size)
{
    const input *other = &files[pick(file_count)];
    uint8_t copy[256];
    size_t at = pick(size + 1), count = pick(size - at + 1), from;
    switch (pick(7)) {
    case 0: /* one bit */
        if (at < size)
            data[at] ^= (uint8_t)(1u << pick(8));
        return size;
    case 1: /* one byte */
        if (at < size)
            data[at] = (uint8_t)pick(256);
        return size;
    case 2: /* a piece less */
        count = pick(4) ? count % 16 : count;
        memmove(data + at, data + at + count, size - at - count);
        return size - count;
    case 3: /* a piece twice */
        count = count < sizeof copy ? count : sizeof copy;
        memcpy(copy, data + at, count);
        return put_in(data, size, pick(size + 1), copy, count);
    case 4: /* a piece of another */
        from = pick(other->size + 1);
        return put_in(data, size, at, other->data + from, pick(other->size - from + 1));
    default: /* a word */
        from = pick(sizeof words / sizeof words[0]);
        return put_in(data, size, at, words[from], strlen(words[from]));
    }
}

static long
elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

static unsigned long
mutate(uint64_t seed, long ms)
{
    static uint8_t data[INPUT_MAX];
    struct timespec begun;
    unsigned long number = 0;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (; number < ROUNDS_MAX && elapsed_ms(&begun) < ms; number++) {
        char name[64];
        dice = (seed * 0x9e3779b97f4a7c15ULL + number + 1) * 0xd1342543de82ef95ULL;
        const input *in = &files[pick(file_count)];
        size_t size = in->size;
        memcpy(data, in->data, size);
        for (size_t times = 1 + pick(6); times > 0; times--)
            size = mutate_once(data, size);
        snprintf(name, sizeof name, "fuzz-broken-%llu-%lu", (unsigned long long)seed, number);
        run(name, data, size);
    }
    return number;
}

static uint64_t
read_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? strtoull(text, NULL, 10) : otherwise;
}

int
main(int argc, char **argv)
{
    struct stat what;
    if (argc != 2 || stat(argv[1], &what) != 0) {
        fprintf(stderr, "usage: %s FOLDER|FILE\n", argv[0]);
        return 2;
    }
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(leave_input);
    else
        signal(SIGSEGV, die);
    signal(SIGABRT, die);
    atexit(leave_input); /* a check of tests/support that fails ends the process */
    if (S_ISDIR(what.st_mode))
        read_folder(argv[1]);
    else
        read_input(argv[1]);
    for (size_t i = 0; i < file_count; i++)
        run(files[i].name, files[i].data, files[i].size);
    unsigned long made = 0;
    if (S_ISDIR(what.st_mode) && file_count)
        made = mutate(read_number("SWAMP_FUZZ_SEED", 1), (long)read_number("SWAMP_FUZZ_MS", 1000));
    printf("%zu files, %lu mutations\n", file_count, made);
    for (size_t i = 0; i < file_count; i++)
        free(files[i].data);
    return file_count ? 0 : 1;
}
