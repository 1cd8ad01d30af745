/* The map: put, get, remove, order, removal while walking, and out of memory at every place. */
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/alloc.h"
#include "../../../libswamp/util/map.h"

#define MANY 5000

static swamp__map *map;
static int values[MANY];
static char walked[256];

static void
set_up(void)
{
    map = swamp__map_new();
    ck_assert_ptr_nonnull(map);
    walked[0] = '\0';
}

static void
tear_down(void)
{
    swamp__map_free(map);
}

static int
note_key(const char *key, void *value, void *user)
{
    strcat(walked, key);
    return user && strcmp(key, user) == 0;
}

static int
remove_odd(const char *key, void *value, void *user)
{
    strcat(walked, key);
    if (*(int *)value % 2)
        ck_assert_ptr_eq(swamp__map_remove(map, key), value);
    return 0;
}

START_TEST(what_was_put_is_found_by_a_copy_of_its_key)
{
    char key[] = "key";

    ck_assert_int_eq(swamp__map_put(map, key, &values[0]), SWAMP_OK);
    key[0] = 'x';
    ck_assert_ptr_eq(swamp__map_get(map, "key"), &values[0]);
    ck_assert_ptr_null(swamp__map_get(map, "xey"));
    ck_assert_ptr_null(swamp__map_get(map, "ke"));
    ck_assert_ptr_null(swamp__map_get(map, ""));
    ck_assert_uint_eq(swamp__map_count(map), 1);
}
END_TEST

START_TEST(a_second_put_replaces)
{
    ck_assert_int_eq(swamp__map_put(map, "k", &values[0]), SWAMP_OK);
    ck_assert_int_eq(swamp__map_put(map, "k", &values[1]), SWAMP_OK);
    ck_assert_ptr_eq(swamp__map_get(map, "k"), &values[1]);
    ck_assert_uint_eq(swamp__map_count(map), 1);
}
END_TEST

START_TEST(many_come_and_go)
{
    char key[32];

    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof(key), "run-%d", i);
        ck_assert_int_eq(swamp__map_put(map, key, &values[i]), SWAMP_OK);
    }
    ck_assert_uint_eq(swamp__map_count(map), MANY);
    for (int i = 0; i < MANY; i += 2) {
        snprintf(key, sizeof(key), "run-%d", i);
        ck_assert_ptr_eq(swamp__map_remove(map, key), &values[i]);
        ck_assert_ptr_null(swamp__map_remove(map, key));
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof(key), "run-%d", i);
        ck_assert_ptr_eq(swamp__map_get(map, key), i % 2 ? &values[i] : NULL);
    }
    ck_assert_uint_eq(swamp__map_count(map), MANY / 2);
}
END_TEST

START_TEST(entries_are_walked_in_order_of_insertion)
{
    const char *keys[] = {"d", "a", "c", "b"};
    char until[] = "a";

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(swamp__map_put(map, keys[i], &values[i]), SWAMP_OK);
    swamp__map_each(map, note_key, NULL);
    ck_assert_str_eq(walked, "dacb");
    walked[0] = '\0';
    swamp__map_each(map, note_key, until);
    ck_assert_str_eq(walked, "da");
}
END_TEST

START_TEST(the_entry_at_hand_may_be_removed_while_walking)
{
    const char *keys[] = {"a", "b", "c", "d"};

    for (int i = 0; i < 4; i++) {
        values[i] = i;
        ck_assert_int_eq(swamp__map_put(map, keys[i], &values[i]), SWAMP_OK);
    }
    swamp__map_each(map, remove_odd, NULL);
    ck_assert_str_eq(walked, "abcd");
    ck_assert_uint_eq(swamp__map_count(map), 2);
    ck_assert_ptr_null(swamp__map_get(map, "d"));
    ck_assert_ptr_eq(swamp__map_get(map, "c"), &values[2]);
}
END_TEST

START_TEST(a_failed_put_leaves_the_map_as_it_was)
{
    char key[32];
    size_t failures = 0;

    for (int i = 0; i < 500; i++) { /* growing the table fails too, at several sizes */
        snprintf(key, sizeof(key), "%d", i);
        for (unsigned long n = 1;; n++) {
            int rc;

            swamp__alloc_fail_at(n, 0);
            rc = swamp__map_put(map, key, &values[i]);
            swamp__alloc_fail_at(0, 0);
            if (rc == SWAMP_OK)
                break;
            failures++;
            ck_assert_int_eq(rc, SWAMP_E_NOMEM);
            ck_assert_ptr_null(swamp__map_get(map, key));
            ck_assert_uint_eq(swamp__map_count(map), (size_t)i);
        }
    }
    ck_assert_uint_gt(failures, 500);
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "%d", i);
        ck_assert_ptr_eq(swamp__map_get(map, key), &values[i]);
    }
}
END_TEST

START_TEST(free_takes_null)
{
    swamp__map_free(NULL);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("map");
    TCase *t = tcase_create("map");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, what_was_put_is_found_by_a_copy_of_its_key);
    tcase_add_test(t, a_second_put_replaces);
    tcase_add_test(t, many_come_and_go);
    tcase_add_test(t, entries_are_walked_in_order_of_insertion);
    tcase_add_test(t, the_entry_at_hand_may_be_removed_while_walking);
    tcase_add_test(t, a_failed_put_leaves_the_map_as_it_was);
    tcase_add_test(t, free_takes_null);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
