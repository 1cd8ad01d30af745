/*
 * Our own listening socket. lws's would listen on all addresses whatever `iface` says, tell no port, and spin
 * when descriptors run out; this one is a readable file to lws, and each connection is adopted by its vhost.
 */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../server/origin.h"
#include "../util/alloc.h"
#include "../util/url.h"
#include "../wire/limits.h"
#include "peer.h"

#define ACCEPTS_A_TURN 64 /* then the connections that are there get their turn */
#define PAUSE_MS 100      /* DESIGN 7: when descriptors run out */
#define BACKLOG 1024
#define HOST_HEADER_SIZE 512
#define ORIGIN_HEADER_SIZE 1024
#define URL_SIZE 128

struct swamp__listener {
    swamp__end end;
    swamp__loop *loop;
    int fd;          /* -1: closed */
    struct lws *wsi; /* NULL: not open */
    swamp__instance *instance;
    swamp__list peers;
    size_t count;
    size_t max;
    swamp__timer resume;
    int accepting;     /* inside the callback of its own wsi */
    int full, starved; /* why it pauses; starved is logged once an episode */
    int on_loopback;
    char *allowed_origins;
    swamp__buf scratch;
    char url[URL_SIZE];
    void (*emptied)(void *user); /* listen.h */
    void *emptied_user;
};

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

/* SWAMP_OK, SWAMP_E_ADDRESS */
static int
parse_address(const char *host, int port, address *out, socklen_t *len)
{
    memset(out, 0, sizeof(*out));
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        *len = sizeof(out->v4);
        return SWAMP_OK;
    }
    if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *len = sizeof(out->v6);
        return SWAMP_OK;
    }
    return SWAMP_E_ADDRESS;
}

static int
bind_socket(swamp__listener *listener, const swamp__listen_options *options, char *error, size_t cap)
{
    static const int on = 1, sndbuf = SWAMP__SO_SNDBUF, silent_s = 1;
    address at;
    socklen_t len = 0;

    if (parse_address(options->host, options->port, &at, &len) < 0) {
        snprintf(error, cap, "cannot listen on \"%s\": give an IP address of this machine, or localhost",
                 options->host);
        return SWAMP_E_ADDRESS;
    }
    listener->fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0) {
        snprintf(error, cap, "cannot listen on %s: %s", options->host, strerror(errno));
        return SWAMP_E_ADDRESS;
    }
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    /* Both are inherited by what is accepted. The kernel would hold 3 to 4 MB for a stalled viewer otherwise. */
    setsockopt(listener->fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
    setsockopt(listener->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    /*
     * A connection is accepted when its first bytes are there (or a second later): one wake-up less for each, and lws,
     * which takes 17 KiB for headers as soon as it has a connection, has few of them at a time. In a storm of
     * reconnects they would else be strewn all over the heap, and stay.
     */
    setsockopt(listener->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent_s, sizeof(silent_s));
    if (bind(listener->fd, &at.any, len) == 0 && listen(listener->fd, BACKLOG) == 0)
        return SWAMP_OK;
    if (errno == EADDRINUSE)
        snprintf(error, cap,
                 "port %d on %s is in use: stop what uses it, or choose another (0: any free one)",
                 options->port, options->host);
    else if (errno == EACCES)
        snprintf(error, cap, "port %d on %s is not allowed: choose one above 1023", options->port,
                 options->host);
    else if (errno == EADDRNOTAVAIL)
        snprintf(error, cap, "%s is no address of this machine: choose one of those of `ip address`",
                 options->host);
    else
        snprintf(error, cap, "cannot listen on %s port %d: %s", options->host, options->port,
                 strerror(errno));
    return SWAMP_E_ADDRESS;
}

static void
write_url(swamp__listener *listener)
{
    const char *scheme = swamp__loop_context(listener->loop)->tls ? "https" : "http";
    char text[INET6_ADDRSTRLEN] = "";
    address at;
    socklen_t len = sizeof(at);

    memset(&at, 0, sizeof(at));
    getsockname(listener->fd, &at.any, &len);
    if (at.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &at.v6.sin6_addr, text, sizeof(text));
        snprintf(listener->url, sizeof(listener->url), "%s://[%s]:%d", scheme, text, ntohs(at.v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &at.v4.sin_addr, text, sizeof(text));
        snprintf(listener->url, sizeof(listener->url), "%s://%s:%d", scheme, text, ntohs(at.v4.sin_port));
    }
    listener->on_loopback = swamp__url_host_is_loopback(text);
}

static void
pause_accepting(swamp__listener *listener)
{
    lws_rx_flow_control(listener->wsi, 0);
}

static void
resume_accepting(swamp__listener *listener)
{
    if (listener->wsi && !listener->full && !swamp__timer_is_set(&listener->resume))
        lws_rx_flow_control(listener->wsi, 1);
}

static void
on_resume(swamp__timer *timer)
{
    resume_accepting(SWAMP__OF(timer, swamp__listener, resume));
}

/* Out of descriptors or memory: the socket stays readable, and without a pause this would be a busy loop. */
static void
starve(swamp__listener *listener, int error)
{
    const swamp__world *world = swamp__loop_world(listener->loop);

    if (!listener->starved)
        swamp__log_write(
            world->log, SWAMP_LOG_WARN,
            "cannot accept connections: %s; trying again every %d ms: raise the limit of open files, "
            "or lower the limit of connections",
            strerror(error), PAUSE_MS);
    listener->starved = 1;
    pause_accepting(listener);
    swamp__timer_set(world->timers, &listener->resume, swamp__now_ms(world) + PAUSE_MS);
}

/* 1: go on; 0: nothing more for now. */
static int
accept_one(swamp__listener *listener)
{
    int fd;

    if (listener->count >= listener->max) {
        listener->full = 1; /* until one goes: the rest waits in the kernel */
        pause_accepting(listener);
        return 0;
    }
    fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            starve(listener, errno);
            return 0;
        }
        return errno == EINTR || errno == ECONNABORTED;
    }
    listener->starved = 0;
    if (swamp__peer_open(listener, &listener->peers, fd) == SWAMP_E_NOMEM) {
        starve(listener, ENOMEM);
        return 0;
    }
    return 1; /* also when its first bytes were no TLS */
}

static int
on_listener(swamp__end *end, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
    swamp__listener *listener = SWAMP__OF(end, swamp__listener, end);

    if (reason == LWS_CALLBACK_WSI_DESTROY) {
        listener->wsi = NULL;
        listener->fd = -1; /* lws has closed it */
    }
    if (reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    listener->accepting = 1;
    for (int i = 0; i < ACCEPTS_A_TURN && listener->instance && accept_one(listener); i++)
        ;
    listener->accepting = 0;
    return listener->instance ? 0 : -1;
}

int
swamp__listener_new(swamp__listener **out, swamp__loop *loop, const swamp__listen_options *options,
                    char *error, size_t cap)
{
    swamp__listener *listener = swamp__calloc(1, sizeof(*listener));
    int rc;

    snprintf(error, cap, "out of memory");
    if (!listener)
        return SWAMP_E_NOMEM;
    listener->loop = loop;
    listener->end = (swamp__end){loop, on_listener};
    listener->fd = -1;
    listener->max = (size_t)options->max_connections + SWAMP__HTTP_EXTRA;
    listener->emptied = options->emptied;
    listener->emptied_user = options->user;
    swamp__list_init(&listener->peers);
    swamp__buf_init(&listener->scratch);
    listener->allowed_origins = swamp__strdup(options->allowed_origins);
    rc = swamp__timer_init(swamp__loop_world(loop)->timers, &listener->resume, on_resume);
    if (rc == SWAMP_OK)
        rc = swamp__buf_reserve(&listener->scratch, SWAMP__BATCH_BYTES);
    if (rc == SWAMP_OK && options->allowed_origins && !listener->allowed_origins)
        rc = SWAMP_E_NOMEM;
    if (rc == SWAMP_OK)
        rc = bind_socket(listener, options, error, cap);
    if (rc == SWAMP_OK) {
        write_url(listener);
        if (!listener->on_loopback && !options->allow_foreign) {
            snprintf(error, cap, "%s can be reached from other machines: allow that, or listen on 127.0.0.1",
                     options->host);
            rc = SWAMP_E_ADDRESS;
        }
    }
    if (rc < 0) {
        swamp__listener_free(listener);
        return rc;
    }
    error[0] = '\0';
    *out = listener;
    return SWAMP_OK;
}

const char *
swamp__listener_url(const swamp__listener *listener)
{
    return listener->url;
}

void
swamp__listener_open(swamp__listener *listener, swamp__instance *instance)
{
    listener->instance = instance;
    if (!listener->wsi && listener->fd >= 0)
        listener->wsi =
            swamp__context_adopt_file(swamp__loop_context(listener->loop), listener->fd, &listener->end);
    if (!listener->wsi) {
        listener->fd = -1;
        swamp__log_write(swamp__loop_world(listener->loop)->log, SWAMP_LOG_ERROR,
                         "cannot listen on %s: out of memory or descriptors", listener->url);
    }
}

static void
tell_emptied(swamp__listener *listener)
{
    if (listener->emptied && !listener->instance && listener->count == 0)
        listener->emptied(listener->emptied_user);
}

void
swamp__listener_close(swamp__listener *listener)
{
    listener->instance = NULL;
    swamp__timer_unset(swamp__loop_world(listener->loop)->timers, &listener->resume);
    if (listener->wsi && !listener->accepting)
        lws_set_timeout(listener->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC);
    if (!listener->wsi && listener->fd >= 0) { /* never opened */
        close(listener->fd);
        listener->fd = -1;
    }
    for (swamp__link *link = swamp__list_first(&listener->peers); link;
         link = swamp__list_next(&listener->peers, link))
        swamp__peer_end_idle(SWAMP__OF(link, swamp__peer, link));
    tell_emptied(listener);
}

size_t
swamp__listener_connections(const swamp__listener *listener)
{
    return listener->count;
}

void
swamp__listener_free(swamp__listener *listener)
{
    if (!listener)
        return;
    if (listener->fd >= 0)
        close(listener->fd);
    swamp__timer_destroy(swamp__loop_world(listener->loop)->timers, &listener->resume);
    swamp__buf_free(&listener->scratch);
    swamp__free(listener->allowed_origins);
    swamp__free(listener);
}

void
swamp__listener_count(swamp__listener *listener, int by)
{
    listener->count += (size_t)by;
    if (by < 0 && listener->full) {
        listener->full = 0;
        resume_accepting(listener);
    }
    if (by < 0)
        tell_emptied(listener);
}

swamp__instance *
swamp__listener_instance(const swamp__listener *listener)
{
    return listener->instance;
}

swamp__buf *
swamp__listener_scratch(swamp__listener *listener)
{
    swamp__buf_clear(&listener->scratch);
    return &listener->scratch;
}

swamp__loop *
swamp__listener_loop(const swamp__listener *listener)
{
    return listener->loop;
}

int
swamp__listener_allows(const swamp__listener *listener, struct lws *wsi)
{
    char host[HOST_HEADER_SIZE], origin[ORIGIN_HEADER_SIZE];
    int has_origin = lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0;

    return swamp__peer_header(wsi, WSI_TOKEN_HOST, host, sizeof(host)) &&
           swamp__peer_header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof(origin)) &&
           swamp__origin_allowed(host, has_origin ? origin : NULL, listener->allowed_origins,
                                 listener->on_loopback);
}
