/* The libwebsockets context: made with what experience asks for (docs/NET.md), its callbacks handed to their
 * owners. */
#include "context.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <swamp/server.h>
#include <swamp/status.h>
#include "../wire/limits.h"
#include "tls.h"

#define SERVER_READ_BYTES 512         /* lws keeps them for each connection; requests are mostly shorter */
#define CLIENT_READ_BYTES (32 * 1024) /* the client parses byte by byte: few large reads */
#define CLIENT_WORK_BYTES (64 * 1024) /* also bounds the upgrade request that lws builds */
#define WRITE_BYTES                                                                                          \
    ((size_t)INT_MAX / 2)             /* more than any frame: a write split by lws is 8 to 11 times slower */
#define LWS_TIMEOUT_S 10              /* TLS and headers of a peer */
#define KEEP_ALIVE_S 5                /* an idle HTTP connection */
#define OWN_DESCRIPTORS 32            /* lws's pipe, our eventfd and timerfd, the listening socket */
#define SEARCHED_MAX 512              /* up to here lws's search through a small table is cheap */
#define MAPPED_MAX (4u * 1024 * 1024) /* descriptors that are worth a direct map of 8 bytes each */

/* lws's own pings are switched off (hang-up 0): only a pong would count as life, and the hang-up sends no
 * close frame. */
static const lws_retry_bo_t no_validity;

static pthread_once_t logger_once = PTHREAD_ONCE_INIT;

/* The logger is one for the process, to stderr: silenced unless the host has chosen levels of its own. */
static void
quiet_logger(void)
{
    if (lwsl_visible(LLL_ERR) && lwsl_visible(LLL_WARN) && lwsl_visible(LLL_NOTICE) &&
        !lwsl_visible(LLL_INFO | LLL_DEBUG | LLL_PARSER | LLL_HEADER | LLL_EXT | LLL_CLIENT | LLL_LATENCY |
                      LLL_USER | LLL_THREAD))
        lws_set_log_level(0, NULL);
}

/* Callbacks that come without a connection of ours, some with a wsi that is no more than a shell. */
static int
concerns_no_connection(enum lws_callback_reasons reason)
{
    switch (reason) {
    case LWS_CALLBACK_PROTOCOL_INIT:
    case LWS_CALLBACK_PROTOCOL_DESTROY:
    case LWS_CALLBACK_GET_THREAD_ID:
    case LWS_CALLBACK_WSI_CREATE:
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
    case LWS_CALLBACK_OPENSSL_CONTEXT_REQUIRES_PRIVATE_KEY:
    case LWS_CALLBACK_OPENSSL_PERFORM_CLIENT_CERT_VERIFICATION:
    /* Of a libwebsockets built for loops of others, from within its own calls: the core may be in the midst of one. */
    case LWS_CALLBACK_ADD_POLL_FD:
    case LWS_CALLBACK_DEL_POLL_FD:
    case LWS_CALLBACK_CHANGE_MODE_POLL_FD:
    case LWS_CALLBACK_LOCK_POLL:
    case LWS_CALLBACK_UNLOCK_POLL:
        return 1;
    default:
        return 0;
    }
}

/* While the context is made. */
static void
keep_client_tls(swamp__context *context, void *tls)
{
    if (context->trusts_system)
        context->untrusting = tls;
}

static int
dispatch(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    swamp__end *end;
    swamp__loop *loop;
    int rc;

    if (concerns_no_connection(reason))
        return 0;
    if (reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_CLIENT_VERIFY_CERTS) {
        keep_client_tls(lws_context_user(lws_get_context(wsi)), user);
        return 0;
    }
    end = lws_get_opaque_user_data(wsi);
    if (!end)
        return 0;
    loop = end->loop; /* the end may be gone after this */
    rc = end->event(end, wsi, reason,
                    reason == LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION ? user : in, len);
    swamp__loop_turned(loop);
    return rc;
}

/*
 * lws finds a connection by its descriptor in a direct map of RLIMIT_NOFILE entries (8 MB for a million), or,
 * with a limit below that, by searching: fine for hundreds, ruinous for thousands, whose every event would
 * walk the table.
 */
static unsigned
descriptor_limit(int max_connections)
{
    struct rlimit limit;
    unsigned wanted = (unsigned)max_connections + SWAMP__HTTP_EXTRA + OWN_DESCRIPTORS;

    if (max_connections > SEARCHED_MAX && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur <= MAPPED_MAX)
        return 0;
    return wanted;
}

static void
describe_server(swamp__context *context, struct lws_context_creation_info *info)
{
    /* An empty name matches no subprotocol that a client could offer (upgrade.c). */
    context->protocols[0] = (struct lws_protocols){
        .name = "", .callback = dispatch, .rx_buffer_size = SERVER_READ_BYTES, .tx_packet_size = WRITE_BYTES};
    context->protocols[1] = context->protocols[0];
    context->protocols[1].name = context->subprotocol;
    info->port = CONTEXT_PORT_NO_LISTEN_SERVER; /* we listen ourselves (listen.c) */
    info->max_http_header_data = SWAMP__HTTP_HEADER_MAX;
}

static void
describe_client(swamp__context *context, struct lws_context_creation_info *info)
{
    context->protocols[0] = (struct lws_protocols){.name = "swamp",
                                                   .callback = dispatch,
                                                   .rx_buffer_size = CLIENT_READ_BYTES,
                                                   .tx_packet_size = WRITE_BYTES};
    info->port = CONTEXT_PORT_NO_LISTEN;
    info->pt_serv_buf_size = CLIENT_WORK_BYTES;
    /* Otherwise lws takes a proxy from the environment, also for loopback, and hands it the token. */
    info->http_proxy_address = "";
    info->options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
}

static int
describe_tls(swamp__context *context, const swamp__loop_options *options,
             struct lws_context_creation_info *info, const char **why)
{
    int rc;

    if (options->cert_file || options->key_file) {
        rc = swamp__tls_check_server(options->cert_file, options->key_file, why);
        if (rc < 0)
            return rc;
        info->ssl_cert_filepath = options->cert_file;
        info->ssl_private_key_filepath = options->key_file;
        /* lws makes a client's TLS context here too: it shall not load the system's CAs, 700 KB, for nothing. */
        info->options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
        context->tls = 1;
    }
    if (options->ca_cert_file) {
        rc = swamp__tls_check_ca(options->ca_cert_file, why);
        if (rc < 0)
            return rc;
        info->client_ssl_ca_filepath = options->ca_cert_file;
    }
    return SWAMP_OK;
}

int
swamp__context_init(swamp__context *context, const swamp__loop_options *options, void *event_loop,
                    const char **why)
{
    struct lws_context_creation_info info;
    int rc;

    memset(context, 0, sizeof(*context));
    memset(&info, 0, sizeof(info));
    pthread_once(&logger_once, quiet_logger);
    if (options->role & SWAMP__LOOP_SERVER)
        describe_server(context, &info);
    else
        describe_client(context, &info);
    rc = describe_tls(context, options, &info, why);
    if (rc < 0)
        return rc;
    context->trusts_system = !(options->role & SWAMP__LOOP_SERVER) && !options->ca_cert_file;
    info.user = context;
    info.protocols = context->protocols;
    info.alpn = "http/1.1"; /* RAW batches must never meet HTTP/2 */
    info.gid = (gid_t)-1;
    info.uid = (uid_t)-1;
    info.timeout_secs = LWS_TIMEOUT_S;
    info.keepalive_timeout = KEEP_ALIVE_S;
    info.retry_and_idle_policy = &no_validity;
    info.fd_limit_per_thread = descriptor_limit(options->max_connections);
    if (event_loop) {
        info.options |= LWS_SERVER_OPTION_LIBEV;
        info.foreign_loops = &event_loop;
    }
    context->lws = lws_create_context(&info); /* ignores SIGPIPE for the whole process */
    if (!context->lws) {
        *why = event_loop ? "libwebsockets has no libev plug-in: install it, or use the poll loop"
                          : "libwebsockets cannot make a context: out of memory or descriptors";
        return event_loop ? SWAMP_E_UNSUPPORTED : SWAMP_E_IO;
    }
    context->vhost = lws_get_vhost_by_name(context->lws, "default");
    return SWAMP_OK;
}

void
swamp__context_destroy(swamp__context *context)
{
    if (context->lws)
        lws_context_destroy(context->lws);
    context->lws = NULL;
    context->vhost = NULL;
}

void
swamp__context_trust_system(swamp__context *context)
{
    if (context->untrusting)
        swamp__tls_trust_system(context->untrusting);
    context->untrusting = NULL;
}

struct lws *
swamp__context_adopt_file(swamp__context *context, int fd, swamp__end *end)
{
    lws_adopt_desc_t description;
    struct lws *wsi;

    memset(&description, 0, sizeof(description));
    description.vh = context->vhost;
    description.type = LWS_ADOPT_RAW_FILE_DESC;
    description.fd.filefd = fd;
    description.opaque = end;
    wsi = lws_adopt_descriptor_vhost_via_info(&description);
    if (!wsi)
        close(fd);
    return wsi;
}

void
swamp__context_kill(struct lws *wsi)
{
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}
