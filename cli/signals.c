/* Ctrl-C and kill as something to poll for: a pipe that becomes readable; children keep their defaults. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "signals.h"

/*
 * A handler and a pipe, not a blocked mask and a signalfd: handlers fall back to the defaults in a child that
 * runs a command, a blocked mask would be inherited by it.
 */
static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
#define LAST_ONE 3
static int ends[2] = {-1, -1};
static volatile sig_atomic_t count, last;

static void
poke(char what)
{
    int saved = errno;
    /* a full pipe is as readable as it can be */
    if (write(ends[1], &what, 1) < 0)
        errno = saved;
    errno = saved;
}

static void
take_note(int number)
{
    count++;
    last = number;
    poke('s');
    if (count >= LAST_ONE) { /* whoever reads the pipe may be waiting for a store */
        signal(number, SIG_DFL);
        raise(number); /* comes when this handler has returned */
    }
}

int
signals_watch(void)
{
    struct sigaction action = {.sa_handler = take_note, .sa_flags = SA_RESTART};

    if (ends[0] >= 0)
        return ends[0];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        sigaction(watched[i], &action, NULL);
    return ends[0];
}

int
signals_take(int *number)
{
    static int seen;
    char parts[64];
    while (read(ends[0], parts, sizeof(parts)) > 0)
        ;
    int now = count, fresh = now - seen;
    seen = now;
    *number = last;
    return fresh;
}

void
signals_poke(void)
{
    poke('p');
}

void
signals_release(void)
{
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        signal(watched[i], SIG_DFL);
}
