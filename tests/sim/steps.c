/* The directed fault of a seed: exactly at one step of a run's life, of a death, a reaping or a stop. */
/*
 * Every other seed aims at a pair of a step and an act, the next seed at the next pair, so that a thousand seeds
 * take each of them a few times. A step at a call to the store gets its fault in that call; at any other step the
 * store's faults are those of the instance's next commit. "The reaper" of a step in a run's life is whoever begins
 * to reap its owner, which is killed at that step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/store/keys.h"
#include "sim.h"

#define KILL_OWNER 1
#define KILL_REAPER 2
#define STOP 3
#define STORE_ERROR 4
#define ANSWER_LATE 5
#define ANSWER_LOST 6
#define TWO_TTLS_MS 60000
#define LATE 100 /* next_fault: its answer comes late */

static const char *const step_names[] = {
    [SIM_STEP_START] = "start",
    [SIM_STEP_ADMISSION] = "admission_commit",
    [SIM_STEP_ACCEPTED] = "run_accepted",
    [SIM_STEP_FIRST_EVENT] = "first_event",
    [SIM_STEP_ANY_EVENT] = "any_event",
    [SIM_STEP_FINISH] = "finish",
    [SIM_STEP_FINAL] = "final_commit",
    [SIM_STEP_LAST_EVENT] = "last_event",
    [SIM_STEP_DONE] = "done",
    [SIM_STEP_LINGER] = "linger_end",
    [SIM_STEP_DEATH] = "death_commit",
    [SIM_STEP_REAP_RUNS] = "reap_lists_runs",
    [SIM_STEP_REAP_LIVING] = "reap_lists_living",
    [SIM_STEP_REAP_ACTIVE] = "reap_reads_active",
    [SIM_STEP_REAP_RUN] = "reap_reads_run",
    [SIM_STEP_REAP_COMMIT] = "reap_commit",
    [SIM_STEP_GRACE] = "drain_grace",
    [SIM_STEP_GRACE + 1] = "drain_draining",
    [SIM_STEP_GRACE + 2] = "drain_cancelling",
    [SIM_STEP_GRACE + 3] = "drain_ending",
    [SIM_STEP_GRACE + 4] = "drain_closing",
    [SIM_STEP_GRACE + 5] = "drain_forgetting",
    [SIM_STEP_GRACE + 6] = "drain_leaving",
};

static const char *const act_names[] = {
    [KILL_OWNER] = "kill_owner",   [KILL_REAPER] = "kill_reaper", [STOP] = "stop_two_ttls",
    [STORE_ERROR] = "store_error", [ANSWER_LATE] = "answer_late", [ANSWER_LOST] = "answer_lost",
};

const char *
sim_step_name(int step)
{
    return step_names[step];
}

const char *
sim_act_name(int act)
{
    return act_names[act];
}

void
sim_aim_make(cluster *sim)
{
    sim_aim *aim = &sim->aim;
    uint64_t pair = sim->choice.seed / 2 % (SIM_STEPS * SIM_ACTS);
    memset(aim, 0, sizeof *aim);
    if (sim->choice.seed % 2)
        return;
    aim->step = 1 + (int)(pair / SIM_ACTS);
    aim->act = 1 + (int)(pair % SIM_ACTS);
    aim->dice = sim_dice(sim, SIM_DICE_PLAN, 1);
    if (aim->step == SIM_STEP_ANY_EVENT)
        aim->skip = (int)sim_draw(&aim->dice, 0, 40);
    else if (aim->step < SIM_STEP_LINGER)
        aim->skip = (int)sim_draw(&aim->dice, 0, 3);
    sim->calm = 0;
}

int
sim_aim_wants(const cluster *sim, int first, int last)
{
    return sim->aim.step >= first && sim->aim.step <= last;
}

static int
is_of_reaping(int step)
{
    return step >= SIM_STEP_DEATH && step <= SIM_STEP_REAP_COMMIT;
}

/* Killed before the call is made, or when it was made and nobody heard the answer. */
static int
kill_at(cluster *sim, sim_instance *instance, const fake_call *call)
{
    int before = (int)sim_draw(&sim->aim.dice, 0, 1);
    sim_instance_kill(instance, -1);
    if (!call)
        return FAKE_FINE;
    return !before && call->what == FAKE_COMMIT ? FAKE_ANSWER_LOST : FAKE_ERROR;
}

/* The process stands still: after the call, or while its commit is on the way, which then comes that much later. */
static int
stop_at(cluster *sim, sim_instance *actor, int step, const fake_call *call)
{
    sim_instance_pause(actor, TWO_TTLS_MS);
    if ((step == SIM_STEP_REAP_COMMIT || step == SIM_STEP_DEATH) && sim_draw(&sim->aim.dice, 0, 1)) {
        sim_late_commit(sim, call, TWO_TTLS_MS);
        return FAKE_WRITE_LOST;
    }
    return FAKE_FINE;
}

static int
answer_late(cluster *sim, const fake_call *call)
{
    if (call->what == FAKE_COMMIT && sim_draw(&sim->aim.dice, 0, 2) == 0) {
        sim_late_commit(sim, call, sim_draw(&sim->aim.dice, 1, 9000));
        return FAKE_WRITE_LOST;
    }
    call->asker->answer_once_ms = sim_draw(&sim->aim.dice, 1000, 40000);
    return FAKE_FINE;
}

/* The dead one whose runs are reaped, if it stands still somewhere, thinking it lives. */
static void
kill_the_zombie(cluster *sim)
{
    for (sim_instance *instance = sim->instances; instance; instance = instance->next)
        if (!instance->dead && !instance->ended && (instance->gone || instance->node->paused)) {
            sim_instance_kill(instance, -1);
            return;
        }
}

static int
do_act(sim_instance *actor, int step, const fake_call *call)
{
    cluster *sim = actor->of;
    sim_aim *aim = &sim->aim;
    sim_note(sim, "%s: %s, and exactly now %s", actor->name, step_names[step], act_names[aim->act]);
    actor->disturbed = 1;
    aim->strikes++;
    switch (aim->act) {
    case KILL_OWNER:
        if (!is_of_reaping(step))
            return kill_at(sim, actor, call);
        kill_the_zombie(sim);
        return FAKE_FINE;
    case KILL_REAPER:
        if (is_of_reaping(step))
            return kill_at(sim, actor, call);
        snprintf(aim->victim, sizeof aim->victim, "%s", actor->id);
        aim->skip = (int)sim_draw(&aim->dice, SIM_STEP_DEATH, SIM_STEP_REAP_COMMIT);
        return kill_at(sim, actor, call);
    case STOP:
        return stop_at(sim, actor, step, call);
    case STORE_ERROR:
        if (call)
            return (int)sim_draw(&aim->dice, FAKE_ERROR, FAKE_TIMEOUT);
        actor->next_fault = FAKE_ERROR;
        return FAKE_FINE;
    case ANSWER_LATE:
        if (call)
            return answer_late(sim, call);
        actor->next_fault = LATE;
        return FAKE_FINE;
    default:
        if (call)
            return FAKE_ANSWER_LOST;
        actor->next_fault = FAKE_ANSWER_LOST;
        return FAKE_FINE;
    }
}

/* A reaper of the victim, at the step of reaping that the dice chose. */
static int
look_for_reaper(sim_instance *actor, int step, const fake_call *call)
{
    cluster *sim = actor->of;
    sim_aim *aim = &sim->aim;
    const sim_instance *victim = sim_instance_find(sim, aim->victim);
    if (step != aim->skip || (step != SIM_STEP_DEATH && (!victim || !victim->gone)))
        return FAKE_FINE;
    sim_note(sim, "%s: %s, and exactly now the reaper is killed", actor->name, step_names[step]);
    aim->taken = 1;
    aim->strikes++;
    aim->victim[0] = '\0';
    return kill_at(sim, actor, call);
}

static int
step_to(sim_instance *actor, int step, const fake_call *call)
{
    sim_aim *aim = &actor->of->aim;
    if (!aim->step || actor->dead || actor->ended)
        return FAKE_FINE;
    if (aim->victim[0])
        return look_for_reaper(actor, step, call);
    if (aim->taken || aim->step != step || aim->skip-- > 0)
        return FAKE_FINE;
    int fault = do_act(actor, step, call);
    aim->taken = !aim->victim[0]; /* else when the reaper is killed, too */
    return fault;
}

void
sim_step(sim_instance *actor, int step)
{
    (void)step_to(actor, step, NULL);
}

static int
begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Which step is this commit? 0: none of them. */
static int
step_of_commit(const sim_instance *actor, const fake_call *call)
{
    int admits = 0, ends = 0, puts_run = 0, forgets = 0;
    for (size_t i = 0; i < call->count; i++) {
        const swamp_store_op *op = &call->ops[i];
        int is_put = op->action == SWAMP_STORE_PUT, is_remove = op->action == SWAMP_STORE_REMOVE;
        if (begins_with(op->key, SWAMP__KEYS_HEARTBEATS) && strcmp(swamp__key_last(op->key), actor->id) != 0)
            return is_remove                             ? SIM_STEP_DEATH
                   : op->condition == SWAMP_STORE_ABSENT ? SIM_STEP_REAP_COMMIT
                                                         : 0;
        admits |= is_put && begins_with(op->key, SWAMP__KEYS_ACTIVE_RUNS);
        ends |= is_remove && begins_with(op->key, SWAMP__KEYS_ACTIVE_RUNS);
        puts_run |= is_put && begins_with(op->key, SWAMP__KEYS_RUNS);
        forgets |= is_remove && begins_with(op->key, SWAMP__KEYS_INSTANCE_RUNS);
    }
    return admits             ? SIM_STEP_ADMISSION
           : ends && puts_run ? SIM_STEP_FINAL
           : forgets && !ends ? SIM_STEP_LINGER
                              : 0;
}

/* The reads of one reaping come in one question, after its first list. */
static int
step_of_read(sim_instance *actor, const fake_call *call)
{
    if (call->asker != actor->questions)
        return 0;
    if (call->what == FAKE_LIST && strcmp(call->key, SWAMP__KEYS_INSTANCE_RUNS) == 0) {
        actor->reaping = call->asker->running;
        return SIM_STEP_REAP_RUNS;
    }
    if (actor->reaping != call->asker->running)
        return 0;
    if (call->what == FAKE_LIST)
        return begins_with(call->key, SWAMP__KEYS_HEARTBEATS) ? SIM_STEP_REAP_LIVING : 0;
    return begins_with(call->key, SWAMP__KEYS_ACTIVE_RUNS) ? SIM_STEP_REAP_ACTIVE
           : begins_with(call->key, SWAMP__KEYS_RUNS)      ? SIM_STEP_REAP_RUN
                                                           : 0;
}

static int
somebody_is_gone(const cluster *sim)
{
    for (const sim_instance *instance = sim->instances; instance; instance = instance->next)
        if (instance->gone && !instance->ended)
            return 1;
    return 0;
}

int
sim_step_at_store(sim_instance *actor, const fake_call *call)
{
    cluster *sim = actor->of;
    int step = call->what == FAKE_COMMIT ? step_of_commit(actor, call) : step_of_read(actor, call);
    if (step == SIM_STEP_DEATH || step == SIM_STEP_REAP_COMMIT || (step && !is_of_reaping(step)) ||
        (step && somebody_is_gone(sim))) {
        int fault = step_to(actor, step, call);
        if (fault != FAKE_FINE)
            return fault;
    }
    if (call->what != FAKE_COMMIT || actor->next_fault == FAKE_FINE)
        return FAKE_FINE;
    int fault = actor->next_fault;
    actor->next_fault = FAKE_FINE;
    return fault == LATE ? answer_late(sim, call) : fault;
}
