/* Preloaded into a program: its wall clock is off, steps or drifts; the monotonic clock stays right. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* libfaketime does the same, but shifts the times of a timerfd on the monotonic clock too, also when told not to. */
static time_t
number(const char *name)
{
    const char *words = getenv(name);
    return words ? (time_t)strtol(words, NULL, 10) : 0;
}

/* WRONG_CLOCK_S seconds, each other second WRONG_CLOCK_STEP_S more, and WRONG_CLOCK_DRIFT more for each second that passed. */
static time_t
offset_s(void)
{
    static time_t begun;
    struct timespec up;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &up);
    if (!begun)
        begun = up.tv_sec;
    return number("WRONG_CLOCK_S") + (up.tv_sec % 2 ? number("WRONG_CLOCK_STEP_S") : 0) +
           (up.tv_sec - begun) * number("WRONG_CLOCK_DRIFT");
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
