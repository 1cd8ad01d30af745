/* All allocation of the library, with one hook by which a test makes the n-th call fail. */
#include "alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>

static atomic_ulong allocations; /* calls so far, the failed ones too */
static atomic_ulong fail_from;   /* the number of the call that fails; 0: none */
static atomic_int fail_all;      /* and all after it */

/* Relaxed: the numbers order nothing else, and a test that counts on one thread sees its own calls in order. */
static int
must_fail(void)
{
    unsigned long number = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed) + 1;
    unsigned long from = atomic_load_explicit(&fail_from, memory_order_relaxed);

    if (!from || number < from)
        return 0;
    return number == from || atomic_load_explicit(&fail_all, memory_order_relaxed);
}

void *
swamp__alloc(size_t size)
{
    return must_fail() ? NULL : malloc(size ? size : 1); /* NULL always means: out of memory */
}

void *
swamp__calloc(size_t count, size_t size)
{
    if (must_fail())
        return NULL;
    return count && size ? calloc(count, size) : calloc(1, 1);
}

void *
swamp__realloc(void *block, size_t size)
{
    return must_fail() ? NULL
                       : realloc(block, size ? size : 1); /* realloc(block, 0) may free and return NULL */
}

void
swamp__free(void *block)
{
    free(block);
}

char *
swamp__strdup(const char *text)
{
    return text ? swamp__strndup(text, strlen(text)) : NULL;
}

char *
swamp__strndup(const char *text, size_t len)
{
    char *copy = swamp__alloc(len + 1);

    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void
swamp__alloc_fail_at(unsigned long n, int all)
{
    atomic_store(&fail_all, all);
    atomic_store(&fail_from, n ? atomic_load(&allocations) + n : 0);
}

unsigned long
swamp__alloc_count(void)
{
    return atomic_load(&allocations);
}

void
swamp_free(void *buffer)
{
    swamp__free(buffer);
}
