/* The config file: YAML or JSON, one object whose members are settings. Knows none of them: args.h does. */
#ifndef SWAMP_CLI_CONFIG_H
#define SWAMP_CLI_CONFIG_H

#include "text.h"

/*
 * Takes one setting. where: "config.yaml:3: port", for messages. value NULL: it is not a plain one; only its name is to be
 * judged. 0; else error has a line.
 */
typedef int config_take(void *user, const char *where, const char *name, const char *value, text *error);

/* Gives each setting of the file to `take`, until one is refused. 0; 2: error has a line. */
int config_read(const char *file, config_take *take, void *user, text *error);

#endif
