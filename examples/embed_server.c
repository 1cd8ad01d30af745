/* Embed a server: a host that runs "count", a workflow of ten events. Usage: embed_server [PORT]. Ends on Ctrl-C. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/swamp.h>

static volatile sig_atomic_t stop_asked;

static void
ask_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

/* The run itself. A real host would hand this to a thread of its own and return at once. */
static void
count_to_ten(swamp_run *run)
{
    char event[128];
    for (int i = 1; i <= 10; i++) {
        snprintf(event, sizeof(event),
                 "{\"kind\":\"method_output\",\"stream\":\"stdout\",\"line\":\"number %d\"}", i);
        if (swamp_run_emit(run, event, strlen(event)) != SWAMP_OK)
            break; /* taken away: finish says so to everybody */
    }
    /* "run": null is filled in with the record as it was committed */
    const char *last = "{\"kind\":\"completed\",\"run\":null}";
    swamp_run_finish(run, SWAMP_RUN_SUCCEEDED, last, strlen(last), NULL, 0);
}

static void
do_work(swamp_work *work)
{
    const char *known = "{\"resourceName\":\"count\",\"workflowId\":\"count\"}";
    const char *unknown =
        "[{\"kind\":\"error\",\"error\":{\"code\":\"workflow_not_found\",\"message\":\"only count\"}}]";
    const char *list = "[{\"id\":\"count\",\"name\":\"count\",\"jobCount\":0,\"hasInputs\":false}]";
    swamp_run *run;

    switch (swamp_work_kind(work)) {
    case SWAMP_WORK_RESOLVE:
        if (strstr(swamp_work_payload(work, NULL), "\"count\""))
            swamp_work_answer(work, SWAMP_OK, known, strlen(known));
        else
            swamp_work_answer(work, SWAMP_E_NOT_FOUND, unknown, strlen(unknown));
        break;
    case SWAMP_WORK_SEARCH:
        swamp_work_answer(work, SWAMP_OK, list, strlen(list));
        break;
    case SWAMP_WORK_START:
        if (swamp_work_run(work, &run) == SWAMP_OK) {
            swamp_work_answer(work, SWAMP_OK, NULL, 0);
            count_to_ten(run);
            break;
        }
        /* fall through */
    default: /* CANCEL: a run of ten events ends by itself */
        swamp_work_answer(work, SWAMP_OK, NULL, 0);
    }
}

int
main(int argc, char **argv)
{
    swamp_server_options options = {.size = sizeof(options)};
    swamp_server *server;
    swamp_work *work;
    char *error = NULL, url[256];
    int rc;

    signal(SIGINT, ask_stop);
    signal(SIGTERM, ask_stop);
    options.port = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (swamp_store_memory_open(&options.store) != SWAMP_OK ||
        swamp_server_new(&server, &options, &error) != SWAMP_OK) {
        fprintf(stderr, "embed_server: %s\n", error ? error : "out of memory");
        return 1;
    }
    swamp_store_free(options.store); /* the server has its own reference */
    if (swamp_server_start(server) == SWAMP_OK && swamp_server_url(server, url, sizeof(url)) == SWAMP_OK) {
        printf("listening on %s\n", url);
        fflush(stdout);
        while (!stop_asked && (rc = swamp_server_next(server, 100, &work)) != SWAMP_END)
            if (rc == SWAMP_WORK)
                do_work(work);
        swamp_server_stop(server, 0);
    } else {
        swamp_server_error(server, url, sizeof(url));
        fprintf(stderr, "embed_server: %s\n", url);
    }
    swamp_server_free(server);
    return 0;
}
