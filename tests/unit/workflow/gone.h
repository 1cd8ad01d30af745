/* Asks the kernel whether a process has ended, for tests. */
#ifndef SWAMP_TESTS_GONE_H
#define SWAMP_TESTS_GONE_H

int process_is_gone(int pid); /* 1: there is none, or it is a zombie that its new parent has yet to reap */

#endif
