/* The report of `swamp doctor`, one line for each thing looked at. */
#include "doctor_report.h"
#include <stdarg.h>
#include "out.h"
#include "show.h"

static int findings;

void
doctor_say(int is_finding, const char *format, ...)
{
    text words = {0}, line = {0};
    va_list args;
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    findings += is_finding;
    if (out_is_json()) {
        text_addf(&line, "{\"finding\":%s,\"message\":", is_finding ? "true" : "false");
        text_add_json(&line, words.bytes);
        text_add(&line, "}");
    } else {
        text_add(&line, is_finding ? "!! " : "ok ");
        show_add_words(&line, words.bytes);
    }
    if (is_finding || !out_is_quiet())
        out_bytes(line.bytes, line.len);
    text_free(&words);
    text_free(&line);
}

int
doctor_findings(void)
{
    return findings;
}
