/* All allocation of the library passes here, so that a test can make it fail; not a public allocator hook. */
#ifndef SWAMP_UTIL_ALLOC_H
#define SWAMP_UTIL_ALLOC_H

#include <stddef.h>

void *swamp__alloc(size_t size);
void *swamp__calloc(size_t count, size_t size);
void *swamp__realloc(void *block, size_t size);
void swamp__free(void *block);
char *swamp__strdup(const char *text);              /* NULL in, NULL out */
char *swamp__strndup(const char *text, size_t len); /* zero-terminated copy of len bytes */

/* Tests only: the n-th allocation from now on fails, and all after it if `all`; 0 switches it off. */
void swamp__alloc_fail_at(unsigned long n, int all);
unsigned long swamp__alloc_count(void);

#endif
