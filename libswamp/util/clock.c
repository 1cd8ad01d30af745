/* The system's two clocks, and ISO 8601 text in UTC without the C library's time zones and locales. */
#include "clock.h"

#include <string.h>
#include <time.h>
#include <swamp/status.h>

#define DAY_MS INT64_C(86400000)
#define FIRST_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define LAST_MS INT64_C(253402300799999)  /* 9999-12-31T23:59:59.999Z */

static int64_t
read_clock_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
swamp__clock_monotonic_ms(void)
{
    return read_clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t
swamp__clock_monotonic_us(void)
{
    return read_clock_us(CLOCK_MONOTONIC);
}

int64_t
swamp__clock_unix_ms(void)
{
    return read_clock_us(CLOCK_REALTIME) / 1000;
}

/* Years here begin in March, so that the leap day is the last of its year; an era is 400 years, 146,097 days. */
static int64_t
days_of_date(int64_t year, int64_t month, int64_t day)
{
    int64_t shifted = year - (month <= 2);
    int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    int64_t year_of_era = shifted - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static void
date_of_days(int64_t days, int *year, int *month, int *day)
{
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;

    *day = (int)(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    *month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

static char *
put_digits(char *at, int number, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        at[i] = (char)('0' + number % 10);
        number /= 10;
    }
    return at + count;
}

void
swamp__clock_iso(int64_t unix_ms, char out[SWAMP__ISO_SIZE])
{
    int64_t days, in_day;
    int year, month, day;
    char *at = out;

    if (unix_ms < FIRST_MS) /* the form has four digits for the year */
        unix_ms = FIRST_MS;
    if (unix_ms > LAST_MS)
        unix_ms = LAST_MS;
    days = unix_ms / DAY_MS;
    in_day = unix_ms % DAY_MS;
    if (in_day < 0) {
        days--;
        in_day += DAY_MS;
    }
    date_of_days(days, &year, &month, &day);
    at = put_digits(at, year, 4);
    *at++ = '-';
    at = put_digits(at, month, 2);
    *at++ = '-';
    at = put_digits(at, day, 2);
    *at++ = 'T';
    at = put_digits(at, (int)(in_day / 3600000), 2);
    *at++ = ':';
    at = put_digits(at, (int)(in_day / 60000 % 60), 2);
    *at++ = ':';
    at = put_digits(at, (int)(in_day / 1000 % 60), 2);
    *at++ = '.';
    at = put_digits(at, (int)(in_day % 1000), 3);
    *at++ = 'Z';
    *at = '\0';
}

/* Takes `count` digits and the mark after them (0: none); returns what follows, NULL if they are not there. */
static const char *
take_number(const char *at, int count, char mark, int *out)
{
    int number = 0;

    if (!at)
        return NULL;
    for (int i = 0; i < count; i++) {
        if (at[i] < '0' || at[i] > '9')
            return NULL;
        number = number * 10 + (at[i] - '0');
    }
    *out = number;
    if (!mark)
        return at + count;
    return at[count] == mark ? at + count + 1 : NULL;
}

/* ".5", ".123", ".123456": milliseconds, cut; returns what follows the digits, NULL if there are none. */
static const char *
take_fraction(const char *at, int *out_ms)
{
    int weight = 100;

    *out_ms = 0;
    if (*at != '.')
        return at;
    at++;
    if (*at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        *out_ms += (*at - '0') * weight;
        weight /= 10;
    }
    return at;
}

static int
days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

int
swamp__clock_parse_iso(const char *text, int64_t *out_unix_ms)
{
    int year, month, day, hour, minute, second, ms;
    const char *at = text;

    at = take_number(at, 4, '-', &year);
    at = take_number(at, 2, '-', &month);
    at = take_number(at, 2, 'T', &day);
    at = take_number(at, 2, ':', &hour);
    at = take_number(at, 2, ':', &minute);
    at = take_number(at, 2, 0, &second);
    if (at)
        at = take_fraction(at, &ms);
    if (!at || strcmp(at, "Z") != 0)
        return SWAMP_E_INVALID;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return SWAMP_E_INVALID;
    if (hour > 23 || minute > 59 || second > 59)
        return SWAMP_E_INVALID;
    *out_unix_ms = days_of_date(year, month, day) * DAY_MS + hour * INT64_C(3600000) +
                   minute * INT64_C(60000) + second * INT64_C(1000) + ms;
    return SWAMP_OK;
}
