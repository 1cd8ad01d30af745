/* Fuzzes the reading of a client's message, and what it is answered with when it is refused. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/request.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    swamp__request request;
    const char *message = NULL;
    swamp__json answer;
    swamp__buf out;
    char type[16];
    swamp__buf_init(&out);
    int rc = swamp__request_read((const char *)data, size, &request, &message);
    if (rc == SWAMP_OK) {
        MUST(request.type > 0 && request.type_text != NULL);
        MUST(request.id_json.type == SWAMP__JSON_STRING);
        MUST(request.after_seq <= SWAMP__SEQ_MAX);
        MUST(request.limit <= SWAMP__HISTORY_LIMIT_MAX);
        MUST(strlen(request.reason) <= SWAMP__REASON_MAX);
    } else {
        MUST(rc == SWAMP_E_INVALID && message != NULL && message[0] != '\0');
        swamp__request_put_refusal(&out, &request, message);
        MUST(swamp__buf_status(&out) == SWAMP_OK);
        MUST(swamp__json_check(out.data, out.len, 0, &answer) ==
             SWAMP_OK); /* a lone surrogate goes back as it came */
        MUST(swamp__json_member_text(answer, "type", type, sizeof type) == SWAMP_OK &&
             strcmp(type, "error") == 0);
    }
    swamp__buf_free(&out);
    return 0;
}
