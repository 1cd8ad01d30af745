/* The control-plane store that --store names. */
#ifndef SWAMP_CLI_STORE_H
#define SWAMP_CLI_STORE_H

#include <swamp/swamp.h>
#include "args.h"

#define STORE_DEFAULT "sqlite:.swamp/control-plane.db"
/* The row for a command's table; it works everywhere by SWAMP_STORE. */
#define STORE_FLAG                                                                                           \
    {                                                                                                        \
        .name = "store", .type = FLAG_TEXT, .value = "URL", .fallback = STORE_DEFAULT,                       \
        .variable = "SWAMP_STORE", .help = "sqlite:PATH or memory:"                                          \
    }

/* The path of a sqlite: URL; NULL: another kind. */
const char *store_path(const char *url);
/* 0; else an exit code, after one line that names --store, its value and what is allowed. */
int store_check(const char *url);
#define STORE_NEVER_MADE 1
#define STORE_MOVED_AWAY 2 /* what belongs to it, such as its lock, is still there */
/* 0; or one of these: there is no such file, nor perhaps a folder for it: opening would make them. */
int store_is_absent(const char *url);
int store_open(swamp_store **out, const char *url, swamp_log_fn log, uint32_t log_level);

#endif
