/* Memory of the program: calls that always succeed, since the program ends when there is none left. */
#ifndef SWAMP_CLI_MEMORY_H
#define SWAMP_CLI_MEMORY_H

#include <stddef.h>

/*
 * The library reports SWAMP_E_NOMEM; the program built on it has nothing better to do than to end with one
 * line on stderr. For an instance that is a death like any other: its heartbeat stops, the other instances
 * end its runs as interrupted, and the clients are told (PROTOCOL 5). The blocks are freed with free().
 */
void *memory_new(size_t count, size_t size); /* zeroed; count may be 0 */
void *memory_grow(void *block, size_t count, size_t size);
char *memory_copy(const char *text); /* NULL in, NULL out */
char *memory_copy_part(const char *bytes, size_t len);

#endif
