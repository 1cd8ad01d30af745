/* Preloaded into a program: its wall clock is WRONG_CLOCK_S seconds off; the monotonic clock stays right. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* libfaketime does the same, but shifts the times of a timerfd on the monotonic clock too, also when told not to. */
static time_t
offset_s(void)
{
    const char *words = getenv("WRONG_CLOCK_S");
    return words ? (time_t)strtol(words, NULL, 10) : 0;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += offset_s();
    return rc;
}

time_t
time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

int
gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
