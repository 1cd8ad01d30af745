/* Memory that is there, or the program is not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memory.h"

static void *
or_end(void *block)
{
    static const char line[] =
        "swamp: out of memory: the program ends; its runs will be reported as interrupted\n";
    if (block)
        return block;
    /* write and _exit: neither stdio nor exit handlers may need memory now */
    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
        _exit(70);
    _exit(70);
}

void *
memory_new(size_t count, size_t size)
{
    return or_end(calloc(count ? count : 1, size));
}

void *
memory_grow(void *block, size_t count, size_t size)
{
    return or_end(size && count > SIZE_MAX / size ? NULL : realloc(block, count && size ? count * size : 1));
}

char *
memory_copy(const char *text)
{
    return text ? memory_copy_part(text, strlen(text)) : NULL;
}

char *
memory_copy_part(const char *bytes, size_t len)
{
    char *copy = memory_new(len + 1, 1);
    if (len)
        memcpy(copy, bytes, len);
    return copy;
}
