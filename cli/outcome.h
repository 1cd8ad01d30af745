/* The program's exit codes, and which end of a run or answer of a server leads to which. */
#ifndef SWAMP_CLI_OUTCOME_H
#define SWAMP_CLI_OUTCOME_H

#define OUTCOME_DONE 0
#define OUTCOME_FAILED 1      /* the run failed, or was cancelled by somebody else */
#define OUTCOME_USAGE 2       /* unknown flag, bad value, invalid workflow file */
#define OUTCOME_INTERRUPTED 3 /* the run's instance is gone, or the final status could not be had */
#define OUTCOME_CONNECTION 4  /* could not connect, not again, or still elsewhere */
#define OUTCOME_NOT_FOUND 5   /* the workflow, or the run */
#define OUTCOME_UNAUTHORIZED 6
#define OUTCOME_REFUSED 7 /* for now: nothing was started */
#define OUTCOME_CTRL_C 130

/* Of an error's protocol code ("" or unknown: the status number decides). has_run: the run had been accepted. */
int outcome_of_error(const char *code, int status, int has_run);

/*
 * Of a run's end. status: "succeeded", "failed", "cancelled" or ""; interrupt_reason: "" for none;
 * error_code: of an `error` event, when that is all there was. cancelled_here: Ctrl-C.
 */
int outcome_of_end(const char *status, const char *interrupt_reason, const char *error_code,
                   int cancelled_here);

#endif
