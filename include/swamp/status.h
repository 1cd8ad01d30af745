/* Status numbers: < 0 an error, 0 done, > 0 a named outcome that is not an error. */
#ifndef SWAMP_STATUS_H
#define SWAMP_STATUS_H

#include <swamp/attributes.h>

/*
 * The one table. Numbers are written out and never reused.
 * -1..-99 the caller's mistake, -100..-199 the environment, -200..-299 the peer.
 */
#define SWAMP_STATUS_MAP(X)                                                                                  \
    X(SWAMP_OK, 0, "done")                                                                                   \
    X(SWAMP_EVENT, 1, "an event was returned")                                                               \
    X(SWAMP_END, 2, "nothing more will come")                                                                \
    X(SWAMP_WORK, 3, "a piece of work was returned")                                                         \
    X(SWAMP_ABSENT, 4, "no record has this key")                                                             \
    X(SWAMP_CONFLICT, 5, "a condition of the batch did not hold, nothing was written")                       \
    X(SWAMP_E_INVALID, -1, "an argument is not valid")                                                       \
    X(SWAMP_E_STATE, -2, "the call does not fit the state of the handle")                                    \
    X(SWAMP_E_REENTRANT, -3, "the call is not allowed inside this callback")                                 \
    X(SWAMP_E_CLOSED, -4, "the handle was closed")                                                           \
    X(SWAMP_E_TOO_BIG, -5, "a limit was passed")                                                             \
    X(SWAMP_E_JSON, -6, "the text is not JSON")                                                              \
    X(SWAMP_E_RULES, -7, "the text is JSON but breaks one of the stricter rules")                            \
    X(SWAMP_E_NOMEM, -100, "out of memory")                                                                  \
    X(SWAMP_E_IO, -101, "input or output failed")                                                            \
    X(SWAMP_E_TIMEOUT, -102, "the time was over")                                                            \
    X(SWAMP_E_UNKNOWN, -103, "whether it was done is not known")                                             \
    X(SWAMP_E_STORE, -104, "the store failed, nothing was written")                                          \
    X(SWAMP_E_CORRUPT, -105, "the file is not a swamp store, or is damaged")                                 \
    X(SWAMP_E_FENCED, -106, "this instance was declared dead; make a new handle")                            \
    X(SWAMP_E_ADDRESS, -107, "the address cannot be used")                                                   \
    X(SWAMP_E_UNSUPPORTED, -108, "not supported here")                                                       \
    X(SWAMP_E_BUSY, -109, "too much is waiting already")                                                     \
    X(SWAMP_E_TLS, -110, "the certificate or key cannot be used")                                            \
    X(SWAMP_E_CONNECT, -200, "no connection could be had")                                                   \
    X(SWAMP_E_PROTOCOL, -201, "the peer sent what cannot be understood")                                     \
    X(SWAMP_E_UNAUTHORIZED, -202, "not authorised")                                                          \
    X(SWAMP_E_REFUSED, -203, "the peer refused")                                                             \
    X(SWAMP_E_LOST, -204, "the connection was lost before the run was accepted")                             \
    X(SWAMP_E_GAVE_UP, -205, "given up after the allowed number of tries")                                   \
    X(SWAMP_E_NOT_FOUND, -206, "not found")

#define SWAMP_STATUS_CONSTANT(name, number, text) name = number,
enum { SWAMP_STATUS_MAP(SWAMP_STATUS_CONSTANT) SWAMP_STATUS_END_OF_TABLE = -9999 };
#undef SWAMP_STATUS_CONSTANT

SWAMP_BEGIN_DECLS

/**
 * Name a status number.
 *
 * @param      status  a number from this header
 * @return the constant's name, such as "SWAMP_E_NOMEM"; "SWAMP_E_?" for an unknown number; static, never NULL
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_status_name(int status);

/**
 * Say what a status number means.
 *
 * @param      status  a number from this header
 * @return one lower-case sentence without a full stop; static, never NULL
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_status_text(int status);

/**
 * Free a buffer that the library returned through an out parameter of type char **.
 *
 * @param      buffer  the buffer; NULL is fine
 * @return none
 * @thread any
 * @since  0.1
 */
SWAMP_API void swamp_free(void *buffer);

SWAMP_END_DECLS

#endif
