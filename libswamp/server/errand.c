/* Errands: work handed to the host, with whoever waits for its answer; either may be gone before the other. */
#include "inner.h"

static void
take_answer(swamp_work *work, void *owner)
{
    swamp__errand *errand = owner;
    swamp__link_remove(&errand->link);
    errand->work = NULL;
    errand->answered(errand, work);
}

int
swamp__errand_send(swamp__instance *instance, swamp__errand *errand, swamp_work *work)
{
    if (!work)
        return SWAMP_E_NOMEM;
    errand->instance = instance;
    errand->work = work;
    work->answered = take_answer;
    work->owner = errand;
    swamp__list_push(&instance->errands, &errand->link);
    instance->desk->hand_out(instance->desk->self, work);
    return SWAMP_OK;
}

void
swamp__errand_forget(swamp__errand *errand)
{
    if (!errand->work)
        return;
    errand->work->owner = NULL;
    errand->work = NULL;
    swamp__link_remove(&errand->link);
}
