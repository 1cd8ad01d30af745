/* The public event: absent members read as "" or 0, NULL is legal everywhere. */
#include <swamp/status.h>
#include "../../../libswamp/session/event.h"
#include "tap.h"

static void
expect_empty(const swamp_event *event)
{
    ck_assert_str_eq(swamp_event_run_id(event), "");
    ck_assert_str_eq(swamp_event_instance_id(event), "");
    ck_assert_str_eq(swamp_event_address(event), "");
    ck_assert_str_eq(swamp_event_reason(event), "");
    ck_assert_str_eq(swamp_event_status(event), "");
    ck_assert_str_eq(swamp_event_code(event), "");
    ck_assert_str_eq(swamp_event_message(event), "");
    ck_assert_int_eq(swamp_event_error(event), SWAMP_OK);
    ck_assert_uint_eq(swamp_event_seq(event), 0);
    ck_assert_uint_eq(swamp_event_from_seq(event), 0);
    ck_assert_uint_eq(swamp_event_to_seq(event), 0);
    ck_assert_uint_eq(swamp_event_attempt(event), 0);
    ck_assert_uint_eq(swamp_event_retry_after_ms(event), 0);
    ck_assert_int_eq(swamp_event_success(event), 0);
}

START_TEST(null_and_empty_events_read_as_nothing)
{
    size_t len = 7;
    swamp_event *event = swamp__event_new(SWAMP_EVENT_GAP);
    expect_empty(NULL);
    expect_empty(event);
    ck_assert_int_eq(swamp_event_type(NULL), 0);
    ck_assert_int_eq(swamp_event_type(event), SWAMP_EVENT_GAP);
    ck_assert_ptr_null(swamp_event_json(event, &len));
    ck_assert_uint_eq(len, 0);
    ck_assert_ptr_null(swamp_event_json(event, NULL));
    ck_assert_ptr_null(swamp_event_kind(event));
    swamp_event_free(event);
    swamp_event_free(NULL);
}
END_TEST

START_TEST(a_member_is_replaced_not_leaked)
{
    swamp_event *event = swamp__event_new(SWAMP_EVENT_RUN);
    ck_assert_str_eq(swamp_event_kind(event), "");
    ck_assert_int_eq(swamp__event_set(&event->kind, "started"), SWAMP_OK);
    ck_assert_int_eq(swamp__event_set(&event->kind, "completed"), SWAMP_OK);
    ck_assert_str_eq(swamp_event_kind(event), "completed");
    ck_assert_int_eq(swamp__event_set(&event->kind, NULL), SWAMP_OK);
    ck_assert_str_eq(swamp_event_kind(event), "");
    swamp_event_free(event);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("event");
    TCase *tcase = tcase_create("event");
    tcase_add_test(tcase, null_and_empty_events_read_as_nothing);
    tcase_add_test(tcase, a_member_is_replaced_not_leaked);
    suite_add_tcase(suite, tcase);
    return tap_main(suite);
}
