/*
 * libev by dlopen(): linked, its 24 event_* names would collide with libevent's in a host that uses both. The
 * plug-in of libwebsockets links it itself, and dlopen() gives us the same copy.
 */
#include "libev.h"

#include <dlfcn.h>
#include <string.h>
#include <swamp/status.h>

#define SONAME "libev.so.4"
#define FLAG_NOENV 0x01000000u /* EVFLAG_NOENV: the environment does not choose our back-end */
#define BREAK_ALL 2            /* EVBREAK_ALL */

/* ISO C has no cast from an object pointer to a function pointer; POSIX wants this copy instead. */
static int
find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    if (!symbol)
        return 0;
    memcpy(function, &symbol, sizeof(symbol));
    return 1;
}

int
swamp__libev_open(swamp__libev *libev)
{
    void *(*make)(unsigned flags);

    memset(libev, 0, sizeof(*libev));
    libev->library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!libev->library)
        return SWAMP_E_UNSUPPORTED;
    if (find(libev->library, "ev_loop_new", &make) && find(libev->library, "ev_run", &libev->run) &&
        find(libev->library, "ev_break", &libev->stop) &&
        find(libev->library, "ev_loop_destroy", &libev->destroy)) {
        libev->loop = make(FLAG_NOENV);
        if (libev->loop)
            return SWAMP_OK;
    }
    dlclose(libev->library);
    memset(libev, 0, sizeof(*libev));
    return SWAMP_E_UNSUPPORTED;
}

void
swamp__libev_run(swamp__libev *libev)
{
    libev->run(libev->loop, 0);
}

void
swamp__libev_stop(swamp__libev *libev)
{
    libev->stop(libev->loop, BREAK_ALL);
}

void
swamp__libev_close(swamp__libev *libev)
{
    if (libev->loop)
        libev->destroy(libev->loop);
    if (libev->library)
        dlclose(libev->library);
    memset(libev, 0, sizeof(*libev));
}
