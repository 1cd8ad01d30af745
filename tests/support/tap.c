/* Runs libcheck suites in TAP mode, as meson reads it. */
#include <stdlib.h>
#include "tap.h"

/* libcheck's own limit is 4 s, which a test of milliseconds may take on a machine that is busy with others. */
static void allow_for_load(void) __attribute__((constructor));

static void
allow_for_load(void)
{
    setenv("CK_DEFAULT_TIMEOUT", "30", 0);
}

int
tap_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    srunner_free(runner);
    return 0;
}

static int
read_factor(const char *name)
{
    const char *words = getenv(name);
    int factor = words ? atoi(words) : 1;
    return factor > 1 ? factor : 1;
}

int
tap_slowdown(void)
{
    return read_factor("SWAMP_TEST_SLOWDOWN");
}

int
tap_thin(void)
{
    return read_factor("SWAMP_TEST_THIN");
}
