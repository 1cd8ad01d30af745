/* Every quantity that a peer drives, and its limit (DESIGN 7, PROTOCOL 1 to 3); some are defaults only. */
#ifndef SWAMP_WIRE_LIMITS_H
#define SWAMP_WIRE_LIMITS_H

#define SWAMP__MESSAGE_MAX (1024u * 1024u)              /* a message to the server; more: close 1009 */
#define SWAMP__CLIENT_MESSAGE_MAX (64u * 1024u * 1024u) /* a message to the client */
#define SWAMP__JSON_DEPTH_MAX 64                        /* the message object is depth 1 */
#define SWAMP__ID_MAX 256                               /* characters of a request id and of a run id */
#define SWAMP__ERROR_MESSAGE_MAX 200                    /* characters of an error frame's message */
#define SWAMP__TOKEN_MAX 512                            /* characters of a token */
#define SWAMP__SEQ_MAX 9007199254740991u                /* 2^53 - 1 */
#define SWAMP__EVENT_MAX (256u * 1024u)                 /* bytes of one event */
#define SWAMP__RUN_JSON_MAX (1024u * 1024u) /* bytes of the host's RUN members, before shrinking */
#define SWAMP__STEP_ERROR_MAX 1024          /* bytes of a step's error in RUN */
#define SWAMP__REASON_MAX 512               /* bytes of a cancel reason; longer ones are cut */
#define SWAMP__BATCH_BYTES (64u * 1024u)    /* frames built for one write */
#define SWAMP__OUTBOX_PAUSE (256u * 1024u)  /* unsent answers: above, the connection is not read */
#define SWAMP__REQUESTS_MAX 100             /* active requests of a connection */
#define SWAMP__CONNECTIONS_MAX 10000
#define SWAMP__RUNS_MAX 100
#define SWAMP__RUN_LOG_BYTES (16u * 1024u * 1024u)
#define SWAMP__RUN_LOG_EVENTS 100000
#define SWAMP__ALL_LOGS_BYTES (1024u * 1024u * 1024u)
#define SWAMP__HISTORY_LIMIT 100 /* run.history rows when not asked for more */
#define SWAMP__HISTORY_LIMIT_MAX 1000
#define SWAMP__STORE_QUEUE_MAX 4096 /* questions waiting for the store thread */
#define SWAMP__HTTP_HEADER_MAX 16384
#define SWAMP__SO_SNDBUF (128 * 1024)

#endif
