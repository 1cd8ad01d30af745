/* URLs of servers: strict, since what is read here decides where a token is sent. */
#include "url.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <swamp/status.h>

#define PORT_DIGITS_MAX 5

typedef struct scheme {
    const char *prefix;
    int tls;
} scheme;

static const scheme schemes[] = {{"ws://", 0}, {"wss://", 1}, {"http://", 0}, {"https://", 1}};

static int
is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

/* ":1" to ":65535", or nothing: *port 0. */
static int
read_port(const char *at, const char *end, int *port)
{
    int number = 0;

    *port = 0;
    if (at == end)
        return SWAMP_OK;
    if (*at++ != ':' || at == end || end - at > PORT_DIGITS_MAX)
        return SWAMP_E_INVALID;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return SWAMP_E_INVALID;
        number = number * 10 + (*at - '0');
    }
    if (number < 1 || number > 65535)
        return SWAMP_E_INVALID;
    *port = number;
    return SWAMP_OK;
}

/* Names are compared as text in many places: one spelling, in small letters. */
static int
copy_host(const char *at, size_t len, char *host, size_t cap)
{
    if (len == 0 || len >= cap)
        return SWAMP_E_INVALID;
    for (size_t i = 0; i < len; i++)
        host[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] - 'A' + 'a' : at[i]);
    host[len] = '\0';
    return SWAMP_OK;
}

static int
split_authority(const char *at, const char *end, char *host, size_t cap, int *port)
{
    const char *stop = at;

    if (at < end && *at == '[') {
        struct in6_addr address;

        at++;
        stop = memchr(at, ']', (size_t)(end - at));
        if (!stop || copy_host(at, (size_t)(stop - at), host, cap) < 0 ||
            inet_pton(AF_INET6, host, &address) != 1)
            return SWAMP_E_INVALID;
        return read_port(stop + 1, end, port);
    }
    while (stop < end && is_name_character(*stop))
        stop++;
    if (copy_host(at, (size_t)(stop - at), host, cap) < 0)
        return SWAMP_E_INVALID;
    return read_port(stop, end, port); /* user:password@, %, a bare IPv6 address end here */
}

int
swamp__url_split_authority(const char *text, char *host, size_t cap, int *port)
{
    return split_authority(text, text + strlen(text), host, cap, port);
}

static int
copy_path(const char *at, char *path, size_t cap)
{
    size_t len = strlen(at);
    size_t slash = *at == '/' ? 0 : 1; /* "ws://host" and "ws://host?query" */

    if (len + slash >= cap)
        return SWAMP_E_INVALID;
    path[0] = '/';
    memcpy(path + slash, at, len + 1);
    return SWAMP_OK;
}

int
swamp__url_parse(const char *text, swamp__url *out)
{
    const char *at = NULL;
    const char *end;
    swamp__url url;

    memset(&url, 0, sizeof(url));
    for (const char *c = text; *c; c++) /* a path goes into a request line: nothing that could end it */
        if (*c <= ' ' || *c > '~' || *c == '#' || *c == '\\')
            return SWAMP_E_INVALID;
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t len = strlen(schemes[i].prefix);

        if (strncasecmp(text, schemes[i].prefix, len) == 0) {
            at = text + len;
            url.tls = schemes[i].tls;
        }
    }
    if (!at)
        return SWAMP_E_INVALID;
    end = at + strcspn(at, "/?");
    if (split_authority(at, end, url.host, sizeof(url.host), &url.port) < 0)
        return SWAMP_E_INVALID;
    if (copy_path(end, url.path, sizeof(url.path)) < 0)
        return SWAMP_E_INVALID;
    if (!url.port)
        url.port = url.tls ? 443 : 80;
    url.loopback = swamp__url_host_is_loopback(url.host);
    *out = url;
    return SWAMP_OK;
}

int
swamp__url_host_is_loopback(const char *host)
{
    static const char name[] = "localhost";
    size_t len = strlen(host);
    struct in6_addr v6;
    struct in_addr v4;

    /* Only the full forms: what else a resolver may take for 127.0.0.1 ("127.1", "0x7f.1") is not trusted. */
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return memcmp(&v6, &in6addr_loopback, sizeof(v6)) == 0;
    if (len && host[len - 1] == '.') /* the root: RFC 6761 counts it in */
        len--;
    if (len < sizeof(name) - 1 || strncasecmp(host + len - (sizeof(name) - 1), name, sizeof(name) - 1) != 0)
        return 0;
    return len == sizeof(name) - 1 || host[len - sizeof(name)] == '.';
}
