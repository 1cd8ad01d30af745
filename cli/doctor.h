/* The parts of `swamp doctor`: each looks at one thing and says what it found (doctor_report.h). */
#ifndef SWAMP_CLI_DOCTOR_H
#define SWAMP_CLI_DOCTOR_H

#include <swamp/swamp.h>

/* The file, its folder, its file system. 1: it is a store that can be opened. */
int doctor_look_at_file(const char *url);
/* The process that holds the store's lock at this moment; 0: none, or it cannot be seen. */
int64_t doctor_lock_holder(const char *url);
/* Heartbeats, clocks, and what instances that are gone left behind. 0, or an exit code after one line. */
int doctor_look_at_cluster(swamp_store *store, const char *url);
/* The newest recorded runs. */
void doctor_look_at_history(swamp_store *store);

#endif
