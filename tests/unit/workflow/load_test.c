/* Workflow files: each file of tests/workflows/bad is refused for the reason in its first line, the good ones
 * and the examples are taken. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../../cli/workflow/inputs.h"
#include "../../../cli/workflow/load.h"
#include "../../../cli/workflow/yaml_tree.h"
#include "tap.h"

static char *
path_of(const char *folder, const char *name)
{
    text path = {0};
    const char *root = getenv("SWAMP_SOURCE_ROOT");
    text_addf(&path, "%s/%s/%s", root ? root : ".", folder, name);
    return text_take(&path);
}

static size_t
for_each_file(const char *folder, void (*check)(const char *path))
{
    char *dir_path = path_of(folder, "");
    size_t count = 0;
    DIR *dir = opendir(dir_path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *one; (one = readdir(dir));)
        if (workflow_is_file_name(one->d_name)) {
            char *path = path_of(folder, one->d_name);
            check(path);
            free(path);
            count++;
        }
    closedir(dir);
    free(dir_path);
    return count;
}

static void
check_bad(const char *path)
{
    char first[300] = "", *fragment;
    workflow_faults faults = {0};
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(first, sizeof(first), file));
    fclose(file);
    first[strcspn(first, "\n")] = '\0';
    ck_assert_msg(strncmp(first, "# expect: ", 10) == 0, "%s", path);
    fragment = first + 10;
    ck_assert_msg(workflow_load(path, &faults) == NULL, "%s was taken", path);
    int found = 0;
    for (size_t i = 0; i < faults.count; i++) {
        found = found || strstr(faults.lines[i], fragment);
        ck_assert_msg(strncmp(faults.lines[i], path, strlen(path)) == 0, "%s does not begin with the file",
                      faults.lines[i]);
        ck_assert_msg(!strchr(faults.lines[i], '\n'), "%s is not one line", faults.lines[i]);
    }
    ck_assert_msg(found, "%s: wanted '%s', got '%s'", path, fragment,
                  faults.count ? faults.lines[0] : "nothing");
    workflow_faults_free(&faults);
}

static void
check_good(const char *path)
{
    workflow_faults faults = {0};
    workflow *flow = workflow_load(path, &faults);
    ck_assert_msg(flow != NULL, "%s", faults.count ? faults.lines[0] : path);
    ck_assert_uint_eq(faults.count, 0);
    workflow_unref(flow);
}

START_TEST(every_bad_file_is_refused_for_its_reason)
{
    ck_assert_uint_gt(for_each_file("tests/workflows/bad", check_bad), 80);
}
END_TEST

START_TEST(good_files_and_examples_are_taken)
{
    ck_assert_uint_ge(for_each_file("tests/workflows/good", check_good), 2);
    ck_assert_uint_ge(for_each_file("examples/workflows", check_good), 5);
}
END_TEST

START_TEST(a_path_that_is_not_there_is_not_blamed_for_its_name)
{
    workflow_faults faults = {0};
    ck_assert_ptr_null(workflow_load("/no/such/folder", &faults));
    ck_assert_str_eq(faults.lines[0], "/no/such/folder: cannot be read: No such file or directory");
    workflow_faults_free(&faults);
}
END_TEST

START_TEST(a_fault_names_the_line_of_its_member)
{
    char *path = path_of("tests/workflows/bad", "timeout-text.yaml");
    workflow_faults faults = {0};
    ck_assert_ptr_null(workflow_load(path, &faults));
    ck_assert_uint_eq(faults.count, 1);
    ck_assert_ptr_nonnull(
        strstr(faults.lines[0], "timeout-text.yaml:15: job 'build': step 'compile': 'timeout'"));
    workflow_faults_free(&faults);
    free(path);
}
END_TEST

static const struct {
    const char *yaml, *json; /* NULL: refused */
} scalars[] = {
    {"1", "1"},
    {"+007", "7"},
    {"-0", "0"},
    {"0x1F", "31"},
    {"0o17", "15"},
    {"017", "17"},
    {"1.50", "1.5"},
    {".5", "0.5"},
    {"1e3", "1000"},
    {"yes", "\"yes\""},
    {"on", "\"on\""},
    {"True", "true"},
    {"FALSE", "false"},
    {"~", "null"},
    {"", "null"},
    {"Null", "null"},
    {"'1'", "\"1\""},
    {"\"true\"", "\"true\""},
    {"1:30", "\"1:30\""},
    {"1_000", "\"1_000\""},
    {"2001-01-01", "\"2001-01-01\""},
    {"9007199254740993", "9007199254740993"},
    {"123456789012345678901234567890", "123456789012345678901234567890"},
    {".inf", NULL},
    {"-.INF", NULL},
    {".nan", NULL},
    {"1e999", NULL},
    {"\"a\\0b\"", NULL},
    {"[a, b", NULL},
    {"&a 1", NULL},
    {"*a", NULL},
    {"!!int 1", NULL},
    {"{a: 1, a: 2}", NULL},
    {"{[a]: 1}", NULL},
    {"[{a: [1, x]}, ~]", "[{\"a\":[1,\"x\"]},null]"},
};

START_TEST(scalars_follow_the_core_schema)
{
    text yaml = {0}, got = {0};
    char *error = NULL;
    text_addf(&yaml, "v: %s\n", scalars[_i].yaml);
    json *value = yaml_read(yaml.bytes, yaml.len, &error, NULL);
    if (scalars[_i].json) {
        ck_assert_msg(value != NULL, "%s: %s", scalars[_i].yaml, error ? error : "?");
        json_write(json_get(value, "v"), &got);
        ck_assert_str_eq(got.bytes, scalars[_i].json);
    } else {
        ck_assert_msg(value == NULL && error != NULL, "%s was taken", scalars[_i].yaml);
    }
    json_free(value);
    free(error);
    text_free(&got);
    text_free(&yaml);
}
END_TEST

START_TEST(depth_and_size_are_bounded)
{
    text deep = {0};
    char *error = NULL;
    for (int i = 0; i < JSON_DEPTH_MAX + 1; i++)
        text_add(&deep, "[");
    for (int i = 0; i < JSON_DEPTH_MAX + 1; i++)
        text_add(&deep, "]");
    ck_assert_ptr_null(yaml_read(deep.bytes, deep.len, &error, NULL));
    ck_assert_ptr_nonnull(strstr(error, "nested too deep"));
    free(error);
    ck_assert_ptr_null(json_read(deep.bytes, deep.len, &error, NULL));
    ck_assert_ptr_nonnull(strstr(error, "nested too deep"));
    free(error);
    json *fits = json_read(deep.bytes + 1, deep.len - 2, NULL, NULL);
    ck_assert_ptr_nonnull(fits);
    json_free(fits);
    text_free(&deep);

    workflow_faults faults = {0};
    text big = {0};
    while (big.len <= WORKFLOW_FILE_MAX)
        text_add(&big, "# a comment that goes on for a while\n");
    ck_assert_ptr_null(workflow_load_text("big.yaml", big.bytes, big.len, &faults));
    ck_assert_ptr_nonnull(strstr(faults.lines[0], "more than 1048576 bytes"));
    workflow_faults_free(&faults);
    text_free(&big);
}
END_TEST

static const struct {
    const char *given, *error; /* error NULL: taken */
} given_inputs[] = {
    {"{}", NULL},
    {"{\"env\":\"prod\",\"count\":3,\"ratio\":1,\"flag\":false,\"list\":[]}", NULL},
    {"{\"count\":3.0}", NULL},
    {"{\"env\":\"test\"}", "the input 'env' must be one of [\"dev\",\"prod\"]"},
    {"{\"env\":1}", "the input 'env' must be of type string, but is integer"},
    {"{\"count\":\"3\"}", "the input 'count' must be of type integer, but is string"},
    {"{\"count\":3.5}", "the input 'count' must be of type integer, but is number"},
    {"{\"flag\":\"true\"}", "the input 'flag' must be of type boolean"},
    {"{\"list\":{}}", "the input 'list' must be of type array, but is object"},
    {"{\"evn\":\"dev\"}", "the input 'evn' is not declared"},
    {"[]", "inputs must be an object"},
};

START_TEST(inputs_are_checked_and_named)
{
    char *path = path_of("tests/workflows/good", "everything.yaml"), *error = NULL;
    workflow_faults faults = {0};
    workflow *flow = workflow_load(path, &faults);
    json *given = json_read(given_inputs[_i].given, strlen(given_inputs[_i].given), NULL, NULL);
    input_values values = {0};
    ck_assert_ptr_nonnull(flow);
    ck_assert_ptr_nonnull(given);
    int taken = inputs_check(flow, given, &values, &error);
    ck_assert_msg(taken == !given_inputs[_i].error, "%s: %s", given_inputs[_i].given,
                  error ? error : "taken");
    if (!taken)
        ck_assert_ptr_nonnull(strstr(error, given_inputs[_i].error));
    free(error);
    input_values_free(&values);
    json_free(given);
    workflow_unref(flow);
    free(path);
}
END_TEST

START_TEST(required_inputs_and_used_ones_must_have_a_value)
{
    static const char file[] =
        "id: a\nname: b\ninputs:\n  properties: {r: {type: string}, u: {}, n: {}}\n"
        "  required: [r]\njobs:\n- name: j\n  steps:\n  - name: s\n    task: {type: "
        "model_method, modelType: command/shell, modelName: m, methodName: execute, inputs: "
        "{run: 'echo ${{ inputs.u }}'}}\n";
    workflow_faults faults = {0};
    workflow *flow = workflow_load_text("f.yaml", file, strlen(file), &faults);
    static const struct {
        const char *given, *error;
    } cases[] = {{"{\"u\":1}", "the input 'r' is required"},
                 {"{\"r\":\"\"}", "the input 'u' has no value and no default, but is used"},
                 {"{\"r\":\"\",\"u\":0}", NULL}};
    ck_assert_msg(flow != NULL, "%s", faults.count ? faults.lines[0] : "");
    for (size_t i = 0; i < 3; i++) {
        json *given = json_read(cases[i].given, strlen(cases[i].given), NULL, NULL);
        input_values values = {0};
        char *error = NULL;
        ck_assert_int_eq(inputs_check(flow, given, &values, &error), cases[i].error == NULL);
        if (cases[i].error)
            ck_assert_str_eq(error, cases[i].error);
        free(error);
        input_values_free(&values);
        json_free(given);
    }
    workflow_unref(flow);
}
END_TEST

START_TEST(json_keeps_integers_and_surrogate_pairs)
{
    char *path = path_of("tests/workflows/good", "as.json"), *error = NULL;
    workflow_faults faults = {0};
    workflow *flow = workflow_load(path, &faults);
    input_values values = {0};
    ck_assert_msg(flow != NULL, "%s", faults.count ? faults.lines[0] : path);
    ck_assert_str_eq(flow->description, "\xf0\x9f\x98\x80 \xc3\xa9");
    ck_assert_int_eq(inputs_check(flow, NULL, &values, &error), 1);
    ck_assert_str_eq(values.words[0], "9007199254740993");
    input_values_free(&values);
    workflow_unref(flow);
    free(path);
}
END_TEST

static const char *const bad_json[] = {"",
                                       "{",
                                       "[1,]",
                                       "{\"a\":1,}",
                                       "01",
                                       "1.",
                                       "tru",
                                       "\"a",
                                       "{a:1}",
                                       "[1] 2",
                                       "\"\\x\"",
                                       "\"\\u0000\"",
                                       "'a'",
                                       "-",
                                       ".5",
                                       "\"\xff\"",
                                       "\"\n\"",
                                       "NaN",
                                       "\"\\ud800\"",
                                       "{\"a\":1 \"b\":2}",
                                       "{\"a\":1,\"a\":2}"};

START_TEST(json_is_read_strictly)
{
    char *error = NULL;
    ck_assert_ptr_null(json_read(bad_json[_i], strlen(bad_json[_i]), &error, NULL));
    ck_assert_ptr_nonnull(error);
    free(error);
}
END_TEST

static Suite *
suite(void)
{
    Suite *all = suite_create("load");
    TCase *cases = tcase_create("files");
    tcase_set_timeout(cases, 30);
    tcase_add_test(cases, every_bad_file_is_refused_for_its_reason);
    tcase_add_test(cases, good_files_and_examples_are_taken);
    tcase_add_test(cases, a_path_that_is_not_there_is_not_blamed_for_its_name);
    tcase_add_test(cases, a_fault_names_the_line_of_its_member);
    tcase_add_test(cases, depth_and_size_are_bounded);
    tcase_add_test(cases, required_inputs_and_used_ones_must_have_a_value);
    tcase_add_test(cases, json_keeps_integers_and_surrogate_pairs);
    tcase_add_loop_test(cases, scalars_follow_the_core_schema, 0, sizeof(scalars) / sizeof(scalars[0]));
    tcase_add_loop_test(cases, inputs_are_checked_and_named, 0,
                        sizeof(given_inputs) / sizeof(given_inputs[0]));
    tcase_add_loop_test(cases, json_is_read_strictly, 0, sizeof(bad_json) / sizeof(bad_json[0]));
    suite_add_tcase(all, cases);
    return all;
}

int
main(void)
{
    return tap_main(suite());
}
