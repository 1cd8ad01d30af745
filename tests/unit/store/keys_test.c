/* Keys (PROTOCOL 5): the paths as written there, and texts that try to leave their segment. */
#include <check.h>
#include <string.h>
#include <swamp/status.h>
#include <swamp/store.h>
#include "../../../libswamp/store/keys.h"
#include "tap.h"

START_TEST(keys_are_the_paths_of_the_table)
{
    ck_assert_str_eq(swamp__key_heartbeat("i").text, "heartbeats/i");
    ck_assert_str_eq(swamp__key_active_run("r").text, "active-runs/r");
    ck_assert_str_eq(swamp__key_instance_run("i", "r").text, "instance-runs/i/r");
    ck_assert_str_eq(swamp__key_instance_runs("i").text, "instance-runs/i/");
    ck_assert_str_eq(swamp__key_run("r").text, "runs/r");
    ck_assert_str_eq(swamp__key_workflow_run("w", "r").text, "workflow-runs/w/r");
    ck_assert_str_eq(swamp__key_workflow_runs("w").text, "workflow-runs/w/");
    ck_assert_str_eq(swamp__key_name_run("n", "r").text, "workflow-names/n/r");
    ck_assert_str_eq(swamp__key_name_runs("n").text, "workflow-names/n/");
    ck_assert_str_eq(swamp__key_cancel_request("i", "r").text, "cancel-requests/i/r");
    ck_assert_str_eq(swamp__key_cancel_requests("i").text, "cancel-requests/i/");
}
END_TEST

START_TEST(names_are_escaped)
{
    ck_assert_str_eq(swamp__key_name_runs("a/b c").text, "workflow-names/a%2Fb%20c/");
    ck_assert_str_eq(swamp__key_name_runs("100%").text, "workflow-names/100%25/");
    ck_assert_str_eq(swamp__key_name_runs("\xC3\xA9\n").text, "workflow-names/%C3%A9%0A/");
    ck_assert_str_ne(swamp__key_name_runs("a%2Fb").text, swamp__key_name_runs("a/b").text);
}
END_TEST

/* Ids come from clients, too: run.attach looks any runId up. */
START_TEST(no_id_leaves_its_segment)
{
    ck_assert_str_eq(swamp__key_run("../heartbeats/i").text, "runs/..%2Fheartbeats%2Fi");
    ck_assert_str_eq(swamp__key_run("").text, "runs/%");
    ck_assert_str_eq(swamp__key_instance_run("", "").text, "instance-runs/%/%");
    ck_assert_str_eq(swamp__key_run("r%41").text, "runs/r%41"); /* as read from a key: the same key again */
}
END_TEST

START_TEST(longest_texts_make_a_key_that_a_store_takes)
{
    char text[2000];
    memset(text, '/', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    swamp__key key = swamp__key_cancel_request(text, text);
    ck_assert_uint_le(strlen(key.text), SWAMP_STORE_KEY_MAX);
    /* 66 escapes of three bytes; none is cut in two */
    ck_assert_uint_eq(strlen(key.text), strlen("cancel-requests/") + 198 + 1 + 198);
    memset(text, 'x', sizeof(text) - 1);
    key = swamp__key_name_run(text, text);
    ck_assert_uint_eq(strlen(key.text), strlen("workflow-names/") + 200 + 1 + 200);
}
END_TEST

START_TEST(parts_of_a_key)
{
    char middle[8] = "before";

    ck_assert_str_eq(swamp__key_last("instance-runs/i/r"), "r");
    ck_assert_str_eq(swamp__key_last("instance-runs/i/"), "");
    ck_assert_str_eq(swamp__key_last("plain"), "plain");
    ck_assert_int_eq(swamp__key_middle("heartbeats/i", middle, sizeof(middle)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__key_middle("plain", middle, sizeof(middle)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__key_middle("a//b", middle, sizeof(middle)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__key_middle("a/b/c/d", middle, sizeof(middle)), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__key_middle("a/12345678/b", middle, sizeof(middle)), SWAMP_E_TOO_BIG);
    ck_assert_str_eq(middle, "before");
    ck_assert_int_eq(swamp__key_middle("a/1234567/b", middle, sizeof(middle)), SWAMP_OK);
    ck_assert_str_eq(middle, "1234567");
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("store/keys");
    TCase *c = tcase_create("keys");
    tcase_add_test(c, keys_are_the_paths_of_the_table);
    tcase_add_test(c, names_are_escaped);
    tcase_add_test(c, no_id_leaves_its_segment);
    tcase_add_test(c, longest_texts_make_a_key_that_a_store_takes);
    tcase_add_test(c, parts_of_a_key);
    suite_add_tcase(s, c);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
