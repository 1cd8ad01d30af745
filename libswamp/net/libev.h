/* The few functions of libev that a foreign loop needs, found at run time. */
#ifndef SWAMP_NET_LIBEV_H
#define SWAMP_NET_LIBEV_H

typedef struct swamp__libev {
    void *library;
    void *loop; /* struct ev_loop */
    int (*run)(void *loop, int flags);
    void (*stop)(void *loop, int how);
    void (*destroy)(void *loop);
} swamp__libev;

int swamp__libev_open(swamp__libev *libev);   /* SWAMP_OK, SWAMP_E_UNSUPPORTED; zeroed on failure */
void swamp__libev_run(swamp__libev *libev);   /* until swamp__libev_stop() */
void swamp__libev_stop(swamp__libev *libev);  /* from a callback */
void swamp__libev_close(swamp__libev *libev); /* fine when zeroed */

#endif
