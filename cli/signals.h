/* Ctrl-C and kill as something to poll for: a pipe that becomes readable; children keep their defaults. */
#ifndef SWAMP_CLI_SIGNALS_H
#define SWAMP_CLI_SIGNALS_H

/*
 * From now on SIGINT, SIGTERM and SIGHUP are counted, and the third ends the process at once, whatever it is doing.
 * A descriptor to poll for reading; -1: errno.
 */
int signals_watch(void);
/* How many came since the last call; *number is the last one. Empties the pipe. */
int signals_take(int *number);
/* Makes the descriptor readable from any thread, without a signal. */
void signals_poke(void);
/* The defaults again: the next one ends the process at once. */
void signals_release(void);

#endif
