/* `swamp access token`: known, and refused as long as servers check no tokens. */
#include "cmd.h"
#include "out.h"
#include "outcome.h"
#include "store.h"

const struct flag cmd_token_flags[] = {
    STORE_FLAG,
    {.name = "principal", .type = FLAG_TEXT, .value = "user:x", .help = "who the token stands for"},
    {.name = "allow", .type = FLAG_LIST, .value = "RULE", .help = "what it may do, such as run:workflow:*"},
    {.name = "expires", .type = FLAG_DURATION, .value = "D", .min = 1000, .help = "how long it is good for"},
    {.name = NULL},
};

int
cmd_token(const struct args *args)
{
    (void)args;
    return out_fail(
        OUTCOME_USAGE, NULL,
        "this version cannot make or check tokens yet; keep the server on 127.0.0.1, or behind a proxy "
        "that authenticates");
}
