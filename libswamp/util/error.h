/* The last error text of a handle: one line that says what failed, on what, why, and what to do. */
#ifndef SWAMP_UTIL_ERROR_H
#define SWAMP_UTIL_ERROR_H

#include <pthread.h>
#include <stddef.h>

#define SWAMP__ERROR_SIZE 512

typedef struct swamp__error {
    pthread_mutex_t lock;
    char text[SWAMP__ERROR_SIZE];
} swamp__error;

void swamp__error_init(swamp__error *error);
void swamp__error_destroy(swamp__error *error);

/* Returns `status`, so that a caller can write: return swamp__error_set(...). A lower layer's text is kept:
 * set once. */
int swamp__error_set(swamp__error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void swamp__error_clear(swamp__error *error);
void swamp__error_get(swamp__error *error, char *buf, size_t cap);

#endif
