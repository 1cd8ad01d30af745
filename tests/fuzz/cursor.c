/* Fuzzes cursors, which come from command lines and files. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/cursor.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char written[SWAMP__CURSOR_MAX * 4];
    swamp__cursor cursor, again;
    int rc = swamp__cursor_read(text, &cursor);
    MUST(rc == SWAMP_OK || rc == SWAMP_E_INVALID);
    if (rc == SWAMP_OK) {
        MUST(cursor.run_id[0] != '\0');
        rc = swamp__cursor_write(&cursor, written, sizeof written);
        MUST(rc == SWAMP_OK);
        MUST(swamp__cursor_read(written, &again) == SWAMP_OK);
        MUST(again.seq == cursor.seq && strcmp(again.run_id, cursor.run_id) == 0 &&
             strcmp(again.epoch, cursor.epoch) == 0);
    }
    free(text);
    return 0;
}
