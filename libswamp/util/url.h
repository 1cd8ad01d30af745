/* URLs of servers: ws, wss, http, https; host, port and path, nothing else. */
#ifndef SWAMP_UTIL_URL_H
#define SWAMP_UTIL_URL_H

#include <stddef.h>

typedef struct swamp__url {
    int tls;         /* wss, https */
    int port;        /* 80 or 443 when not given */
    int loopback;    /* localhost, *.localhost, 127.0.0.0/8, ::1 */
    char host[256];  /* without brackets, in small letters */
    char path[1024]; /* begins with '/', keeps the query */
} swamp__url;

/* SWAMP_OK, SWAMP_E_INVALID (scheme, host, port, user:password@, control characters, fragment). */
int swamp__url_parse(const char *text, swamp__url *out);

/* 1 if the host (a name or an address, no port) is this machine's loopback. */
int swamp__url_host_is_loopback(const char *host);

/* Splits the value of a Host header, or the authority of a URL: SWAMP_OK, SWAMP_E_INVALID; *port is 0 when
 * absent. The host is in small letters, without brackets. */
int swamp__url_split_authority(const char *text, char *host, size_t cap, int *port);

#endif
