/* The loop of net/: wake-up, clock, tasks, and the listening socket, under poll and libev. */
#include <errno.h>
#include <ifaddrs.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <swamp/server.h>
#include <swamp/status.h>
#include "../../libswamp/net/context.h"
#include "../../libswamp/util/clock.h"
#include "net_fixture.h"
#include "raw_peer.h"
#include "tap.h"

#define LATE_MAX_MS 200 /* generous: the machine may be busy */

typedef struct alarm_clock {
    swamp__timer timer;
    swamp__loop *loop;
    swamp__instance *core;
    int64_t due_ms, fired_ms;
    size_t fired;
} alarm_clock;

static void
ring(swamp__timer *timer)
{
    alarm_clock *it = SWAMP__OF(timer, alarm_clock, timer);

    it->fired_ms = swamp__clock_monotonic_ms();
    pthread_mutex_lock(&it->core->lock);
    it->fired++;
    pthread_cond_broadcast(&it->core->changed);
    pthread_mutex_unlock(&it->core->lock);
}

static void
set_alarm(void *user)
{
    alarm_clock *it = user;
    const swamp__world *world = swamp__loop_world(it->loop);

    ck_assert(swamp__loop_is_here(it->loop));
    ck_assert_int_eq(swamp__timer_init(world->timers, &it->timer, ring), SWAMP_OK);
    it->due_ms = swamp__now_ms(world) + it->due_ms;
    swamp__timer_set(world->timers, &it->timer, it->due_ms);
}

static void
drop_alarm(void *user)
{
    alarm_clock *it = user;

    swamp__timer_destroy(swamp__loop_world(it->loop)->timers, &it->timer);
}

START_TEST(timers_fire_when_due_and_never_before)
{
    static const int64_t after_ms[] = {1, 20, 50, 130, 1200};
    net_fixture fixture;
    alarm_clock clocks[5];

    net_start(&fixture, _i, NULL, NULL);
    for (size_t i = 0; i < 5; i++) {
        clocks[i] = (alarm_clock){.loop = fixture.loop, .core = &fixture.core, .due_ms = after_ms[i]};
        net_on_loop(fixture.loop, set_alarm, &clocks[i]);
    }
    for (size_t i = 0; i < 5; i++) {
        core_await(&fixture.core, &clocks[i].fired, 1);
        ck_assert_int_ge(clocks[i].fired_ms, clocks[i].due_ms);
        ck_assert_int_lt(clocks[i].fired_ms, clocks[i].due_ms + LATE_MAX_MS);
        net_on_loop(fixture.loop, drop_alarm, &clocks[i]);
    }
    net_stop(&fixture);
}
END_TEST

static void
do_nothing(void *user)
{
    (*(size_t *)user)++;
}

START_TEST(a_post_wakes_a_sleeping_loop_at_once)
{
    net_fixture fixture;
    size_t ran = 0;
    int64_t began_us, worst_us = 0;

    net_start(&fixture, _i, NULL, NULL);
    for (int i = 0; i < 500; i++) {
        began_us = swamp__clock_monotonic_us();
        net_on_loop(fixture.loop, do_nothing, &ran);
        if (swamp__clock_monotonic_us() - began_us > worst_us)
            worst_us = swamp__clock_monotonic_us() - began_us;
    }
    ck_assert_uint_eq(ran, 500);
    ck_assert_int_lt(worst_us, LATE_MAX_MS * 1000);
    net_stop(&fixture);
}
END_TEST

START_TEST(an_idle_loop_shows_that_it_lives)
{
    net_fixture fixture;
    int64_t before_ms, until_ms = swamp__clock_monotonic_ms() + 5000;

    net_start(&fixture, _i, NULL, NULL);
    before_ms = swamp__loop_ticked_ms(fixture.loop);
    while (swamp__loop_ticked_ms(fixture.loop) == before_ms && swamp__clock_monotonic_ms() < until_ms)
        usleep(10000);
    ck_assert_int_gt(swamp__loop_ticked_ms(fixture.loop), before_ms);
    net_stop(&fixture);
}
END_TEST

START_TEST(stop_runs_what_was_posted_and_refuses_the_rest)
{
    swamp__loop *loop = net_loop(_i, SWAMP__LOOP_CLIENT, NULL);
    swamp__task late = {.run = NULL};
    size_t ran = 0;

    net_on_loop(loop, do_nothing, &ran);
    swamp__loop_stop(loop);
    ck_assert_int_eq(swamp__loop_post(loop, &late), SWAMP_E_CLOSED);
    swamp__loop_wake(loop); /* any thread, also now */
    ck_assert_uint_eq(ran, 1);
    swamp__loop_free(loop);
}
END_TEST

typedef struct crowd {
    swamp__loop *loop;
    swamp__instance *core;
    swamp__task tasks[SWAMP__SOON_MAX + 1];
    size_t taken, run, run_at_once;
} crowd;

static crowd soon;

static void
count_run(swamp__task *task)
{
    pthread_mutex_lock(&soon.core->lock);
    soon.run++;
    pthread_cond_broadcast(&soon.core->changed);
    pthread_mutex_unlock(&soon.core->lock);
}

static void
ask_for_all(void *user)
{
    size_t before = soon.run;

    for (size_t i = 0; i <= SWAMP__SOON_MAX; i++) {
        soon.tasks[i].run = count_run;
        soon.taken += (size_t)swamp__loop_soon(soon.loop, &soon.tasks[i]);
    }
    swamp__link_remove(&soon.tasks[7].link); /* as a connection does that ends meanwhile */
    soon.run_at_once += soon.run - before;
}

START_TEST(the_end_of_a_callback_runs_a_bounded_number_of_tasks)
{
    net_fixture fixture;

    net_start(&fixture, _i, NULL, NULL);
    soon = (crowd){.loop = fixture.loop, .core = &fixture.core};
    for (size_t times = 1; times <= 2; times++) {
        net_on_loop(fixture.loop, ask_for_all, NULL);
        core_await(&fixture.core, &soon.run, times * (SWAMP__SOON_MAX - 1));
    }
    net_stop(&fixture);
    ck_assert_uint_eq(soon.taken, 2 * SWAMP__SOON_MAX);
    ck_assert_uint_eq(soon.run, 2 * (SWAMP__SOON_MAX - 1));
    ck_assert_uint_eq(soon.run_at_once, 0);
}
END_TEST

START_TEST(files_that_are_no_certificates_are_named)
{
    swamp__loop_options options = {.role = SWAMP__LOOP_SERVER,
                                   .max_connections = 10,
                                   .cert_file = "/nonexistent/cert",
                                   .key_file = "/nonexistent/key"};
    swamp__loop *loop = NULL;
    const char *why = "";

    ck_assert_int_eq(swamp__loop_new(&loop, &options, &why), SWAMP_E_TLS);
    ck_assert_ptr_nonnull(strstr(why, "certificate file cannot be read"));
    options.cert_file = options.key_file = "/dev/null";
    ck_assert_int_eq(swamp__loop_new(&loop, &options, &why), SWAMP_E_TLS);
    ck_assert_ptr_nonnull(strstr(why, "holds no certificate"));
    options.key_file = NULL;
    ck_assert_int_eq(swamp__loop_new(&loop, &options, &why), SWAMP_E_TLS);
    options = (swamp__loop_options){
        .role = SWAMP__LOOP_CLIENT, .max_connections = 10, .ca_cert_file = "/nonexistent"};
    ck_assert_int_eq(swamp__loop_new(&loop, &options, &why), SWAMP_E_TLS);
    ck_assert_ptr_nonnull(strstr(why, "CA file cannot be read"));
    ck_assert_ptr_null(loop);
}
END_TEST

static int
own_address(char *out, size_t cap)
{
    struct ifaddrs *all = NULL;
    int found = 0;

    ck_assert_int_eq(getifaddrs(&all), 0);
    for (struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)at->ifa_addr;

        if (v4 && v4->sin_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 != 127)
            found = inet_ntop(AF_INET, &v4->sin_addr, out, (socklen_t)cap) != NULL;
    }
    freeifaddrs(all);
    return found;
}

START_TEST(it_listens_on_its_address_and_no_other)
{
    net_fixture fixture;
    char own[64];
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_connect("127.0.0.1", fixture.port);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(raw_connect("127.0.0.2", fixture.port), -ECONNREFUSED);
    if (own_address(own, sizeof(own)))
        ck_assert_int_eq(raw_connect(own, fixture.port), -ECONNREFUSED);
    close(fd);
    net_stop(&fixture);
}
END_TEST

static int
listen_error(swamp__loop *loop, const char *host, int port, char *error, size_t cap)
{
    swamp__listen_options options = {.host = host, .port = port, .max_connections = 10};
    swamp__listener *listener = NULL;
    int rc = swamp__listener_new(&listener, loop, &options, error, cap);

    swamp__listener_free(listener);
    return rc;
}

START_TEST(an_address_that_cannot_be_used_is_explained)
{
    net_fixture fixture;
    char error[256];

    net_start(&fixture, _i, NULL, NULL);
    ck_assert_int_eq(listen_error(fixture.loop, "127.0.0.1", fixture.port, error, sizeof(error)),
                     SWAMP_E_ADDRESS);
    ck_assert_ptr_nonnull(strstr(error, "in use"));
    ck_assert_int_eq(listen_error(fixture.loop, "example.com", 0, error, sizeof(error)), SWAMP_E_ADDRESS);
    ck_assert_int_eq(listen_error(fixture.loop, "203.0.113.9", 0, error, sizeof(error)), SWAMP_E_ADDRESS);
    ck_assert_ptr_nonnull(strstr(error, "no address of this machine"));
    ck_assert_int_eq(listen_error(fixture.loop, "0.0.0.0", 0, error, sizeof(error)), SWAMP_E_ADDRESS);
    ck_assert_ptr_nonnull(strstr(error, "other machines"));
    net_stop(&fixture);
}
END_TEST

/* The listening socket stays readable: without a pause the loop would spin, with a line each time. */
START_TEST(running_out_of_descriptors_pauses_with_one_line)
{
    net_fixture fixture;
    struct rlimit limit;
    int spare[64], count = 0, fds[3];

    net_start(&fixture, _i, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fds[i], 0);
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)fds[2] + 10;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (count < 64 && (spare[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    ck_assert_int_lt(count, 64);
    for (int i = 0; i < 3; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)fixture.port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

        ck_assert_int_eq(connect(fds[i], (struct sockaddr *)&at, sizeof(at)), 0); /* by the kernel */
    }
    core_await(&fixture.core, &fixture.log_lines, 1);
    usleep(300000); /* several pauses; a longer wait could only find more lines */
    ck_assert_uint_eq(core_get(&fixture.core, &fixture.log_lines), 1);
    while (count > 0)
        close(spare[--count]);
    for (int i = 0; i < 3; i++) {
        char head[1024];

        ck_assert_int_eq(raw_upgrade(fds[i], "/", "127.0.0.1", "", head, sizeof(head)), 101);
        close(fds[i]);
    }
    core_await(&fixture.core, &fixture.core.freed, 3);
    net_stop(&fixture);
}
END_TEST

#define BURST 150
#define A_TURN 64 /* the number of docs/NET.md, not the code's */

typedef struct turns {
    int *fds;
    int counting; /* loop's thread */
    /* Under the core's lock: connections when the last turn began, and the most that one turn added. */
    size_t accepted, most;
} turns;

static turns burst;

/* Once a turn of the loop: the wake-up that is asked for here comes in the next one. */
static void
count_accepted(void *user)
{
    net_fixture *fixture = user;
    size_t now;

    if (!burst.counting)
        return;
    now = swamp__listener_connections(fixture->listener);
    pthread_mutex_lock(&fixture->core.lock);
    if (now - burst.accepted > burst.most)
        burst.most = now - burst.accepted;
    burst.accepted = now;
    pthread_cond_broadcast(&fixture->core.changed);
    pthread_mutex_unlock(&fixture->core.lock);
    burst.counting = now < BURST;
    if (burst.counting)
        swamp__loop_wake(fixture->loop);
}

/* The kernel connects them all: the loop is here, and accepts nothing. */
static void
connect_burst(void *user)
{
    net_fixture *fixture = user;

    for (int i = 0; i < BURST; i++) {
        burst.fds[i] = raw_connect("127.0.0.1", fixture->port);
        ck_assert_int_ge(burst.fds[i], 0);
        raw_write(burst.fds[i], "G",
                  1); /* until its first byte is there, a connection is not to be accepted */
    }
    burst.counting = 1;
    swamp__loop_wake(fixture->loop);
}

START_TEST(a_turn_of_the_loop_accepts_64)
{
    static net_fixture fixture;
    int fds[BURST];

    burst = (turns){.fds = fds};
    net_start_woken(&fixture, _i, count_accepted);
    net_on_loop(fixture.loop, connect_burst, &fixture);
    core_await(&fixture.core, &burst.accepted, BURST);
    ck_assert_uint_eq(core_get(&fixture.core, &burst.accepted), BURST);
    ck_assert_uint_le(core_get(&fixture.core, &burst.most), A_TURN);
    for (int i = 0; i < BURST; i++)
        close(fds[i]);
    net_stop(&fixture);
}
END_TEST

static int
kind_for(int max_connections)
{
    swamp__loop_options options = {
        .role = SWAMP__LOOP_SERVER, .kind = SWAMP_LOOP_AUTO, .max_connections = max_connections};
    swamp__loop *loop = NULL;
    const char *why = "";
    int kind;

    ck_assert_msg(swamp__loop_new(&loop, &options, &why) == SWAMP_OK, "%s", why);
    kind = swamp__loop_kind(loop);
    swamp__loop_free(loop);
    return kind;
}

START_TEST(libev_is_chosen_above_500_connections)
{
    ck_assert_int_eq(kind_for(500), SWAMP_LOOP_POLL);
    ck_assert_int_eq(kind_for(501), SWAMP_LOOP_LIBEV);
}
END_TEST

static void
close_listener(void *user)
{
    swamp__listener_close(((net_fixture *)user)->listener);
}

START_TEST(a_closed_listener_refuses_and_keeps_its_connections)
{
    net_fixture fixture;
    raw_frame frame;
    int fd;

    net_start(&fixture, _i, NULL, NULL);
    fd = raw_websocket(fixture.port);
    net_on_loop(fixture.loop, close_listener, &fixture);
    ck_assert_int_eq(raw_connect("127.0.0.1", fixture.port), -ECONNREFUSED);
    raw_say(fd, "echo still here");
    raw_read_frame(fd, &frame);
    ck_assert_str_eq(frame.payload, "still here");
    raw_frame_free(&frame);
    close(fd);
    core_await(&fixture.core, &fixture.core.freed, 1);
    net_stop(&fixture);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("net_loop");
    TCase *tc = tcase_create("loop");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, timers_fire_when_due_and_never_before, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_post_wakes_a_sleeping_loop_at_once, 0, NET_LOOPS);
    tcase_add_loop_test(tc, an_idle_loop_shows_that_it_lives, 0, NET_LOOPS);
    tcase_add_loop_test(tc, stop_runs_what_was_posted_and_refuses_the_rest, 0, NET_LOOPS);
    tcase_add_loop_test(tc, the_end_of_a_callback_runs_a_bounded_number_of_tasks, 0, NET_LOOPS);
    tcase_add_test(tc, files_that_are_no_certificates_are_named);
    tcase_add_loop_test(tc, it_listens_on_its_address_and_no_other, 0, NET_LOOPS);
    tcase_add_loop_test(tc, an_address_that_cannot_be_used_is_explained, 0, NET_LOOPS);
    tcase_add_loop_test(tc, running_out_of_descriptors_pauses_with_one_line, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_turn_of_the_loop_accepts_64, 0, NET_LOOPS);
    tcase_add_test(tc, libev_is_chosen_above_500_connections);
    tcase_add_loop_test(tc, a_closed_listener_refuses_and_keeps_its_connections, 0, NET_LOOPS);
    suite_add_tcase(s, tc);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
