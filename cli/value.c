/* The spellings of a flag's value: counts, durations, switches, choices. */
#include <string.h>
#include "value.h"

static const struct {
    const char *unit;
    uint64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {"", 1000}};

/* Digits at the front; 0: there are none, or too many. */
static size_t
read_digits(const char *words, uint64_t *number)
{
    size_t len = 0;
    uint64_t sum = 0;
    for (; words[len] >= '0' && words[len] <= '9'; len++) {
        if (len >= 18) /* 10^18 fits, and no limit of ours is near */
            return 0;
        sum = sum * 10 + (uint64_t)(words[len] - '0');
    }
    *number = sum;
    return len;
}

int
value_count(const char *words, uint64_t *number)
{
    uint64_t found;
    size_t len = read_digits(words, &found);
    if (len == 0 || words[len] != '\0')
        return 0;
    *number = found;
    return 1;
}

int
value_duration(const char *words, uint64_t *ms)
{
    uint64_t number;
    size_t len = read_digits(words, &number);
    if (len == 0 || number > UINT64_MAX / 86400000)
        return 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(words + len, units[i].unit) == 0) {
            *ms = number * units[i].ms;
            return 1;
        }
    }
    return 0;
}

void
value_add_duration(text *out, uint64_t ms)
{
    size_t i = 0;
    while (ms != 0 && ms % units[i].ms != 0)
        i++; /* ends at "ms" */
    if (ms == 0)
        text_add(out, "0");
    else
        text_addf(out, "%llu%s", (unsigned long long)(ms / units[i].ms), units[i].unit);
}

static int
is_choice(const char *allowed, const char *words)
{
    size_t len = strlen(words);
    for (const char *at = allowed; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (len > 0 && !strchr(words, '|') && strncmp(at, words, len) == 0 &&
            (at[len] == '|' || at[len] == '\0'))
            return 1;
    return 0;
}

static int
check_switch(const char *words, uint64_t *number, text *allowed)
{
    *number = strcmp(words, "true") == 0 || strcmp(words, "1") == 0;
    if (*number || strcmp(words, "false") == 0 || strcmp(words, "0") == 0)
        return 1;
    text_add(allowed, "true or false");
    return 0;
}

static int
check_count(const struct flag *flag, const char *words, uint64_t *number, text *allowed)
{
    uint64_t max = flag->max ? flag->max : UINT64_MAX;
    if (value_count(words, number) && *number >= flag->min && *number <= max)
        return 1;
    text_addf(allowed, "a whole number, %llu", (unsigned long long)flag->min);
    if (flag->max)
        text_addf(allowed, " to %llu", (unsigned long long)flag->max);
    else
        text_add(allowed, " or more");
    return 0;
}

static int
check_duration(const struct flag *flag, const char *words, uint64_t *number, text *allowed)
{
    uint64_t max = flag->max ? flag->max : UINT64_MAX;
    if (value_duration(words, number) && *number >= flag->min && *number <= max)
        return 1;
    text_add(allowed, "a time such as 30s, 5m, 1h or 500ms, ");
    value_add_duration(allowed, flag->min);
    if (flag->max) {
        text_add(allowed, " to ");
        value_add_duration(allowed, flag->max);
    } else {
        text_add(allowed, " or more");
    }
    return 0;
}

int
value_check(const struct flag *flag, const char *words, uint64_t *number, text *allowed)
{
    switch (flag->type) {
    case FLAG_SWITCH:
        return check_switch(words, number, allowed);
    case FLAG_COUNT:
        return check_count(flag, words, number, allowed);
    case FLAG_DURATION:
        return check_duration(flag, words, number, allowed);
    case FLAG_CHOICE:
        if (is_choice(flag->allowed, words))
            return 1;
        text_add(allowed, flag->allowed);
        return 0;
    default:
        if (words[0] != '\0')
            return 1;
        text_addf(allowed, "a value (%s)", flag->value);
        return 0;
    }
}
