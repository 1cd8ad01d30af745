/* Fuzzes the small records of the store: any text is read, and what was read is written and read the same. */
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/record.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    swamp__heartbeat_record beat, beat_again;
    swamp__active_record active, active_again;
    swamp__cancel_record cancel, cancel_again;
    swamp__buf out;
    swamp__buf_init(&out);
    if (swamp__heartbeat_read(text, size, &beat) == SWAMP_OK) {
        MUST(beat.interval_ms >= 0 && beat.stale_ttl_ms >= 0);
        MUST(beat.interval_ms + beat.stale_ttl_ms <= INT64_C(14) * 86400 * 1000);
        swamp__heartbeat_write(&out, &beat);
        MUST(swamp__heartbeat_read(out.data, out.len, &beat_again) == SWAMP_OK);
        MUST(strcmp(beat.instance_id, beat_again.instance_id) == 0 && beat.beat == beat_again.beat);
        MUST(strcmp(beat.address, beat_again.address) == 0 && beat.draining == beat_again.draining);
        swamp__buf_clear(&out);
    }
    if (swamp__active_read(text, size, &active) == SWAMP_OK) {
        MUST(active.instance_id[0] != '\0');
        swamp__active_write(&out, &active);
        MUST(swamp__active_read(out.data, out.len, &active_again) == SWAMP_OK);
        MUST(strcmp(active.instance_id, active_again.instance_id) == 0);
        MUST(strcmp(active.principal, active_again.principal) == 0);
        swamp__buf_clear(&out);
    }
    if (swamp__cancel_read(text, size, &cancel) == SWAMP_OK) {
        swamp__cancel_write(&out, &cancel);
        MUST(swamp__cancel_read(out.data, out.len, &cancel_again) == SWAMP_OK);
        MUST(strcmp(cancel.reason, cancel_again.reason) == 0);
    }
    swamp__buf_free(&out);
    return 0;
}
