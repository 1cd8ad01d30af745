/* The life of a command. The shell is reaped last, so that its number names its group for as long as the
 * group is signalled.
 *
 *   phase    on                                          then
 *   running  the shell has ended, stop, timeout          TERM to the group; ending
 *   ending   the shell has ended and both pipes are at   KILL to the group; killed
 *            their end, or PROCESS_KILL_AFTER_MS passed
 *   killed   the shell has ended                         last output read, shell reaped; leaving
 *   leaving  nobody is left in the group, or LEAVE_MS    over
 *            passed
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lines.h"
#include "process.h"
#include "spawn.h"
#include "../memory.h"

#define RUNNING 0
#define ENDING 1
#define KILLED 2
#define LEAVING 3
#define OVER 4

#define READ_AT_ONCE                                                                                         \
    65536 /* of one pipe in one step: a command that never stops talking must not keep out others */
#define LEAVE_MS 250 /* a container whose first process reaps nobody keeps the number for ever */
#define LOOK_MS 20   /* between looks where the kernel has no descriptor for a process */

struct process {
    pid_t pid;    /* of the shell, and of the group */
    int pid_fd;   /* readable once the shell has ended; -1: this kernel has none */
    int pipes[2]; /* PROCESS_STDOUT, PROCESS_STDERR; -1: at its end */
    lines streams[2];
    int phase;
    int exited;
    int64_t timeout_at_ms; /* INT64_MAX: none */
    int64_t next_ms;       /* ENDING: the KILL; LEAVING: the end of patience */
    int64_t look_ms;       /* look again then; INT64_MAX: a descriptor will tell */
    process_end end;
    void (*line)(void *user, int stream, const char *bytes, size_t len);
    void *user;
};

process *
process_start(const process_spec *spec, int64_t now_ms, char **error)
{
    process *p = memory_new(1, sizeof(*p));
    p->pid = spawn_shell(spec->command, spec->dir, spec->env, p->pipes, error);
    if (p->pid < 0) {
        free(p);
        return NULL;
    }
    p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0); /* close-on-exec by itself */
    p->timeout_at_ms = spec->timeout_ms > 0 ? now_ms + spec->timeout_ms : INT64_MAX;
    p->look_ms = p->pid_fd < 0 ? now_ms + LOOK_MS : INT64_MAX;
    p->end.exit_code = -1;
    p->line = spec->line;
    p->user = spec->user;
    return p;
}

size_t
process_poll(const process *p, struct pollfd fds[PROCESS_FDS])
{
    size_t count = 0;
    for (int i = 0; i < 2; i++)
        if (p->pipes[i] >= 0)
            fds[count++] = (struct pollfd){p->pipes[i], POLLIN, 0};
    if (p->pid_fd >= 0 && !p->exited)
        fds[count++] = (struct pollfd){p->pid_fd, POLLIN, 0};
    return count;
}

int64_t
process_due_ms(const process *p)
{
    int64_t due = p->phase == RUNNING ? p->timeout_at_ms : p->phase == ENDING ? p->next_ms : INT64_MAX;
    return due < p->look_ms ? due : p->look_ms;
}

typedef struct line_target {
    const process *p;
    int stream;
} line_target;

static void
give_line(void *user, const char *bytes, size_t len)
{
    const line_target *target = user;
    target->p->line(target->p->user, target->stream, bytes, len);
}

static void
close_pipe(process *p, int stream)
{
    line_target target = {p, stream};
    if (p->pipes[stream] < 0)
        return;
    close(p->pipes[stream]);
    p->pipes[stream] = -1;
    lines_end(&p->streams[stream], give_line, &target);
}

static void
read_pipe(process *p, int stream, size_t limit)
{
    char part[16384];
    line_target target = {p, stream};
    for (size_t taken = 0; p->pipes[stream] >= 0 && taken < limit;) {
        ssize_t got = read(p->pipes[stream], part, sizeof(part));
        if (got > 0) {
            taken += (size_t)got;
            lines_add(&p->streams[stream], part, (size_t)got, give_line, &target);
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (got < 0 && errno == EAGAIN) {
            return;
        } else {
            close_pipe(p, stream);
        }
    }
}

static void
signal_group(const process *p, int number)
{
    kill(-p->pid, number); /* the shell is not reaped: the number is ours */
    if (number == SIGTERM)
        kill(-p->pid, SIGCONT); /* who was stopped could not act on it */
}

/* Notes the shell's end, and leaves it unreaped. */
static void
look_at_shell(process *p)
{
    siginfo_t info = {0};
    if (p->exited)
        return;
    if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        p->exited = errno == ECHILD; /* somebody else has reaped it: its result is lost */
        return;
    }
    if (info.si_pid == 0)
        return;
    p->exited = 1;
    if (info.si_code == CLD_EXITED)
        p->end.exit_code = info.si_status;
    else
        p->end.signal = info.si_status;
}

static void
begin_ending(process *p, int64_t now_ms)
{
    if (p->phase != RUNNING)
        return;
    p->phase = ENDING;
    p->next_ms = now_ms + PROCESS_KILL_AFTER_MS;
    signal_group(p, SIGTERM);
}

void
process_stop(process *p, int64_t now_ms)
{
    if (p->phase == RUNNING)
        p->end.stopped = 1;
    begin_ending(p, now_ms);
}

void
process_kill(process *p, int64_t now_ms)
{
    process_stop(p, now_ms);
    if (p->phase == ENDING)
        p->next_ms = now_ms; /* no more patience: the next step sends the KILL */
}

/* What is still in the pipes belongs to the command; whoever left its group may hold them open for ever. */
static void
leave(process *p, int64_t now_ms)
{
    for (int i = 0; i < 2; i++) {
        read_pipe(p, i, READ_AT_ONCE * 16); /* more than a pipe holds, unless an administrator made it so */
        close_pipe(p, i);
    }
    waitid(P_PID, (id_t)p->pid, &(siginfo_t){0}, WEXITED | WNOHANG);
    if (p->pid_fd >= 0)
        close(p->pid_fd);
    p->pid_fd = -1;
    p->phase = LEAVING;
    p->next_ms = now_ms + LEAVE_MS;
}

/* KILL was sent; its victims need a moment. Signal 0 harms nobody, should the number have a new owner. */
static void
look_for_others(process *p, int64_t now_ms)
{
    if (now_ms >= p->next_ms || (kill(-p->pid, 0) != 0 && errno == ESRCH))
        p->phase = OVER;
    p->look_ms = p->phase == OVER ? INT64_MAX : now_ms + 2;
}

int
process_step(process *p, int64_t now_ms)
{
    for (int i = 0; i < 2; i++)
        read_pipe(p, i, READ_AT_ONCE);
    if (p->phase < LEAVING)
        look_at_shell(p);
    if (p->phase == RUNNING && !p->exited && now_ms >= p->timeout_at_ms) {
        p->end.timed_out = 1;
        begin_ending(p, now_ms);
    }
    if (p->phase == RUNNING && p->exited)
        begin_ending(p, now_ms);
    int silent = p->exited && p->pipes[0] < 0 && p->pipes[1] < 0;
    if (p->phase == ENDING && (silent || now_ms >= p->next_ms)) {
        signal_group(p, SIGKILL);
        p->phase = KILLED;
    }
    if (p->phase == KILLED && p->exited)
        leave(p, now_ms);
    if (p->pid_fd < 0 && p->phase < LEAVING)
        p->look_ms = now_ms + LOOK_MS;
    if (p->phase == LEAVING)
        look_for_others(p, now_ms);
    return p->phase == OVER;
}

const process_end *
process_result(const process *p)
{
    assert(p->phase == OVER);
    return &p->end;
}

void
process_free(process *p)
{
    if (!p)
        return;
    if (p->phase < LEAVING) {
        signal_group(p, SIGKILL);
        waitid(P_PID, (id_t)p->pid, &(siginfo_t){0}, WEXITED);
    }
    for (int i = 0; i < 2; i++) {
        if (p->pipes[i] >= 0)
            close(p->pipes[i]);
        lines_free(&p->streams[i]);
    }
    if (p->pid_fd >= 0)
        close(p->pid_fd);
    free(p);
}
