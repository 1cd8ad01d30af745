/* Viewers: the same bytes for all, no hole and no double, gaps told exactly, one terminal frame. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../../libswamp/util/alloc.h"
#include "fixture.h"

START_TEST(viewers_of_one_connection_get_identical_bytes)
{
    swamp_run *run = start_run(peer, "aa");
    fake_server_emit(server, 0, 3);
    send_attach(peer, "bb", run->id, 0);
    advance(1);
    expect(peer, "\"type\":\"run.attached\"", "\"id\":\"bb\"", "\"firstSeq\":1,\"headSeq\":3",
           "\"state\":\"running\"", NULL);
    char texts[2][3][256] = {0};
    for (int i = 0, seen[2] = {0}; i < 6; i++) {
        const char *frame = fake_peer_wait(peer, 1);
        ck_assert_ptr_nonnull(frame);
        int which = strstr(frame, "\"id\":\"bb\"") != NULL;
        ck_assert_int_lt(seen[which], 3);
        snprintf(texts[which][seen[which]++], sizeof texts[0][0], "%s", strstr(frame, "\"event\":"));
    }
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(texts[0][i], texts[1][i]);
    ck_assert_uint_eq(run->viewer_count, 2);
}
END_TEST

START_TEST(busy_run_does_not_starve_another_on_the_same_connection)
{
    start_run(peer, "busy");
    start_run(peer, "calm");
    peer->blocked = 1;
    fake_server_emit(server, 0, 20000);
    fake_server_emit(server, 1, 1);
    advance(1);
    fake_peer_unblock(peer);
    advance(1);
    size_t before = 0;
    const char *frame;
    while ((frame = fake_peer_next(peer)) && !strstr(frame, "\"id\":\"calm\""))
        before++;
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_lt(before, 1000);
}
END_TEST

START_TEST(gap_in_mid_stream_names_exactly_what_was_evicted)
{
    tear_down();
    fake_server_options(&options);
    options.run_log_events = 5;
    set_up();
    start_run(peer, "r");
    fake_server_emit(server, 0, 2);
    expect_event(peer, "r", 1);
    expect_event(peer, "r", 2);
    peer->blocked = 1;
    fake_server_emit(server, 0, 10);
    advance(1);
    fake_peer_unblock(peer);
    expect(peer, "{\"type\":\"run.gap\",\"id\":\"r\",\"gap\":{\"runId\":", "\"fromSeq\":3,\"toSeq\":7",
           "\"reason\":\"evicted\"", NULL);
    for (uint64_t seq = 8; seq <= 12; seq++)
        expect_event(peer, "r", seq);
    expect_nothing(peer, 10);
}
END_TEST

/* FACTS, case 2: the run ends at any point around an attach. */
#define END_POINTS 5

static void
do_step(int step)
{
    switch (step) {
    case 1:
        fake_server_emit(server, 0, 1);
        break;
    case 2:
        fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
        break;
    case 3: /* the finish was seen, the commit is with the store */
        swamp__instance_collect(server->instance);
        break;
    case 4:
        advance(0);
        break;
    default:
        break;
    }
}

START_TEST(run_that_ends_around_an_attach_gives_each_event_once_and_done)
{
    fake_peer *late = fake_peer_new(server);
    swamp_run *run = start_run(peer, "r");
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", run->id);
    fake_server_emit(server, 0, 2);
    for (int step = 0; step < END_POINTS; step++) {
        do_step(step);
        if (step == _i)
            send_attach(late, "l", run_id, 0);
    }
    advance(5);
    expect(late, "\"type\":\"run.attached\"", NULL);
    for (uint64_t seq = 1; seq <= 4; seq++)
        expect_event(late, "l", seq);
    expect(late, "{\"type\":\"done\",\"id\":\"l\"}", NULL);
    expect_nothing(late, 50);
    fake_peer_free(late);
}
END_TEST

START_TEST(last_event_and_done_come_after_the_record_and_with_it_in_them)
{
    swamp_run *run = start_run(peer, "r");
    char key[512];
    snprintf(key, sizeof key, "%s", swamp__key_run(run->id).text);
    server->questions->ask_low_ms = server->questions->ask_high_ms = 20;
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    expect_nothing(peer, 15);
    advance(100);
    expect(peer, "\"kind\":\"completed\",\"run\":{\"id\":", "\"status\":\"succeeded\"", "\"seq\":1}}", NULL);
    ck_assert_ptr_nonnull(strstr(stored(key), "\"status\":\"succeeded\""));
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
}
END_TEST

START_TEST(final_commit_that_waits_ends_viewers_as_unavailable)
{
    swamp_run *run = start_run(peer, "r");
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", run->id);
    server->questions->down = FAKE_ERROR;
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    expect_nothing(peer, 29900);
    advance(1200);
    expect(peer, "\"type\":\"error\",\"id\":\"r\"", "\"code\":\"unavailable\"", "\"retryAfterMs\":", NULL);
    send_attach(peer, "again", run_id, 0);
    expect(peer, "\"type\":\"run.attached\"", "\"state\":\"running\"", NULL);
    server->questions->down = FAKE_FINE;
    advance(6000);
    expect_event(peer, "again", 1);
    expect(peer, "{\"type\":\"done\",\"id\":\"again\"}", NULL);
}
END_TEST

START_TEST(a_batch_has_at_most_64_KiB_and_a_larger_event_goes_alone)
{
    start_run(peer, "r");
    static char event[200000];
    memset(event, 'x', sizeof event);
    memcpy(event, "{\"kind\":\"", 9);
    memcpy(event + sizeof event - 2, "\"}", 2);
    peer->blocked = 1;
    fake_server_emit(server, 0, 5000);
    ck_assert_int_eq(swamp__run_emit(server->runs[0], event, sizeof event), SWAMP_OK);
    fake_server_emit(server, 0, 5000);
    advance(1);
    peer->largest_fill = 0;
    fake_peer_unblock(peer);
    advance(50);
    ck_assert_uint_eq(peer->count, 10001);
    for (uint64_t seq = 1; seq <= 10001; seq++)
        expect_event(peer, "r", seq);
    ck_assert_uint_gt(peer->largest_fill, sizeof event);
    ck_assert_uint_lt(peer->largest_fill, sizeof event + 200);

    peer->blocked = 1; /* small ones only: without a large one that hides how much they make */
    fake_server_emit(server, 0, 5000);
    advance(1);
    peer->largest_fill = 0;
    fake_peer_unblock(peer);
    advance(50);
    ck_assert_uint_eq(peer->count, 5000);
    ck_assert_uint_le(peer->largest_fill, 65536); /* DESIGN 2: the number itself, whatever a constant says */
    ck_assert_uint_gt(peer->largest_fill, 60000);
}
END_TEST

/* PROTOCOL 3 and DESIGN 7: the largest event that there is arrives whole, its seq behind its own bytes. */
START_TEST(event_of_256_kib_arrives_whole_and_one_byte_more_is_refused)
{
    static char event[SWAMP__EVENT_MAX + 1];
    start_run(peer, "r");
    memset(event, 'x', sizeof event);
    memcpy(event, "{\"kind\":\"", 9);
    memcpy(event + SWAMP__EVENT_MAX - 2, "\"}", 2);
    ck_assert_int_eq(swamp__run_emit(server->runs[0], event, SWAMP__EVENT_MAX), SWAMP_OK);
    const char *frame = fake_peer_wait(peer, 1);
    ck_assert_ptr_nonnull(frame);
    const char *at = strstr(frame, "\"event\":") + 8;
    ck_assert_int_eq(memcmp(at, event, SWAMP__EVENT_MAX - 1), 0);
    ck_assert_str_eq(at + SWAMP__EVENT_MAX - 1, ",\"seq\":1}}");
    memcpy(event + SWAMP__EVENT_MAX - 2, "x\"}", 3);
    ck_assert_int_eq(swamp__run_emit(server->runs[0], event, sizeof event), SWAMP_E_TOO_BIG);
    expect_nothing(peer, 10);
}
END_TEST

/* DESIGN 2: between log and socket nothing is allocated; the log's own chunks are, before. */
START_TEST(nothing_is_allocated_between_log_and_socket)
{
    swamp_run *run = start_run(peer, "r");
    send_attach(peer, "again", run->id, 0);
    advance(1);
    swamp__buf out;
    swamp__buf_init(&out);
    for (int round = 0; round < 50; round++) {
        peer->blocked = 1;
        fake_server_emit(server, 0, 1000);
        unsigned long before = swamp__alloc_count();
        swamp__instance_collect(server->instance);
        for (int more = 1; more; swamp__buf_clear(&out))
            more = swamp__conn_fill(peer->conn, &out);
        if (round > 0) /* the first one sizes the scratch buffer */
            ck_assert_uint_eq(swamp__alloc_count(), before);
    }
    swamp__buf_free(&out);
    ck_assert_uint_eq(run->viewer_count, 2);
}
END_TEST

/* Pages of a batch, each read-only until it is first written to: then the run's lock must be free. */
static struct {
    char *pages;
    size_t size;
    pthread_mutex_t *lock;
    size_t written, under_lock;
} watched;

static void
look_at_lock(int number, siginfo_t *info, void *context)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = info->si_addr;
    (void)context;
    if (at < watched.pages || at >= watched.pages + watched.size) {
        signal(number, SIG_DFL); /* a fault of another kind comes again, and ends the test */
        return;
    }
    watched.written++;
    if (pthread_mutex_trylock(watched.lock) == 0)
        pthread_mutex_unlock(watched.lock);
    else
        watched.under_lock++;
    mprotect(watched.pages + (size_t)(at - watched.pages) / page * page, page, PROT_READ | PROT_WRITE);
}

/* DESIGN 2: a host that emits never waits for 64 KiB to be copied. */
START_TEST(no_event_is_copied_under_the_runs_lock)
{
    swamp_run *run = start_run(peer, "r");
    struct sigaction action = {.sa_sigaction = look_at_lock, .sa_flags = SA_SIGINFO};
    peer->blocked = 1;
    fake_server_emit(server, 0, 5000);
    advance(1);
    watched.size = 2u * SWAMP__BATCH_BYTES;
    watched.lock = &run->lock;
    watched.pages = mmap(NULL, watched.size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(watched.pages, MAP_FAILED);
    ck_assert_int_eq(sigaction(SIGSEGV, &action, NULL), 0);
    swamp__buf out = {.data = watched.pages, .cap = watched.size};
    ck_assert_int_eq(swamp__conn_fill(peer->conn, &out), 1);
    signal(SIGSEGV, SIG_DFL);
    ck_assert_uint_gt(out.len, 60000);
    ck_assert_uint_ge(watched.written, out.len / (size_t)sysconf(_SC_PAGESIZE));
    ck_assert_uint_eq(watched.under_lock, 0);
    munmap(watched.pages, watched.size);
}
END_TEST

/* DESIGN 7: for a viewer nothing is queued; what it does not take stays in the run's one log, or is evicted there. */
START_TEST(stalled_viewer_costs_nothing_but_its_cursor)
{
    tear_down();
    fake_server_options(&options);
    options.run_log_bytes = 100000;
    set_up();
    swamp_run *run = start_run(peer, "r");
    fake_peer *reader = fake_peer_new(server);
    send_attach(reader, "a", run->id, 0);
    advance(1);
    size_t had = peer->conn->outbox.cap;
    peer->blocked = 1;
    for (int i = 0; i < 50; i++) {
        fake_server_emit(server, 0, 1000);
        advance(1);
    }
    ck_assert_uint_eq(peer->conn->outbox.len, 0);
    ck_assert_uint_eq(peer->conn->outbox.cap, had);
    ck_assert_uint_le(swamp__event_log_bytes(run->log), 100000);
    ck_assert_int_eq(peer->closed, 0);
    fake_peer_free(reader);
}
END_TEST

/*
 * DESIGN 3: many viewers share a window of 5 ms, a thousand one of 10; the first event of a burst goes out at once; few
 * never wait. Ten viewers a connection, so that what they have coming is one batch, beside the one that started it.
 */
static size_t
fills_of_a_burst(size_t tens)
{
    fake_peer *peers[100];
    swamp_run *run = start_run(peer, "r");
    ck_assert_uint_le(tens, 100);
    for (size_t i = 0; i < tens * 10; i++) {
        char id[32];
        snprintf(id, sizeof id, "v%zu", i);
        if (i % 10 == 0)
            peers[i / 10] = fake_peer_new(server);
        send_attach(peers[i / 10], id, run->id, 0);
        advance(1);
    }
    advance(100);
    peer->fills = 0;
    size_t before = peers[0]->count;
    fake_server_emit(server, 0, 1);
    advance(0);
    ck_assert_uint_eq(peers[0]->count - before, 10); /* leading edge */
    for (int i = 0; i < 20; i++) {
        fake_server_emit(server, 0, 1);
        advance(1);
    }
    advance(10);
    ck_assert_uint_eq(peers[0]->count - before, 21 * 10);
    for (size_t i = 0; i < tens; i++)
        fake_peer_free(peers[i]);
    return peer->fills;
}

START_TEST(few_viewers_never_wait)
{
    ck_assert_uint_eq(fills_of_a_burst(1), 21);
}
END_TEST

START_TEST(many_viewers_share_a_window)
{
    ck_assert_uint_le(fills_of_a_burst(10), 7);
}
END_TEST

START_TEST(a_thousand_viewers_share_a_longer_window)
{
    ck_assert_uint_le(fills_of_a_burst(100), 4);
}
END_TEST

START_TEST(slow_viewer_gets_its_end_after_the_run_has_left_the_registry)
{
    tear_down();
    fake_server_options(&options);
    options.linger_ms = 1000;
    set_up();
    char run_id[64];
    snprintf(run_id, sizeof run_id, "%s", start_run(peer, "r")->id);
    peer->blocked = 1;
    fake_server_emit(server, 0, 2);
    fake_server_finish(server, 0, SWAMP_RUN_SUCCEEDED);
    advance(2000);
    ck_assert_ptr_null(swamp__registry_find(server->instance->registry, run_id));
    fake_peer_unblock(peer);
    for (uint64_t seq = 1; seq <= 3; seq++)
        expect_event(peer, "r", seq);
    expect(peer, "{\"type\":\"done\",\"id\":\"r\"}", NULL);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("viewer");
    TCase *tests = add_case(suite, "viewer");
    tcase_add_test(tests, viewers_of_one_connection_get_identical_bytes);
    tcase_add_test(tests, busy_run_does_not_starve_another_on_the_same_connection);
    tcase_add_test(tests, gap_in_mid_stream_names_exactly_what_was_evicted);
    tcase_add_loop_test(tests, run_that_ends_around_an_attach_gives_each_event_once_and_done, 0, END_POINTS);
    tcase_add_test(tests, last_event_and_done_come_after_the_record_and_with_it_in_them);
    tcase_add_test(tests, final_commit_that_waits_ends_viewers_as_unavailable);
    tcase_add_test(tests, a_batch_has_at_most_64_KiB_and_a_larger_event_goes_alone);
    tcase_add_test(tests, event_of_256_kib_arrives_whole_and_one_byte_more_is_refused);
    tcase_add_test(tests, nothing_is_allocated_between_log_and_socket);
    tcase_add_test(tests, no_event_is_copied_under_the_runs_lock);
    tcase_add_test(tests, stalled_viewer_costs_nothing_but_its_cursor);
    tcase_add_test(tests, few_viewers_never_wait);
    tcase_add_test(tests, many_viewers_share_a_window);
    tcase_add_test(tests, a_thousand_viewers_share_a_longer_window);
    tcase_add_test(tests, slow_viewer_gets_its_end_after_the_run_has_left_the_registry);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
