/* Flags and operands of one command: read from the command line, variables and a config file, and checked. */
#ifndef SWAMP_CLI_ARGS_H
#define SWAMP_CLI_ARGS_H

#include <stddef.h>
#include <stdint.h>
#include "flag.h"
#include "text.h"

extern const struct flag args_common_flags[]; /* what every command takes */

#define ARGS_FLAGS_MAX 64

struct args;
/* One command: a row of main.c's table. */
struct command {
    const char *name;            /* "workflow run" */
    const char *operands;        /* "NAME"; "" for none */
    size_t least, most;          /* operands */
    const char *summary;         /* "": not built yet: known, refused, and offered to nobody */
    const struct flag *flags;    /* its own; NULL: none */
    const struct flag *more;     /* those of its kind, such as a server's address; NULL: none */
    const char *variable_prefix; /* "SWAMP_SERVE_": each of `flags` has a variable: this and its name */
    int (*run)(const struct args *args);
};

#define ARGS_FROM_NOBODY 0
#define ARGS_FROM_DEFAULT 1
#define ARGS_FROM_CONFIG 2
#define ARGS_FROM_VARIABLE 3
#define ARGS_FROM_FLAG 4

typedef struct arg_value {
    char *text; /* owned; NULL: not given and no default */
    int from;
    uint64_t number; /* COUNT, DURATION in ms, SWITCH */
} arg_value;

struct args {
    const struct command *command;
    const struct flag *flags[ARGS_FLAGS_MAX];
    arg_value values[ARGS_FLAGS_MAX];
    size_t flag_count;
    char **operands;
    size_t operand_count;
    struct arg_repeat {
        const struct flag *flag;
        char *text;
    } * repeats; /* values of LIST flags, in their order */
    size_t repeat_count;
    int help; /* -h: nothing else was checked */
};

/*
 * Reads argv (after the command's words). lookup: getenv, or a test's. Precedence: flag, variable, config
 * file (the flag "config", where the command has one), default. 0; 2: error is one line that names the flag,
 * the value and what is allowed. To be freed in both cases.
 */
int args_read(struct args *out, const struct command *command, int argc, char **argv,
              char *(*lookup)(const char *name), text *error);
void args_free(struct args *args);

/* The flag must be one of the command's; anything else is a mistake in this program. */
const char *args_text(const struct args *args, const char *name); /* NULL: not given */
uint64_t args_number(const struct args *args,
                     const char *name);                    /* COUNT, DURATION in ms, SWITCH; 0: not given */
int args_given(const struct args *args, const char *name); /* by a flag, variable or config file */
int args_from(const struct args *args, const char *name);  /* ARGS_FROM_... */
const char *args_operand(const struct args *args, size_t index); /* NULL: not given */

void args_help(const struct command *command, text *out);

#endif
