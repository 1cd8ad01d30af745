/* Fuzzes the client's reading of what a server says. */
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/answer.h"
#include "fuzz.h"

#define ENDS(member) (memchr(answer.member, '\0', sizeof answer.member) != NULL)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    swamp__answer answer;
    memset(&answer, 'x', sizeof answer); /* whatever was there before shows */
    int rc = swamp__answer_read((const char *)data, size, &answer);
    MUST(rc == SWAMP_OK || rc == SWAMP_E_PROTOCOL);
    if (rc != SWAMP_OK)
        return 0;
    MUST(answer.type >= SWAMP__ANS_OTHER && answer.type <= SWAMP__ANS_RUN_CANCEL);
    MUST(ENDS(id) && ENDS(kind) && ENDS(run_id) && ENDS(run_status) && ENDS(interrupt_reason));
    MUST(ENDS(instance_id) && ENDS(address) && ENDS(epoch) && ENDS(code) && ENDS(message) && ENDS(reason));
    if (answer.type == SWAMP__ANS_EVENT) {
        const char *text = (const char *)data;
        MUST(answer.event.type == SWAMP__JSON_OBJECT);
        MUST(answer.event.at > text && answer.event.at + answer.event.len < text + size);
    }
    return 0;
}
