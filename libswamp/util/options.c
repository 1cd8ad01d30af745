/* The one reader of size-first option structs. */
#include "options.h"

#include <string.h>
#include <swamp/status.h>

#define OPTIONS_MAX 65536 /* no struct grows so far: a larger size is memory that was never set */

int
swamp__options_read(void *to, size_t size, const void *from)
{
    size_t given;

    if (!from)
        return SWAMP_E_INVALID;
    memcpy(&given, from, sizeof(given));
    if (given < sizeof(given) || given > OPTIONS_MAX)
        return SWAMP_E_INVALID;
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)from)[i]) /* asks for something that this version cannot do */
            return SWAMP_E_INVALID;
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof(size));
    return SWAMP_OK;
}

uint32_t
swamp__options_or(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}
