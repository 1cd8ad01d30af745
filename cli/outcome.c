/* The program's exit codes, and which end of a run or answer of a server leads to which. */
#include <string.h>
#include <swamp/swamp.h>
#include "outcome.h"

/* PROTOCOL 3, the executor's error events (PROTOCOL 4), and the library's own codes. */
static const struct {
    const char *code;
    int before, after; /* the run was accepted */
} by_code[] = {
    {"not_found", OUTCOME_NOT_FOUND, OUTCOME_NOT_FOUND},
    {"workflow_not_found", OUTCOME_NOT_FOUND, OUTCOME_NOT_FOUND},
    {"model_not_found", OUTCOME_NOT_FOUND, OUTCOME_NOT_FOUND},
    {"workflow_history_get_failed", OUTCOME_NOT_FOUND, OUTCOME_NOT_FOUND},
    {"invalid_request", OUTCOME_USAGE, OUTCOME_USAGE},
    {"validation_failed", OUTCOME_USAGE, OUTCOME_USAGE},
    {"seq_out_of_range", OUTCOME_USAGE, OUTCOME_USAGE},
    {"epoch_mismatch", OUTCOME_USAGE, OUTCOME_USAGE},
    {"unauthorized", OUTCOME_UNAUTHORIZED, OUTCOME_UNAUTHORIZED},
    {"too_many_requests", OUTCOME_REFUSED, OUTCOME_INTERRUPTED},
    {"global_cap", OUTCOME_REFUSED, OUTCOME_INTERRUPTED},
    {"principal_cap", OUTCOME_REFUSED, OUTCOME_INTERRUPTED},
    {"already_registered", OUTCOME_REFUSED, OUTCOME_INTERRUPTED},
    {"duplicate_id", OUTCOME_REFUSED, OUTCOME_INTERRUPTED},
    {"unavailable", OUTCOME_REFUSED, OUTCOME_INTERRUPTED},
    {"draining", OUTCOME_REFUSED, OUTCOME_INTERRUPTED},
    {"interrupted", OUTCOME_INTERRUPTED, OUTCOME_INTERRUPTED},
    {"not_recorded", OUTCOME_INTERRUPTED, OUTCOME_INTERRUPTED},
    {"connection_lost", OUTCOME_CONNECTION, OUTCOME_CONNECTION},
    {"connect_failed", OUTCOME_CONNECTION, OUTCOME_CONNECTION},
    {"gave_up", OUTCOME_CONNECTION, OUTCOME_CONNECTION},
    {"protocol", OUTCOME_CONNECTION, OUTCOME_INTERRUPTED},
    {"cancelled", OUTCOME_FAILED, OUTCOME_FAILED},
    {"workflow_execution_failed", OUTCOME_FAILED, OUTCOME_FAILED},
    {"internal_error", OUTCOME_FAILED, OUTCOME_FAILED},
};

static const struct {
    int status, outcome;
} by_status[] = {
    {SWAMP_E_INVALID, OUTCOME_USAGE},
    {SWAMP_E_TOO_BIG, OUTCOME_USAGE},
    {SWAMP_E_JSON, OUTCOME_USAGE},
    {SWAMP_E_RULES, OUTCOME_USAGE},
    {SWAMP_E_TLS, OUTCOME_USAGE},
    {SWAMP_E_ADDRESS, OUTCOME_USAGE},
    {SWAMP_E_UNSUPPORTED, OUTCOME_USAGE},
    {SWAMP_E_CORRUPT, OUTCOME_USAGE},
    {SWAMP_E_IO, OUTCOME_REFUSED},
    {SWAMP_E_STORE, OUTCOME_REFUSED},
    {SWAMP_E_BUSY, OUTCOME_REFUSED},
    {SWAMP_E_STATE, OUTCOME_REFUSED},
    {SWAMP_E_FENCED, OUTCOME_INTERRUPTED},
    {SWAMP_E_CLOSED, OUTCOME_INTERRUPTED},
    {SWAMP_E_UNKNOWN, OUTCOME_INTERRUPTED},
    {SWAMP_E_CONNECT, OUTCOME_CONNECTION},
    {SWAMP_E_TIMEOUT, OUTCOME_CONNECTION},
    {SWAMP_E_PROTOCOL, OUTCOME_CONNECTION},
    {SWAMP_E_LOST, OUTCOME_CONNECTION},
    {SWAMP_E_GAVE_UP, OUTCOME_CONNECTION},
    {SWAMP_E_REFUSED, OUTCOME_REFUSED},
    {SWAMP_E_NOT_FOUND, OUTCOME_NOT_FOUND},
    {SWAMP_E_UNAUTHORIZED, OUTCOME_UNAUTHORIZED},
};

int
outcome_of_error(const char *code, int status, int has_run)
{
    for (size_t i = 0; i < sizeof(by_code) / sizeof(by_code[0]); i++)
        if (strcmp(by_code[i].code, code) == 0)
            return has_run ? by_code[i].after : by_code[i].before;
    for (size_t i = 0; i < sizeof(by_status) / sizeof(by_status[0]); i++)
        if (by_status[i].status == status)
            return by_status[i].outcome;
    return OUTCOME_FAILED;
}

int
outcome_of_end(const char *status, const char *interrupt_reason, const char *error_code, int cancelled_here)
{
    if (interrupt_reason[0])
        return OUTCOME_INTERRUPTED;
    if (strcmp(status, "succeeded") == 0)
        return OUTCOME_DONE;
    if (strcmp(status, "cancelled") == 0)
        return cancelled_here ? OUTCOME_CTRL_C : OUTCOME_FAILED;
    if (strcmp(status, "failed") == 0)
        return OUTCOME_FAILED;
    if (error_code[0])
        return outcome_of_error(error_code, 0, 0);
    return OUTCOME_INTERRUPTED; /* ended, but how is not known */
}
