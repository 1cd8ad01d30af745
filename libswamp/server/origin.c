/* May this web page or host name reach this server? A web page must not reach a local server (PROTOCOL 1). */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <swamp/status.h>
#include "../util/url.h"
#include "origin.h"

/* An entry is an origin ("https://a.example"), an authority ("a.example:8443") or a bare host. */
static int
entry_matches(const char *entry, size_t len, const char *origin, const char *authority, const char *host)
{
    if (len == 1 && entry[0] == '*')
        return 1;
    const char *candidates[] = {origin, authority, host};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++)
        if (strlen(candidates[i]) == len && strncasecmp(candidates[i], entry, len) == 0)
            return 1;
    return 0;
}

static int
is_listed(const char *allowed, const char *origin, const char *authority, const char *host)
{
    while (allowed && *allowed) {
        allowed += strspn(allowed, ", \t");
        size_t len = strcspn(allowed, ",");
        size_t trimmed = len;
        while (trimmed && (allowed[trimmed - 1] == ' ' || allowed[trimmed - 1] == '\t'))
            trimmed--;
        if (trimmed && entry_matches(allowed, trimmed, origin, authority, host))
            return 1;
        allowed += len;
    }
    return 0;
}

static int
host_is_loopback(const char *host)
{
    char name[256];
    int port;
    return host && swamp__url_split_authority(host, name, sizeof name, &port) == SWAMP_OK &&
           swamp__url_host_is_loopback(name);
}

int
swamp__origin_allowed(const char *host, const char *origin, const char *allowed_origins, int on_loopback)
{
    /* A name that an attacker's DNS points at 127.0.0.1 arrives here as Host. */
    if (on_loopback && !host_is_loopback(host))
        return 0;
    if (!origin)
        return 1;
    /* "null" (a sandboxed page or a file) names nobody: only an explicit entry lets it in. */
    const char *scheme_end = strstr(origin, "://");
    const char *authority = scheme_end ? scheme_end + 3 : "";
    char name[256] = "";
    int port = 0;
    if (scheme_end && swamp__url_split_authority(authority, name, sizeof name, &port) != SWAMP_OK)
        return 0;
    if (is_listed(allowed_origins, origin, authority, name))
        return 1;
    if (!scheme_end)
        return 0;
    if (host && strcasecmp(authority, host) == 0)
        return 1;
    return swamp__url_host_is_loopback(name);
}
