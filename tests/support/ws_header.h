/* The header of a WebSocket frame (RFC 6455 5.2), of either side: for peers in tests and benchmarks that see each byte. */
#ifndef SWAMP_TESTS_WS_HEADER_H
#define SWAMP_TESTS_WS_HEADER_H

#include <stddef.h>
#include <stdint.h>

#define WS_HEADER_MAX 14

/* Writes it; mask: four bytes, NULL for none. Returns its bytes. */
size_t ws_header_put(unsigned char *to, int first_byte, uint64_t payload, const unsigned char *mask);

/* Its bytes, of which the mask is the last four, as the second one tells them. */
size_t ws_header_size(unsigned char second_byte);

/* The same, and the payload's; 0: less than the header is there. */
size_t ws_header_read(const unsigned char *at, size_t len, uint64_t *payload);

#endif
