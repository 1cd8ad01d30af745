/* May this web page or host name reach this server? Decided from the Host and Origin headers alone (PROTOCOL 1). */
#ifndef SWAMP_SERVER_ORIGIN_H
#define SWAMP_SERVER_ORIGIN_H

/*
 * 1 allowed, 0: answer 403. origin NULL: no such header (not a browser): allowed. allowed_origins:
 * comma-separated, may be NULL; "*" allows all. on_loopback: the server listens on loopback and wants a
 * loopback Host.
 */
int swamp__origin_allowed(const char *host, const char *origin, const char *allowed_origins, int on_loopback);

#endif
