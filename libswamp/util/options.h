/* The one reader of size-first option structs: shorter input is zero-extended, an unknown tail must be zero. */
#ifndef SWAMP_UTIL_OPTIONS_H
#define SWAMP_UTIL_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies the struct at `from`, whose first member is its size_t size, into the `size` bytes at `to`.
 * SWAMP_OK; SWAMP_E_INVALID: size is smaller than a size_t, or a member unknown here is not zero.
 */
int swamp__options_read(void *to, size_t size, const void *from);

/* The value, or the default when it is zero. */
uint32_t swamp__options_or(uint32_t value, uint32_t otherwise);

#endif
