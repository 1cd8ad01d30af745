/* What the rules of the contract are written with: an open store a rule, short makers of operations, assertions. */
#ifndef SWAMP_CONTRACT_SUPPORT_H
#define SWAMP_CONTRACT_SUPPORT_H

#include "contract.h"

#define TIMEOUT_MS 5000

/* Each rule is a test over one store: `store` is open and empty in its body. */
#define RULE(name)                                                                                           \
    static void check_##name(swamp_store *store);                                                            \
    START_TEST(name)                                                                                         \
    {                                                                                                        \
        swamp_store *store = contract_open_store(_i);                                                        \
        check_##name(store);                                                                                 \
        contract_close_store(_i, store);                                                                     \
    }                                                                                                        \
    END_TEST                                                                                                 \
    static void check_##name(swamp_store *store)

struct contract_seen {
    char text[4096]; /* keys, each followed by a space */
    char value[256]; /* of the last record */
    size_t value_len;
    uint64_t revision;
    int bare; /* records without a value pointer */
    int count;
    int stop_after;
};

swamp_store *contract_open_store(int which);
void contract_close_store(int which, swamp_store *store);

swamp_store_op contract_make_op(const char *key, const char *value, int action, int condition,
                                uint64_t revision);
swamp_store_op contract_put_op(const char *key, const char *value); /* under any condition */

uint64_t contract_put(swamp_store *store, const char *key, const char *value); /* the revision */
uint64_t contract_take_away(swamp_store *store, const char *key);

int contract_see(void *user, const char *key, const void *value, size_t value_len,
                 uint64_t revision); /* a sink */

void contract_assert_value(swamp_store *store, const char *key, const char *value,
                           uint64_t revision); /* 0: any */
void contract_assert_absent(swamp_store *store, const char *key);
void contract_assert_list(swamp_store *store, const char *prefix, const char *after, size_t limit,
                          unsigned flags, const char *keys);

/* Each file of rules adds its own, for the store of that number. */
void contract_add_commit_rules(TCase *tcase, int which);
void contract_add_list_rules(TCase *tcase, int which);
void contract_add_thread_rules(TCase *tcase, int which);

#endif
