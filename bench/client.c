/* A client's side of the wire, as little as a benchmark needs: connect, upgrade, run.attach, the size of a frame. */
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int
bench_connect(int port, int nonblocking)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0);
    if (fd < 0)
        bench_die("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

size_t
bench_put_upgrade(char *to, int port)
{
    /* The key is that of RFC 6455 1.3; nothing here depends on its being random. */
    return (size_t)snprintf(
        to, BENCH_CLIENT_MAX,
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        port);
}

size_t
bench_put_attach(char *to, const char *id, const char *run_id, uint64_t after_seq)
{
    char text[BENCH_CLIENT_MAX - 8];
    int len =
        snprintf(text, sizeof(text),
                 "{\"type\":\"run.attach\",\"id\":\"%s\",\"payload\":{\"runId\":\"%s\",\"afterSeq\":%llu}}",
                 id, run_id, (unsigned long long)after_seq);
    /* Masked with zeros: the text stays as it is. */
    const unsigned char header[8] = {0x81, 0x80 | 126, (unsigned char)(len >> 8), (unsigned char)len};
    memcpy(to, header, sizeof(header));
    memcpy(to + sizeof(header), text, (size_t)len);
    return sizeof(header) + (size_t)len;
}

size_t
bench_frame(const unsigned char *at, size_t len, size_t *header)
{
    if (len < 2)
        return 0;
    uint64_t payload = at[1] & 0x7f;
    size_t wide = payload == 126 ? 2 : payload == 127 ? 8 : 0;
    if (at[1] & 0x80) {
        fprintf(stderr, "a masked frame from a server\n");
        exit(1);
    }
    *header = 2 + wide;
    if (len < *header)
        return 0;
    if (wide) {
        payload = 0;
        for (size_t i = 0; i < wide; i++)
            payload = payload << 8 | at[2 + i];
    }
    return len - *header >= payload ? *header + (size_t)payload : 0;
}
