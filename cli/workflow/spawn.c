/* fork and exec. Between the two only async-signal-safe calls are made: other threads' locks are held for ever. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "spawn.h"
#include "../text.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2)
#endif

/* What the child tells when it cannot become the shell. */
#define IN_DIR 1
#define IN_SHELL 2

typedef struct failure {
    int where;
    int reason; /* errno */
} failure;

typedef struct plumbing {
    int null;       /* the child's stdin */
    int reading[2]; /* stdout, stderr: our ends */
    int writing[2]; /* the child's ends */
    int told[2];    /* a failure comes here; its end is the exec */
} plumbing;

static void
close_all(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

/* A program started without stdin would be given 0 to 2 here, which the child is about to overwrite. */
static int
move_up(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return higher;
}

static int
make_pipe(int *reading, int *writing)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *reading = move_up(ends[0]);
    *writing = move_up(ends[1]);
    return *reading < 0 || *writing < 0 ? -1 : 0;
}

static void
close_plumbing(plumbing *all)
{
    close_all(&all->null, 1);
    close_all(all->reading, 2);
    close_all(all->writing, 2);
    close_all(all->told, 2);
}

static int
make_plumbing(plumbing *all)
{
    *all = (plumbing){-1, {-1, -1}, {-1, -1}, {-1, -1}};
    all->null = move_up(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (all->null < 0 || make_pipe(&all->told[0], &all->told[1]) != 0)
        return -1;
    for (int i = 0; i < 2; i++)
        if (make_pipe(&all->reading[i], &all->writing[i]) != 0 ||
            fcntl(all->reading[i], F_SETFL, O_NONBLOCK) !=
                0) /* only our end: its own open file description */
            return -1;
    return 0;
}

static void
tell(const plumbing *all, int where)
{
    failure what = {where, errno};
    if (write(all->told[1], &what, sizeof(what)) < 0)
        _exit(126);
    _exit(127);
}

/* The shell must not inherit what the program made of its signals: libwebsockets ignores SIGPIPE (FACTS.md). */
static void
reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
become_shell(const plumbing *all, pid_t parent, const char *command, const char *dir, char *const *env)
{
    char *const args[] = {(char *)"sh", (char *)"-c", (char *)"--", (char *)command, NULL};
    setpgid(0, 0);
    /* killed with the instance: after kill -9 its runs are reported as interrupted, and must not go on */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    reset_signals();
    dup2(all->null, 0);
    dup2(all->writing[0], 1);
    dup2(all->writing[1], 2);
    /* all of ours are close-on-exec; what a library or our own parent left open is not ours to give away */
    syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
    if (dir && chdir(dir) != 0)
        tell(all, IN_DIR);
    execve("/bin/sh", args, env);
    tell(all, IN_SHELL);
}

static pid_t
fork_shell(const plumbing *all, const char *command, const char *dir, char *const *env)
{
    sigset_t every, before;
    pid_t parent = getpid();
    sigfillset(&every); /* no handler of the program may run in the child */
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pid_t child = fork();
    if (child == 0)
        become_shell(all, parent, command, dir, env);
    int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return child;
}

/* Waits for the exec, a matter of microseconds. 1: the child is the shell. */
static int
is_shell(plumbing *all, failure *what)
{
    ssize_t got;
    close_all(&all->told[1], 1);
    do
        got = read(all->told[0], what, sizeof(*what));
    while (got < 0 && errno == EINTR);
    return got == 0;
}

static void
describe(const failure *what, const char *dir, text *out)
{
    if (what->where == IN_DIR)
        text_addf(out, "cannot work in the directory '%.200s': %s", dir, strerror(what->reason));
    else if (what->reason == E2BIG)
        text_add(out, "cannot start /bin/sh: the command or its variables are too long");
    else
        text_addf(out, "cannot start /bin/sh: %s", strerror(what->reason));
}

pid_t
spawn_shell(const char *command, const char *dir, char *const *env, int outputs[2], char **error)
{
    plumbing all;
    failure what = {IN_SHELL, 0};
    text words = {0};
    pid_t child = make_plumbing(&all) == 0 ? fork_shell(&all, command, dir, env) : -1;
    if (child < 0) {
        what.reason = errno;
    } else if (is_shell(&all, &what)) {
        memcpy(outputs, all.reading, sizeof(all.reading));
        all.reading[0] = all.reading[1] = -1;
        close_plumbing(&all);
        return child;
    } else {
        waitpid(child, NULL, 0);
    }
    close_plumbing(&all);
    describe(&what, dir, &words);
    *error = text_take(&words);
    return -1;
}
