/* Work for the host: made by the core, answered once by any thread, taken back on the core's thread. */
#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/alloc.h"
#include "../wire/json.h"
#include "work.h"

swamp_work *
swamp__work_new(const swamp__work_desk *desk, int kind, const char *type, const char *payload, size_t len,
                const char *run_id, const char *principal, swamp_run *run)
{
    swamp_work *work = swamp__calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->desk = desk;
    work->kind = kind;
    work->type = type;
    work->payload = payload ? swamp__strndup(payload, len) : swamp__strdup("{}");
    work->payload_len = payload ? len : 2;
    work->principal = swamp__strdup(principal);
    if (run_id) {
        assert(strlen(run_id) < sizeof work->run_id);
        memcpy(work->run_id, run_id, strlen(run_id) + 1);
    }
    if (run)
        work->run = swamp__run_ref(run);
    if (!work->payload || !work->principal) {
        swamp__work_free(work);
        return NULL;
    }
    return work;
}

void
swamp__work_free(swamp_work *work)
{
    if (!work)
        return;
    swamp__free(work->payload);
    swamp__free(work->principal);
    swamp__free(work->reason);
    swamp__free(work->json);
    swamp__run_unref(work->run);
    swamp__free(work);
}

/* What the answer's text must be, by kind and status; 0: any text is ignored. */
static int
wanted_json_type(const swamp_work *work, int status)
{
    if (work->kind == SWAMP_WORK_RESOLVE)
        return status == SWAMP_OK ? SWAMP__JSON_OBJECT : SWAMP__JSON_ARRAY;
    if (work->kind == SWAMP_WORK_SEARCH && status == SWAMP_OK)
        return SWAMP__JSON_ARRAY;
    return 0;
}

static int
check_answer(const swamp_work *work, int status, const char *json, size_t len)
{
    int wanted = wanted_json_type(work, status);
    if (status > 0)
        return SWAMP_E_INVALID;
    if (!wanted)
        return SWAMP_OK;
    if (!json) /* a refusal without events is a plain error; an admission needs its facts */
        return status == SWAMP_OK ? SWAMP_E_INVALID : SWAMP_OK;
    swamp__json value;
    int rc = swamp__json_check(json, len, SWAMP__JSON_STRICT, &value);
    if (rc != SWAMP_OK)
        return rc;
    return value.type == wanted ? SWAMP_OK : SWAMP_E_INVALID;
}

int
swamp__work_answer(swamp_work *work, int status, const char *json, size_t len)
{
    int rc = check_answer(work, status, json, len);
    if (rc == SWAMP_OK && json && wanted_json_type(work, status)) {
        work->json = swamp__strndup(json, len);
        work->json_len = len;
        if (!work->json)
            rc = SWAMP_E_NOMEM;
    }
    /* The asker gets an answer whatever was wrong with this one: it must not wait for ever. */
    work->status = rc == SWAMP_OK ? status : SWAMP_E_INVALID;
    if (rc != SWAMP_OK) {
        swamp__free(work->json);
        work->json = NULL;
        work->json_len = 0;
    }
    work->desk->give_back(work->desk->self, work);
    return rc;
}

void
swamp__work_finish(swamp_work *work)
{
    if (work->answered && work->owner)
        work->answered(work, work->owner);
    swamp__work_free(work);
}
