/* Asks the kernel what a TCP peer has taken; a file of its own, since linux/tcp.h and netinet/tcp.h exclude each other. */
#include "taken.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

uint64_t
swamp__taken_bytes(int fd)
{
    struct tcp_info info; /* longer than netinet/tcp.h knows it; an older kernel fills less of it */
    socklen_t len = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
        return 0;
    return info.tcpi_bytes_acked;
}
