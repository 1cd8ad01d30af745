/* Commits that land after their writer was told that nobody knows: seconds late, maybe after its death. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "sim.h"

/* A batch with memory of its own: the writer's is gone when it lands. */
typedef struct late_write {
    swamp__link link; /* in sim->late_writes */
    cluster *of;
    sim_instance *writer;
    swamp__timer timer;
    swamp_store_op ops[SWAMP_STORE_OPS_MAX];
    size_t count;
} late_write;

static void *
copy(const void *from, size_t len)
{
    char *to = calloc(1, len + 1);
    if (!to)
        abort();
    if (len)
        memcpy(to, from, len);
    return to;
}

static void
free_late(late_write *late)
{
    swamp__link_remove(&late->link);
    swamp__timer_destroy(&late->of->outside->timers, &late->timer);
    for (size_t i = 0; i < late->count; i++) {
        free((char *)late->ops[i].key);
        free((void *)late->ops[i].value);
    }
    free(late);
}

static void
land(swamp__timer *timer)
{
    late_write *late = SWAMP__OF(timer, late_write, timer);
    cluster *sim = late->of;
    uint64_t revision = 0;
    size_t failed = 0;
    sim->writer = late->writer;
    int rc = swamp_store_commit(sim->store, late->ops, late->count, 1000, &revision, &failed);
    sim_note(sim, "a late commit of %zu operations lands: %s", late->count, swamp_status_name(rc));
    free_late(late);
}

void
sim_late_commit(cluster *sim, const fake_call *call, int64_t ms)
{
    late_write *late = calloc(1, sizeof *late);
    if (!late || swamp__timer_init(&sim->outside->timers, &late->timer, land) != SWAMP_OK)
        abort();
    late->of = sim;
    late->writer = sim->writer;
    late->count = call->count;
    for (size_t i = 0; i < call->count; i++) {
        const swamp_store_op *op = &call->ops[i];
        late->ops[i] = *op;
        late->ops[i].key = copy(op->key, strlen(op->key));
        late->ops[i].value = op->value ? copy(op->value, op->value_len) : NULL;
    }
    swamp__list_push(&sim->late_writes, &late->link);
    swamp__timer_set(&sim->outside->timers, &late->timer, sim->world->now_ms + ms);
}

void
sim_late_free(cluster *sim)
{
    for (swamp__link *link; (link = swamp__list_first(&sim->late_writes));)
        free_late(SWAMP__OF(link, late_write, link));
}
