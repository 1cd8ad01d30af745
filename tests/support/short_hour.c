/* Preloaded into a program: a poll() for an hour is over after 50 ms, so that a test sees what is done every hour. */
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

int
poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    return (int)syscall(SYS_poll, fds, count, timeout_ms == 3600000 ? 50 : timeout_ms);
}
