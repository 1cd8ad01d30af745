/* Log lines: formatted once, cleaned, handed to the callback. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "utf8.h"

#define LINE_MAX_BYTES 1000

void
swamp__log_write(const swamp__log *log, int level, const char *format, ...)
{
    char line[LINE_MAX_BYTES + 8]; /* room to see a character that crosses the limit whole */
    va_list args;
    int written;

    if (!log || !log->fn || level > log->level)
        return;
    va_start(args, format);
    written = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (written < 0)
        return;
    line[swamp__utf8_cut(line, strlen(line), LINE_MAX_BYTES)] = '\0';
    swamp__utf8_clean_line(line);
    log->fn(level, line, log->user);
}
