/* The folder with workflow files that --workflows names. */
#ifndef SWAMP_CLI_FOLDER_H
#define SWAMP_CLI_FOLDER_H

/* 0; or an exit code after one line: there is no such folder. */
int folder_check(const char *folder);

#endif
