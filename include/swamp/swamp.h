/* All of libswamp's public interface. */
#ifndef SWAMP_SWAMP_H
#define SWAMP_SWAMP_H

#include <swamp/attributes.h>
#include <swamp/version.h>
#include <swamp/status.h>
#include <swamp/log.h>
#include <swamp/store.h>
#include <swamp/event.h>
#include <swamp/run.h>
#include <swamp/server.h>
#include <swamp/client.h>

#endif
