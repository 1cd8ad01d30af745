/* What the fuzz targets share: one entry each, checks that stay on in a release build, and scripts of lines. */
#ifndef SWAMP_TESTS_FUZZ_H
#define SWAMP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include "../../libswamp/util/buf.h"

/* libFuzzer's name for it, so that main.c and libFuzzer can call the same targets. Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input: ends the process with the rule in words. */
#define MUST(rule)                                                                                           \
    do {                                                                                                     \
        if (!(rule))                                                                                         \
            fuzz_broken(__FILE__, __LINE__, #rule);                                                          \
    } while (0)
void fuzz_broken(const char *file, int line, const char *rule) __attribute__((noreturn));

/* The input as a text of its own, zero-terminated, in memory of exactly that size: reading on is seen. */
char *fuzz_text(const uint8_t *data, size_t size);

/* For machines, an input is a script: one line, one step; its first byte says what, the rest is the argument. */
typedef struct fuzz_script {
    const char *at, *end;
} fuzz_script;

/* The next line: its first byte, *argument its rest; 0: no more. $ in a line becomes `dollar`. */
int fuzz_script_next(fuzz_script *script, const char *dollar, swamp__buf *argument);
/* The argument as a number of at most max; 0 where it is none. */
int64_t fuzz_number(const swamp__buf *argument, int64_t max);

#endif
