/* Commands: their output, their end, and that nothing of them is left. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../../cli/text.h"
#include "../../../cli/workflow/lines.h"
#include "../../../cli/workflow/process.h"
#include "gone.h"
#include "tap.h"

typedef struct seen {
    text out[2];     /* the lines of each stream, each with a newline behind it */
    size_t count[2]; /* of lines */
    size_t longest;
    process *p;
    const char *stop_at; /* a line at which to stop the process; NULL: never */
    int64_t started_ms, stopped_ms, ended_ms;
} seen;

static int64_t
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
take_line(void *user, int stream, const char *bytes, size_t len)
{
    seen *s = user;
    text_add_bytes(&s->out[stream], bytes, len);
    text_add(&s->out[stream], "\n");
    s->count[stream]++;
    if (len > s->longest)
        s->longest = len;
    if (s->stop_at && len == strlen(s->stop_at) && memcmp(bytes, s->stop_at, len) == 0) {
        s->stopped_ms = now_ms();
        process_stop(s->p, s->stopped_ms);
    }
}

static process_end
run_in(const char *command, const char *dir, int64_t timeout_ms, seen *s)
{
    extern char **environ;
    char *error = NULL;
    process_spec spec = {command, dir, environ, timeout_ms, take_line, s};
    s->started_ms = now_ms();
    s->p = process_start(&spec, s->started_ms, &error);
    ck_assert_msg(s->p != NULL, "%s", error ? error : "?");
    for (int over = 0; !over;) {
        struct pollfd fds[PROCESS_FDS];
        size_t count = process_poll(s->p, fds);
        int64_t due = process_due_ms(s->p), now = now_ms();
        poll(fds, count, due == INT64_MAX ? -1 : due <= now ? 0 : (int)(due - now));
        over = process_step(s->p, now_ms());
    }
    s->ended_ms = now_ms();
    process_end end = *process_result(s->p);
    process_free(s->p);
    return end;
}

static process_end
run(const char *command, seen *s)
{
    return run_in(command, NULL, 0, s);
}

static void
forget(seen *s)
{
    text_free(&s->out[0]);
    text_free(&s->out[1]);
}

START_TEST(both_streams_and_the_exit_code_come)
{
    seen s = {0};
    process_end end = run("echo out; echo err >&2; printf last; exit 7", &s);
    ck_assert_int_eq(end.exit_code, 7);
    ck_assert_str_eq(s.out[0].bytes, "out\nlast\n");
    ck_assert_str_eq(s.out[1].bytes, "err\n");
    forget(&s);
}
END_TEST

START_TEST(stdin_is_at_its_end)
{
    seen s = {0};
    ck_assert_int_eq(run("cat; echo $?", &s).exit_code, 0);
    ck_assert_str_eq(s.out[0].bytes, "0\n");
    forget(&s);
}
END_TEST

START_TEST(a_thousand_lines_keep_their_order)
{
    seen s = {0};
    text wanted = {0};
    for (int i = 1; i <= 1000; i++)
        text_addf(&wanted, "%d\n", i);
    ck_assert_int_eq(run("i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo $i; done", &s).exit_code, 0);
    ck_assert_str_eq(s.out[0].bytes, wanted.bytes);
    text_free(&wanted);
    forget(&s);
}
END_TEST

START_TEST(a_line_without_end_is_split_at_32_kib)
{
    seen s = {0};
    ck_assert_int_eq(run("head -c 1000000 /dev/zero | tr '\\0' x", &s).exit_code, 0);
    ck_assert_uint_eq(s.longest, LINE_MAX_BYTES);
    ck_assert_uint_eq(s.count[0], 1000000 / LINE_MAX_BYTES + 1);
    ck_assert_uint_eq(s.out[0].len, 1000000 + s.count[0]);
    forget(&s);
}
END_TEST

static void
check_whole(void *user, const char *bytes, size_t len)
{
    size_t *count = user, at = 0;
    while (at < len) {
        int step = text_utf8(bytes + at, len - at);
        ck_assert_int_gt(step, 0);
        at += (size_t)step;
    }
    ++*count;
}

START_TEST(a_split_does_not_cut_a_character)
{
    static const char *const letters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t shift = 0; shift < 12; shift++) {
        text bytes = {0};
        lines stream = {0};
        size_t count = 0;
        for (size_t i = 0; i < shift % 4; i++)
            text_add(&bytes, "x"); /* so that the characters lie across the limit in every way */
        while (bytes.len < 100000)
            text_add(&bytes, letters[shift / 4]);
        for (size_t i = 0; i < bytes.len; i += 999)
            lines_add(&stream, bytes.bytes + i, bytes.len - i < 999 ? bytes.len - i : 999, check_whole,
                      &count);
        lines_end(&stream, check_whole, &count);
        ck_assert_uint_eq(count, 4);
        text_free(&bytes);
    }
}
END_TEST

START_TEST(binary_output_becomes_valid_text)
{
    seen s = {0};
    text event = {0};
    ck_assert_int_eq(run("printf 'a\\000b\\377c\\303\\n'", &s).exit_code, 0);
    ck_assert_uint_eq(s.count[0], 1);
    text_add_json_part(&event, s.out[0].bytes, s.out[0].len - 1);
    ck_assert_str_eq(event.bytes, "\"a\xef\xbf\xbd"
                                  "b\xef\xbf\xbd"
                                  "c\xef\xbf\xbd\"");
    text_free(&event);
    forget(&s);
}
END_TEST

START_TEST(a_background_child_does_not_outlive_the_command)
{
    seen s = {0};
    process_end end = run("sleep 300 & echo $!; exit 3", &s);
    ck_assert_int_eq(end.exit_code, 3);
    ck_assert_int_lt(s.ended_ms - s.started_ms, 3000);
    ck_assert(process_is_gone(atoi(s.out[0].bytes)));
    forget(&s);
}
END_TEST

START_TEST(a_silent_background_child_does_not_either)
{
    seen s = {0};
    process_end end = run("(trap '' TERM; exec sleep 300) >/dev/null 2>&1 & echo $!", &s);
    ck_assert_int_eq(end.exit_code, 0);
    ck_assert_int_lt(s.ended_ms - s.started_ms, 3000);
    ck_assert(process_is_gone(atoi(s.out[0].bytes)));
    forget(&s);
}
END_TEST

START_TEST(who_left_the_group_cannot_hold_the_command)
{
    seen s = {0};
    process_end end = run("setsid sleep 8 & echo $!; exit 0", &s);
    ck_assert_int_eq(end.exit_code, 0);
    ck_assert_int_lt(s.ended_ms - s.started_ms, PROCESS_KILL_AFTER_MS + 1500);
    kill((pid_t)atoi(s.out[0].bytes), SIGKILL);
    forget(&s);
}
END_TEST

START_TEST(a_stop_sends_term_to_the_whole_group)
{
    seen s = {.stop_at = "ready"};
    /* A child of the shell that is not yet a program of its own takes TERM for its parent's trap. */
    process_end end = run("trap 'echo got term; exit 5' TERM; sleep 300 & echo $!; "
                          "until grep -q sleep /proc/$!/comm; do :; done; echo ready; wait",
                          &s);
    ck_assert(end.stopped);
    ck_assert_int_eq(end.exit_code, 5);
    ck_assert_ptr_nonnull(strstr(s.out[0].bytes, "got term"));
    ck_assert(process_is_gone(atoi(s.out[0].bytes)));
    ck_assert_int_lt(s.ended_ms - s.stopped_ms, 3000);
    forget(&s);
}
END_TEST

START_TEST(who_ignores_term_is_killed_after_5_s)
{
    seen s = {.stop_at = "ready"};
    process_end end = run("trap '' TERM; (sleep 300) & echo $!; echo ready; while :; do sleep 1; done", &s);
    ck_assert(end.stopped);
    ck_assert_int_eq(end.signal, SIGKILL);
    ck_assert_int_ge(s.ended_ms - s.stopped_ms, PROCESS_KILL_AFTER_MS);
    ck_assert_int_lt(s.ended_ms - s.stopped_ms, PROCESS_KILL_AFTER_MS + 2500);
    ck_assert(process_is_gone(atoi(s.out[0].bytes)));
    forget(&s);
}
END_TEST

START_TEST(who_is_stopped_still_ends)
{
    seen s = {.stop_at = "ready"};
    process_end end = run("echo ready; kill -STOP $$; sleep 300", &s);
    ck_assert(end.stopped && end.signal == SIGTERM);
    ck_assert_int_lt(s.ended_ms - s.stopped_ms, 3000);
    forget(&s);
}
END_TEST

START_TEST(a_timeout_ends_the_command)
{
    seen s = {0};
    process_end end = run_in("echo $$; sleep 300", NULL, 1000, &s);
    ck_assert(end.timed_out && !end.stopped);
    ck_assert_int_ge(s.ended_ms - s.started_ms, 1000);
    ck_assert_int_lt(s.ended_ms - s.started_ms, 4000);
    ck_assert_uint_gt(s.out[0].len, 0); /* the shell had begun: a busy machine needs its time for that */
    ck_assert(process_is_gone(atoi(s.out[0].bytes)));
    forget(&s);
}
END_TEST

START_TEST(a_command_that_never_stops_talking_can_be_stopped)
{
    seen s = {.stop_at = "y"};
    process_end end = run("yes", &s);
    ck_assert(end.stopped && end.signal == SIGTERM);
    forget(&s);
}
END_TEST

START_TEST(freeing_kills_at_once)
{
    extern char **environ;
    char *error = NULL;
    seen s = {0};
    process_spec spec = {"trap '' TERM; echo $$; while :; do sleep 1; done", NULL, environ, 0, take_line, &s};
    process *p = process_start(&spec, 0, &error);
    ck_assert_ptr_nonnull(p);
    while (s.count[0] == 0) {
        struct pollfd fds[PROCESS_FDS];
        poll(fds, process_poll(p, fds), 1000);
        process_step(p, 0);
    }
    process_free(p);
    ck_assert(process_is_gone(atoi(s.out[0].bytes)));
    forget(&s);
}
END_TEST

START_TEST(the_shell_dies_with_a_program_that_is_killed)
{
    int numbers[2], shell = 0;
    char line[32] = "";
    ck_assert_int_eq(pipe(numbers), 0);
    pid_t owner = fork();
    if (owner == 0) { /* an instance: starts a command and sits there until kill -9 */
        extern char **environ;
        char *error = NULL;
        seen s = {0};
        process_spec spec = {"echo $$; while :; do sleep 1; done", NULL, environ, 0, take_line, &s};
        process *p = process_start(&spec, 0, &error);
        while (p && s.count[0] == 0)
            process_step(p, 0);
        if (!p || write(numbers[1], s.out[0].bytes, s.out[0].len) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_gt(read(numbers[0], line, sizeof(line) - 1), 0);
    shell = atoi(line);
    ck_assert(!process_is_gone(shell));
    kill(owner, SIGKILL);
    ck_assert_int_eq(waitpid(owner, NULL, 0), owner);
    for (int i = 0; i < 1000 && !process_is_gone(shell); i++)
        poll(NULL, 0, 5); /* the kernel's signal is on its way */
    ck_assert(process_is_gone(shell));
}
END_TEST

START_TEST(the_shell_starts_with_default_signals_and_three_descriptors)
{
    seen s = {0};
    sigset_t all;
    int leaked = dup(0); /* not close-on-exec: as a careless parent leaves it */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGPIPE, SIG_IGN); /* as libwebsockets does */
    ck_assert_int_eq(
        run("grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | tr '\\n' ' '", &s).exit_code, 0);
    ck_assert_ptr_nonnull(strstr(s.out[0].bytes, "SigBlk:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(s.out[0].bytes, "SigIgn:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(s.out[0].bytes, "0 1 2 3 \n")); /* 3 is the directory that ls reads */
    close(leaked);
    forget(&s);
}
END_TEST

START_TEST(a_directory_that_is_missing_is_named)
{
    extern char **environ;
    char *error = NULL;
    process_spec spec = {"true", "/no/such/directory", environ, 0, take_line, NULL};
    ck_assert_ptr_null(process_start(&spec, 0, &error));
    ck_assert_str_eq(error, "cannot work in the directory '/no/such/directory': No such file or directory");
    free(error);
}
END_TEST

START_TEST(a_command_that_is_too_long_is_told_so)
{
    extern char **environ;
    char *error = NULL, *huge = malloc(300001);
    process_spec spec = {huge, NULL, environ, 0, take_line, NULL};
    memset(huge, 'x', 300000);
    huge[300000] = '\0';
    ck_assert_ptr_null(process_start(&spec, 0, &error));
    ck_assert_str_eq(error, "cannot start /bin/sh: the command or its variables are too long");
    free(error);
    free(huge);
}
END_TEST

START_TEST(a_command_may_begin_with_a_dash)
{
    seen s = {0};
    ck_assert_int_eq(run("-x 2>/dev/null; pwd", &s).exit_code, 0);
    forget(&s);
    s = (seen){0};
    ck_assert_int_eq(run_in("pwd", "/", 0, &s).exit_code, 0);
    ck_assert_str_eq(s.out[0].bytes, "/\n");
    forget(&s);
}
END_TEST

static Suite *
suite(void)
{
    Suite *all = suite_create("process");
    TCase *cases = tcase_create("process");
    tcase_set_timeout(cases, 30);
    tcase_add_test(cases, both_streams_and_the_exit_code_come);
    tcase_add_test(cases, stdin_is_at_its_end);
    tcase_add_test(cases, a_thousand_lines_keep_their_order);
    tcase_add_test(cases, a_line_without_end_is_split_at_32_kib);
    tcase_add_test(cases, a_split_does_not_cut_a_character);
    tcase_add_test(cases, binary_output_becomes_valid_text);
    tcase_add_test(cases, a_background_child_does_not_outlive_the_command);
    tcase_add_test(cases, a_silent_background_child_does_not_either);
    tcase_add_test(cases, who_left_the_group_cannot_hold_the_command);
    tcase_add_test(cases, a_stop_sends_term_to_the_whole_group);
    tcase_add_test(cases, who_ignores_term_is_killed_after_5_s);
    tcase_add_test(cases, who_is_stopped_still_ends);
    tcase_add_test(cases, a_timeout_ends_the_command);
    tcase_add_test(cases, a_command_that_never_stops_talking_can_be_stopped);
    tcase_add_test(cases, freeing_kills_at_once);
    tcase_add_test(cases, the_shell_dies_with_a_program_that_is_killed);
    tcase_add_test(cases, the_shell_starts_with_default_signals_and_three_descriptors);
    tcase_add_test(cases, a_directory_that_is_missing_is_named);
    tcase_add_test(cases, a_command_may_begin_with_a_dash);
    suite_add_tcase(all, cases);
    TCase *refused = tcase_create("refused");
    /* valgrind ends a process whose exec failed: scripts/full/valgrind leaves it out */
    tcase_set_tags(refused, "exec-fails");
    tcase_add_test(refused, a_command_that_is_too_long_is_told_so);
    suite_add_tcase(all, refused);
    return all;
}

int
main(void)
{
    return tap_main(suite());
}
