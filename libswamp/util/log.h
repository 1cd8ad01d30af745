/* Log lines inside the library: formatted once, handed to the handle's callback. */
#ifndef SWAMP_UTIL_LOG_H
#define SWAMP_UTIL_LOG_H

#include <swamp/log.h>

typedef struct swamp__log {
    swamp_log_fn fn; /* NULL: silent */
    void *user;
    int level;
} swamp__log;

/* At most 1,000 bytes; control characters become '?'. Never on the hot path. */
void swamp__log_write(const swamp__log *log, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
