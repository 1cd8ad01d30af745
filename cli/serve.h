/* `swamp serve`: from flags to an instance, and its log. */
#ifndef SWAMP_CLI_SERVE_H
#define SWAMP_CLI_SERVE_H

#include <swamp/swamp.h>
#include "args.h"

/* Flags to options, with the rules that span several flags. 0, or an exit code after one line. */
int serve_read_options(const struct args *args, swamp_server_options *out);
/* Room for the connections and the commands' pipes; lowers max_connections where the hard limit is too low. */
void serve_raise_limits(swamp_server_options *options);

/* The log on stderr: text or JSON, with the time; swamp_log_fn, any thread. user: NULL, or not NULL for JSON. */
void serve_log(int level, const char *line, void *user);
/* NULL for text. */
void *serve_log_user(const struct args *args);
/* A SWAMP_LOG_ number. */
uint32_t serve_log_level(const struct args *args);

/* --instance-id-file: opened and held, so that no second instance takes it for its own; written by each life.
 * 0, or an exit code after one line. *fd -1: there is none. */
int serve_id_open(const struct args *args, int *fd);
int serve_id_write(const struct args *args, int fd, const char *instance_id);
void serve_id_close(int *fd);

#endif
