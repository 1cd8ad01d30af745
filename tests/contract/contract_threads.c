/* Rules of several threads at once, and of time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "contract_support.h"

#define INCREMENTS 200

struct counting {
    swamp_store *store;
    int done;
};

/* One optimistic increment after the other: get, then put on condition of the revision. */
static void *
count_up(void *user)
{
    struct counting *counting = user;

    while (counting->done < INCREMENTS) {
        struct contract_seen seen = {.count = 0};
        char text[32];
        swamp_store_op op;
        int rc = swamp_store_get(counting->store, "counter", TIMEOUT_MS, contract_see, &seen);

        if (rc != SWAMP_OK)
            return NULL;
        snprintf(text, sizeof text, "%d", atoi(seen.value) + 1);
        op = contract_make_op("counter", text, SWAMP_STORE_PUT, SWAMP_STORE_REVISION, seen.revision);
        rc = swamp_store_commit(counting->store, &op, 1, TIMEOUT_MS, NULL, NULL);
        if (rc < 0)
            return NULL;
        counting->done += rc == SWAMP_OK;
    }
    return NULL;
}

RULE(two_threads_lose_no_update)
{
    struct counting counting[2] = {{store, 0}, {store, 0}};
    pthread_t threads[2];

    contract_put(store, "counter", "0");
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, &counting[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(counting[0].done, INCREMENTS);
    ck_assert_int_eq(counting[1].done, INCREMENTS);
    contract_assert_value(store, "counter", "400", 0);
}

RULE(calls_keep_their_time)
{
    struct timespec before, after;
    struct contract_seen seen = {.count = 0};
    swamp_store_op op = contract_put_op("k", "v");
    int rc;

    contract_put(store, "k", "v");
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < 100; i++) {
        rc = swamp_store_get(store, "k", 1, contract_see, &seen);
        ck_assert(rc == SWAMP_OK || rc == SWAMP_E_TIMEOUT);
        rc = swamp_store_list(store, "", NULL, 10, 0, 1, contract_see, &seen);
        ck_assert(rc == SWAMP_OK || rc == SWAMP_E_TIMEOUT);
        rc = swamp_store_commit(store, &op, 1, 1, NULL, NULL);
        ck_assert(rc == SWAMP_OK || rc == SWAMP_E_TIMEOUT);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    /* 300 calls of 1 ms; 3 s leave room for a slow machine and still catch a call that waits without looking */
    ck_assert_int_lt((int)(after.tv_sec - before.tv_sec), 3);
    contract_assert_value(store, "k", "v", 0);
}

void
contract_add_thread_rules(TCase *tcase, int which)
{
    tcase_add_loop_test(tcase, two_threads_lose_no_update, which, which + 1);
    tcase_add_loop_test(tcase, calls_keep_their_time, which, which + 1);
}
