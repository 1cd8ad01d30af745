/* The table of PROTOCOL 7 as a table: no pair twice, no input or state forgotten. */
#include "../../../libswamp/session/machine.h"
#include "tap.h"

#define STATES 10

START_TEST(no_two_rows_name_the_same_pair)
{
    for (size_t i = 0; i < swamp__session_rule_count; i++)
        for (size_t j = i + 1; j < swamp__session_rule_count; j++) {
            const swamp__rule *a = &swamp__session_rules[i], *b = &swamp__session_rules[j];
            ck_assert_msg(a->input != b->input || !(a->states & b->states), "'%s' and '%s'", a->row, b->row);
        }
}
END_TEST

START_TEST(every_input_has_a_row)
{
    for (int input = 1; input < SWAMP__IN_COUNT; input++) {
        int found = 0;
        for (size_t i = 0; i < swamp__session_rule_count; i++)
            found |= swamp__session_rules[i].input == input;
        ck_assert_msg(found, "input %d", input);
    }
}
END_TEST

START_TEST(every_state_with_a_link_answers_its_loss)
{
    for (int bit = 0; bit < STATES; bit++) {
        unsigned state = 1u << bit;
        if (state & (SWAMP__AT_WAITING | SWAMP__AT_ENDED | SWAMP__AT_IDLE))
            continue;
        ck_assert_msg(swamp__session_rule(state, SWAMP__IN_LOST) != NULL, "state %#x", state);
        ck_assert_msg(swamp__session_rule(state, SWAMP__IN_UNAUTHORIZED) != NULL, "state %#x", state);
    }
}
END_TEST

START_TEST(nothing_leaves_the_end)
{
    for (size_t i = 0; i < swamp__session_rule_count; i++)
        ck_assert(!(swamp__session_rules[i].states & SWAMP__AT_ENDED));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tcase = tcase_create("rules");
    tcase_add_test(tcase, no_two_rows_name_the_same_pair);
    tcase_add_test(tcase, every_input_has_a_row);
    tcase_add_test(tcase, every_state_with_a_link_answers_its_loss);
    tcase_add_test(tcase, nothing_leaves_the_end);
    suite_add_tcase(suite, tcase);
    return tap_main(suite);
}
