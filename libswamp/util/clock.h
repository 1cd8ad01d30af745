/* Time: the two clocks of the system, and ISO 8601 text. The core never calls the clocks: it is given them. */
#ifndef SWAMP_UTIL_CLOCK_H
#define SWAMP_UTIL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define SWAMP__ISO_SIZE 32

int64_t swamp__clock_monotonic_ms(void);
int64_t swamp__clock_monotonic_us(void);
int64_t swamp__clock_unix_ms(void);

/* "2026-11-29T10:00:00.000Z" */
void swamp__clock_iso(int64_t unix_ms, char out[SWAMP__ISO_SIZE]);

/* SWAMP_OK, SWAMP_E_INVALID; takes text of the form above, the fraction optional. */
int swamp__clock_parse_iso(const char *text, int64_t *out_unix_ms);

#endif
