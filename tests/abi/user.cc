/* A user of the shared library in C++17: a server, a run, a session, a store of its own. */
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <swamp/swamp.h>

namespace
{

template <auto release> struct releaser {
    template <typename T> void operator()(T *handle) const
    {
        release(handle);
    }
};
using store_ptr = std::unique_ptr<swamp_store, releaser<swamp_store_free>>;
using server_ptr = std::unique_ptr<swamp_server, releaser<swamp_server_free>>;
using session_ptr = std::unique_ptr<swamp_session, releaser<swamp_session_free>>;
using event_ptr = std::unique_ptr<swamp_event, releaser<swamp_event_free>>;

void
work(swamp_work *work, void *user)
{
    const std::string known = R"({"resourceName":"cxx","workflowId":"cxx"})",
                      last = R"({"kind":"completed","run":null})";
    swamp_run *run = nullptr;
    switch (swamp_work_kind(work)) {
    case SWAMP_WORK_RESOLVE:
        swamp_work_answer(work, SWAMP_OK, known.data(), known.size());
        break;
    case SWAMP_WORK_START:
        ++*static_cast<int *>(user);
        if (swamp_work_run(work, &run) == SWAMP_OK)
            swamp_run_finish(run, SWAMP_RUN_SUCCEEDED, last.data(), last.size(), nullptr, 0);
        swamp_work_answer(work, SWAMP_OK, nullptr, 0);
        break;
    default:
        swamp_work_answer(work, SWAMP_OK, nullptr, 0);
    }
}

int
fail(const char *what, int rc)
{
    std::fprintf(stderr, "%s: %s\n", what, swamp_status_text(rc));
    return 1;
}

} // namespace

int
main()
{
    int starts = 0, rc;
    swamp_executor executor = {sizeof(executor), work, nullptr};
    swamp_server_options options;
    swamp_store *store = nullptr;
    swamp_server *server = nullptr;
    swamp_session *session = nullptr;
    swamp_event *event = nullptr;

    swamp_server_options_init(&options, sizeof(options));
    if ((rc = swamp_store_memory_open(&store)) != SWAMP_OK)
        return fail("store", rc);
    store_ptr store_owner(store);
    options.store = store;
    options.flags = SWAMP_SERVER_LOCAL;
    options.executor = &executor;
    options.executor_user = &starts;
    if ((rc = swamp_server_new(&server, &options, nullptr)) != SWAMP_OK)
        return fail("new", rc);
    server_ptr server_owner(server);
    if ((rc = swamp_server_start(server)) != SWAMP_OK)
        return fail("start", rc);
    rc = swamp_session_local(&session, server, "workflow.run", R"({"workflowIdOrName":"cxx"})", nullptr);
    if (rc != SWAMP_OK)
        return fail("session", rc);
    session_ptr session_owner(session);
    std::string status;
    while ((rc = swamp_session_next(session, 30000, &event)) == SWAMP_EVENT) {
        event_ptr event_owner(event);
        if (swamp_event_type(event) == SWAMP_EVENT_DONE)
            status = swamp_event_status(event);
    }
    if (rc != SWAMP_END || status != "succeeded" || starts != 1)
        return fail("the run did not end as it should", rc);
    return std::strcmp(swamp_version(), SWAMP_VERSION) == 0 ? 0 : 1;
}
