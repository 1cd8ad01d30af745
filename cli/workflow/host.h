/* The program's executor: runs the workflows of one directory for a swamp_server. */
#ifndef SWAMP_CLI_WORKFLOW_HOST_H
#define SWAMP_CLI_WORKFLOW_HOST_H

#include <swamp/swamp.h>

typedef struct workflow_host workflow_host;

/*
 * Use: options.executor = workflow_host_executor(); options.executor_user = workflow_host_new(dir, log,
 * user); The server then owns the host and frees it, when it is freed or cannot be made. log may be NULL; it
 * is called on several threads at once.
 */
workflow_host *workflow_host_new(const char *dir, swamp_log_fn log, void *log_user);
const swamp_executor *workflow_host_executor(void);

/* Looks at the directory now, which logs what is wrong there: how many workflows can be run, and how many files cannot.
 * Any thread, while the server lives. */
size_t workflow_host_count(workflow_host *host, size_t *broken);

/* Whoever runs it cannot wait: all commands get KILL at once instead of TERM and 5 s. Any thread, while the server lives. */
void workflow_host_hurry(workflow_host *host);

/* Cancels what runs, and waits for the end of all commands: 5 s at most, unless one cannot be killed. Only
 * for a host that was given to no server; NULL is fine. */
void workflow_host_free(workflow_host *host);

#endif
