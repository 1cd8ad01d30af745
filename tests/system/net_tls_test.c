/* TLS on both sides: a server with a certificate of its own making, and clients that trust it, or not; both loops. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <swamp/status.h>
#include "../../libswamp/session/session.h"
#include "dial_double.h"
#include "net_fixture.h"
#include "tap.h"

#define DAY_S 86400

/*
 * libwebsockets 4.1.6 keeps the index of its data in an SSL_CTX in a global, set anew by each context: one
 * that is not the youngest no longer finds it, and never frees its client's SSL_CTX (docs/NET.md).
 */
const char *__lsan_default_suppressions(void);
const char *__asan_default_options(void);

const char *
__lsan_default_suppressions(void)
{
    return "leak:lws_create_context\n";
}

/* Whole stacks, so that the line above is found in them. */
const char *
__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0";
}

static net_fixture fixture;
static char cert_file[64], key_file[64];

static void
check_flood(dial_double *it, const char *text, size_t len)
{
    size_t number = it->record.messages;

    ck_assert_uint_eq(len, 30000 - number % 5 * (30000 / 7));
    for (size_t i = 0; i < len; i += 97)
        ck_assert_int_eq(text[i], core_flood_byte(number, i));
}

/* Self-signed, for the names given, valid from `from` days to `to` days from now. */
static void
write_certificate(const char *names, int from, int to)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    FILE *file;

    ck_assert(key && certificate && extension);
    strcpy(cert_file, "/tmp/swamp-net-cert-XXXXXX");
    strcpy(key_file, "/tmp/swamp-net-key-XXXXXX");
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), (long)from * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(certificate), (long)to * DAY_S);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_add_ext(certificate, extension, -1);
    ck_assert_int_gt(X509_sign(certificate, key, EVP_sha256()), 0);
    file = fdopen(mkstemp(cert_file), "w");
    ck_assert_int_eq(PEM_write_X509(file, certificate), 1);
    fclose(file);
    file = fdopen(mkstemp(key_file), "w");
    ck_assert_int_eq(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    X509_EXTENSION_free(extension);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

/* Dials the fixture as `host`; trusting: with its certificate as CA. */
static void
dial_on(dial_double *it, swamp__loop *loop, const char *host)
{
    char url[128];

    snprintf(url, sizeof(url), "wss://%s:%d/", host, fixture.port);
    dial_begin(it, loop, url);
    it->greeting = "flood 40 30000";
    it->check = check_flood;
    dial_now(it);
    pthread_mutex_lock(&it->record.lock);
    while (it->record.messages < 40 && it->record.freed == 0)
        pthread_cond_wait(&it->record.changed, &it->record.lock);
    pthread_mutex_unlock(&it->record.lock);
    dial_end(it);
}

static void
dial_and_end(dial_double *it, int i, const char *host, int trusting)
{
    dial_on(it, net_loop(i, SWAMP__LOOP_CLIENT, trusting ? cert_file : NULL), host);
}

static void
remove_files(void)
{
    unlink(cert_file);
    unlink(key_file);
}

START_TEST(frames_are_exact_over_tls_too)
{
    dial_double it;

    write_certificate("DNS:localhost,IP:127.0.0.1", -1, 1);
    net_start(&fixture, _i, cert_file, key_file);
    ck_assert_int_eq(strncmp(swamp__listener_url(fixture.listener), "https://127.0.0.1:", 18), 0);
    dial_and_end(&it, _i, "localhost", 1);
    ck_assert_msg(it.record.messages == 40, "%s", it.why);
    dial_and_end(&it, _i, "127.0.0.1", 1);
    ck_assert_msg(it.record.messages == 40, "%s", it.why);
    net_stop(&fixture);
    remove_files();
}
END_TEST

START_TEST(a_certificate_that_is_not_trusted_is_named)
{
    dial_double it;

    write_certificate("DNS:localhost", -1, 1);
    net_start(&fixture, _i, cert_file, key_file);
    dial_and_end(&it, _i, "localhost", 0);
    ck_assert_uint_eq(it.record.opened, 0);
    ck_assert_msg(strstr(it.why, "certificate is refused: self"), "%s", it.why);
    dial_and_end(&it, _i, "127.0.0.1", 1); /* the name is another */
    ck_assert_uint_eq(it.record.opened, 0);
    ck_assert_msg(strstr(it.why, "IP address mismatch"), "%s", it.why);
    net_stop(&fixture);
    remove_files();
    write_certificate("DNS:localhost", -2, -1);
    net_start(&fixture, _i, cert_file, key_file);
    dial_and_end(&it, _i, "localhost", 1);
    ck_assert_uint_eq(it.record.opened, 0);
    ck_assert_msg(strstr(it.why, "expired"), "%s", it.why);
    net_stop(&fixture);
    remove_files();
}
END_TEST

/* The certificate becomes one of the system's after the client was made: so it had not loaded them before. */
START_TEST(whom_the_system_trusts_is_read_at_the_first_dial_with_tls)
{
    dial_double it;
    swamp__loop *loop;

    write_certificate("DNS:localhost", -1, 1);
    net_start(&fixture, _i, cert_file, key_file);
    loop = net_loop(_i, SWAMP__LOOP_CLIENT, NULL);
    setenv("SSL_CERT_FILE", cert_file, 1);
    dial_on(&it, loop, "localhost");
    ck_assert_msg(it.record.messages == 40, "%s", it.why);
    net_stop(&fixture);
    remove_files();
}
END_TEST

START_TEST(a_key_of_another_certificate_is_refused)
{
    swamp__loop_options options = {.role = SWAMP__LOOP_SERVER, .max_connections = 10};
    swamp__loop *loop = NULL;
    const char *why = "";
    char first_key[64], first_cert[64];

    write_certificate("DNS:localhost", -1, 1);
    strcpy(first_cert, cert_file);
    strcpy(first_key, key_file);
    write_certificate("DNS:localhost", -1, 1);
    options.cert_file = cert_file;
    options.key_file = first_key;
    ck_assert_int_eq(swamp__loop_new(&loop, &options, &why), SWAMP_E_TLS);
    ck_assert_ptr_nonnull(strstr(why, "does not belong"));
    remove_files();
    unlink(first_cert);
    unlink(first_key);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("net_tls");
    TCase *tc = tcase_create("tls");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, frames_are_exact_over_tls_too, 0, NET_LOOPS);
    tcase_add_loop_test(tc, a_certificate_that_is_not_trusted_is_named, 0, NET_LOOPS);
    tcase_add_loop_test(tc, whom_the_system_trusts_is_read_at_the_first_dial_with_tls, 0, NET_LOOPS);
    tcase_add_test(tc, a_key_of_another_certificate_is_refused);
    suite_add_tcase(s, tc);
    return s;
}

int
main(void)
{
    setenv("SSL_CERT_FILE", "/dev/null",
           1); /* whole stacks make the system's 140 certificates a matter of seconds */
    return tap_main(suite());
}
