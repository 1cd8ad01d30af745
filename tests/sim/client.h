/* The inside of a client: client.c lets it live, client_check.c holds what it is told against the truth. */
#ifndef SWAMP_TESTS_SIM_CLIENT_H
#define SWAMP_TESTS_SIM_CLIENT_H

#include "sim.h"

struct sim_client {
    cluster *of;
    int number;
    char name[16];
    uint64_t dice;
    swamp__session *session;
    sim_link *link;
    swamp__timer room_timer, restart_timer; /* reads again; the new process begins */
    char run_id[64], epoch[300];
    uint64_t seen; /* all up to here was seen or reported as a gap */
    int open_end;  /* a gap up to the end was told */
    int ended, restarting;
    int unread;          /* the application reads slowly */
    int64_t dialled_ms;  /* by this process; 0: not yet */
    unsigned dials;      /* of all its processes */
    unsigned deaf_dials; /* of this process, in a row without a word from anybody */
    int interrupted;     /* this process was told so */
    char status[16], code[32];
    int success, error;
};

void sim_client_check_told(sim_client *client, const swamp_event *event);
void sim_client_check_end(sim_client *client);

#endif
