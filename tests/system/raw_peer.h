/* Peers of plain sockets, so that tests see each byte: a client's side, and a server's. All calls fail the test on error. */
#ifndef SWAMP_TESTS_RAW_PEER_H
#define SWAMP_TESTS_RAW_PEER_H

#include <stddef.h>
#include <stdint.h>

#define RAW_TEXT 1
#define RAW_CONTINUATION 0
#define RAW_BINARY 2
#define RAW_CLOSE 8
#define RAW_PING 9
#define RAW_PONG 10
#define RAW_FIN 0x80
#define RAW_HEADER_MAX 14

typedef struct raw_frame {
    int opcode, fin;
    size_t len;
    char *payload; /* zero-terminated, owned */
} raw_frame;

int raw_connect(const char *address, int port); /* fd, or -errno */
int raw_listen(const char *address, int *port); /* fd */
int raw_accept(int listener);                   /* fd */
void raw_write(int fd, const void *data, size_t len);
size_t raw_read_some(int fd, void *data, size_t cap); /* 0: end */
/* Reads up to and with the empty line; returns the status code of an answer. */
int raw_read_head(int fd, char *head, size_t cap);
void raw_read_body(int fd, const char *head, char *body, size_t cap); /* by Content-Length */
/* A GET that wants to become a WebSocket; extra: more header lines. Returns the status. */
int raw_upgrade(int fd, const char *path, const char *host, const char *extra, char *head, size_t cap);
int raw_websocket(int port); /* connected and upgraded */
/* Reads a client's request, and answers 101 as a server must. */
void raw_accept_upgrade(int fd, char *request, size_t cap);
/* Writes a frame to memory, at most RAW_HEADER_MAX bytes more than its payload; returns its size. */
size_t raw_put_frame(unsigned char *frame, int opcode_and_fin, const void *payload, size_t len, int masked);
void raw_send(int fd, int opcode_and_fin, const void *payload, size_t len, int masked);
void raw_say(int fd, const char *text); /* a client's text message */
void raw_read_frame(int fd, raw_frame *frame);
void raw_frame_free(raw_frame *frame);
int raw_is_closed(int fd); /* waits for the end: 1 when it comes, 0 when bytes come */
int raw_close_code(const raw_frame *frame);

#endif
