/*
 * What libwebsockets itself costs: a server that sends each message back, and nothing else.
 *
 * Usage: echo
 * Prints its port and "none", where the other servers print their run's id.
 */
#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>
#include "common.h"

typedef struct message {
    size_t len;
    unsigned char bytes[LWS_PRE + 4096];
} message;

static int
serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    message *m = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        m->len = 0;
        break;
    case LWS_CALLBACK_RECEIVE:
        if (len > sizeof(m->bytes) - LWS_PRE - m->len)
            return -1;
        memcpy(m->bytes + LWS_PRE + m->len, in, len);
        m->len += len;
        if (lws_is_final_fragment(wsi) && !lws_remaining_packet_payload(wsi))
            lws_callback_on_writable(wsi);
        break;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        if (m->len && lws_write(wsi, m->bytes + LWS_PRE, m->len, LWS_WRITE_TEXT) < 0)
            return -1;
        m->len = 0;
        break;
    default:
        break;
    }
    return 0;
}

int
main(void)
{
    static const struct lws_protocols protocols[] = {
        {.name = "echo", .callback = serve, .per_session_data_size = sizeof(message), .rx_buffer_size = 1024},
        {0}};
    struct lws_context_creation_info info = {.port = 0, .protocols = protocols, .fd_limit_per_thread = 1024};

    lws_set_log_level(LLL_ERR, NULL);
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DISABLE_IPV6;
    struct lws_context *context = lws_create_context(&info);
    struct lws_vhost *vhost = context ? lws_create_vhost(context, &info) : NULL;
    if (!vhost)
        bench_die("libwebsockets");
    printf("%d none\n", lws_get_vhost_listen_port(vhost));
    fflush(stdout);
    while (lws_service(context, 0) >= 0)
        ;
    lws_context_destroy(context);
    return 0;
}
