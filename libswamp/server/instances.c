/* cluster.instances: who is alive, as the store lists them and this instance's watches judge them. */
#include "inner.h"

/* Stale for the list: no beat within 1.5 of its own intervals. The watches are the core's; the store thread
 * gets a copy. */
static int
note_stale(const char *key, void *value, void *user)
{
    swamp__instances_job *job = user;
    const swamp__watch *watch = value;
    if (swamp__membership_unchanged_ms(&job->job.ask.instance->membership, watch) >
        watch->interval_ms * 3 / 2)
        (void)swamp__map_put(job->stale, key, job->stale); /* out of memory: it is listed as healthy */
    return 0;
}

static int
is_stale(void *user, const char *instance_id)
{
    const swamp__instances_job *job = user;
    return swamp__map_get(job->stale, instance_id) != NULL;
}

static void
read_instances(swamp__question *question, swamp_store *store)
{
    swamp__instances_job *job = (swamp__instances_job *)question;
    question->status = swamp__history_instances(store, question->timeout_ms, is_stale, job, &job->rows);
}

static void
take_instances(swamp__ask *ask)
{
    swamp__instances_job *job = (swamp__instances_job *)ask;
    if (job->job.user)
        job->job.told(&job->job, job->job.user);
    swamp__map_free(job->stale);
    swamp__buf_free(&job->rows);
    swamp__free(job);
}

swamp__instances_job *
swamp__instances_ask(swamp__instance *instance)
{
    swamp__instances_job *job = swamp__calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->stale = swamp__map_new();
    if (!job->stale) {
        swamp__free(job);
        return NULL;
    }
    swamp__buf_init(&job->rows);
    job->job.ask.instance = instance;
    swamp__map_each(instance->membership.watches, note_stale, job);
    job->job.ask.question.work = read_instances;
    job->job.ask.answered = take_instances;
    swamp__instance_ask(instance, &job->job.ask);
    return job;
}

void
swamp__instances_put_self(const swamp__instance *instance, swamp__buf *out)
{
    const swamp__instance_options *options = &instance->options;
    char now[SWAMP__ISO_SIZE];
    swamp__clock_iso(instance->world->unix_ms(instance->world->self), now);
    swamp__buf_text(out, "[{");
    swamp__json_put_member(out, "instanceId", options->instance_id);
    swamp__json_put_member(out, "hostname", options->hostname);
    swamp__json_put_member_i64(out, "pid", options->pid);
    swamp__json_put_member(out, "startedAt", instance->started_at);
    swamp__json_put_member(out, "lastHeartbeatAt", now);
    swamp__json_put_member(out, "status", "healthy");
    swamp__json_put_member(out, "address", options->address[0] ? options->address : NULL);
    swamp__json_put_member_i64(out, "activeRuns", (int64_t)instance->registry->unfinished);
    swamp__json_put_member_raw(out, "draining", instance->phase ? "true" : "false", instance->phase ? 4 : 5);
    swamp__buf_text(out, "}]");
}
