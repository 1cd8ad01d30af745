/* Names and texts of the status numbers, made from the one table in <swamp/status.h>. */
#include <swamp/status.h>
#include <swamp/version.h>

const char *
swamp_status_name(int status)
{
#define STATUS_NAME(name, number, text)                                                                      \
    case number:                                                                                             \
        return #name;
    switch (status) {
        SWAMP_STATUS_MAP(STATUS_NAME)
    default:
        return "SWAMP_E_?";
    }
#undef STATUS_NAME
}

const char *
swamp_status_text(int status)
{
#define STATUS_TEXT(name, number, text)                                                                      \
    case number:                                                                                             \
        return text;
    switch (status) {
        SWAMP_STATUS_MAP(STATUS_TEXT)
    default:
        return "an unknown status";
    }
#undef STATUS_TEXT
}

const char *
swamp_version(void)
{
    return SWAMP_VERSION;
}
