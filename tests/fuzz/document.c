/* Fuzzes RUN documents: those of a host, and those that another version or a dead owner left in the store. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/document.h"
#include "../../libswamp/wire/json.h"
#include "fuzz.h"

/* What is written is a RUN that can be read, within its limit, and final if it was meant to be. */
static void
check_run(int rc, const swamp__buf *out, size_t max, const char *status)
{
    swamp__json run;
    swamp__run_facts facts;
    if (rc != SWAMP_OK) {
        MUST(rc == SWAMP_E_INVALID || rc == SWAMP_E_CORRUPT || rc == SWAMP_E_TOO_BIG);
        return;
    }
    MUST(out->len <= max);
    MUST(swamp__json_check(out->data, out->len, 0, &run) == SWAMP_OK && run.type == SWAMP__JSON_OBJECT);
    MUST(swamp__run_read(out->data, out->len, &facts) == SWAMP_OK);
    MUST(strcmp(facts.status, status) == 0);
    MUST(facts.is_final == swamp__run_status_is_final(status));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t max = size % 3 == 0 ? 256 * 1024 : 16 * 1024;
    swamp__run_owned owned = {.id = "r1",
                              .status = "running",
                              .instance_id = "i1",
                              .initiated_by = "\xffsomebody",
                              .resource_name = "deploy",
                              .started_at_unix_ms = 1795000000000,
                              .finished_at_unix_ms = size % 2 ? 1795000001000 : 0};
    swamp__buf out;
    swamp__json host;
    swamp__run_facts facts;
    swamp__buf_init(&out);
    (void)swamp__run_read(text, size, &facts);
    check_run(swamp__run_end_for_dead(&out, text, size, "failed", "instance_dead", 1795000002000, max), &out,
              max, "failed");
    swamp__buf_clear(&out);
    if (swamp__json_check(text, size, 0, &host) == SWAMP_OK) { /* run_build is given checked objects */
        int rc = swamp__run_build(&out, &owned, host.at, host.len, max);
        MUST((rc == SWAMP_E_INVALID) == (host.type != SWAMP__JSON_OBJECT));
        check_run(rc, &out, max, "running");
    }
    swamp__buf_free(&out);
    return 0;
}
