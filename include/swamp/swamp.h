/* All of libswamp's public interface. */
#ifndef SWAMP_SWAMP_H
#define SWAMP_SWAMP_H

/*
 * What holds for every call, unless its own lines say otherwise:
 *
 * - Texts are UTF-8 and zero-terminated. Inputs are borrowed for the call. What comes out through a pointer to
 *   a pointer is the caller's; what is returned is borrowed from the object it came from.
 * - A NULL handle, or a NULL where something must be given, is SWAMP_E_INVALID in calls that return a status.
 *   Getters of an event take NULL for an empty one; those of a work and of a run need one.
 * - What an out parameter points to is unchanged on failure, but for `error`, and for a buffer that was too small.
 * - A time-out is in milliseconds; any negative one waits for ever where -1 does.
 * - "thread any": from any thread, also from several at once. "thread owner": one thread at a time, and for a
 *   free: none is left that begins another call on the handle.
 * - Callbacks come on threads of the library or inside a call; a store's sink and those of
 *   swamp_session_dispatch() only inside that call. None may throw or jump across the library.
 */

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
