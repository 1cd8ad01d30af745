/* Use a host's own loop: poll() over a session's descriptor beside others. Usage: own_loop URL WORKFLOW */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include <swamp/swamp.h>

/* Takes what there is without waiting; 1 when the session has ended. */
static int
take_all(swamp_session *session)
{
    swamp_event *event;
    int rc;
    while ((rc = swamp_session_next(session, 0, &event)) == SWAMP_EVENT) {
        if (swamp_event_type(event) == SWAMP_EVENT_RUN)
            printf("%llu %s\n", (unsigned long long)swamp_event_seq(event), swamp_event_kind(event));
        else if (swamp_event_type(event) == SWAMP_EVENT_DONE)
            printf("done: %s\n", swamp_event_status(event));
        swamp_event_free(event);
    }
    return rc != SWAMP_OK;
}

int
main(int argc, char **argv)
{
    swamp_client_options options = {.size = sizeof(options)};
    swamp_client *client;
    swamp_session *session;
    char *error = NULL, payload[512];

    if (argc != 3) {
        fprintf(stderr, "usage: own_loop URL WORKFLOW\n");
        return 2;
    }
    options.url = argv[1];
    if (swamp_client_new(&client, &options, &error) != SWAMP_OK) {
        fprintf(stderr, "own_loop: %s\n", error);
        swamp_free(error);
        return 2;
    }
    snprintf(payload, sizeof(payload), "{\"workflowIdOrName\":\"%s\"}", argv[2]);
    if (swamp_session_start(&session, client, "workflow.run", payload, NULL) != SWAMP_OK) {
        swamp_client_free(client);
        return 1;
    }
    struct pollfd watched[2] = {{.fd = swamp_session_fd(session), .events = POLLIN},
                                {.fd = STDIN_FILENO, .events = POLLIN}};
    while (!take_all(session)) {
        char byte;
        if (poll(watched, 2, -1) < 0)
            break;
        if (watched[1].revents && read(STDIN_FILENO, &byte, 1) > 0 && byte == 'c')
            swamp_session_cancel(session, "typed c");
        else if (watched[1].revents)
            watched[1].fd = -1; /* end of input, or another key: look no more */
    }
    swamp_session_free(session);
    swamp_client_free(client);
    return 0;
}
