/*
 * Certificates. libwebsockets only logs an unreadable CA file and then trusts nobody, and starts a server
 * without TLS when its certificate is missing: hence every file is tried here first.
 */
#include "tls.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <swamp/status.h>

static X509 *
read_certificate(const char *file, const char *unreadable, const char *no_certificate, const char **why)
{
    FILE *stream = fopen(file, "re");
    X509 *certificate;

    if (!stream) {
        *why = unreadable;
        return NULL;
    }
    certificate = PEM_read_X509(stream, NULL, NULL, NULL);
    fclose(stream);
    if (!certificate)
        *why = no_certificate;
    return certificate;
}

/* An encrypted key cannot be used: nobody is there to type its password. */
static int
no_password(char *buf, int size, int writing, void *user)
{
    return -1;
}

static EVP_PKEY *
read_key(const char *file, const char **why)
{
    FILE *stream = fopen(file, "re");
    EVP_PKEY *key;

    if (!stream) {
        *why = "the key file cannot be read: check its path and permissions";
        return NULL;
    }
    key = PEM_read_PrivateKey(stream, NULL, no_password, NULL);
    fclose(stream);
    if (!key)
        *why = "the key file holds no private key in PEM form without a password";
    return key;
}

int
swamp__tls_check_server(const char *cert_file, const char *key_file, const char **why)
{
    X509 *certificate = NULL;
    EVP_PKEY *key = NULL;
    int rc = SWAMP_E_TLS;

    if (!cert_file || !key_file) {
        *why = "a certificate file and a key file are only of use together";
        return SWAMP_E_TLS;
    }
    certificate =
        read_certificate(cert_file, "the certificate file cannot be read: check its path and permissions",
                         "the certificate file holds no certificate in PEM form", why);
    if (!certificate)
        goto out;
    key = read_key(key_file, why);
    if (!key)
        goto out;
    if (X509_check_private_key(certificate, key) != 1) {
        *why = "the key does not belong to the certificate: the first certificate of the file must be the "
               "server's";
        goto out;
    }
    rc = SWAMP_OK;
out:
    EVP_PKEY_free(key);
    X509_free(certificate);
    return rc;
}

int
swamp__tls_check_ca(const char *ca_cert_file, const char **why)
{
    X509 *certificate =
        read_certificate(ca_cert_file, "the CA file cannot be read: check its path and permissions",
                         "the CA file holds no certificate in PEM form", why);

    if (!certificate)
        return SWAMP_E_TLS;
    X509_free(certificate);
    return SWAMP_OK;
}

void
swamp__tls_trust_system(void *context)
{
    (void)SSL_CTX_set_default_verify_paths(context);
}

int
swamp__tls_judge(void *store, int passed, const char *literal, char *why, size_t cap)
{
    X509_STORE_CTX *context = store;
    int error = X509_STORE_CTX_get_error(context);
    X509 *certificate = X509_STORE_CTX_get_current_cert(context);

    if (passed)
        return 0;
    /* lws cuts its host at the first colon, so that it never matches an IPv6 address: the address is compared
     * here. */
    if (literal && error == X509_V_ERR_HOSTNAME_MISMATCH && certificate &&
        X509_check_ip_asc(certificate, literal, 0) == 1) {
        X509_STORE_CTX_set_error(context, X509_V_OK);
        return 0;
    }
    if (literal && error == X509_V_ERR_HOSTNAME_MISMATCH)
        error = X509_V_ERR_IP_ADDRESS_MISMATCH;
    snprintf(why, cap, "the server's certificate is refused: %s", X509_verify_cert_error_string(error));
    return 1;
}
