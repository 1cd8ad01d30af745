/* UUIDs as text (RFC 9562), made of the time and randomness that the caller gives. */
#include "id.h"

#define SEGMENT_MAX 64

static void
write_uuid(char out[SWAMP__ID_SIZE], uint64_t high, uint64_t low)
{
    static const char hex[] = "0123456789abcdef";
    char *at = out;

    for (int i = 0; i < 32; i++) {
        uint64_t half = i < 16 ? high : low;

        if (i == 8 || i == 12 || i == 16 || i == 20)
            *at++ = '-';
        *at++ = hex[(half >> (60 - 4 * (i % 16))) & 15];
    }
    *at = '\0';
}

static uint64_t
with_variant(uint64_t low)
{
    return (low & UINT64_C(0x3fffffffffffffff)) | UINT64_C(0x8000000000000000);
}

void
swamp__id_v7(char out[SWAMP__ID_SIZE], int64_t unix_ms, uint64_t random_a, uint64_t random_b)
{
    uint64_t time = (uint64_t)(unix_ms < 0 ? 0 : unix_ms) & UINT64_C(0xffffffffffff);

    write_uuid(out, (time << 16) | UINT64_C(0x7000) | (random_a & 0xfff), with_variant(random_b));
}

void
swamp__id_v4(char out[SWAMP__ID_SIZE], uint64_t random_a, uint64_t random_b)
{
    write_uuid(out, (random_a & ~UINT64_C(0xf000)) | UINT64_C(0x4000), with_variant(random_b));
}

int
swamp__id_is_key_segment(const char *text)
{
    int len = 0;

    for (; text[len]; len++)
        if (len == SEGMENT_MAX || text[len] < ' ' || text[len] > '~' || text[len] == '/')
            return 0;
    return len > 0;
}
