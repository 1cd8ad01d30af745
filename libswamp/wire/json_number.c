/* JSON numbers as text: exact, without doubles and without the locale's decimal point. */
#include "json.h"
#include "json_part.h"

#include <string.h>
#include <swamp/status.h>
#include "limits.h"

#define EXPONENT_CAP                                                                                         \
    INT64_C(1000000000000000) /* beyond any length of text: saturated, the sum cannot overflow */

/*
 * The digits of 2^1024 - 2^970, which is 1.797...e308: the first value that rounds to infinity, half-way
 * between the greatest double and the one that would follow it.
 */
static const char first_infinite[] =
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
    "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
    "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
    "342711559699508093042880177904174497792";
#define FIRST_INFINITE_EXPONENT 308

/* A number taken apart: its digits without the point are those of `at`, skipping one '.'. */
typedef struct number_parts {
    const char *at, *end; /* from the first significant digit; at == end: zero */
    int64_t exponent;     /* of that digit: 12.5 has 1, 0.05 has -2 */
    int negative;
} number_parts;

static int64_t
read_exponent(const char *at, const char *end)
{
    int64_t exponent = 0;
    int negative = at < end && *at == '-';

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end; at++)
        if (exponent < EXPONENT_CAP)
            exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

static number_parts
take_apart(const char *at, size_t len)
{
    number_parts parts = {at, at + len, 0, 0};
    const char *mark, *point;

    if (*parts.at == '-') {
        parts.negative = 1;
        parts.at++;
    }
    for (mark = parts.at; mark < parts.end && *mark != 'e' && *mark != 'E'; mark++)
        continue;
    if (mark < parts.end)
        parts.exponent = read_exponent(mark + 1, parts.end);
    parts.end = mark;
    point = memchr(parts.at, '.', (size_t)(parts.end - parts.at));
    parts.exponent += (point ? point : parts.end) - parts.at - 1;
    for (; parts.at < parts.end && (*parts.at == '0' || *parts.at == '.'); parts.at++)
        parts.exponent -= *parts.at == '0';
    return parts;
}

/* The next digit; 0 for ever after the last. */
static int
next_digit(number_parts *parts)
{
    if (parts->at < parts->end && *parts->at == '.')
        parts->at++;
    return parts->at < parts->end ? *parts->at++ - '0' : 0;
}

int
swamp__json_number_is_finite(const char *at, size_t len)
{
    number_parts parts = take_apart(at, len);

    if (parts.at == parts.end || parts.exponent < FIRST_INFINITE_EXPONENT)
        return 1;
    if (parts.exponent > FIRST_INFINITE_EXPONENT)
        return 0;
    for (const char *bound = first_infinite; *bound; bound++) {
        int digit = next_digit(&parts);

        if (digit != *bound - '0')
            return digit < *bound - '0';
    }
    return 0;
}

int
swamp__json_u53(swamp__json number, uint64_t *out)
{
    uint64_t value = 0;

    if (number.type != SWAMP__JSON_NUMBER || number.len > 16) /* 2^53 - 1 has 16 digits */
        return SWAMP_E_INVALID;
    for (size_t i = 0; i < number.len; i++) {
        if (number.at[i] < '0' || number.at[i] > '9')
            return SWAMP_E_INVALID;
        value = value * 10 + (uint64_t)(number.at[i] - '0');
    }
    if (value > SWAMP__SEQ_MAX)
        return SWAMP_E_INVALID;
    *out = value;
    return SWAMP_OK;
}

int
swamp__json_i64(swamp__json number, int64_t *out)
{
    number_parts parts;
    uint64_t bound, value = 0;

    if (number.type != SWAMP__JSON_NUMBER)
        return SWAMP_E_INVALID;
    parts = take_apart(number.at, number.len);
    bound = (uint64_t)INT64_MAX + (uint64_t)parts.negative;
    if (parts.at == parts.end || parts.exponent < -1) {
        *out = 0;
        return SWAMP_OK;
    }
    if (parts.exponent > 18) /* INT64_MAX is 9.2e18 */
        return SWAMP_E_INVALID;
    for (int64_t i = 0; i <= parts.exponent; i++)
        value = value * 10 + (uint64_t)next_digit(&parts);
    value += next_digit(&parts) >= 5;
    if (value > bound)
        return SWAMP_E_INVALID;
    if (!parts.negative)
        *out = (int64_t)value;
    else
        *out = value == bound ? INT64_MIN : -(int64_t)value;
    return SWAMP_OK;
}
