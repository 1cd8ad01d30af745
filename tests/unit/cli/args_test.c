/* Flags of one command: spellings, sources and their precedence, and the words of a refusal. */
#include <stdlib.h>
#include <string.h>
#include "../../../cli/args.h"
#include "tap.h"

static const struct flag flags[] = {
    {.name = "port", .type = FLAG_COUNT, .value = "N", .fallback = "9090", .max = 65535, .help = "h"},
    {.name = "wait",
     .type = FLAG_DURATION,
     .value = "D",
     .fallback = "10s",
     .min = 50,
     .max = 3600000,
     .help = "h"},
    {.name = "mode",
     .type = FLAG_CHOICE,
     .value = "M",
     .allowed = "none|token",
     .refused = "token",
     .help = "h"},
    {.name = "insecure", .type = FLAG_SWITCH, .help = "h"},
    {.name = "input", .type = FLAG_LIST, .value = "K=V", .help = "h"},
    {.name = "store", .type = FLAG_TEXT, .value = "URL", .variable = "SWAMP_STORE", .help = "h"},
    {.name = NULL},
};
static const struct command serve = {"serve", "NAME", 0, 1, "s", flags, NULL, "T_", NULL};

static const char *variable_name, *variable_value;

static char *
look_up(const char *name)
{
    return variable_name && strcmp(name, variable_name) == 0 ? (char *)(size_t)variable_value : NULL;
}

static struct args got;
static text error;

static int
read_line(const char *line)
{
    char *words = strdup(line), *argv[16], *rest = words;
    int argc = 0;
    while ((argv[argc] = strsep(&rest, " ")))
        argc++;
    args_free(&got);
    text_clear(&error);
    int rc = args_read(&got, &serve, *line ? argc : 0, argv, look_up, &error);
    free(words);
    return rc;
}

static void
set_up(void)
{
    variable_name = variable_value = NULL;
    got = (struct args){0};
}

static void
tear_down(void)
{
    args_free(&got);
    text_free(&error);
}

START_TEST(both_spellings_and_defaults)
{
    ck_assert_int_eq(read_line("--port 1 --wait=500ms --insecure"), 0);
    ck_assert_uint_eq(args_number(&got, "port"), 1);
    ck_assert_uint_eq(args_number(&got, "wait"), 500);
    ck_assert_uint_eq(args_number(&got, "insecure"), 1);
    ck_assert_int_eq(read_line(""), 0);
    ck_assert_uint_eq(args_number(&got, "port"), 9090);
    ck_assert_uint_eq(args_number(&got, "wait"), 10000);
    ck_assert_uint_eq(args_number(&got, "insecure"), 0);
    ck_assert_int_eq(args_given(&got, "port"), 0);
    ck_assert_ptr_null(args_text(&got, "mode"));
}
END_TEST

START_TEST(a_flag_wins_over_a_variable_over_a_default)
{
    variable_name = "T_PORT";
    variable_value = "7";
    ck_assert_int_eq(read_line(""), 0);
    ck_assert_uint_eq(args_number(&got, "port"), 7);
    ck_assert_int_eq(args_from(&got, "port"), ARGS_FROM_VARIABLE);
    ck_assert_int_eq(read_line("--port 8"), 0);
    ck_assert_uint_eq(args_number(&got, "port"), 8);
    variable_value = ""; /* as compose files leave one out */
    ck_assert_int_eq(read_line(""), 0);
    ck_assert_uint_eq(args_number(&got, "port"), 9090);
}
END_TEST

START_TEST(the_last_of_two_flags_wins_and_lists_keep_all)
{
    ck_assert_int_eq(read_line("--port 1 --port 2 --input a=1 --input b=2 x"), 0);
    ck_assert_uint_eq(args_number(&got, "port"), 2);
    ck_assert_uint_eq(got.repeat_count, 2);
    ck_assert_str_eq(got.repeats[0].text, "a=1");
    ck_assert_str_eq(got.repeats[1].text, "b=2");
    ck_assert_str_eq(args_operand(&got, 0), "x");
    ck_assert_ptr_null(args_operand(&got, 1));
}
END_TEST

START_TEST(words_after_two_dashes_are_operands)
{
    ck_assert_int_eq(read_line("-- --port"), 0);
    ck_assert_str_eq(args_operand(&got, 0), "--port");
    ck_assert_int_eq(read_line("-- -h"), 0);
    ck_assert_int_eq(got.help, 0);
}
END_TEST

static const struct {
    const char *line, *first, *second;
} refusals[] = {
    {"--port 65536", "--port is \"65536\"", "0 to 65535"},
    {"--port 99999999999999999999", "--port is \"99999999999999999999\"", "0 to 65535"},
    {"--wait 49ms", "--wait is \"49ms\"", "50ms to 1h"},
    {"--wait 61m", "--wait is \"61m\"", "50ms to 1h"},
    {"--mode token", "--mode is \"token\"", "yet"},
    {"--mode no", "--mode is \"no\"", "none|token"},
    {"--mode none|token", "--mode is", "none|token"},
    {"--store=", "--store is \"\"", "a value (URL)"},
    {"--prot 1", "unknown flag --prot", "did you mean --port?"},
    {"--xyzzyxyzzy", "unknown flag --xyzzyxyzzy", "swamp serve -h"},
    {"-p", "unknown flag -p", ""},
    {"--port", "--port needs a value", "--port N"},
    {"a b", "\"b\" is one word too many", "swamp serve NAME"},
};

START_TEST(refusals_name_the_flag_the_value_and_what_is_allowed)
{
    ck_assert_int_eq(read_line(refusals[_i].line), 2);
    ck_assert_ptr_nonnull(strstr(error.bytes, refusals[_i].first));
    ck_assert_ptr_nonnull(strstr(error.bytes, refusals[_i].second));
    ck_assert_ptr_null(strchr(error.bytes, '\n'));
}
END_TEST

START_TEST(help_comes_before_every_check)
{
    ck_assert_int_eq(read_line("--port x -h"), 0);
    ck_assert_int_eq(got.help, 1);
    args_help(&serve, &error);
    ck_assert_ptr_nonnull(strstr(error.bytes, "--port N"));
    ck_assert_ptr_nonnull(strstr(error.bytes, "[T_PORT]"));
    ck_assert_ptr_nonnull(strstr(error.bytes, "[T_STORE, SWAMP_STORE]"));
}
END_TEST

static Suite *
suite(void)
{
    Suite *made = suite_create("cli args");
    TCase *cases = tcase_create("args");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, both_spellings_and_defaults);
    tcase_add_test(cases, a_flag_wins_over_a_variable_over_a_default);
    tcase_add_test(cases, the_last_of_two_flags_wins_and_lists_keep_all);
    tcase_add_test(cases, words_after_two_dashes_are_operands);
    tcase_add_loop_test(cases, refusals_name_the_flag_the_value_and_what_is_allowed, 0,
                        sizeof(refusals) / sizeof(refusals[0]));
    tcase_add_test(cases, help_comes_before_every_check);
    suite_add_tcase(made, cases);
    return made;
}

int
main(void)
{
    return tap_main(suite());
}
