/* The load balancer before the instances: four ways to choose, and a knowledge of who is up that may be old. */
#include <stdio.h>
#include <string.h>
#include "sim.h"

static int
round_robin(cluster *sim, const char *client, uint64_t *dice)
{
    (void)client;
    (void)dice;
    return (int)(sim->turn++ % (unsigned)sim->slots);
}

static int
by_chance(cluster *sim, const char *client, uint64_t *dice)
{
    (void)client;
    return (int)sim_draw(dice, 0, sim->slots - 1);
}

/* The same client always meets the same instance, however often it asks for one that is elsewhere. */
static int
by_source(cluster *sim, const char *client, uint64_t *dice)
{
    unsigned hash = 2166136261u;
    (void)dice;
    for (; *client; client++)
        hash = (hash ^ (unsigned char)*client) * 16777619u;
    return (int)(hash % (unsigned)sim->slots);
}

static int
least_connections(cluster *sim, const char *client, uint64_t *dice)
{
    int best = 0;
    unsigned fewest = ~0u;
    (void)client;
    (void)dice;
    for (int i = 0; i < sim->slots; i++) {
        unsigned count = sim->slot[i].at ? sim_links_to(sim->slot[i].at) : ~0u;
        if (count < fewest) {
            fewest = count;
            best = i;
        }
    }
    return best;
}

static const struct {
    int (*choose)(cluster *sim, const char *client, uint64_t *dice);
    const char *name;
} balancers[] = {
    {round_robin, "round robin"},
    {by_chance, "random"},
    {by_source, "source hash"},
    {least_connections, "least connections"},
};

int
sim_balancer_kinds(void)
{
    return (int)(sizeof balancers / sizeof balancers[0]);
}

const char *
sim_balancer_name(const cluster *sim)
{
    return balancers[sim->balancer].name;
}

/* Mostly it knows who is up; with one place or an address there is no choice. */
sim_instance *
sim_balancer_choose(cluster *sim, const char *url, const char *client, uint64_t *dice)
{
    int slot = 0;
    if (sscanf(url, "ws://10.0.0.%d:", &slot) == 1)
        return slot >= 0 && slot < sim->slots ? sim->slot[slot].at : NULL;
    slot = balancers[sim->balancer].choose(sim, client, dice);
    for (int i = 0; i < sim->slots && sim_draw(dice, 0, 99) < 80; i++) {
        sim_instance *instance = sim->slot[(slot + i) % sim->slots].at;
        if (instance && instance->alive)
            return instance;
    }
    return sim->slot[slot].at;
}
