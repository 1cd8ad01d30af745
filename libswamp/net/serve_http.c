/* HTTP beside the WebSocket (PROTOCOL 8): one request at a time of a connection, asked of the core, answered
 * when it has. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "peer.h"

#define HEADERS_SIZE 1024
#define PATH_SIZE 2048
#define LENGTH_SIZE 32
#define BODY_MAX (64 * 1024) /* more than any request of PROTOCOL 8 needs */

typedef struct method {
    enum lws_token_indexes token;
    const char *name;
    int takes_body;
} method;

static const method methods[] = {
    {WSI_TOKEN_GET_URI, "GET", 0},         {WSI_TOKEN_HEAD_URI, "HEAD", 0},
    {WSI_TOKEN_POST_URI, "POST", 1},       {WSI_TOKEN_PUT_URI, "PUT", 1},
    {WSI_TOKEN_PATCH_URI, "PATCH", 1},     {WSI_TOKEN_DELETE_URI, "DELETE", 0},
    {WSI_TOKEN_OPTIONS_URI, "OPTIONS", 0},
};

/* lws accepts no other methods than these. */
static const method *
method_of(struct lws *wsi)
{
    size_t i = 0;

    while (i + 1 < sizeof(methods) / sizeof(methods[0]) && lws_hdr_total_length(wsi, methods[i].token) == 0)
        i++;
    return &methods[i];
}

/* The core has the answer: at once, inside swamp__http_ask(), or later. */
static void
on_answer(void *user, const swamp__http_answer *answer)
{
    swamp__peer *peer = user;

    peer->asked = NULL;
    if (!peer->wsi)
        return;
    swamp__buf_clear(&peer->body);
    swamp__buf_append(&peer->body, answer->body.data, answer->body.len);
    peer->status = answer->status;
    peer->content_type = answer->content_type;
    if (swamp__buf_status(&peer->body) < 0) {
        swamp__buf_free(&peer->body);
        peer->status = 503;
    }
    lws_rx_flow_control(peer->wsi, 1);
    lws_callback_on_writable(peer->wsi);
}

static int
answer_now(swamp__peer *peer, int status, const char *line)
{
    swamp__http_answer answer = {.status = status, .content_type = "text/plain"};

    swamp__buf_init(&answer.body);
    swamp__buf_text(&answer.body, line);
    on_answer(peer, &answer);
    swamp__buf_free(&answer.body);
    return 0;
}

/*
 * Load balancers ask for /ready in HTTP/1.0 without a Host (haproxy's `option httpchk`). The rule is against
 * browsers, which always send one; and nothing is changed by reading.
 */
static int
is_bare_check(struct lws *wsi, const method *asked)
{
    int reads = asked->token == WSI_TOKEN_GET_URI || asked->token == WSI_TOKEN_HEAD_URI;

    return reads && lws_hdr_total_length(wsi, WSI_TOKEN_HOST) == 0 &&
           lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) == 0;
}

/* Everything is there that the answer depends on. */
static int
handle_request(swamp__peer *peer, struct lws *wsi, const method *asked)
{
    swamp__instance *instance = swamp__listener_instance(peer->listener);
    char path[PATH_SIZE];
    swamp__http_request request = {.method = asked->name, .path = path, .done = on_answer, .user = peer};

    peer->is_head = asked->token == WSI_TOKEN_HEAD_URI;
    lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0); /* lws would give a late answer a few seconds */
    if (!instance) {
        peer->close_after = 1;
        return answer_now(peer, 503, "this instance is stopping\n");
    }
    if (!is_bare_check(wsi, asked) && !swamp__listener_allows(peer->listener, wsi))
        return answer_now(peer, 403, "this host or origin is not allowed\n");
    if (!swamp__peer_header(wsi, asked->token, path, sizeof(path)))
        return answer_now(peer, 404, "not found\n");
    /* While it waits nothing is read: bytes that nobody takes, or a peer that goes, would turn the loop round
     * and round. */
    lws_rx_flow_control(wsi, 0);
    peer->asked = swamp__http_ask(instance, &request);
    return 0;
}

static int
body_follows(struct lws *wsi, const method *asked)
{
    char length[LENGTH_SIZE];

    if (!swamp__peer_header(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, length, sizeof(length)) || !length[0])
        return 0;
    return strtoll(length, NULL, 10) > 0 || asked->token == WSI_TOKEN_POST_URI;
}

/*
 * A body is waited for, since closing on unread bytes could take the answer away, and thrown away: it says
 * nothing to us. Without a Content-Length lws waits for the body of a POST for ever: there the answer closes
 * the connection.
 */
static int
begin_request(swamp__peer *peer, struct lws *wsi)
{
    const method *asked = method_of(wsi);

    peer->status = 0;
    peer->body_bytes = 0;
    peer->close_after = asked->takes_body && lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) == 0;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0) {
        peer->close_after = 1;
        return answer_now(peer, 411, "send a Content-Length\n");
    }
    return body_follows(wsi, asked) ? 0 : handle_request(peer, wsi, asked);
}

static int
write_answer(swamp__peer *peer, struct lws *wsi)
{
    unsigned char headers[LWS_PRE + HEADERS_SIZE], *start = headers + LWS_PRE, *p = start;
    unsigned char *end = headers + sizeof(headers) - 1;
    swamp__buf *scratch = swamp__listener_scratch(peer->listener);

    if (lws_add_http_common_headers(wsi, (unsigned)peer->status,
                                    peer->content_type ? peer->content_type : "text/plain", peer->body.len,
                                    &p, end))
        return -1;
    if (peer->close_after && lws_add_http_header_by_name(wsi, (const unsigned char *)"connection:",
                                                         (const unsigned char *)"close", 5, &p, end))
        return -1;
    if (lws_finalize_http_header(wsi, &p, end))
        return -1;
    swamp__buf_append(scratch, start, (size_t)(p - start));
    if (!peer->is_head)
        swamp__buf_append(scratch, peer->body.data, peer->body.len);
    peer->status = 0;
    swamp__buf_free(&peer->body);
    if (swamp__buf_status(scratch) < 0 ||
        lws_write(wsi, (unsigned char *)scratch->data, scratch->len, LWS_WRITE_HTTP_FINAL) < 0)
        return -1;
    if (lws_partial_buffered(wsi)) {
        lws_rx_flow_control(wsi, 0); /* as in serve.c: hold_reading(); what is kept goes out, then it ends */
        return -1;
    }
    if (peer->close_after)
        return -1;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

int
swamp__peer_http(swamp__peer *peer, struct lws *wsi, enum lws_callback_reasons reason, size_t len)
{
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        return begin_request(peer, wsi);
    case LWS_CALLBACK_HTTP_BODY:
        peer->body_bytes += len;
        return peer->body_bytes > BODY_MAX ? -1 : 0;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return handle_request(peer, wsi, method_of(wsi));
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return peer->status != 0 ? write_answer(peer, wsi) : 0;
    default:
        return 0;
    }
}

void
swamp__peer_http_gone(swamp__peer *peer)
{
    void *asked = peer->asked;

    peer->asked = NULL;
    if (asked)
        swamp__http_abandon(asked);
}
