/* Expressions in commands: proven by running them under /bin/sh with hostile values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../../cli/memory.h"
#include "../../../cli/workflow/expression.h"
#include "../../../cli/workflow/shell.h"
#include "tap.h"

static workflow_input input = {.name = "v"};
static workflow flow = {.inputs = &input, .input_count = 1};

static char *
to_shell(const char *run)
{
    text out = {0};
    char *error = NULL;
    int lines;
    int taken = expression_to_shell(&flow, run, &out, &error, &lines);
    ck_assert_msg(taken, "%s: %s", run, error);
    return text_take(&out);
}

/* What a command prints, exactly. */
static char *
output_of(const char *command, const char *value)
{
    text out = {0};
    char part[4096];
    setenv(EXPRESSION_VARIABLE "1", value, 1);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    for (size_t got; (got = fread(part, 1, sizeof(part), pipe)) > 0;)
        text_add_bytes(&out, part, got);
    ck_assert_msg(WEXITSTATUS(pclose(pipe)) == 0, "%s failed", command);
    return text_take(&out);
}

static const char *const values[] = {
    "plain",
    "",
    "two  words",
    "it's",
    "\"quoted\"",
    "$(touch /tmp/owned)",
    "`id`",
    "$HOME ${HOME}",
    "a\nb\n\nc",
    "; rm -rf x",
    "*",
    "\\",
    "\\n\\'",
    "-n",
    "'; echo owned; '",
    "#x",
    "&& false",
    "\t tab \t",
    "\"; id; \"",
    "}}",
    "${{ inputs.v }}",
    "!history",
    "~",
    "a=b",
    "$'x'",
    "\xc3\xa9\xf0\x9f\x98\x80",
};

/* printf gets one argument, whole: %s proves that it is neither split nor expanded. V is where the value goes. */
static const struct {
    const char *run, *wanted;
} places[] = {
    {"printf '<%s>' ${{ inputs.v }}", "<V>"},
    {"printf '<%s>' \"${{ inputs.v }}\"", "<V>"},
    {"printf '<%s>' 'a ${{inputs.v}} b'", "<a V b>"},
    {"printf '<%s>' \"a ${{ inputs.v }} 'b'\"", "<a V 'b'>"},
    {"printf '<%s>' a${{ inputs.v }}b", "<aVb>"},
    {"printf '<%s>' ${{ inputs.v }}${{ inputs.v }}", "<VV>"},
    {"printf '<%s>' 'it'\\''s ${{ inputs.v }}'", "<it's V>"},
    {"printf '<%s>' \"\\\"${{ inputs.v }}\\\"\"", "<\"V\">"},
    {"x=${{ inputs.v }}; printf '<%s>' \"$x\"", "<V>"},
    {"# it's a comment\nprintf '<%s>' ${{ inputs.v }}", "<V>"},
    {"printf '<%s>' \"$(printf '%s' \"it's\")\" ${{ inputs.v }}", "<it's><V>"},
    {"cat <<'E' >/dev/null\nit's \"open\nE\nprintf '<%s>' '${{ inputs.v }}'", "<V>"},
    {"cat <<-E >/dev/null; printf '<%s>' \"${{ inputs.v }}\"\n\tit's\n\tE", "<V>"},
    {"printf '<%s>' $((1 << 2)) ${{ inputs.v }}", "<4><V>"},
    {"printf '<%s>' ${#x}${Y:-\"a\"} \"${{ inputs.v }}\"", "<0a><V>"},
    {"printf '<%s>' `echo \"it's\"` ${{ inputs.v }}", "<it's><V>"},
    {"case a in (a) printf '<%s>' ${{ inputs.v }};; esac", "<V>"},
    {"echo a#'b' >/dev/null; printf '<%s>' '${{ inputs.v }}'", "<V>"},
    {"true \\\n# it's\nprintf '<%s>' '${{ inputs.v }}'", "<V>"},
    {"printf '<%s>' \"$(printf '%s' \"$(printf a)\" # it's\n)\" ${{ inputs.v }}", "<a><V>"},
};

static void
add_expected(text *out, const char *wanted, const char *value)
{
    for (; *wanted; wanted++)
        if (*wanted == 'V')
            text_add(out, value);
        else
            text_add_bytes(out, wanted, 1);
}

START_TEST(a_value_arrives_whole_in_every_quote_state)
{
    char *command = to_shell(places[_i].run);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        text wanted = {0};
        add_expected(&wanted, places[_i].wanted, values[i]);
        char *got = output_of(command, values[i]);
        ck_assert_msg(strcmp(got, wanted.bytes) == 0, "%s with '%s' printed %s", command, values[i], got);
        free(got);
        text_free(&wanted);
    }
    free(command);
}
END_TEST

START_TEST(the_references_are_those_of_the_specification)
{
    static const struct {
        const char *run, *command;
    } cases[] = {
        {"echo ${{ inputs.v }}", "echo \"${SWAMP_INPUT_1}\""},
        {"echo \"${{ inputs.v }}\"", "echo \"${SWAMP_INPUT_1}\""},
        {"echo '${{ inputs.v }}'", "echo ''\"${SWAMP_INPUT_1}\"''"},
        {"echo $x ${y} $(z)", "echo $x ${y} $(z)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *command = to_shell(cases[i].run);
        ck_assert_str_eq(command, cases[i].command);
        free(command);
    }
}
END_TEST

static const char *const refused[] = {
    "$(${{ inputs.v }})",
    "\"`${{ inputs.v }}`\"",
    "(cat <<E\n${{ inputs.v }}\nE\n)",
    "cat << \"E\"\nE \n${{ inputs.v }}",
    "cat <<${{ inputs.v }}\n",
    "\"${X#'a}'}${{ inputs.v }}\"",
    "\"${X:-'}\" ${{ inputs.v }}",
    "$${{ inputs.v }}",
    "echo a\\\\\\${{ inputs.v }}",
    ";#${{ inputs.v }}",
    "x=$( # ) it's not over\n ${{ inputs.v }})",
    "$'a\\'b' ${{ inputs.v }}",
    "cat <<E\na\\\nE\n${{ inputs.v }}\nE\n ${{ inputs.v }}",
};

START_TEST(uncertain_places_are_refused)
{
    text out = {0};
    char *error = NULL;
    int lines;
    ck_assert_msg(!expression_to_shell(&flow, refused[_i], &out, &error, &lines), "%s gave %s", refused[_i],
                  out.bytes);
    ck_assert_ptr_nonnull(strstr(error, "not supported"));
    free(error);
    text_free(&out);
}
END_TEST

START_TEST(nesting_without_end_is_bounded)
{
    text run = {0}, out = {0};
    char *error = NULL;
    int lines;
    for (int i = 0; i < 10000; i++)
        text_add(&run, "$(");
    text_add(&run, "${{ inputs.v }}");
    ck_assert(!expression_to_shell(&flow, run.bytes, &out, &error, &lines));
    free(error);
    text_free(&run);
    text_free(&out);
}
END_TEST

START_TEST(plain_places_are_substituted)
{
    text out = {0};
    char *error = NULL, value[] = "x y", *words[] = {value};
    ck_assert(expression_to_text(&flow, "/a/${{ inputs.v }}/${{inputs.v}}", words, &out, &error));
    ck_assert_str_eq(out.bytes, "/a/x y/x y");
    text_free(&out);
}
END_TEST

static Suite *
suite(void)
{
    Suite *all = suite_create("expression");
    TCase *cases = tcase_create("shell");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, a_value_arrives_whole_in_every_quote_state, 0,
                        sizeof(places) / sizeof(places[0]));
    tcase_add_loop_test(cases, uncertain_places_are_refused, 0, sizeof(refused) / sizeof(refused[0]));
    tcase_add_test(cases, the_references_are_those_of_the_specification);
    tcase_add_test(cases, nesting_without_end_is_bounded);
    tcase_add_test(cases, plain_places_are_substituted);
    suite_add_tcase(all, cases);
    return all;
}

int
main(void)
{
    return tap_main(suite());
}
