/* What the fuzz targets share: see fuzz.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <check.h>
#include "fuzz.h"

/* tests/support checks with libcheck, which needs its runner: here a check that fails ends the process. */

void
_mark_point(const char *file, int line)
{
    (void)file;
    (void)line;
}

void
_ck_assert_failed(const char *file, int line, const char *rule, const char *format, ...)
{
    if (format) {
        va_list args;
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
    }
    fuzz_broken(file, line, rule);
}

void
fuzz_broken(const char *file, int line, const char *rule)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, rule);
    abort();
}

char *
fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

int
fuzz_script_next(fuzz_script *script, const char *dollar, swamp__buf *argument)
{
    swamp__buf_clear(argument);
    swamp__buf_append(argument, "", 0); /* so that there is a text, however short the line */
    if (script->at >= script->end)
        return 0;
    int what = (unsigned char)*script->at++;
    const char *newline = memchr(script->at, '\n', (size_t)(script->end - script->at));
    const char *stop = newline ? newline : script->end;
    if (what == '\n')
        return ' ';
    for (; script->at < stop; script->at++)
        if (*script->at == '$')
            swamp__buf_text(argument, dollar);
        else
            swamp__buf_append(argument, script->at, 1);
    script->at = newline ? newline + 1 : stop;
    return what ? what : ' ';
}

int64_t
fuzz_number(const swamp__buf *argument, int64_t max)
{
    int64_t number = 0;
    for (size_t i = 0; i < argument->len && number <= max; i++)
        if (argument->data[i] >= '0' && argument->data[i] <= '9')
            number = number * 10 + (argument->data[i] - '0');
    return number < max ? number : max;
}
