/* Certificates: files checked before libwebsockets sees them, and failures given a name. */
#ifndef SWAMP_NET_TLS_H
#define SWAMP_NET_TLS_H

#include <stddef.h>

/* SWAMP_OK, SWAMP_E_TLS: *why is static, one line. */
int swamp__tls_check_server(const char *cert_file, const char *key_file, const char **why);
int swamp__tls_check_ca(const char *ca_cert_file, const char **why);
/* context: OpenSSL's SSL_CTX. Where there are none it trusts nobody, which a refused certificate then says. */
void swamp__tls_trust_system(void *context);

/*
 * One certificate of a peer is being verified: store is OpenSSL's X509_STORE_CTX, passed what OpenSSL thinks of it.
 * literal: the IPv6 address that was dialled, or NULL. Returns 0 when the certificate may stand, else 1 with why filled.
 */
int swamp__tls_judge(void *store, int passed, const char *literal, char *why, size_t cap);

#endif
