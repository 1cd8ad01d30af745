/* What a command talks to: a server by its URL, or without one the default store, as an observer in this process. */
#ifndef SWAMP_CLI_TARGET_H
#define SWAMP_CLI_TARGET_H

#include <swamp/swamp.h>
#include "args.h"
#include "json.h"
#include "store.h"

/* The rows of a command that can talk to a server: for its `more` table. */
extern const struct flag target_flags[];

/* Of commands that read workflow files when no server is named. */
#define WORKFLOWS_FLAG                                                                                       \
    {                                                                                                        \
        .name = "workflows", .type = FLAG_TEXT, .value = "DIR", .fallback = "./workflows",                   \
        .help = "without a server: the folder with the workflow files"                                       \
    }

struct target {
    const char *url; /* NULL: the store */
    const char *store_url;
    swamp_client *client;
    swamp_store *store;
    swamp_server *observer;
    int timeout_ms;
    int empty;   /* there is no store yet, so nothing was ever run here; none is made by asking */
    char *again; /* the flags that lead another command to the same place, " --server URL"; "" for none */
};

/* 0; else an exit code, after one line. To be closed in both cases. */
int target_open(struct target *out, const struct args *args);
/* The client alone, for commands that follow a run; NULL url in out: no server was named. Results as above. */
int target_open_client(struct target *out, const struct args *args);
void target_close(struct target *target);

/*
 * One question, one answer. 0: *answer is the whole frame, freed by the caller with json_free(); else an exit
 * code, after one line about `what` ("run 0193...", "workflow deploy") with what to do next.
 */
int target_ask(struct target *target, const char *type, const char *payload, const char *what, json **answer);

#endif
