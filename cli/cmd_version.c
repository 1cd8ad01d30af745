/* `swamp version`. */
#include <swamp/swamp.h>
#include "cmd.h"
#include "out.h"

int
cmd_version(const struct args *args)
{
    if (args && args_number(args, "json"))
        out_line("{\"version\":\"%s\",\"library\":\"%s\"}", SWAMP_VERSION, swamp_version());
    else
        out_line("swamp %s (libswamp %s)", SWAMP_VERSION, swamp_version());
    return 0;
}
