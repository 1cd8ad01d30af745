/* Preloaded into `swamp serve`: one fault at one named moment of its store, of a run's end, or under the store's lock. */
#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <swamp/swamp.h>

/*
 * The plan, by variables, since the program must not know of it:
 *   FAULT         a name of `faults` below
 *   FAULT_AT      fnmatch() pattern of the words of the call that it strikes, once:
 *                   "commit check heartbeats/I present {}; put runs/R any {...}; ...", "get KEY", "list PREFIX [keys]",
 *                   "finish R" (swamp_run_finish), "lock" (the sidecar lock was just taken)
 *   FAULT_AFTER   only once a call of these words was answered; not set: from the first call on
 *   FAULT_PID     whom to kill, or to wake (SIGCONT); not set: this process
 *   FAULT_MS      how late an answer is; how much time the one that was woken has; for how long (whole seconds) each call of these words fails
 *   FAULT_FOLDER  nothing happens before the file "armed" is there; "met" is made when the fault strikes
 * What is told of a call ("error", "late", "lost") and is to come at "finish" comes with the next commit.
 */

#define CALL_MAX 4096
#define VALUE_SHOWN 1000

enum what { NONE, KILL, STOP, SLEEP, WAKE };

struct fault {
    const char *name;
    enum what what;
    int before;  /* the call is not made yet */
    int is_made; /* the call is made */
    int answer;  /* what it is answered with, whatever came of it; SWAMP_OK: the truth */
    int is_lasting;
};

static const struct fault faults[] = {
    {"kill before", KILL, 1, 1, SWAMP_OK, 0},        {"kill after", KILL, 0, 1, SWAMP_OK, 0},
    {"stop before", STOP, 1, 1, SWAMP_OK, 0},        {"stop after", STOP, 0, 1, SWAMP_OK, 0},
    {"error", NONE, 0, 0, SWAMP_E_STORE, 1},         {"late", SLEEP, 0, 1, SWAMP_OK, 0},
    {"lost before", NONE, 0, 0, SWAMP_E_UNKNOWN, 0}, {"lost after", NONE, 0, 1, SWAMP_E_UNKNOWN, 0},
    {"wake before", WAKE, 1, 1, SWAMP_OK, 0},
};

static struct {
    pthread_mutex_t lock;
    const struct fault *fault;
    int ready, struck, pid, ms;
    const char *at, *after, *folder;
    struct timespec fails_until;
} plan = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the plan ---- */

static const char *
setting(const char *name, const char *otherwise)
{
    const char *words = getenv(name);
    return words && *words ? words : otherwise;
}

__attribute__((constructor)) static void
read_plan(void)
{
    const char *name = setting("FAULT", "");
    unsetenv("LD_PRELOAD"); /* not for the commands of workflows */
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (strcmp(faults[i].name, name) == 0)
            plan.fault = &faults[i];
    plan.at = setting("FAULT_AT", "");
    plan.after = setting("FAULT_AFTER", NULL);
    plan.ready = plan.after == NULL;
    plan.folder = setting("FAULT_FOLDER", ".");
    plan.pid = atoi(setting("FAULT_PID", "0"));
    plan.ms = atoi(setting("FAULT_MS", "0"));
    if (!plan.fault) {
        fprintf(stderr, "faulty_store: FAULT is \"%s\", which is not known\n", name);
        _exit(99);
    }
}

static const char *
path_of(const char *name, char *path, size_t cap)
{
    snprintf(path, cap, "%s/%s", plan.folder, name);
    return path;
}

static int
is_before(const struct timespec *moment)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec < moment->tv_sec || (now.tv_sec == moment->tv_sec && now.tv_nsec < moment->tv_nsec);
}

static void
mark_struck(void)
{
    char path[CALL_MAX];
    plan.struck = 1;
    clock_gettime(CLOCK_MONOTONIC, &plan.fails_until);
    plan.fails_until.tv_sec += plan.ms / 1000;
    int fd = open(path_of("met", path, sizeof(path)), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

/* Signals can strike anywhere, what is told of a call only a call of the store; a lock can be held too long. */
static int
is_possible(const char *words, int is_of_store)
{
    return is_of_store || plan.fault->what == KILL || plan.fault->what == STOP || strcmp(words, "lock") == 0;
}

/* Does the fault strike this call? */
static int
meets(const char *words, int is_of_store)
{
    char path[CALL_MAX];
    int meets = 0;
    pthread_mutex_lock(&plan.lock);
    if (plan.ready && fnmatch(plan.at, words, 0) == 0 &&
        access(path_of("armed", path, sizeof(path)), F_OK) == 0) {
        meets = is_possible(words, is_of_store);
        if (!meets)
            plan.at = "commit *";
        else if (!plan.struck)
            mark_struck();
        else
            meets = plan.fault->is_lasting && is_before(&plan.fails_until);
    }
    pthread_mutex_unlock(&plan.lock);
    return meets;
}

static void
note_answered(const char *words)
{
    pthread_mutex_lock(&plan.lock);
    plan.ready = plan.ready || fnmatch(plan.after, words, 0) == 0;
    pthread_mutex_unlock(&plan.lock);
}

static void
strike(int before)
{
    struct timespec pause = {plan.ms / 1000, plan.ms % 1000 * 1000000L};
    if (plan.fault->before != before)
        return;
    if (plan.fault->what == KILL)
        kill(plan.pid ? plan.pid : getpid(), SIGKILL);
    else if (plan.fault->what == STOP)
        raise(SIGSTOP); /* goes on here with SIGCONT */
    else if (plan.fault->what == WAKE)
        kill(plan.pid, SIGCONT);
    if (plan.fault->what == SLEEP || plan.fault->what == WAKE)
        while (nanosleep(&pause, &pause) != 0)
            ;
}

/* Around a call: whether the fault strikes it; and what it is answered with. */

static int
begin(const char *words, int is_of_store)
{
    int met = meets(words, is_of_store);
    if (met)
        strike(1);
    return met;
}

static int
end(const char *words, int met, int rc)
{
    if (met)
        strike(0);
    note_answered(words);
    return met && plan.fault->answer != SWAMP_OK ? plan.fault->answer : rc;
}

/* ---- the store around the real one ---- */

__attribute__((format(printf, 3, 4))) static void
add_words(char *words, size_t *len, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int added = vsnprintf(words + *len, CALL_MAX - *len, format, args);
    va_end(args);
    if (added > 0)
        *len = *len + (size_t)added < CALL_MAX ? *len + (size_t)added : CALL_MAX - 1;
}

static void
describe_commit(char *words, const swamp_store_op *ops, size_t count)
{
    static const char *const actions[] = {"", "put", "remove", "check"};
    static const char *const conditions[] = {"", "any", "absent", "present", "revision"};
    size_t len = 0;
    add_words(words, &len, "commit ");
    for (size_t i = 0; i < count; i++) {
        int shown = ops[i].value_len < VALUE_SHOWN ? (int)ops[i].value_len : VALUE_SHOWN;
        const char *value = ops[i].value ? ops[i].value : "";
        add_words(words, &len, "%s%s %s %s %.*s", i ? "; " : "", actions[ops[i].action], ops[i].key,
                  conditions[ops[i].condition], ops[i].value ? shown : 0, value);
    }
}

static void
faulty_destroy(void *self)
{
    swamp_store_free(self);
}

static int
faulty_get(void *self, const char *key, int timeout_ms, swamp_store_sink sink, void *user)
{
    char words[CALL_MAX];
    snprintf(words, sizeof(words), "get %s", key);
    int met = begin(words, 1), rc = SWAMP_OK;
    if (!met || plan.fault->is_made)
        rc = swamp_store_get(self, key, timeout_ms, sink, user);
    return end(words, met, rc);
}

static int
faulty_list(void *self, const char *prefix, const char *after, size_t limit, unsigned flags, int timeout_ms,
            swamp_store_sink sink, void *user)
{
    char words[CALL_MAX];
    snprintf(words, sizeof(words), "list %s%s", prefix, flags & SWAMP_STORE_KEYS_ONLY ? " keys" : "");
    int met = begin(words, 1), rc = SWAMP_OK;
    if (!met || plan.fault->is_made)
        rc = swamp_store_list(self, prefix, after, limit, flags, timeout_ms, sink, user);
    return end(words, met, rc);
}

static int
faulty_commit(void *self, const swamp_store_op *ops, size_t count, int timeout_ms, uint64_t *revision,
              size_t *failed)
{
    char words[CALL_MAX];
    describe_commit(words, ops, count);
    int met = begin(words, 1), rc = SWAMP_OK;
    if (!met || plan.fault->is_made)
        rc = swamp_store_commit(self, ops, count, timeout_ms, revision, failed);
    return end(words, met, rc);
}

/* ---- what the program and the library call ---- */

int
swamp_store_sqlite_open(swamp_store **out, const char *path, const swamp_sqlite_options *options,
                        char **error)
{
    static const swamp_store_vtable vtable = {
        .size = sizeof(vtable),
        .destroy = faulty_destroy,
        .get = faulty_get,
        .list = faulty_list,
        .commit = faulty_commit,
    };
    int (*open_store)(swamp_store **, const char *, const swamp_sqlite_options *, char **);
    swamp_store *store;

    *(void **)&open_store = dlsym(RTLD_NEXT, "swamp_store_sqlite_open");
    int rc = open_store(&store, path, options, error);
    return rc == SWAMP_OK ? swamp_store_custom(out, &vtable, store) : rc;
}

int
swamp_run_finish(swamp_run *run, int status, const char *last_event_json, size_t last_len,
                 const char *run_json, size_t run_len)
{
    int (*finish)(swamp_run *, int, const char *, size_t, const char *, size_t);
    char words[CALL_MAX];

    *(void **)&finish = dlsym(RTLD_NEXT, "swamp_run_finish");
    snprintf(words, sizeof(words), "finish %s", swamp_run_id(run));
    int met = begin(words, 0);
    int rc = finish(run, status, last_event_json, last_len, run_json, run_len);
    return end(words, met, rc);
}

int
flock(int fd, int operation)
{
    int (*take)(int, int);

    *(void **)&take = dlsym(RTLD_NEXT, "flock");
    int rc = take(fd, operation);
    if (rc == 0 && operation & LOCK_EX && meets("lock", 0))
        strike(0); /* while it is held */
    return rc;
}
