/* The inside of the resume machine: its states, inputs and members, and the actions that rules.c names. */
#ifndef SWAMP_SESSION_MACHINE_H
#define SWAMP_SESSION_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include "../util/buf.h"
#include "../util/timers.h"
#include "../wire/answer.h"
#include "backoff.h"
#include "place.h"
#include "session.h"

/* Where the machine stands. One bit each, so that a rule can name several. */
#define SWAMP__AT_DIALING 0x001u   /* a dial is pending; `goal` is the state to enter when it is answered */
#define SWAMP__AT_STARTING 0x002u  /* the start was sent; the run has no id yet */
#define SWAMP__AT_ATTACHING 0x004u /* run.attach was sent */
#define SWAMP__AT_STREAMING 0x008u /* the run has an id and its events come */
#define SWAMP__AT_ASKING 0x010u    /* interrupted: workflow.history.get was sent */
#define SWAMP__AT_POLLING 0x020u   /* interrupted: waits before it asks again, on the same link */
#define SWAMP__AT_CHECKING 0x040u  /* not found: workflow.history.get was sent */
#define SWAMP__AT_WAITING 0x080u   /* no link; dials when the delay is over and there is room */
#define SWAMP__AT_ENDED 0x100u
#define SWAMP__AT_IDLE 0x200u /* not begun */
/* In a rule's last column only: */
#define SWAMP__AT_SAME 0u      /* stay */
#define SWAMP__AT_GOAL 0x1000u /* the state in `goal`: what the next link is for */

/* What can happen. session.c and input.c make these; a refined name says what was found when it was looked at. */
enum {
    SWAMP__IN_DELAY_OVER = 1,
    SWAMP__IN_CONNECTED,
    SWAMP__IN_LOST,         /* connection lost, refused, timed out, silent, or a question unanswered */
    SWAMP__IN_UNAUTHORIZED, /* 401, 403, close 1008, 4003 */
    SWAMP__IN_TRY_LATER,    /* 429 */
    SWAMP__IN_ACCEPTED,     /* run.accepted, or the first event that names its run */
    SWAMP__IN_ATTACHED,
    SWAMP__IN_EVENT,            /* seq is last + 1, or the server numbers none */
    SWAMP__IN_EVENT_SEEN,       /* seq <= last */
    SWAMP__IN_EVENT_HOLE,       /* seq > last + 1, nothing announced */
    SWAMP__IN_EVENT_HOLE_AGAIN, /* the same after the re-attach */
    SWAMP__IN_GARBLED,          /* cannot be decoded */
    SWAMP__IN_GARBLED_AGAIN,    /* twice at one cursor */
    SWAMP__IN_GAP,
    SWAMP__IN_ELSEWHERE,
    SWAMP__IN_INTERRUPTED, /* the frame, or error `interrupted` */
    SWAMP__IN_NOT_FOUND,
    SWAMP__IN_UNAVAILABLE, /* error `unavailable` or `draining` */
    SWAMP__IN_EPOCH_MISMATCH,
    SWAMP__IN_EPOCH_AGAIN, /* the same though no epoch was sent */
    SWAMP__IN_REFUSED,     /* any other error code */
    SWAMP__IN_DRAIN,
    SWAMP__IN_DONE,
    SWAMP__IN_DONE_SHORT,       /* done before the head that run.attached named */
    SWAMP__IN_DONE_SHORT_AGAIN, /* the same after the re-attach */
    SWAMP__IN_FINAL,            /* the history knows a final status of this run */
    SWAMP__IN_NOT_FINAL,        /* the history does not */
    SWAMP__IN_CANCEL,           /* the application wants the run to end */
    SWAMP__IN_CANCEL_UNSENT,    /* the same while no start is under way */
    SWAMP__IN_COUNT
};

/* What comes with an input. */
typedef struct swamp__news {
    const swamp__answer *answer; /* NULL: no frame */
    const char *why;             /* "" : nothing to say */
    int64_t retry_after_ms;      /* 0: not told */
} swamp__news;

/* One rule: in any of `states`, on `input`: `act`, after the state became `next`. An act may end the session
 * instead. */
typedef struct swamp__rule {
    unsigned states;
    int input;
    void (*act)(swamp__session *session, const swamp__news *news);
    unsigned next;
    const char *row; /* of PROTOCOL 7 */
} swamp__rule;

extern const swamp__rule swamp__session_rules[];
extern const size_t swamp__session_rule_count;
const swamp__rule *swamp__session_rule(unsigned state, int input); /* NULL: nothing to do */

/* The link as the machine knows it: at most one pending dial or one live socket. */
#define SWAMP__LINK_NONE 0
#define SWAMP__LINK_DIALING 1
#define SWAMP__LINK_UP 2

struct swamp__session {
    swamp__session_options options; /* its texts are owned */
    const swamp__world *world;
    swamp__session_io io;

    unsigned state, goal;
    swamp__place place; /* run id, epoch, last contiguous seq */
    swamp__backoff backoff;

    int link; /* SWAMP__LINK_NONE, _DIALING, _UP */
    int ever_connected;
    char *dial_url;   /* the address of an elsewhere, for the next dial; NULL: the URL */
    uint32_t dials;   /* in a row without any answer */
    int64_t alive_ms; /* last sign of life */
    int pinged;
    uint64_t requests;          /* numbers the request ids */
    uint32_t answer_timeout_ms; /* of the question under way; 0: none */
    char request_id[24];        /* of the start, attach or history question under way; "": none */

    int no_room;        /* the application does not take events: nothing is read, judged or dialled */
    int64_t no_room_ms; /* since when */
    int delay_over;     /* the delay ended while there was no room */

    uint32_t elsewheres; /* in a row */
    int64_t elsewhere_since_ms;
    int64_t unavailable_since_ms; /* first of a row of unavailable, draining, 429; -1: none */
    uint32_t not_founds;          /* in a row */
    int64_t history_left_ms;      /* interrupted: time for polling; only while somebody answers does it run */
    int64_t history_answered_ms;  /* ... the last answer, or when it began */
    int64_t history_until_ms;     /* ... without any answer: not given up before */
    int64_t history_bound_ms;     /* ... with answers `unavailable` only: given up then */
    char interrupt_reason[64];    /* as an old server told, which does not record it; "" of others */

    int cancel_wanted; /* asked by the application, not yet taken by a server */
    char *cancel_reason;
    char cancel_id[24]; /* of the run.cancel under way on this link; "": none */

    swamp__timer delay_timer;  /* WAITING and POLLING */
    swamp__timer answer_timer; /* the dial, or the question under way */
    swamp__timer life_timer;   /* ping, then give the link up */
    swamp__timer cancel_timer; /* the cancel is sent again */

    swamp__buf out;       /* scratch for frames */
    swamp__answer answer; /* scratch: the frame being read */
    swamp_event *reserve; /* the event that says that there is no memory for events */
};

/* rules.c */
void swamp__session_feed(swamp__session *session, int input, const swamp__news *news);

/* link.c: dialling, sending, liveness. */
int swamp__session_timers(swamp__session *session);                  /* SWAMP_OK, SWAMP_E_NOMEM */
void swamp__session_hang_up(swamp__session *session);                /* fine without a link */
void swamp__session_wait(swamp__session *session, int64_t delay_ms); /* hang up, then dial after the delay */
const char *swamp__session_new_id(swamp__session *session, char id[24]);
void swamp__session_send_out(swamp__session *session); /* what is in `out`, as one message */
void swamp__session_expect(swamp__session *session,
                           uint32_t timeout_ms); /* an answer is due by then; 0: none is */
void swamp__session_send_attach(swamp__session *session);
void swamp__session_send_history(swamp__session *session);
void swamp__session_answered(swamp__session *session); /* an answer to attach, start or history came */

/* tell.c: events for the application. Texts NULL or "": absent. */
typedef struct swamp__told {
    int type, error, success;
    uint32_t attempt;
    int64_t retry_after_ms;
    uint64_t seq, from_seq, to_seq;
    const char *kind, *instance_id, *address, *reason, *status, *code, *message, *json;
    size_t json_len;
} swamp__told;

void swamp__session_tell(swamp__session *session, const swamp__told *told);
void swamp__session_tell_gap(swamp__session *session, uint64_t from, uint64_t to, const char *reason);
void swamp__session_fail(swamp__session *session, int error, const char *code,
                         const char *message); /* the end */
void swamp__session_done(swamp__session *session, const char *status, const char *reason, const char *json,
                         size_t len);                   /* the end */
void swamp__session_no_memory(swamp__session *session); /* the end */

/* Actions: see the table in rules.c. */
void swamp__act_dial(swamp__session *session, const swamp__news *news);
void swamp__act_greet(swamp__session *session, const swamp__news *news);
void swamp__act_redial(swamp__session *session, const swamp__news *news);
void swamp__act_fail_lost(swamp__session *session, const swamp__news *news);
void swamp__act_fail_unauthorized(swamp__session *session, const swamp__news *news);
void swamp__act_fail_protocol(swamp__session *session, const swamp__news *news);
void swamp__act_refuse(swamp__session *session, const swamp__news *news);
void swamp__act_come_later(swamp__session *session, const swamp__news *news);
void swamp__act_learn_id(swamp__session *session, const swamp__news *news);
void swamp__act_resume(swamp__session *session, const swamp__news *news);
void swamp__act_deliver(swamp__session *session, const swamp__news *news);
void swamp__act_drop(swamp__session *session, const swamp__news *news);
void swamp__act_reattach_hole(swamp__session *session, const swamp__news *news);
void swamp__act_reattach_garbled(swamp__session *session, const swamp__news *news);
void swamp__act_deliver_after_hole(swamp__session *session, const swamp__news *news);
void swamp__act_pass_gap(swamp__session *session, const swamp__news *news);
void swamp__act_start_over(swamp__session *session, const swamp__news *news);
void swamp__act_finish(swamp__session *session, const swamp__news *news);
void swamp__act_finish_short(swamp__session *session, const swamp__news *news);
void swamp__act_tell_draining(swamp__session *session, const swamp__news *news);
void swamp__act_follow_elsewhere(swamp__session *session, const swamp__news *news);
void swamp__act_interrupted(swamp__session *session, const swamp__news *news);
void swamp__act_ask_history(swamp__session *session, const swamp__news *news);
void swamp__act_poll_later(swamp__session *session, const swamp__news *news);
void swamp__act_poll_unavailable(swamp__session *session, const swamp__news *news);
void swamp__act_finish_recorded(swamp__session *session, const swamp__news *news);
void swamp__act_not_found(swamp__session *session, const swamp__news *news);
void swamp__act_look_again(swamp__session *session, const swamp__news *news);
void swamp__act_cancel(swamp__session *session, const swamp__news *news);
void swamp__act_cancel_unsent(swamp__session *session, const swamp__news *news);

/* cancel.c */
void swamp__session_send_cancel(swamp__session *session); /* if one is wanted and can be sent on this link */
int swamp__session_cancel_answer(swamp__session *session,
                                 const swamp__answer *answer); /* 1: the frame was for it */
void swamp__session_resend_cancel(swamp__timer *timer);

/* elsewhere.c: 1 if this address may be dialled in place of the URL. */
int swamp__session_may_dial(const swamp__session *session, const char *address);

/* input.c: one message to one or two inputs. */
void swamp__session_read(swamp__session *session, const char *text, size_t len);

#endif
