/* May this HTTP request become a WebSocket? Decided at once, from its headers alone (PROTOCOL 1). */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <swamp/status.h>
#include "peer.h"

#define BEARER "bearer."
#define ECHO_MAX 62    /* a longer name makes lws 4.1.6 close the connection without a word */
#define OFFER_SIZE 127 /* so does a longer list */
#define SHORT_HEADER 128
#define ANSWER_SIZE 768
#define BUSY_RETRY_S 5
#define NOBODY "anonymous" /* until access comes, all are one principal */

int
swamp__peer_header(struct lws *wsi, enum lws_token_indexes token, char *out, int cap)
{
    return lws_hdr_copy(wsi, out, cap, token) >= 0;
}

int
swamp__peer_refuse(struct lws *wsi, int status, int retry_after_s, const char *line)
{
    unsigned char answer[LWS_PRE + ANSWER_SIZE], *start = answer + LWS_PRE, *p = start;
    unsigned char *end = answer + sizeof(answer) - 1;
    char body[256], seconds[16];
    int len = snprintf(body, sizeof(body), "%s\n", line);

    snprintf(seconds, sizeof(seconds), "%d", retry_after_s);
    if (lws_add_http_common_headers(wsi, (unsigned)status, "text/plain", (lws_filepos_t)len, &p, end) ||
        lws_add_http_header_by_name(wsi, (const unsigned char *)"connection:", (const unsigned char *)"close",
                                    5, &p, end))
        return -1;
    if (retry_after_s > 0 && lws_add_http_header_by_name(
                                 wsi, (const unsigned char *)"retry-after:", (const unsigned char *)seconds,
                                 (int)strlen(seconds), &p, end))
        return -1;
    if (lws_finalize_http_header(wsi, &p, end) || end - p < len)
        return -1;
    memcpy(p, body, (size_t)len);
    p += len;
    if (lws_write(wsi, start, (size_t)(p - start), LWS_WRITE_HTTP_FINAL) < 0)
        return -1;
    return 1;
}

/* What lws 4.1.6 can read in a list of subprotocols, and echo; it closes without a word at anything else. */
static int
is_echoable(const char *name, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return len > 0 && len <= ECHO_MAX && strchr(letters, name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~!-") >= len;
}

/*
 * lws upgrades only to a protocol that it knows by name, and echoes that name. So its second protocol takes
 * the name of what the client offers: its bearer.TOKEN, else its first. The latter loses the name again
 * before it is echoed. 1: chosen, or nothing offered; 0: cannot be served.
 */
static int
choose_subprotocol(swamp__context *context, struct lws *wsi)
{
    char offer[OFFER_SIZE];
    const char *at = offer;
    int chosen = 0;

    context->subprotocol[0] = '\0';
    if (!swamp__peer_header(wsi, WSI_TOKEN_PROTOCOL, offer, sizeof(offer)))
        return 0;
    if (!offer[0])
        return 1;
    while (*at) {
        size_t len;

        at += strspn(at, " \t,");
        len = strcspn(at, " \t,");
        if (len == 0)
            break;
        if (!is_echoable(at, len))
            return 0;
        if (!chosen || (strncmp(at, BEARER, strlen(BEARER)) == 0 &&
                        strncmp(context->subprotocol, BEARER, strlen(BEARER)) != 0))
            snprintf(context->subprotocol, sizeof(context->subprotocol), "%.*s", (int)len, at);
        chosen = 1;
        at += len;
    }
    return chosen;
}

void
swamp__peer_choose_echo(swamp__peer *peer, struct lws *wsi)
{
    swamp__context *context = swamp__loop_context(peer->end.loop);

    if (strncmp(context->subprotocol, BEARER, strlen(BEARER)) != 0)
        context->subprotocol[0] = '\0';
}

static int
take_connection(swamp__peer *peer, struct lws *wsi, swamp__instance *instance)
{
    switch (swamp__conn_new(&peer->conn, instance, &swamp__peer_transport, peer, NOBODY)) {
    case SWAMP_OK:
        return 0;
    case SWAMP_E_BUSY:
        return swamp__peer_refuse(wsi, 429, BUSY_RETRY_S, "too many connections");
    case SWAMP_E_CLOSED:
        return swamp__peer_refuse(wsi, 503, BUSY_RETRY_S, "this instance has ended");
    default:
        return swamp__peer_refuse(wsi, 503, BUSY_RETRY_S, "out of memory");
    }
}

int
swamp__peer_upgrade(swamp__peer *peer, struct lws *wsi)
{
    swamp__instance *instance = swamp__listener_instance(peer->listener);
    char text[SHORT_HEADER];

    /* The argument of this callback may point to freed memory when the header is a bad one: it is read again here. */
    if (!swamp__peer_header(wsi, WSI_TOKEN_UPGRADE, text, sizeof(text)) || strcasecmp(text, "websocket") != 0)
        return -1;
    if (peer->conn || lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) == 0)
        return swamp__peer_refuse(wsi, 400, 0, "a WebSocket begins with GET");
    if (!instance)
        return swamp__peer_refuse(wsi, 503, BUSY_RETRY_S, "this instance is stopping");
    if (!swamp__listener_allows(peer->listener, wsi))
        return swamp__peer_refuse(wsi, 403, 0, "this host or origin is not allowed");
    if (!swamp__peer_header(wsi, WSI_TOKEN_VERSION, text, sizeof(text)) || strcmp(text, "13") != 0)
        return swamp__peer_refuse(wsi, 400, 0, "only WebSocket version 13 is spoken here");
    if (!swamp__peer_header(wsi, WSI_TOKEN_KEY, text, sizeof(text)) || strlen(text) != 24)
        return swamp__peer_refuse(wsi, 400, 0, "Sec-WebSocket-Key is missing or wrong");
    if (!choose_subprotocol(swamp__loop_context(peer->end.loop), wsi))
        return swamp__peer_refuse(wsi, 400, 0, "this subprotocol cannot be answered");
    return take_connection(peer, wsi, instance);
}
