/* Names to addresses, on a thread of its own: getaddrinfo() blocks, and libwebsockets would call it on the loop's thread. */
#ifndef SWAMP_NET_RESOLVE_H
#define SWAMP_NET_RESOLVE_H

#include <stddef.h>
#include "loop.h"

#define SWAMP__ADDRESSES_MAX 8
#define SWAMP__ADDRESS_SIZE 64

typedef struct swamp__addresses {
    size_t count;
    char text[SWAMP__ADDRESSES_MAX][SWAMP__ADDRESS_SIZE]; /* numeric, in the system's order of preference */
} swamp__addresses;

typedef struct swamp__resolver swamp__resolver;
typedef struct swamp__lookup swamp__lookup;

int swamp__resolver_new(swamp__resolver **out, swamp__loop *loop); /* SWAMP_OK, SWAMP_E_NOMEM, SWAMP_E_IO */
/* Before the loop is freed. Does not wait for a name server: a lookup under way ends by itself and tells nobody. */
void swamp__resolver_free(swamp__resolver *resolver);

/* Loop's thread; so is the answer: addresses with count 0 and why on failure, both borrowed. Never from within the call. */
int swamp__resolver_ask(swamp__lookup **out, swamp__resolver *resolver, const char *host,
                        void (*done)(void *user, const swamp__addresses *addresses, const char *why),
                        void *user);
void swamp__lookup_abandon(swamp__lookup *lookup); /* loop's thread: no answer follows */

/* 1 if the host is an address already, which no lookup of another name shall hold up. */
int swamp__addresses_literal(swamp__addresses *out, const char *host);

#endif
