/* The server's options after reading: defaults filled in, held against their limits, texts copied. */
#ifndef SWAMP_API_SETTINGS_H
#define SWAMP_API_SETTINGS_H

#include <swamp/server.h>
#include "../server/instance.h"

typedef struct swamp__settings {
    swamp_server_options given; /* defaults filled in; texts are owned copies or NULL */
    char hostname[256];
} swamp__settings;

/* SWAMP_OK; SWAMP_E_INVALID, SWAMP_E_NOMEM with one line in why that names the option, its value and what is
 * allowed. */
int swamp__settings_read(swamp__settings *out, const swamp_server_options *options, char *why, size_t cap);
void swamp__settings_free(swamp__settings *settings);
/* What the core is told; borrows from settings. address is where others reach this instance, "" when nobody can. */
void swamp__settings_for_instance(const swamp__settings *settings, const char *instance_id,
                                  const char *address, swamp__instance_options *out);

#endif
