/* Which Host and Origin may reach a server (PROTOCOL 1): a web page must not reach a local one. */
#include <check.h>
#include "../../../libswamp/server/origin.h"
#include "tap.h"

static const struct {
    const char *host, *origin, *allowed;
    int on_loopback, expected;
} cases[] = {
    {"127.0.0.1:9", NULL, NULL, 1, 1},
    {"localhost:9", NULL, NULL, 1, 1},
    {"[::1]:9", NULL, NULL, 1, 1},
    {"evil.example", NULL, NULL, 1, 0}, /* DNS rebinding */
    {"evil.example:9", "http://evil.example:9", NULL, 1, 0},
    {NULL, NULL, NULL, 1, 0},
    {"127.0.0.1:9", "http://evil.example", NULL, 1, 0},
    {"127.0.0.1:9", "http://127.0.0.1:9", NULL, 1, 1},
    {"127.0.0.1:9", "http://localhost:3000", NULL, 1, 1},
    {"127.0.0.1:9", "null", NULL, 1, 0},
    {"127.0.0.1:9", "", NULL, 1, 0},
    {"127.0.0.1:9", "http://user@127.0.0.1", NULL, 1, 0},
    {"127.0.0.1:9", "https://app.example", "https://app.example", 1, 1},
    {"127.0.0.1:9", "https://app.example", " https://other.example , app.example", 1, 1},
    {"127.0.0.1:9", "https://app.example.evil", "https://app.example", 1, 0},
    {"127.0.0.1:9", "https://app.example", "", 1, 0},
    {"127.0.0.1:9", "https://anything.example", "*", 1, 1},
    {"evil.example", "https://anything.example", "*", 1, 0},
    {"api.example", NULL, NULL, 0, 1},
    {"api.example", "https://api.example", NULL, 0, 1},
    {"api.example", "https://API.example", NULL, 0, 1},
    {"api.example:8443", "https://api.example", NULL, 0, 0},
    {"api.example", "https://evil.example", NULL, 0, 0},
    {"api.example", "http://localhost:3000", NULL, 0, 1}, /* this host or loopback */
    {"api.example", "http://127.0.0.1", NULL, 0, 1},
    {"api.example", "http://localhost.evil.example", NULL, 0, 0},
    {"api.example", "null", NULL, 0, 0},
    {NULL, "https://evil.example", NULL, 0, 0},
};

START_TEST(host_and_origin)
{
    ck_assert_int_eq(
        swamp__origin_allowed(cases[_i].host, cases[_i].origin, cases[_i].allowed, cases[_i].on_loopback),
        cases[_i].expected);
}
END_TEST

static Suite *
suite(void)
{
    Suite *suite = suite_create("origin");
    TCase *tests = tcase_create("origin");
    tcase_add_loop_test(tests, host_and_origin, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tests);
    return suite;
}

int
main(void)
{
    return tap_main(suite());
}
