/* What a session hands to the application: run events and news of the connection, owned and immutable. */
#ifndef SWAMP_EVENT_H
#define SWAMP_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <swamp/attributes.h>

SWAMP_BEGIN_DECLS

typedef struct swamp_event swamp_event;

/* Types; unknown ones can be skipped. Types >= SWAMP_EVENT_DONE are the session's last event. */
#define SWAMP_EVENT_ACCEPTED 10 /* the run has an id */
#define SWAMP_EVENT_RUN 20      /* an event of the run: json, kind, seq */
#define SWAMP_EVENT_GAP 30      /* events from_seq..to_seq cannot be had: reason "evicted", "epoch", "lost" */
#define SWAMP_EVENT_ATTACHED 40 /* on the run's instance again */
#define SWAMP_EVENT_RECONNECTING 41 /* the connection is gone: reason, attempt, retry_after_ms */
#define SWAMP_EVENT_ELSEWHERE 42    /* the run lives on instance_id, at address if known */
#define SWAMP_EVENT_DRAINING 43     /* the instance will stop */
#define SWAMP_EVENT_INTERRUPTED 44  /* the run's instance is gone: reason; the final status follows */
#define SWAMP_EVENT_ANSWER 50       /* the answer of swamp_client_request(): json */
#define SWAMP_EVENT_DONE 100        /* the run has ended: status, interrupt reason, success */
#define SWAMP_EVENT_ERROR 110       /* given up or refused: code, message; a status number in error() */

/**
 * Free an event.
 *
 * @param      event  the event; NULL is fine
 * @return none
 * @thread any
 * @since  0.1
 */
SWAMP_API void swamp_event_free(swamp_event *event);

/**
 * Say what the event is.
 *
 * @param      event  the event
 * @return SWAMP_EVENT_...
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_event_type(const swamp_event *event);

/**
 * Give the JSON text: of RUN the event exactly as received, of DONE the RUN record if known, of ANSWER the
 * frame.
 *
 * @param      event  the event
 * @param[out] len    its bytes, if not NULL
 * @return borrowed from event, zero-terminated; NULL when this type has none
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_json(const swamp_event *event, size_t *len);

/**
 * Name the kind of a run's event, such as "step_started".
 *
 * @param      event  the event
 * @return borrowed from event; NULL for types other than RUN
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_kind(const swamp_event *event);

/**
 * Name the run.
 *
 * @param      event  the event
 * @return borrowed from event; "" when not yet known
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_run_id(const swamp_event *event);

/**
 * Name the instance: ELSEWHERE and INTERRUPTED.
 *
 * @param      event  the event
 * @return borrowed from event; "" when not known
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_instance_id(const swamp_event *event);

/**
 * Give the address of the run's instance: ELSEWHERE.
 *
 * @param      event  the event
 * @return borrowed from event; "" when not told
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_address(const swamp_event *event);

/**
 * Say why: GAP, RECONNECTING, INTERRUPTED; for DONE the interrupt reason, "" for a run that ended by itself.
 *
 * @param      event  the event
 * @return borrowed from event; "" when there is none
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_reason(const swamp_event *event);

/**
 * Give the run's status: DONE ("succeeded", "failed", "cancelled", "" when it was not recorded), ATTACHED.
 *
 * @param      event  the event
 * @return borrowed from event; "" when not known
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_status(const swamp_event *event);

/**
 * Give the error code of the protocol: ERROR, such as "unauthorized"; one of the library's own such as
 * "connection_lost", "gave_up", "protocol" where the server sent none.
 *
 * @param      event  the event
 * @return borrowed from event; "" for other types
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_code(const swamp_event *event);

/**
 * Give one line for a person: ERROR, RECONNECTING.
 *
 * @param      event  the event
 * @return borrowed from event; "" when there is none
 * @thread any
 * @since  0.1
 */
SWAMP_API const char *swamp_event_message(const swamp_event *event);

/**
 * Give the status number of an ERROR, such as SWAMP_E_LOST.
 *
 * @param      event  the event
 * @return a negative status; SWAMP_OK for other types
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_event_error(const swamp_event *event);

/**
 * Give the sequence number of a run's event; 0 for other types and for events of servers that number none.
 *
 * @param      event  the event
 * @return the number, from 1
 * @thread any
 * @since  0.1
 */
SWAMP_API uint64_t swamp_event_seq(const swamp_event *event);

/**
 * Give the first missing number of a GAP.
 *
 * @param      event  the event
 * @return the number; 0 for other types
 * @thread any
 * @since  0.1
 */
SWAMP_API uint64_t swamp_event_from_seq(const swamp_event *event);

/**
 * Give the last missing number of a GAP.
 *
 * @param      event  the event
 * @return the number; 0 for other types, and for a GAP that reaches to the run's end, where no server knows
 * how far that is
 * @thread any
 * @since  0.1
 */
SWAMP_API uint64_t swamp_event_to_seq(const swamp_event *event);

/**
 * Say when the next try comes: RECONNECTING, ELSEWHERE, DRAINING.
 *
 * @param      event  the event
 * @return milliseconds
 * @thread any
 * @since  0.1
 */
SWAMP_API uint32_t swamp_event_retry_after_ms(const swamp_event *event);

/**
 * Count the tries in a row: RECONNECTING, ELSEWHERE.
 *
 * @param      event  the event
 * @return from 1; 0 for other types
 * @thread any
 * @since  0.1
 */
SWAMP_API uint32_t swamp_event_attempt(const swamp_event *event);

/**
 * Say whether a DONE is a success: the run succeeded, and every event was seen or reported as a gap.
 *
 * @param      event  the event
 * @return 1 or 0
 * @thread any
 * @since  0.1
 */
SWAMP_API int swamp_event_success(const swamp_event *event);

SWAMP_END_DECLS

#endif
