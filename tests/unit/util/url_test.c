/* URLs of servers: what is taken apart how, and what is refused. */
#include "tap.h"

#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/util/url.h"

static const struct {
    const char *text;
    int tls, port, loopback;
    const char *host, *path;
} good[] = {
    {"ws://example.com", 0, 80, 0, "example.com", "/"},
    {"wss://example.com", 1, 443, 0, "example.com", "/"},
    {"http://example.com:8080/", 0, 8080, 0, "example.com", "/"},
    {"https://Example.COM/A/b?c=D&e=%2F", 1, 443, 0, "example.com", "/A/b?c=D&e=%2F"},
    {"WSS://h:1?q", 1, 1, 0, "h", "/?q"},
    {"ws://localhost:65535/x", 0, 65535, 1, "localhost", "/x"},
    {"ws://127.0.0.1:9", 0, 9, 1, "127.0.0.1", "/"},
    {"ws://[::1]:9/p", 0, 9, 1, "::1", "/p"},
    {"ws://[2001:DB8::1]", 0, 80, 0, "2001:db8::1", "/"},
    {"ws://h//x/../y", 0, 80, 0, "h", "//x/../y"},
    {"ws://h/@:[]", 0, 80, 0, "h", "/@:[]"},
    {"ws://127.0.0.1.example.com", 0, 80, 0, "127.0.0.1.example.com", "/"},
};

START_TEST(a_url_is_taken_apart)
{
    swamp__url url;

    ck_assert_int_eq(swamp__url_parse(good[_i].text, &url), SWAMP_OK);
    ck_assert_int_eq(url.tls, good[_i].tls);
    ck_assert_int_eq(url.port, good[_i].port);
    ck_assert_int_eq(url.loopback, good[_i].loopback);
    ck_assert_str_eq(url.host, good[_i].host);
    ck_assert_str_eq(url.path, good[_i].path);
}
END_TEST

static const char *const bad[] = {
    "",
    "example.com",
    "//example.com",
    "ftp://example.com",
    "ws:/example.com",
    "ws://",
    "ws:///path",
    "ws://:80",
    " ws://h",
    "ws://h ",
    "ws://h/a b",
    "ws://h/\r\nX: y",
    "ws://h/\x01",
    "ws://h/\x7f",
    "ws://h\\@other/",
    "ws://h/#top",
    "ws://h#top",
    "ws://user@h",
    "ws://user:password@h",
    "ws://localhost:80@evil.example",
    "ws://localhost%2eevil",
    "ws://h:",
    "ws://h:/",
    "ws://h:0",
    "ws://h:65536",
    "ws://h:-1",
    "ws://h:+1",
    "ws://h:1a",
    "ws://h:99999999999999999999",
    "ws://h:000080",
    "ws://::1",
    "ws://[::1",
    "ws://::1]",
    "ws://[]",
    "ws://[h]",
    "ws://[127.0.0.1]",
    "ws://[::1]x",
    "ws://[::1]:",
    "ws://[fe80::1%25eth0]",
    "ws://[::1]@h",
    "ws://h\xc3\xa9",
    "ws://h/\xc3\xa9",
    "ws://h,other",
    "ws://h;x",
    "ws://a:1:2",
};

START_TEST(what_is_no_plain_server_url_is_refused_and_changes_nothing)
{
    swamp__url url;

    memset(&url, 'x', sizeof(url));
    ck_assert_int_eq(swamp__url_parse(bad[_i], &url), SWAMP_E_INVALID);
    ck_assert_int_eq(url.host[0], 'x');
}
END_TEST

/* "ws://" + host of `host` bytes + path of `path` bytes. */
static int
parse_sizes(size_t host, size_t path)
{
    char text[4096] = "ws://";
    swamp__url url;

    memset(text + 5, 'h', host);
    memset(text + 5 + host, '/', path);
    text[5 + host + path] = '\0';
    return swamp__url_parse(text, &url);
}

START_TEST(host_and_path_are_taken_up_to_their_limits)
{
    ck_assert_int_eq(parse_sizes(255, 1023), SWAMP_OK);
    ck_assert_int_eq(parse_sizes(256, 1023), SWAMP_E_INVALID);
    ck_assert_int_eq(parse_sizes(255, 1024), SWAMP_E_INVALID);
}
END_TEST

static const struct {
    const char *host;
    int loopback;
} hosts[] = {
    {"localhost", 1},
    {"LocalHost", 1},
    {"localhost.", 1},
    {"a.localhost", 1},
    {"a.b.localhost", 1},
    {"127.0.0.1", 1},
    {"127.255.255.254", 1},
    {"::1", 1},
    {"0:0:0:0:0:0:0:1", 1},
    {"", 0},
    {".", 0},
    {"notlocalhost", 0},
    {"localhost.example", 0},
    {"localhost..", 0},
    {"128.0.0.1", 0},
    {"126.255.255.255", 0},
    {"0.0.0.0", 0},
    {"::", 0},
    {"::2", 0},
    {"127.0.0.1.evil", 0},
    {"127.1", 0},
    {"0x7f.0.0.1", 0},
    {"2130706433", 0},
    {"0177.0.0.1", 0},
    {"[::1]", 0},
    {"10.127.0.0", 0},
};

START_TEST(loopback_is_only_what_every_resolver_takes_for_it)
{
    ck_assert_int_eq(swamp__url_host_is_loopback(hosts[_i].host), hosts[_i].loopback);
}
END_TEST

START_TEST(a_host_header_is_split)
{
    char host[32];
    int port = -1;

    ck_assert_int_eq(swamp__url_split_authority("Host:8080", host, sizeof(host), &port), SWAMP_OK);
    ck_assert_str_eq(host, "host");
    ck_assert_int_eq(port, 8080);
    ck_assert_int_eq(swamp__url_split_authority("[::1]", host, sizeof(host), &port), SWAMP_OK);
    ck_assert_str_eq(host, "::1");
    ck_assert_int_eq(port, 0);
    ck_assert_int_eq(swamp__url_split_authority("host:8080/", host, sizeof(host), &port), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__url_split_authority("localhost, evil", host, sizeof(host), &port),
                     SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__url_split_authority("", host, sizeof(host), &port), SWAMP_E_INVALID);
    ck_assert_int_eq(swamp__url_split_authority("abcd", host, 5, &port), SWAMP_OK);
    ck_assert_int_eq(swamp__url_split_authority("abcde", host, 5, &port), SWAMP_E_INVALID);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("url");
    TCase *t = tcase_create("url");

    tcase_add_loop_test(t, a_url_is_taken_apart, 0, sizeof(good) / sizeof(good[0]));
    tcase_add_loop_test(t, what_is_no_plain_server_url_is_refused_and_changes_nothing, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(t, host_and_path_are_taken_up_to_their_limits);
    tcase_add_loop_test(t, loopback_is_only_what_every_resolver_takes_for_it, 0,
                        sizeof(hosts) / sizeof(hosts[0]));
    tcase_add_test(t, a_host_header_is_split);
    suite_add_tcase(s, t);
    return s;
}

int
main(void)
{
    return tap_main(suite());
}
