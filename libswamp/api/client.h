/* The public client handle's inside, shared by the files of api/ that serve it. */
#ifndef SWAMP_API_CLIENT_H
#define SWAMP_API_CLIENT_H

#include <swamp/client.h>
#include "home.h"
#include "channel.h"
#include "../util/error.h"

struct swamp_client {
    swamp_client_options given; /* defaults filled in; texts are owned */
    swamp__log log;
    swamp__error error;
    swamp__loop *loop;
    swamp__dialer *dialer;
    swamp__home *home;
    pthread_mutex_t lock;
    pthread_cond_t left;
    int callers; /* requests that wait in here, under lock: free lets them leave first */
};

void swamp__client_enter(swamp_client *client);
void swamp__client_leave(swamp_client *client);

/*
 * Where lines lead, as a copy that a session may keep while it lives in the home: `token` is borrowed from
 * the client or NULL, `dialer` and `instance` are only used on the loop's thread before the home closes.
 */
swamp__channel_target swamp__client_target(const swamp_client *client);

#endif
