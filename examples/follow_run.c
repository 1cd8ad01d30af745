/* Follow a run to its end, whatever happens to connections and instances. Usage: follow_run URL WORKFLOW |
 * URL RUN-OR-CURSOR --attach */
#include <stdio.h>
#include <string.h>
#include <swamp/swamp.h>

static void
on_event(const swamp_event *event, void *user)
{
    (void)user;
    if (swamp_event_type(event) == SWAMP_EVENT_RUN)
        printf("%s\n", swamp_event_json(event, NULL));
}

static void
on_reconnecting(const swamp_event *event, void *user)
{
    (void)user;
    fprintf(stderr, "[reconnecting: %s]\n", swamp_event_message(event));
}

static void
on_elsewhere(const swamp_event *event, void *user)
{
    (void)user;
    fprintf(stderr, "[run is on instance %s, retrying...]\n", swamp_event_instance_id(event));
}

static void
on_interrupted(const swamp_event *event, void *user)
{
    (void)user;
    fprintf(stderr, "[interrupted: %s, asking how it ended...]\n", swamp_event_reason(event));
}

static void
on_gap(const swamp_event *event, void *user)
{
    (void)user;
    fprintf(stderr, "[events %llu to %llu are no longer available]\n",
            (unsigned long long)swamp_event_from_seq(event), (unsigned long long)swamp_event_to_seq(event));
}

static void
on_done(const swamp_event *event, void *user)
{
    fprintf(stderr, "run %s: %s\n", swamp_event_run_id(event), swamp_event_status(event));
    *(int *)user = swamp_event_success(event) ? 0 : 1;
}

static void
on_error(const swamp_event *event, void *user)
{
    fprintf(stderr, "%s: %s\n", swamp_event_code(event), swamp_event_message(event));
    *(int *)user = 1;
}

int
main(int argc, char **argv)
{
    int exit_code = 1, attach = argc == 4 && strcmp(argv[3], "--attach") == 0;
    swamp_client_options options = {.size = sizeof(options)};
    swamp_session_callbacks callbacks = {.size = sizeof(callbacks),
                                         .on_event = on_event,
                                         .on_reconnecting = on_reconnecting,
                                         .on_elsewhere = on_elsewhere,
                                         .on_interrupted = on_interrupted,
                                         .on_gap = on_gap,
                                         .on_done = on_done,
                                         .on_error = on_error,
                                         .user = &exit_code};
    swamp_client *client;
    swamp_session *session;
    char *error = NULL, payload[512];
    int rc;

    if (argc != 3 && !attach) {
        fprintf(stderr, "usage: follow_run URL WORKFLOW | follow_run URL RUN-OR-CURSOR --attach\n");
        return 2;
    }
    options.url = argv[1];
    if (swamp_client_new(&client, &options, &error) != SWAMP_OK) {
        fprintf(stderr, "follow_run: %s\n", error);
        swamp_free(error);
        return 2;
    }
    snprintf(payload, sizeof(payload), "{\"workflowIdOrName\":\"%s\"}", argv[2]);
    rc = attach ? swamp_session_attach(&session, client, argv[2], NULL)
                : swamp_session_start(&session, client, "workflow.run", payload, NULL);
    if (rc == SWAMP_OK) {
        swamp_session_dispatch(session, -1, &callbacks);
        swamp_session_free(session);
    }
    swamp_client_free(client);
    return exit_code;
}
