/* One flag of a command, as tables describe it. Not how it is read: args.h, nor how its value is spelt: value.h. */
#ifndef SWAMP_CLI_FLAG_H
#define SWAMP_CLI_FLAG_H

#include <stdint.h>

/* What a flag's value is. */
#define FLAG_SWITCH 0   /* present or not; as a variable or in a config file: true or false */
#define FLAG_TEXT 1     /* anything but nothing */
#define FLAG_COUNT 2    /* a whole number, min to max */
#define FLAG_DURATION 3 /* 30, 30s, 5m, 1h, 2d, 500ms; min to max are milliseconds */
#define FLAG_CHOICE 4   /* one of `allowed` */
#define FLAG_LIST 5     /* text that may be given several times; no variable */

/* One flag. Tables of these are the whole knowledge of a command's flags. */
struct flag {
    const char *name; /* without the dashes; NULL ends a table */
    int type;
    const char *value;    /* its name in help, such as "URL"; NULL for a switch */
    const char *fallback; /* the default, as a person would write it; NULL: none */
    const char *help;
    const char *variable; /* works in every command, beside the command's own; NULL: none */
    const char *allowed;  /* CHOICE: "text|json" */
    uint64_t min, max;    /* COUNT and DURATION; max 0: unbounded */
    const char *refused;  /* a value that is known, but whose feature is not there; "*": the whole flag */
    char letter;          /* a short form; 0: none */
};

#endif
