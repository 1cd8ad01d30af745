/* The report of `swamp doctor`, one line for each thing looked at. Below its parts: they know it, it knows none. */
#ifndef SWAMP_CLI_DOCTOR_REPORT_H
#define SWAMP_CLI_DOCTOR_REPORT_H

/* A finding is what somebody should do something about: always printed, and counted. */
void doctor_say(int is_finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
int doctor_findings(void); /* how many this process has said */

#endif
