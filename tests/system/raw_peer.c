/* Peers of plain sockets: see raw_peer.h. */
#include "raw_peer.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "../support/ws_header.h"

#define PATIENCE_S 20
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

static socklen_t
fill_address(const char *address, int port, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof(*v4);
    }
    ck_assert_int_eq(inet_pton(AF_INET6, address, &v6->sin6_addr), 1);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return sizeof(*v6);
}

static void
be_patient(int fd)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

int
raw_connect(const char *address, int port)
{
    struct sockaddr_storage at;
    socklen_t len = fill_address(address, port, &at);
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    be_patient(fd);
    if (connect(fd, (struct sockaddr *)&at, len) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

int
raw_listen(const char *address, int *port)
{
    struct sockaddr_storage at;
    socklen_t len = fill_address(address, 0, &at);
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    be_patient(fd);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *port = ntohs(((struct sockaddr_in *)&at)->sin_port); /* at the same place in both families */
    return fd;
}

int
raw_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    be_patient(fd);
    return fd;
}

void
raw_write(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        ck_assert_int_gt((int)n, 0);
        at += n;
        len -= (size_t)n;
    }
}

size_t
raw_read_some(int fd, void *data, size_t cap)
{
    ssize_t n = recv(fd, data, cap, 0);

    ck_assert_msg(n >= 0 || errno == ECONNRESET, "recv: %s", strerror(errno));
    return n < 0 ? 0 : (size_t)n;
}

static void
read_exactly(int fd, void *data, size_t len)
{
    char *at = data;

    while (len > 0) {
        size_t n = raw_read_some(fd, at, len);

        ck_assert_msg(n > 0, "the connection ended too early");
        at += n;
        len -= n;
    }
}

int
raw_read_head(int fd, char *head, size_t cap)
{
    size_t len = 0;
    int status = 0;

    do {
        ck_assert_uint_lt(len + 1, cap);
        if (raw_read_some(fd, head + len, 1) == 0)
            return 0;
        head[++len] = '\0';
    } while (len < 4 || strcmp(head + len - 4, "\r\n\r\n") != 0);
    sscanf(head, "HTTP/1.%*d %d", &status);
    return status;
}

void
raw_read_body(int fd, const char *head, char *body, size_t cap)
{
    const char *field = strcasestr(head, "content-length: ");
    size_t len;

    ck_assert_ptr_nonnull(field);
    len = (size_t)atoi(field + strlen("content-length: "));
    ck_assert_uint_lt(len, cap);
    read_exactly(fd, body, len);
    body[len] = '\0';
}

int
raw_upgrade(int fd, const char *path, const char *host, const char *extra, char *head, size_t cap)
{
    char request[2048];
    int len = snprintf(request, sizeof(request),
                       "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
                       path, host, extra);

    raw_write(fd, request, (size_t)len);
    return raw_read_head(fd, head, cap);
}

int
raw_websocket(int port)
{
    char head[2048];
    int fd = raw_connect("127.0.0.1", port);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(raw_upgrade(fd, "/", "127.0.0.1", "", head, sizeof(head)), 101);
    return fd;
}

void
raw_accept_upgrade(int fd, char *request, size_t cap)
{
    char text[128], answer[512];
    unsigned char digest[EVP_MAX_MD_SIZE], accept[64];
    const char *key;
    int len;

    raw_read_head(fd, request, cap);
    key = strcasestr(request, "sec-websocket-key: ");
    ck_assert_ptr_nonnull(key);
    snprintf(text, sizeof(text), "%.24s" GUID, key + strlen("sec-websocket-key: "));
    ck_assert_int_eq(EVP_Digest(text, strlen(text), digest, NULL, EVP_sha1(), NULL), 1);
    EVP_EncodeBlock(accept, digest, 20);
    len = snprintf(answer, sizeof(answer),
                   "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   "Sec-WebSocket-Accept: %s\r\n\r\n",
                   accept);
    raw_write(fd, answer, (size_t)len);
}

size_t
raw_put_frame(unsigned char *frame, int opcode_and_fin, const void *payload, size_t len, int masked)
{
    static const unsigned char mask[4] = {0x12, 0x34, 0x56, 0x78};
    size_t at = ws_header_put(frame, opcode_and_fin, len, masked ? mask : NULL);

    for (size_t i = 0; i < len; i++)
        frame[at + i] = (unsigned char)(((const unsigned char *)payload)[i] ^ (masked ? mask[i % 4] : 0));
    return at + len;
}

void
raw_send(int fd, int opcode_and_fin, const void *payload, size_t len, int masked)
{
    unsigned char *frame = malloc(len + RAW_HEADER_MAX);

    ck_assert_ptr_nonnull(frame);
    raw_write(fd, frame, raw_put_frame(frame, opcode_and_fin, payload, len, masked));
    free(frame);
}

void
raw_say(int fd, const char *text)
{
    raw_send(fd, RAW_FIN | RAW_TEXT, text, strlen(text), 1);
}

void
raw_read_frame(int fd, raw_frame *frame)
{
    unsigned char head[WS_HEADER_MAX], mask[4] = {0};
    uint64_t payload;

    read_exactly(fd, head, 2);
    size_t size = ws_header_size(head[1]);
    read_exactly(fd, head + 2, size - 2);
    ck_assert_uint_eq(ws_header_read(head, size, &payload), size);
    frame->opcode = head[0] & 0xf;
    frame->fin = head[0] >> 7;
    frame->len = (size_t)payload;
    ck_assert_uint_lt(frame->len, 64u * 1024 * 1024);
    if (head[1] & 0x80)
        memcpy(mask, head + size - 4, 4);
    frame->payload = malloc(frame->len + 1);
    ck_assert_ptr_nonnull(frame->payload);
    read_exactly(fd, frame->payload, frame->len);
    for (size_t i = 0; i < frame->len; i++)
        frame->payload[i] = (char)(frame->payload[i] ^ mask[i % 4]);
    frame->payload[frame->len] = '\0';
}

void
raw_frame_free(raw_frame *frame)
{
    free(frame->payload);
    frame->payload = NULL;
}

int
raw_is_closed(int fd)
{
    char byte;

    return raw_read_some(fd, &byte, 1) == 0;
}

int
raw_close_code(const raw_frame *frame)
{
    ck_assert_int_eq(frame->opcode, RAW_CLOSE);
    ck_assert_uint_ge(frame->len, 2);
    return (unsigned char)frame->payload[0] << 8 | (unsigned char)frame->payload[1];
}
