/* The suite over all stores of a table, and what its rules are written with. Public interface only. */
#include <stdio.h>
#include <string.h>
#include "contract_support.h"

static const swamp_contract_backend *backends;
static void *place;

swamp_store *
contract_open_store(int which)
{
    swamp_store *store = NULL;

    place = NULL;
    ck_assert_int_eq(backends[which].open(&store, &place), 0);
    ck_assert_ptr_nonnull(store);
    return store;
}

void
contract_close_store(int which, swamp_store *store)
{
    swamp_store_free(store);
    if (backends[which].close)
        backends[which].close(place);
}

swamp_store_op
contract_make_op(const char *key, const char *value, int action, int condition, uint64_t revision)
{
    swamp_store_op op = {.key = key,
                         .value = value,
                         .value_len = value ? strlen(value) : 0,
                         .revision = revision,
                         .action = action,
                         .condition = condition};
    return op;
}

swamp_store_op
contract_put_op(const char *key, const char *value)
{
    return contract_make_op(key, value, SWAMP_STORE_PUT, SWAMP_STORE_ANY, 0);
}

uint64_t
contract_put(swamp_store *store, const char *key, const char *value)
{
    swamp_store_op op = contract_put_op(key, value);
    uint64_t revision = 0;

    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, &revision, NULL), SWAMP_OK);
    ck_assert_uint_gt(revision, 0);
    return revision;
}

uint64_t
contract_take_away(swamp_store *store, const char *key)
{
    swamp_store_op op = contract_make_op(key, NULL, SWAMP_STORE_REMOVE, SWAMP_STORE_ANY, 0);
    uint64_t revision = 0;

    ck_assert_int_eq(swamp_store_commit(store, &op, 1, TIMEOUT_MS, &revision, NULL), SWAMP_OK);
    return revision;
}

int
contract_see(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct contract_seen *seen = user;
    size_t len = strlen(seen->text);

    snprintf(seen->text + len, sizeof seen->text - len, "%s ", key);
    seen->value_len = value_len;
    if (value && value_len < sizeof seen->value)
        memcpy(seen->value, value, value_len);
    seen->bare += value == NULL;
    seen->revision = revision;
    seen->count++;
    return seen->count == seen->stop_after;
}

void
contract_assert_value(swamp_store *store, const char *key, const char *value, uint64_t revision)
{
    struct contract_seen seen = {.count = 0};

    ck_assert_int_eq(swamp_store_get(store, key, TIMEOUT_MS, contract_see, &seen), SWAMP_OK);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_str_eq(seen.value, value);
    ck_assert_uint_eq(seen.value_len, strlen(value));
    if (revision)
        ck_assert_uint_eq(seen.revision, revision);
}

void
contract_assert_absent(swamp_store *store, const char *key)
{
    struct contract_seen seen = {.count = 0};

    ck_assert_int_eq(swamp_store_get(store, key, TIMEOUT_MS, contract_see, &seen), SWAMP_ABSENT);
    ck_assert_int_eq(seen.count, 0);
}

void
contract_assert_list(swamp_store *store, const char *prefix, const char *after, size_t limit, unsigned flags,
                     const char *keys)
{
    struct contract_seen seen = {.count = 0};

    ck_assert_int_eq(swamp_store_list(store, prefix, after, limit, flags, TIMEOUT_MS, contract_see, &seen),
                     SWAMP_OK);
    ck_assert_str_eq(seen.text, keys);
    ck_assert_int_eq(seen.bare, flags & SWAMP_STORE_KEYS_ONLY ? seen.count : 0);
}

Suite *
swamp_contract_suite(const swamp_contract_backend *table, int count)
{
    Suite *suite = suite_create("contract");

    backends = table;
    for (int i = 0; i < count; i++) {
        TCase *tcase = tcase_create(table[i].name);
        tcase_set_timeout(tcase, 60);
        contract_add_commit_rules(tcase, i);
        contract_add_list_rules(tcase, i);
        contract_add_thread_rules(tcase, i);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}
