/* The spellings of a flag's value: counts, durations, switches, choices. Each call says what is allowed. */
#ifndef SWAMP_CLI_VALUE_H
#define SWAMP_CLI_VALUE_H

#include <stdint.h>
#include "flag.h"
#include "text.h"

/* 1: *ms is set. 30 and 30s, 5m, 1h, 2d, 500ms; no fractions, no spaces, no sign. */
int value_duration(const char *words, uint64_t *ms);
/* The shortest spelling that reads back as the same: "30s", "1h", "500ms". */
void value_add_duration(text *out, uint64_t ms);
/* 1: *number is set. Decimal digits only. */
int value_count(const char *words, uint64_t *number);
/* 1: words are a value of this flag, *number is set where it is one; 0: `allowed` gets what would be. */
int value_check(const struct flag *flag, const char *words, uint64_t *number, text *allowed);

#endif
