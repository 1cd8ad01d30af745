/* A WebSocket's bytes on loopback: see wire.h. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common.h"

#define VIEWERS_AN_ADDRESS 10000

const char bench_upgraded[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

int
bench_connect(int port, int number, int nonblocking)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}, from = to;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0);

    if (fd < 0)
        bench_die("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    from.sin_port = 0;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(number / VIEWERS_AN_ADDRESS));
    if (number >= VIEWERS_AN_ADDRESS) {
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
        if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
            bench_die("bind");
    }
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

size_t
bench_put_upgrade(char *to, int port, const char *path)
{
    return (size_t)snprintf(
        to, BENCH_CLIENT_MAX,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        path, port);
}

size_t
bench_put_said(char *to, int first_byte, const char *text, size_t len)
{
    static const unsigned char mask[4];
    size_t header = ws_header_put((unsigned char *)to, first_byte, len, mask);
    memcpy(to + header, text, len);
    return header + len;
}

size_t
bench_put_attach(char *to, const char *id, const char *run_id, uint64_t after_seq)
{
    char text[BENCH_CLIENT_MAX - WS_HEADER_MAX];
    int len =
        snprintf(text, sizeof(text),
                 "{\"type\":\"run.attach\",\"id\":\"%s\",\"payload\":{\"runId\":\"%s\",\"afterSeq\":%llu}}",
                 id, run_id, (unsigned long long)after_seq);
    return bench_put_said(to, BENCH_TEXT, text, (size_t)len);
}
