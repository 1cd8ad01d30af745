/* Rules of get and commit: conditions, atomic batches, sizes, keys, revisions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "contract_support.h"

RULE(what_was_put_is_read_with_its_revision)
{
    uint64_t first = contract_put(store, "runs/a", "{\"n\":1}");
    uint64_t second = contract_put(store, "runs/b", "{\"n\":2}");

    ck_assert_uint_gt(second, first);
    contract_assert_value(store, "runs/a", "{\"n\":1}", first);
    contract_assert_value(store, "runs/b", "{\"n\":2}", second);
    contract_assert_absent(store, "runs/c");
    contract_assert_absent(store, "runs");
}

RULE(a_put_replaces_value_and_revision)
{
    uint64_t first = contract_put(store, "k", "long enough to shrink");
    uint64_t second = contract_put(store, "k", "short");

    ck_assert_uint_gt(second, first);
    contract_assert_value(store, "k", "short", second);
}

RULE(values_are_bytes_and_may_be_empty)
{
    static const char bytes[] = {'a', 0, (char)0xff, '\n', 0};
    swamp_store_op op = {.key = "k",
                         .value = bytes,
                         .value_len = sizeof bytes,
                         .action = SWAMP_STORE_PUT,
                         .condition = SWAMP_STORE_ANY};
    struct contract_seen seen = {.count = 0};

    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_uint_eq(seen.value_len, sizeof bytes);
    ck_assert_mem_eq(seen.value, bytes, sizeof bytes);

    op.value = NULL;
    op.value_len = 0;
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_uint_eq(seen.value_len, 0);
    ck_assert_int_eq(seen.bare, 0); /* no value is not the same as an empty one */
}

/* Every action under every condition, on an absent and on a present key: done or conflict, and what is there
 * after. */
RULE(each_condition_with_each_action)
{
    static const struct {
        int condition, present, right_revision, holds;
    } rows[] = {
        {SWAMP_STORE_ANY, 0, 0, 1},      {SWAMP_STORE_ANY, 1, 0, 1},      {SWAMP_STORE_ABSENT, 0, 0, 1},
        {SWAMP_STORE_ABSENT, 1, 0, 0},   {SWAMP_STORE_PRESENT, 0, 0, 0},  {SWAMP_STORE_PRESENT, 1, 0, 1},
        {SWAMP_STORE_REVISION, 0, 1, 0}, {SWAMP_STORE_REVISION, 1, 0, 0}, {SWAMP_STORE_REVISION, 1, 1, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int action = SWAMP_STORE_PUT; action <= SWAMP_STORE_CHECK; action++) {
            uint64_t old = contract_put(store, "k", "old");
            uint64_t revision = 0;
            size_t failed = 99;
            swamp_store_op op =
                contract_make_op("k", action == SWAMP_STORE_PUT ? "new" : NULL, action, rows[i].condition,
                                 rows[i].right_revision ? old : old + 1000);
            int rc;

            if (!rows[i].present)
                contract_take_away(store, "k");
            rc = swamp_store_commit(store, &op, 1, TIMEOUT_MS, &revision, &failed);
            ck_assert_msg(rc == (rows[i].holds ? SWAMP_OK : SWAMP_CONFLICT), "row %zu action %d: %s", i,
                          action, swamp_status_name(rc));
            if (!rows[i].holds)
                ck_assert_uint_eq(failed, 0);
            if (rows[i].holds && action == SWAMP_STORE_PUT)
                contract_assert_value(store, "k", "new", revision);
            else if (!rows[i].present || (rows[i].holds && action == SWAMP_STORE_REMOVE))
                contract_assert_absent(store, "k");
            else
                contract_assert_value(store, "k", "old", old);
        }
    }
}

RULE(revision_conditions_far_out_only_conflict)
{
    static const uint64_t revisions[] = {0, (uint64_t)1 << 53, INT64_MAX, (uint64_t)INT64_MAX + 1,
                                         UINT64_MAX};

    contract_put(store, "k", "v");
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        swamp_store_op op =
            contract_make_op("k", NULL, SWAMP_STORE_REMOVE, SWAMP_STORE_REVISION, revisions[i]);
        ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_CONFLICT);
    }
    contract_assert_value(store, "k", "v", 0);
}

RULE(a_batch_is_all_or_nothing)
{
    uint64_t kept = contract_put(store, "kept", "1");
    swamp_store_op ops[] = {
        contract_put_op("new", "x"),
        contract_make_op("kept", NULL, SWAMP_STORE_REMOVE, SWAMP_STORE_REVISION, kept),
        contract_make_op("missing", NULL, SWAMP_STORE_CHECK, SWAMP_STORE_PRESENT, 0),
        contract_make_op("kept2", NULL, SWAMP_STORE_CHECK, SWAMP_STORE_PRESENT, 0),
    };
    uint64_t revision = 0;
    size_t failed = 99;

    ck_assert_int_eq(swamp_store_commit(store, ops, 4, TIMEOUT_MS, &revision, &failed), SWAMP_CONFLICT);
    ck_assert_uint_eq(failed, 2); /* the first that did not hold */
    contract_assert_absent(store, "new");
    contract_assert_value(store, "kept", "1", kept);

    contract_put(store, "missing", "");
    contract_put(store, "kept2", "");
    ck_assert_int_eq(swamp_store_commit(store, ops, 4, TIMEOUT_MS, &revision, &failed), SWAMP_OK);
    contract_assert_value(store, "new", "x", revision);
    contract_assert_absent(store, "kept");
}

RULE(all_puts_of_a_batch_share_its_revision)
{
    swamp_store_op ops[] = {contract_put_op("a", "1"), contract_put_op("b", "2")};
    uint64_t revision = 0;

    ck_assert_int_eq(swamp_store_commit(store, ops, 2, TIMEOUT_MS, &revision, NULL), SWAMP_OK);
    contract_assert_value(store, "a", "1", revision);
    contract_assert_value(store, "b", "2", revision);
}

RULE(sixteen_operations_fit_and_seventeen_do_not)
{
    swamp_store_op ops[SWAMP_STORE_OPS_MAX + 1];
    char keys[SWAMP_STORE_OPS_MAX + 1][8];

    for (int i = 0; i <= SWAMP_STORE_OPS_MAX; i++) {
        snprintf(keys[i], sizeof keys[i], "k/%02d", i);
        ops[i] = contract_put_op(keys[i], "v");
    }
    ck_assert_int_eq(swamp_store_commit(store, ops, 17, TIMEOUT_MS, NULL, NULL), SWAMP_E_TOO_BIG);
    contract_assert_list(store, "", NULL, 100, 0, "");
    ck_assert_int_eq(swamp_store_commit(store, ops, 0, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_commit(store, ops, 16, TIMEOUT_MS, NULL, NULL), SWAMP_OK);
    contract_assert_value(store, "k/15", "v", 0);
}

RULE(a_key_occurs_once_in_a_batch)
{
    swamp_store_op ops[] = {contract_put_op("a", "1"), contract_put_op("b", "2"),
                            contract_make_op("a", NULL, SWAMP_STORE_CHECK, SWAMP_STORE_ANY, 0)};

    ck_assert_int_eq(swamp_store_commit(store, ops, 3, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    contract_assert_absent(store, "b");
}

static int
compare_big(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    (void)key;
    (void)revision;
    return *(int *)user = value_len == SWAMP_STORE_VALUE_MAX && ((const char *)value)[0] == 'x' &&
                          ((const char *)value)[value_len - 1] == 'z';
}

RULE(a_value_of_256_KiB_fits_and_one_more_byte_does_not)
{
    char *value = malloc(SWAMP_STORE_VALUE_MAX + 1);
    swamp_store_op op = {.key = "big",
                         .value = value,
                         .value_len = SWAMP_STORE_VALUE_MAX + 1,
                         .action = SWAMP_STORE_PUT,
                         .condition = SWAMP_STORE_ANY};
    int same = 0;

    memset(value, 'y', SWAMP_STORE_VALUE_MAX + 1);
    value[0] = 'x';
    value[SWAMP_STORE_VALUE_MAX - 1] = 'z';
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_E_TOO_BIG);
    contract_assert_absent(store, "big");
    op.value_len--;
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_OK);
    ck_assert_int_eq(swamp_store_get(store, "big", TIMEOUT_MS, compare_big, &same), SWAMP_OK);
    ck_assert_int_eq(same, 1);
    free(value);
}

RULE(keys_have_bounds)
{
    static const char *const bad[] = {"", "/", "/a", "a/", "a//b", "a\nb", "\x7f", "\xc3\xa4", "\x01"};
    char key[SWAMP_STORE_KEY_MAX + 2];
    swamp_store_op op;
    struct contract_seen seen = {.count = 0};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        op = contract_put_op(bad[i], "v");
        ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
        ck_assert_int_eq(swamp_store_get(store, bad[i], TIMEOUT_MS, contract_see, &seen), SWAMP_E_INVALID);
    }
    memset(key, 'k', sizeof key);
    key[SWAMP_STORE_KEY_MAX + 1] = '\0';
    op = contract_put_op(key, "v");
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    key[SWAMP_STORE_KEY_MAX] = '\0';
    contract_put(store, key, "v");
    contract_assert_value(store, key, "v", 0);
    ck_assert_int_eq(swamp_store_list(store, key, NULL, 1, 0, TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(
        swamp_store_list(store, "", key, 1, SWAMP_STORE_REVERSE, TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(swamp_store_list(store, key, key, 1, 0, TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_int_eq(seen.count, 1);
}

RULE(arguments_are_checked)
{
    struct contract_seen seen = {.count = 0};
    swamp_store_op op = contract_put_op("k", "v");

    ck_assert_int_eq(swamp_store_get(NULL, "k", TIMEOUT_MS, contract_see, &seen), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_get(store, NULL, TIMEOUT_MS, contract_see, &seen), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_get(store, "k", TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_get(store, "k", -1, contract_see, &seen), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_list(store, NULL, NULL, 1, 0, TIMEOUT_MS, contract_see, &seen),
                     SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_list(store, "", NULL, 0, 0, TIMEOUT_MS, contract_see, &seen),
                     SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_list(store, "", NULL, 100001, 0, TIMEOUT_MS, contract_see, &seen),
                     SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_list(store, "", NULL, 100000, 4, TIMEOUT_MS, contract_see, &seen),
                     SWAMP_E_INVALID);
    ck_assert_int_eq(swamp_store_list(store, "", NULL, 100000, 0, TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_int_eq(swamp_store_commit(store, NULL, 1, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    op.action = 4;
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    op = contract_put_op("k", "v");
    op.condition = 0;
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    op = contract_make_op("k", "v", SWAMP_STORE_REMOVE, SWAMP_STORE_ANY, 0);
    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, NULL, NULL), SWAMP_E_INVALID);
    ck_assert_int_eq(seen.count, 0);
}

RULE(a_revision_is_never_used_again)
{
    uint64_t first = contract_put(store, "k", "1");
    uint64_t last = first;
    swamp_store_op stale = contract_make_op("k", "stale", SWAMP_STORE_PUT, SWAMP_STORE_REVISION, first);

    for (int i = 0; i < 20; i++) {
        uint64_t again;
        contract_take_away(store, "k");
        again = contract_put(store, "k", "1");
        ck_assert_uint_gt(again, last);
        last = again;
    }
    ck_assert_int_eq(swamp_store_commit(store, &stale, 1, TIMEOUT_MS, NULL, NULL), SWAMP_CONFLICT);
    contract_assert_value(store, "k", "1", last);
}

void
contract_add_commit_rules(TCase *tcase, int which)
{
    tcase_add_loop_test(tcase, what_was_put_is_read_with_its_revision, which, which + 1);
    tcase_add_loop_test(tcase, a_put_replaces_value_and_revision, which, which + 1);
    tcase_add_loop_test(tcase, values_are_bytes_and_may_be_empty, which, which + 1);
    tcase_add_loop_test(tcase, each_condition_with_each_action, which, which + 1);
    tcase_add_loop_test(tcase, revision_conditions_far_out_only_conflict, which, which + 1);
    tcase_add_loop_test(tcase, a_batch_is_all_or_nothing, which, which + 1);
    tcase_add_loop_test(tcase, all_puts_of_a_batch_share_its_revision, which, which + 1);
    tcase_add_loop_test(tcase, sixteen_operations_fit_and_seventeen_do_not, which, which + 1);
    tcase_add_loop_test(tcase, a_key_occurs_once_in_a_batch, which, which + 1);
    tcase_add_loop_test(tcase, a_value_of_256_KiB_fits_and_one_more_byte_does_not, which, which + 1);
    tcase_add_loop_test(tcase, keys_have_bounds, which, which + 1);
    tcase_add_loop_test(tcase, arguments_are_checked, which, which + 1);
    tcase_add_loop_test(tcase, a_revision_is_never_used_again, which, which + 1);
}
