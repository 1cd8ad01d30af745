/* Rules of list, and of sinks. */
#include <stdio.h>
#include <string.h>
#include "contract_support.h"

static void
put_some(swamp_store *store)
{
    static const char *const keys[] = {"b/3", "a/1", "b/1", "c", "b/2", "b/10", "bb", "b"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        contract_put(store, keys[i], keys[i]);
}

RULE(a_list_is_in_byte_order_below_its_prefix)
{
    put_some(store);
    contract_assert_list(store, "", NULL, 100, 0, "a/1 b b/1 b/10 b/2 b/3 bb c ");
    contract_assert_list(store, "b/", NULL, 100, 0, "b/1 b/10 b/2 b/3 ");
    contract_assert_list(store, "b", NULL, 100, 0, "b b/1 b/10 b/2 b/3 bb ");
    contract_assert_list(store, "b/1", NULL, 100, 0, "b/1 b/10 ");
    contract_assert_list(store, "nothing/", NULL, 100, 0, "");
    contract_put(store, "~", "");
    contract_put(store, "b/~", "");
    contract_put(store, "B", "");
    contract_assert_list(store, "~", NULL, 100, 0, "~ ");
    contract_assert_list(store, "b/2", NULL, 100, 0, "b/2 ");
    contract_assert_list(store, "", NULL, 2, 0, "B a/1 ");
    contract_assert_list(store, "b/", "b/3", 100, 0, "b/~ ");
}

RULE(a_list_begins_after_a_key)
{
    put_some(store);
    contract_assert_list(store, "b/", "b/1", 100, 0, "b/10 b/2 b/3 ");
    contract_assert_list(store, "b/", "b/11", 100, 0, "b/2 b/3 "); /* the key itself need not be there */
    contract_assert_list(store, "b/", "b/3", 100, 0, "");
    contract_assert_list(store, "b/", "a", 100, 0, "b/1 b/10 b/2 b/3 ");
    contract_assert_list(store, "b/", "c", 100, 0, "");
    contract_assert_list(store, "b/", "b/", 100, 0, "b/1 b/10 b/2 b/3 ");
    contract_assert_list(store, "b/", "", 1, 0, "b/1 ");
}

RULE(a_list_ends_at_its_limit)
{
    put_some(store);
    contract_assert_list(store, "b/", NULL, 1, 0, "b/1 ");
    contract_assert_list(store, "b/", NULL, 4, 0, "b/1 b/10 b/2 b/3 ");
    contract_assert_list(store, "b/", "b/1", 2, 0, "b/10 b/2 ");
}

RULE(a_reverse_list_begins_with_the_highest_key)
{
    put_some(store);
    contract_assert_list(store, "", NULL, 100, SWAMP_STORE_REVERSE, "c bb b/3 b/2 b/10 b/1 b a/1 ");
    contract_assert_list(store, "b/", NULL, 2, SWAMP_STORE_REVERSE, "b/3 b/2 ");
    contract_assert_list(store, "b/", "b/2", 100, SWAMP_STORE_REVERSE, "b/10 b/1 ");
    contract_assert_list(store, "b/", "b/11", 100, SWAMP_STORE_REVERSE, "b/10 b/1 ");
    contract_assert_list(store, "b/", "b/1", 100, SWAMP_STORE_REVERSE, "");
    contract_assert_list(store, "b/", "c", 100, SWAMP_STORE_REVERSE, "b/3 b/2 b/10 b/1 ");
    contract_assert_list(store, "b/", "a", 100, SWAMP_STORE_REVERSE, "");
    contract_assert_list(store, "b/", "", 100, SWAMP_STORE_REVERSE, "");
    contract_take_away(store, "b/3");
    contract_take_away(store, "c");
    contract_assert_list(store, "", NULL, 3, SWAMP_STORE_REVERSE, "bb b/2 b/10 ");
}

RULE(a_list_of_keys_only_has_revisions_and_no_values)
{
    struct contract_seen seen = {.count = 0};
    uint64_t revision;

    put_some(store);
    revision = contract_put(store, "c", "value");
    contract_assert_list(store, "b", NULL, 3, SWAMP_STORE_KEYS_ONLY, "b b/1 b/10 ");
    contract_assert_list(store, "b", NULL, 3, SWAMP_STORE_KEYS_ONLY | SWAMP_STORE_REVERSE, "bb b/3 b/2 ");
    ck_assert_int_eq(
        swamp_store_list(store, "c", NULL, 1, SWAMP_STORE_KEYS_ONLY, TIMEOUT_MS, contract_see, &seen),
        SWAMP_OK);
    ck_assert_uint_eq(seen.value_len, 0);
    ck_assert_uint_eq(seen.revision, revision);
}

RULE(a_sink_may_end_a_list)
{
    struct contract_seen seen = {.stop_after = 2};

    put_some(store);
    ck_assert_int_eq(swamp_store_list(store, "", NULL, 100, 0, TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_str_eq(seen.text, "a/1 b ");
    contract_assert_list(store, "", NULL, 1, 0, "a/1 "); /* and the store goes on */
    contract_put(store, "k", "v");
}

struct inside {
    swamp_store *store;
    int rc;
};

static int
call_from_sink(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct inside *inside = user;
    struct contract_seen seen = {.count = 0};

    (void)value;
    (void)value_len;
    (void)revision;
    inside->rc = swamp_store_get(inside->store, key, 100, contract_see, &seen);
    return 0;
}

RULE(a_call_from_a_sink_is_refused)
{
    struct inside inside = {.store = store};

    contract_put(store, "k", "v");
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, call_from_sink, &inside), SWAMP_OK);
    ck_assert_int_eq(inside.rc, SWAMP_E_REENTRANT);
    contract_assert_value(store, "k", "v", 0);
}

RULE(a_list_of_many_pages_through_all)
{
    struct contract_seen seen;
    char key[32], after[32] = "";
    int count = 0;

    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "many/%06d", (i * 7919) % 2000);
        contract_put(store, key, "{}");
    }
    do {
        memset(&seen, 0, sizeof seen);
        ck_assert_int_eq(swamp_store_list(store, "many/", after[0] ? after : NULL, 64, SWAMP_STORE_KEYS_ONLY,
                                          TIMEOUT_MS, contract_see, &seen),
                         SWAMP_OK);
        for (char *word = strtok(seen.text, " "); word; word = strtok(NULL, " "), count++) {
            snprintf(key, sizeof key, "many/%06d", count);
            ck_assert_str_eq(word, key);
            snprintf(after, sizeof after, "%s", word);
        }
    } while (seen.count);
    ck_assert_int_eq(count, 2000);
}

void
contract_add_list_rules(TCase *tcase, int which)
{
    tcase_add_loop_test(tcase, a_list_is_in_byte_order_below_its_prefix, which, which + 1);
    tcase_add_loop_test(tcase, a_list_begins_after_a_key, which, which + 1);
    tcase_add_loop_test(tcase, a_list_ends_at_its_limit, which, which + 1);
    tcase_add_loop_test(tcase, a_reverse_list_begins_with_the_highest_key, which, which + 1);
    tcase_add_loop_test(tcase, a_list_of_keys_only_has_revisions_and_no_values, which, which + 1);
    tcase_add_loop_test(tcase, a_sink_may_end_a_list, which, which + 1);
    tcase_add_loop_test(tcase, a_call_from_a_sink_is_refused, which, which + 1);
    tcase_add_loop_test(tcase, a_list_of_many_pages_through_all, which, which + 1);
}
