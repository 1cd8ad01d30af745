/* The contract of <swamp/store.h> as libcheck cases that any store must pass; for authors of stores too. */
#ifndef SWAMP_CONTRACT_H
#define SWAMP_CONTRACT_H

#include <check.h>
#include <swamp/swamp.h>

/*
 * A store to be judged. `open` makes an empty one in *out and may keep what it needs in *place (a folder, a
 * connection); it returns 0, or the case fails. `close` runs after the store was freed and removes what open
 * made; NULL: nothing to remove. Cases run in processes of their own, one after the other.
 */
typedef struct swamp_contract_backend {
    const char *name;
    int (*open)(swamp_store **out, void **place);
    void (*close)(void *place);
} swamp_contract_backend;

/*
 * One suite, with a test case of all rules for each store. The table must stay. Run it in any way libcheck
 * has:
 *
 *     SRunner *runner = srunner_create(swamp_contract_suite(backends, 1));
 *     srunner_run_all(runner, CK_NORMAL);
 */
Suite *swamp_contract_suite(const swamp_contract_backend *backends, int count);

#endif
