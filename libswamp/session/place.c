/* Where a session stands: contiguous seq, duplicates, holes, epoch (PROTOCOL 3 and 7). Decides, sends nothing. */
#include "place.h"

#include <stdio.h>
#include <swamp/status.h>
#include "../util/alloc.h"

void
swamp__place_init(swamp__place *place, const char *run_id, const char *epoch, uint64_t after_seq)
{
    *place = (swamp__place){.last = after_seq};
    if (run_id)
        snprintf(place->run_id, sizeof place->run_id, "%s", run_id);
    if (epoch)
        snprintf(place->epoch, sizeof place->epoch, "%s", epoch);
}

void
swamp__place_free(swamp__place *place)
{
    swamp__free(place->run_json);
    place->run_json = NULL;
}

int
swamp__place_judge(const swamp__place *place, uint64_t seq)
{
    if (seq == 0 || seq == place->last + 1)
        return SWAMP__PLACE_NEXT;
    if (seq <= place->last)
        return SWAMP__PLACE_SEEN;
    return swamp__place_hole_tried(place) ? SWAMP__PLACE_HOLE_AGAIN : SWAMP__PLACE_HOLE;
}

void
swamp__place_advance(swamp__place *place, uint64_t seq)
{
    if (seq > place->last)
        place->last = seq;
}

int
swamp__place_short(const swamp__place *place)
{
    return place->head > place->last;
}

/* A later hole is another one and is worth its own re-attach: hence the place, not a flag. */
int
swamp__place_hole_tried(const swamp__place *place)
{
    return place->hole_tried == place->last + 1;
}

void
swamp__place_start_over(swamp__place *place)
{
    place->epoch[0] = '\0';
    place->last = 0;
    place->head = 0;
    place->hole_tried = 0;
    place->garbled_tried = 0;
    place->epoch_tried = 1;
}

int
swamp__place_keep_run(swamp__place *place, const char *status, const char *reason, const char *json,
                      size_t len)
{
    char *copy = swamp__strndup(json, len);
    if (!copy)
        return SWAMP_E_NOMEM;
    swamp__free(place->run_json);
    place->run_json = copy;
    place->run_json_len = len;
    snprintf(place->status, sizeof place->status, "%s", status);
    snprintf(place->interrupt_reason, sizeof place->interrupt_reason, "%s", reason);
    return SWAMP_OK;
}
